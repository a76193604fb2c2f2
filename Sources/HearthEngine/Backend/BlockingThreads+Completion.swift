extension BlockingThreads {
  /// Calls `done` with the result of `body`, which may block, on a thread of its own.
  func complete<Answer>(
    _ done: @escaping Completion<Answer>, _ body: @escaping @Sendable () throws(Status) -> Answer
  ) {
    run { done(Result(catching: body)) }
  }
}
