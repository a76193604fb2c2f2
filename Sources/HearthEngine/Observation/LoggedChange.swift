/// One change out of the log, with the versions before and after it.
package struct LoggedChange: Sendable {
  package var sequence: UInt64
  package var kind: Change.Kind
  package var path: ResourcePath
  package var commitTime: Instant
  /// No other change of its commit follows.
  package var endsCommit: Bool
  package var before: StoredDocument?
  package var after: StoredDocument?
}

extension StoreSnapshot {
  /// The changes after `sequence`, in order, up to a portion's size; none if there are none.
  ///
  /// The log tells the version before a change. The one after it stands before the document's next
  /// change, which is in the same portion, or further on in the log, or is the stored document.
  ///
  /// Throws `outOfRange` if the log does not reach back that far.
  func portion(after sequence: UInt64, limits: ChangePageLimits = ChangePageLimits()) throws
    -> [LoggedChange]
  {
    var portion: [LoggedChange] = []
    var byteCount = 0
    // Where the last change so far of each document is, whose version after it is not known yet.
    var open: [ResourcePath: Int] = [:]
    var isFull = false
    var newest: StoredVersions?
    try changes(after: sequence) { change in
      if let last = portion.last, last.sequence + 1 == change.sequence {
        portion[portion.count - 1].endsCommit = change.startsCommit
      }
      if isFull {
        // Only looks for what follows the last change of each document.
        if newest == nil { newest = try StoredVersions(of: open, portion, in: self) }
        if let index = newest?.wanted.removeValue(forKey: change.path) {
          portion[index].after = try version(before: change)
        }
        return newest?.wanted.isEmpty == false
      }
      if let index = open[change.path] { portion[index].after = try version(before: change) }
      open[change.path] = portion.count
      portion.append(
        LoggedChange(
          sequence: change.sequence, kind: change.kind, path: change.path,
          commitTime: change.commitTime, endsCommit: false, before: try version(before: change)))
      byteCount += change.before?.count ?? 0
      isFull = portion.count >= limits.count || byteCount >= limits.byteCount
      return true
    }
    guard !portion.isEmpty else { return [] }
    if newest == nil {
      newest = try StoredVersions(of: open, portion, in: self)
      portion[portion.count - 1].endsCommit = true
    }
    for (index, document) in newest?.found ?? [] { portion[index].after = document }
    return portion
  }
}

/// How much is taken out of the log at once.
struct ChangePageLimits: Sendable {
  var count = 1024
  var byteCount = 4 << 20
}

/// Which of the last changes of some documents made the version that is stored.
private struct StoredVersions {
  var found: [(index: Int, document: StoredDocument)] = []
  /// What the others made stands further on in the log.
  var wanted: [ResourcePath: Int] = [:]

  init(
    of open: [ResourcePath: Int], _ portion: [LoggedChange], in snapshot: StoreSnapshot
  ) throws {
    for (path, index) in open where portion[index].kind != .deleted {
      let document = try snapshot.document(DocumentName(path, limit: snapshot.keyLimit))
      if let document, document.sequence == portion[index].sequence {
        found.append((index, document))
      } else {
        wanted[path] = index
      }
    }
  }
}
