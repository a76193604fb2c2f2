import Foundation

/// Where a callback belongs: the actor that handed it over, a dispatch queue, or an executor.
///
/// A closure written in main-actor code is bound to the main actor even where its type does not say
/// so; calling it elsewhere would be a silent race. So the public callback forms take the caller's
/// isolation (`#isolation`) and call back there.
enum CallbackTarget: Sendable {
  case actor(any Actor)
  case queue(DispatchQueue)
  /// A serial queue that one listener has to itself.
  case ownQueue(DispatchQueue)
  case executor(any TaskExecutor)

  /// Runs `body` there, soon. In order for the main actor and for queues.
  func carry(_ body: @escaping @Sendable () -> Void) {
    switch self {
    case .actor(let actor) where actor === MainActor.shared: Self.main.async(execute: body)
    case .actor(let actor): Task { await actor.run(body) }
    case .queue(let queue), .ownQueue(let queue): queue.async(execute: body)
    case .executor(let executor): Task(executorPreference: executor) { body() }
    }
  }

  /// The queue that these callbacks share with others, if that is where they belong.
  var sharedQueue: DispatchQueue? {
    switch self {
    case .actor(let actor): actor === MainActor.shared ? Self.main : nil
    case .queue(let queue): queue
    case .ownQueue, .executor: nil
    }
  }

  var isOwnQueue: Bool {
    if case .ownQueue = self { true } else { false }
  }

  /// One for all: each time it is asked for, the queue comes as another object.
  private static let main = DispatchQueue.main

  /// Runs a callback there that was handed over there, whatever it captures.
  func carry<Message: Sendable>(_ message: Message, to callback: Callback<Message>) {
    carry { callback.call(message) }
  }
}

/// A serial queue for callbacks, made when it is first asked for.
///
/// On Linux Dispatch has at most 255 threads for the serial queues of one quality of service. The main queue, users'
/// queues and the registry have the default one. Callback queues have another: however many of them sleep,
/// only further ones wait.
final class LazyCallbackQueue: Sendable {
  private let made = Guarded<DispatchQueue?>(nil)

  var queue: DispatchQueue {
    made.withLock { made in
      if let made { return made }
      let queue = Self.makeQueue()
      made = queue
      return queue
    }
  }

  static func makeQueue() -> DispatchQueue {
    DispatchQueue(label: "hearth.callbacks", qos: .userInitiated)
  }
}

extension Actor {
  fileprivate func run(_ body: @Sendable () -> Void) { body() }
}

/// A callback on its way to where it belongs. Only a `CallbackTarget` of the same place calls it.
struct Callback<Message>: @unchecked Sendable {
  // Unchecked: the closure is made and called in one isolation, and only carried in between.
  private let body: (Message) -> Void

  init(_ body: @escaping (Message) -> Void) { self.body = body }

  func call(_ message: Message) { body(message) }
}
