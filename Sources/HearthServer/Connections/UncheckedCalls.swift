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

    private struct State {
      var last: UInt64 = 0
      var calls: [UInt64: @Sendable (Int?) -> Void] = [:]
    }

    private let limit: Int
    private let state = Guarded(State())

    init(limit: Int = UncheckedCalls.limit) { self.limit = limit }

    /// Calls that wait.
    var count: Int { state.withLock { $0.calls.count } }

    /// Returns the number of a new call; nil if too many wait.
    ///
    /// - Parameter onAdmission: Called at most once, with the bytes that the request may have.
    func add(onAdmission: @escaping @Sendable (_ limit: Int?) -> Void) -> UInt64? {
      state.withLock { state in
        guard state.calls.count < limit else { return nil }
        state.last += 1
        state.calls[state.last] = onAdmission
        return state.last
      }
    }

    /// Lets the rest of a request in.
    ///
    /// - Parameter limit: Its bytes, at most.
    func admit(_ number: UInt64, limit: Int? = nil) {
      state.withLock { $0.calls.removeValue(forKey: number) }?(limit)
    }

    func remove(_ number: UInt64) {
      _ = state.withLock { $0.calls.removeValue(forKey: number) }
    }
  }
#endif
