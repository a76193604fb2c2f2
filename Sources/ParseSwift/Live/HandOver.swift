import Synchronization

/// Elements that a task makes for a receiver, one at a time.
///
///     task ── send ──▶ │ one element │ ──▶ next ── receiver
///             waits until it is taken
///
/// A receiver that is slow holds one element. The task asks its live query for no more meanwhile, and
/// the query combines what it has to deliver.
final class HandOver<Element: Sendable>: Sendable {
  private enum State {
    case idle
    /// The task waits.
    case offered(Element, CheckedContinuation<Void, Never>)
    /// Receivers wait.
    case requested([CheckedContinuation<Element?, any Error>])
    /// The error is thrown once.
    case finished((any Error)?)
  }

  private let state = Mutex(State.idle)

  /// Returns when the element is taken, or nobody will.
  func send(_ element: Element) async {
    await withCheckedContinuation { sent in
      let receiver: CheckedContinuation<Element?, any Error>? = state.withLock { state in
        switch state {
        case .idle:
          state = .offered(element, sent)
          return nil
        case .requested(var receivers):
          let first = receivers.removeFirst()
          state = receivers.isEmpty ? .idle : .requested(receivers)
          sent.resume()
          return first
        case .offered, .finished:
          sent.resume()
          return nil
        }
      }
      receiver?.resume(returning: element)
    }
  }

  /// No element follows. Ends also what waits.
  func finish(_ error: (any Error)? = nil) {
    let receivers = state.withLock { state in
      var waiting: [CheckedContinuation<Element?, any Error>] = []
      switch state {
      case .idle: state = .finished(error)
      case .offered(_, let sent):
        sent.resume()
        state = .finished(error)
      case .requested(let receivers):
        waiting = receivers
        state = .finished(nil)
      case .finished: break
      }
      return waiting
    }
    for (index, receiver) in receivers.enumerated() {
      if index == 0, let error {
        receiver.resume(throwing: error)
      } else {
        receiver.resume(returning: nil)
      }
    }
  }

  /// The next element; nil at the end, and when the receiver's task is cancelled.
  func next() async throws -> Element? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { receiver in
        let result: Result<Element?, any Error>? = state.withLock { state in
          switch state {
          case .idle:
            state = .requested([receiver])
            return nil
          case .requested(let receivers):
            state = .requested(receivers + [receiver])
            return nil
          case .offered(let element, let sent):
            sent.resume()
            state = .idle
            return .success(element)
          case .finished(let error):
            state = .finished(nil)
            return error.map { .failure($0) } ?? .success(nil)
          }
        }
        if let result { receiver.resume(with: result) }
      }
    } onCancel: {
      finish()
    }
  }
}

/// A task that sends elements, as a stream. It is cancelled when the stream is no longer used.
final class LiveTask<Element: Sendable>: Sendable {
  private let elements: HandOver<Element>
  private let task: Task<Void, Never>

  private init(_ elements: HandOver<Element>, _ task: Task<Void, Never>) {
    self.elements = elements
    self.task = task
  }

  deinit {
    task.cancel()
    elements.finish()
  }

  /// The task begins at once.
  static func stream(
    _ body: @escaping @Sendable (HandOver<Element>) async throws -> Void
  ) -> AsyncThrowingStream<Element, any Error> {
    let elements = HandOver<Element>()
    let task = Task {
      do {
        try await body(elements)
        elements.finish()
      } catch {
        elements.finish(error)
      }
    }
    let live = LiveTask(elements, task)
    return AsyncThrowingStream {
      guard !Task.isCancelled else { return nil }
      let next = try await live.elements.next()
      if next == nil { live.task.cancel() }
      return next
    }
  }
}
