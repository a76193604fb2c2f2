import Foundation

/// A serial queue for callbacks, created at the first access.
///
/// On Linux, Dispatch has at most 255 threads for the serial queues of one quality of service. The
/// main queue, users' queues and the listener registry use the default one; callback queues use
/// another. So blocked callbacks can only delay further callback queues.
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
