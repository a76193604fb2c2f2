import LMDB

/// Goes through the entries whose keys begin with a prefix, once, forwards.
struct PrefixWalk: ~Copyable {
  private enum Position {
    case beforeFirst
    /// On an entry that was told.
    case onTold
    /// On an entry that was not told: the next step is not to move.
    case onNext
    case atEnd
  }

  let prefix: [UInt8]
  var cursor: Cursor
  private var position = Position.beforeFirst

  init(_ prefix: [UInt8], of table: Table, in snapshot: Snapshot) throws {
    self.prefix = prefix
    cursor = try snapshot.cursor(table)
  }

  /// Moves to the next entry; false if there is none.
  mutating func advance() throws -> Bool {
    let found =
      switch position {
      case .atEnd: false
      case .onNext: true
      case .onTold: try cursor.next()
      case .beforeFirst:
        // No key is empty, and LMDB looks for none.
        prefix.isEmpty
          ? try cursor.first() : try prefix.withUnsafeBytes { try cursor.seek(to: $0) }
      }
    let isInside = found && cursor.key.starts(with: prefix)
    position = isInside ? .onTold : .atEnd
    return isInside
  }

  /// Somebody else moved the cursor: to an entry that was not told, or to the end of the table.
  mutating func wasMoved(toEntry isThere: Bool) { position = isThere ? .onNext : .atEnd }
}
