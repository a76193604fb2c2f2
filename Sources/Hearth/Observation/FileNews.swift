@preconcurrency import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Tells when any process has written to the file, so that listeners hear of others' commits too.
///
/// The kernel tells (inotify); nobody polls and writers do nothing for it. It may tell of a commit
/// before its last page is written, and then tells again; one of our own commits is told as well.
/// Even the last page is written a moment before LMDB shows the commit to readers, so a look at the
/// kernel's word can come too early: some more follow, once writing has paused.
/// Where the kernel has no watch left to give, a timer looks instead.
final class FileNews {
  private let source: any DispatchSourceProtocol
  private let afterwards: LaterLooks?

  /// Looks this often where the kernel cannot tell.
  static let pollingInterval = DispatchTimeInterval.milliseconds(100)

  /// Calls `body` on `queue` after writes to the file. Ends with `stop`.
  init(of path: String, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    if descriptor >= 0, inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 {
      let news = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      let afterwards = LaterLooks(on: queue, body)
      news.setEventHandler {
        FileNews.discardEvents(descriptor)
        body()
        afterwards.begin()
      }
      news.setCancelHandler { _ = close(descriptor) }
      source = news
      self.afterwards = afterwards
    } else {
      if descriptor >= 0 { _ = close(descriptor) }
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.schedule(deadline: .now(), repeating: Self.pollingInterval)
      timer.setEventHandler(handler: body)
      source = timer
      afterwards = nil
    }
    source.activate()
  }

  func stop() {
    source.cancel()
    afterwards?.stop()
  }

  private static func discardEvents(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
    }
  }
}

/// Looks some times more, later and later, after it was last begun.
private final class LaterLooks: @unchecked Sendable {
  // Unchecked: touched on one serial queue only.
  private let timer: any DispatchSourceTimer
  private var done = 0

  /// Not too soon: while commits come one after another, every look holds pages that a writer could
  /// use again.
  private static let delays: [DispatchTimeInterval] = [
    .milliseconds(20), .milliseconds(200), .seconds(2),
  ]

  init(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .distantFuture)
    timer.setEventHandler { [weak self] in
      body()
      self?.schedule()
    }
    timer.activate()
  }

  func begin() {
    done = 0
    schedule()
  }

  func stop() { timer.cancel() }

  private func schedule() {
    guard done < Self.delays.count else { return }
    timer.schedule(deadline: .now() + Self.delays[done])
    done += 1
  }
}
