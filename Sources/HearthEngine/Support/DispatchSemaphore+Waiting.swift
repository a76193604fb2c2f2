import Dispatch

extension DispatchSemaphore {
  /// Blocks this thread until `body` calls its completion, which may be on another one. Returns the
  /// value that it passes.
  static func waiting<Answer: Sendable>(
    for body: (@escaping @Sendable (Answer) -> Void) -> Void
  ) -> Answer? {
    let done = DispatchSemaphore(value: 0)
    let answer = Guarded<Answer?>(nil)
    body { came in
      answer.withLock { $0 = came }
      done.signal()
    }
    done.wait()
    // A key path in a generic function would be made for each call.
    return answer.withLock { $0 }
  }
}
