internal import LMDB

/// Iterates once over the entries whose keys begin with a prefix, forwards or backwards.
struct PrefixWalk: ~Copyable {
  enum Position {
    case beforeFirst
    /// On an entry that was returned.
    case onReturned
    /// On an entry that was not returned yet: the next step does not move.
    case onNext
    case atEnd
  }

  let prefix: [UInt8]
  let isDescending: Bool
  var cursor: Cursor
  private var position = Position.beforeFirst
  let lowest: [UInt8]
  private let highest: [UInt8]?

  /// - Parameters:
  ///   - lowest: Keys below it are skipped. Begins with `prefix`.
  ///   - highest: Keys above it are skipped, except those that begin with it. Begins with `prefix`.
  init(
    _ prefix: [UInt8], of table: Table, in snapshot: Snapshot, from lowest: [UInt8]? = nil,
    to highest: [UInt8]? = nil, isDescending: Bool = false
  ) throws {
    self.prefix = prefix
    self.lowest = lowest ?? prefix
    self.highest = highest
    self.isDescending = isDescending
    cursor = try snapshot.cursor(table)
  }

  /// All keys are below it; nil is the end of the table.
  var end: [UInt8]? { KeyLayout.end(ofPrefix: highest ?? prefix) }

  /// Moves to the next entry; false if there is none.
  mutating func advance() throws -> Bool {
    let found =
      switch position {
      case .atEnd: false
      case .onNext: true
      case .onReturned: try isDescending ? cursor.previous() : cursor.nextAhead()
      case .beforeFirst: try moveToFirst()
      }
    let isInside = found && isInside(cursor.key)
    position = isInside ? .onReturned : .atEnd
    return isInside
  }

  private mutating func moveToFirst() throws -> Bool {
    guard isDescending else {
      // No key is empty, and LMDB cannot seek to an empty key.
      return try lowest.isEmpty ? cursor.first() : cursor.seek(to: lowest)
    }
    guard let behind = end, try cursor.seek(to: behind) else { return try cursor.last() }
    return try cursor.previous()
  }

  private func isInside(_ key: UnsafeRawBufferPointer) -> Bool {
    guard key.begins(with: prefix) else { return false }
    if isDescending {
      return lowest.withUnsafeBytes { UTF8Order.compare(key, $0) >= 0 }
    }
    guard let highest else { return true }
    return highest.withUnsafeBytes { UTF8Order.compare(key, $0) <= 0 } || key.begins(with: highest)
  }

  /// Call this after moving the cursor: to an entry that was not returned yet, or to the end.
  mutating func wasMoved(toEntry isThere: Bool) { position = isThere ? .onNext : .atEnd }
}

extension UnsafeRawBufferPointer {
  /// For prefixes of a few words: compares eight bytes at a time.
  @inline(__always)
  func begins(with prefix: [UInt8]) -> Bool {
    guard count >= prefix.count else { return false }
    return prefix.withUnsafeBytes { prefix in
      var offset = 0
      while offset + 8 <= prefix.count {
        let own = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        guard own == prefix.loadUnaligned(fromByteOffset: offset, as: UInt64.self) else {
          return false
        }
        offset += 8
      }
      while offset < prefix.count {
        guard self[offset] == prefix[offset] else { return false }
        offset += 1
      }
      return true
    }
  }
}
