/// A request in the writer's queue: mutations, or a closure that makes them.
struct WriteRequest {
  enum Work {
    case mutations([Mutation], on: ReadSet?)
    /// Next: its mutations, or failed. Runs once, even if the group is planned again.
    case closure(Closure)
    case failed(Status)
  }

  /// A closure that is released before its creator, which waits, continues.
  final class Closure: @unchecked Sendable {
    // Unchecked: used by its creator until it is submitted, then by the writer's thread.
    private var body: ((WriteContext) throws -> Void)?
    let callSite: CallSite?
    /// No other request is in its group: it reads the committed state.
    let isAlone: Bool

    init(
      callSite: CallSite?, isAlone: Bool = false, body: @escaping (WriteContext) throws -> Void
    ) {
      self.callSite = callSite
      self.isAlone = isAlone
      self.body = body
    }

    /// Returns the closure once; nil from then on.
    func take() -> ((WriteContext) throws -> Void)? {
      defer { body = nil }
      return body
    }
  }

  var work: Work
  var byteCount: Int
  /// Counted toward the limit on requests that are not awaited.
  var countedBytes: Int
  var ticket: PendingWrites.Ticket
  /// No caller waits for this request, so reads have to.
  var isTracked: Bool
  /// Set if it completes after the callbacks of the listeners it concerns.
  var origin: WriteOrigin?
  var complete: @Sendable (Writer.Outcome) -> Void

  var mutationCount: Int {
    if case .mutations(let mutations, on: _) = work { mutations.count } else { 0 }
  }

  var isAlone: Bool {
    if case .closure(let closure) = work { closure.isAlone } else { false }
  }
}
