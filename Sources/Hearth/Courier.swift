import Foundation

/// Where a callback belongs: the actor that handed it over, a dispatch queue, or an executor.
///
/// A closure written in main-actor code is bound to the main actor even where its type does not say
/// so; calling it elsewhere would be a silent race. So the public callback forms take the caller's
/// isolation (`#isolation`) and call back there.
struct Courier: Sendable {
  let actor: (any Actor)?
  let queue: DispatchQueue
  var executor: (any TaskExecutor)?

  /// Runs `body` there, soon. In order for the main actor and for queues.
  func carry(_ body: @escaping @Sendable () -> Void) {
    if let place {
      place.async(execute: body)
    } else if let executor {
      Task(executorPreference: executor) { body() }
    } else if let actor {
      Task { await actor.run(body) }
    }
  }

  /// The queue where the callbacks belong, if that is one.
  var place: DispatchQueue? {
    if executor != nil { return nil }
    guard let actor else { return queue }
    return actor === MainActor.shared ? Self.main : nil
  }

  /// One for all: each time it is asked for, the queue comes as another object.
  private static let main = DispatchQueue.main

  /// Runs a callback there that was handed over there, whatever it captures.
  func carry<Message: Sendable>(_ message: Message, to callback: Callback<Message>) {
    carry { callback.call(message) }
  }
}

extension Actor {
  fileprivate func run(_ body: @Sendable () -> Void) { body() }
}

/// A callback on its way to where it belongs. Only a `Courier` of the same place calls it.
struct Callback<Message>: @unchecked Sendable {
  // Unchecked: the closure is made and called in one isolation, and only carried in between.
  private let body: (Message) -> Void

  init(_ body: @escaping (Message) -> Void) { self.body = body }

  func call(_ message: Message) { body(message) }
}
