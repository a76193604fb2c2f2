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
/// Where the kernel has no watch left to give, a timer looks instead.
final class FileNews {
  private let source: any DispatchSourceProtocol

  /// Looks this often where the kernel cannot tell.
  static let pollingInterval = DispatchTimeInterval.milliseconds(100)

  /// Calls `body` on `queue` after writes to the file. Ends with `stop`.
  init(of path: String, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    if descriptor >= 0, inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 {
      let news = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      news.setEventHandler {
        FileNews.discardEvents(descriptor)
        body()
      }
      news.setCancelHandler { _ = close(descriptor) }
      source = news
    } else {
      if descriptor >= 0 { _ = close(descriptor) }
      let timer = DispatchSource.makeTimerSource(queue: queue)
      timer.schedule(deadline: .now(), repeating: Self.pollingInterval)
      timer.setEventHandler(handler: body)
      source = timer
    }
    source.activate()
  }

  func stop() { source.cancel() }

  private static func discardEvents(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
    }
  }
}
