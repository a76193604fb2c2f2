#if Server
  import HearthEngine

  /// The calls over gRPC whose keys have not been checked, of all connections. There are few at a
  /// time, because the check is quick: so the limit costs nobody, and bounds the memory that
  /// clients without a key have.
  ///
  /// A call's number is a header of its request on the way from its stream to the gate.
  final class UncheckedCalls: Sendable {
    static let header = "hearth-unchecked-call"
    static let limit = 1024

    private let limit: Int
    private let calls = Guarded(Line<@Sendable (Int?) -> Void>())

    init(limit: Int = UncheckedCalls.limit) { self.limit = limit }

    /// Calls that wait.
    var count: Int { calls.withLock(\.elements.count) }

    /// Returns the number of a new call; nil if too many wait.
    ///
    /// - Parameter onAdmission: Called at most once, with the bytes that the request may have.
    func add(onAdmission: @escaping @Sendable (_ limit: Int?) -> Void) -> Int? {
      calls.withLock { $0.elements.count < limit ? $0.append(onAdmission) : nil }
    }

    /// Lets the rest of a request in.
    ///
    /// - Parameter limit: Its bytes, at most.
    func admit(_ number: Int, limit: Int? = nil) {
      calls.withLock { $0.remove(number) }?(limit)
    }

    func remove(_ number: Int) { _ = calls.withLock { $0.remove(number) } }
  }
#endif
