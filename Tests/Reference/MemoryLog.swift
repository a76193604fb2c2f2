#if DEBUG
  @testable import HearthEngine

  /// The changes of a `MemoryState`, in pieces: states that share them copy the last piece only, not
  /// the whole log at each commit.
  struct MemoryLog: RandomAccessCollection, Sendable {
    private static let pieceCount = 64

    /// All but the last are full, and none is empty.
    private var pieces: [[LoggedChange]] = []

    var startIndex: Int { 0 }
    var endIndex: Int {
      pieces.isEmpty ? 0 : (pieces.count - 1) * Self.pieceCount + pieces[pieces.count - 1].count
    }

    subscript(index: Int) -> LoggedChange {
      get { pieces[index / Self.pieceCount][index % Self.pieceCount] }
      set { pieces[index / Self.pieceCount][index % Self.pieceCount] = newValue }
    }

    mutating func append(_ change: LoggedChange) {
      if endIndex % Self.pieceCount == 0 { pieces.append([]) }
      pieces[pieces.count - 1].append(change)
    }

    mutating func popLast() -> LoggedChange? {
      guard !pieces.isEmpty else { return nil }
      let change = pieces[pieces.count - 1].popLast()
      if pieces[pieces.count - 1].isEmpty { pieces.removeLast() }
      return change
    }
  }
#endif
