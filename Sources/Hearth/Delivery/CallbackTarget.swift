import Foundation

/// Where a callback runs: on the actor that passed it, a dispatch queue, or an executor.
///
/// A closure written in main-actor code is bound to the main actor, even if its type does not say
/// so; calling it elsewhere would be a silent data race. So the public functions with callbacks
/// take the caller's isolation (`#isolation`) and call back there.
enum CallbackTarget: Sendable {
  case actor(any Actor)
  case queue(DispatchQueue)
  /// A serial queue for one listener alone.
  case ownQueue(DispatchQueue)
  case executor(any TaskExecutor)

  /// Schedules `body` there. The main actor and queues keep the order of calls.
  func carry(_ body: @escaping @Sendable () -> Void) {
    switch self {
    case .actor(let actor) where actor === MainActor.shared: Self.main.async(execute: body)
    case .actor(let actor): Task { await actor.run(body) }
    case .queue(let queue), .ownQueue(let queue): queue.async(execute: body)
    case .executor(let executor): Task(executorPreference: executor) { body() }
    }
  }

  /// How a listener calls back here.
  var way: Listener.Way {
    @Sendable func deliver(_ listener: Listener) { carry { listener.deliver() } }
    return switch self {
    case .actor(let actor) where actor === MainActor.shared: .queue(.of(Self.main))
    case .queue(let queue): .queue(.of(queue))
    case .ownQueue: .ownQueue(deliver)
    case .actor, .executor: .schedule(deliver)
    }
  }

  /// One object for all: `DispatchQueue.main` returns another object for each call.
  private static let main = DispatchQueue.main

  /// Schedules a callback where it was passed. Its captures need not be Sendable.
  func carry<Message: Sendable>(_ message: Message, to callback: Callback<Message>) {
    carry { callback.call(message) }
  }
}

extension Actor {
  fileprivate func run(_ body: @Sendable () -> Void) { body() }
}

/// A callback on its way to its target. Only the `CallbackTarget` with its isolation calls it.
struct Callback<Message>: @unchecked Sendable {
  // Unchecked: the closure is created and called in one isolation, and only carried in between.
  private let body: (Message) -> Void

  init(_ body: @escaping (Message) -> Void) { self.body = body }

  /// Passes a result as two optionals, of which one is nil.
  init<Success>(splitting body: @escaping (Success?, Error?) -> Void)
  where Message == Result<Success, NSError> {
    self.init { result in
      switch result {
      case .success(let success): body(success, nil)
      case .failure(let error): body(nil, error)
      }
    }
  }

  func call(_ message: Message) { body(message) }
}
