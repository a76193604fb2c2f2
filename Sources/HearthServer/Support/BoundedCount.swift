#if Server
  import HearthEngine

  /// Counts what there is now, up to a limit: streams, calls, bytes of requests.
  final class BoundedCount: Sendable {
    private let limit: Int
    private let guarded = Guarded(0)
    private let onChange: (@Sendable (Int) -> Void)?

    /// - Parameter onChange: Called with each new count.
    init(limit: Int, onChange: (@Sendable (Int) -> Void)? = nil) {
      self.limit = limit
      self.onChange = onChange
    }

    /// The count now.
    var current: Int { guarded.withLock { $0 } }

    /// Counts so many more, until `remove`. False if these are too many.
    func add(_ amount: Int = 1) -> Bool {
      guarded.withLock { count in
        guard amount <= limit - count else { return false }
        count += amount
        onChange?(count)
        return true
      }
    }

    func remove(_ amount: Int = 1) {
      guarded.withLock { count in
        count -= amount
        onChange?(count)
      }
    }
  }
#endif
