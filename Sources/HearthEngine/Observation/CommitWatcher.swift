@preconcurrency import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Tells when another process has committed, so that listeners hear of others' commits too.
///
///     doorbell written     a commit that readers can see: others ring while we listen
///     data file closed     a process that wrote has ended, perhaps between its commit and the bell
///     heartbeat            whatever else may have gone wrong
///
/// Nothing is missed. The bell rings when readers see the commit, and what has been told is discarded
/// before anybody looks: a bell that rings during the look is told again, and one that the kernel put
/// together with an earlier one was rung before it.
///
/// The kernel tells (inotify); nobody polls. One of our own commits may be told as well, and news may come
/// doubled: the log says what changed. Where the kernel has no watch left to give, a timer looks
/// instead.
final class CommitWatcher {
  private let sources: [any DispatchSourceProtocol]

  /// Looks this often where the kernel cannot tell.
  static let pollingInterval = DispatchTimeInterval.milliseconds(100)
  /// Looks this often even though it can.
  static let heartbeat = DispatchTimeInterval.seconds(2)

  /// Calls `body` on `queue` after commits. Ends with `stop`.
  init(
    of store: Store, on queue: DispatchQueue,
    heartbeat: DispatchTimeInterval = CommitWatcher.heartbeat,
    _ body: @escaping @Sendable () -> Void
  ) {
    let news = Self.watch(store, on: queue, body)
    let interval = news == nil ? Self.pollingInterval : heartbeat
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(
      deadline: .now() + interval, repeating: interval, leeway: .milliseconds(20))
    timer.setEventHandler(handler: body)
    sources = [timer] + (news.map { [$0] } ?? [])
    for source in sources { source.activate() }
  }

  func stop() {
    for source in sources { source.cancel() }
  }

  /// Nil if one of the files cannot be watched.
  private static func watch(
    _ store: Store, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> (any DispatchSourceProtocol)? {
    // Before the watch, and both before anybody looks: what rings for nobody is seen then.
    guard (try? store.environment.listen()) != nil else { return nil }
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard descriptor >= 0,
      inotify_add_watch(descriptor, store.environment.doorbellPath, UInt32(IN_MODIFY)) >= 0,
      inotify_add_watch(descriptor, store.path, UInt32(IN_CLOSE_WRITE)) >= 0
    else {
      if descriptor >= 0 { _ = close(descriptor) }
      return nil
    }
    let news = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    news.setEventHandler {
      discardEvents(descriptor)
      body()
    }
    news.setCancelHandler { _ = close(descriptor) }
    return news
  }

  private static func discardEvents(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
    }
  }
}
