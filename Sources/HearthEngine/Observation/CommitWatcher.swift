@preconcurrency import Dispatch
import Glibc

/// Reports commits of other processes, so that listeners follow them too.
///
///     notification file written    a commit that readers can see: others notify while we listen
///     data file closed             a process that wrote has ended, perhaps before it notified
///     heartbeat                    after any other failure
///
/// No commit is missed. A notification is written when readers see the commit, and events are
/// discarded before the log is read: a notification during the read causes another event, and
/// one that the kernel merged with an earlier one was written before the read.
///
/// Events come from the kernel (inotify). A commit of our own may be reported as well, and events
/// may come twice: the log says what changed. If the kernel has no watch left to give, a timer
/// polls instead.
final class CommitWatcher {
  private let sources: [any DispatchSourceProtocol]

  /// Polling interval if the kernel cannot report events.
  static let pollingInterval = DispatchTimeInterval.milliseconds(100)
  /// Interval of additional checks if the kernel can.
  static let heartbeat = DispatchTimeInterval.seconds(2)

  /// Calls `body` on `queue` after commits, until `stop`.
  init(
    of store: Store, on queue: DispatchQueue,
    heartbeat: DispatchTimeInterval = CommitWatcher.heartbeat,
    _ body: @escaping @Sendable () -> Void
  ) {
    let source = Self.watch(store, on: queue, body)
    let interval = source == nil ? Self.pollingInterval : heartbeat
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(
      deadline: .now() + interval, repeating: interval, leeway: .milliseconds(20))
    timer.setEventHandler(handler: body)
    sources = [timer] + (source.map { [$0] } ?? [])
    for source in sources { source.activate() }
  }

  func stop() {
    for source in sources { source.cancel() }
  }

  /// Nil if one of the files cannot be watched.
  private static func watch(
    _ store: Store, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> (any DispatchSourceProtocol)? {
    // Listen, then watch, then read the log: that read finds a commit whose notification was not
    // sent.
    guard (try? store.environment.listen()) != nil else { return nil }
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0,
      inotify_add_watch(descriptor, store.environment.commitNotificationPath, UInt32(IN_MODIFY))
        >= 0,
      inotify_add_watch(descriptor, store.path, UInt32(IN_CLOSE_WRITE)) >= 0
    else {
      if descriptor >= 0 { _ = close(descriptor) }
      return nil
    }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler {
      discardEvents(descriptor)
      body()
    }
    source.setCancelHandler { _ = close(descriptor) }
    return source
  }

  private static func discardEvents(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
    }
  }
}
