/// One change of the log, with the versions before and after it.
package struct LoggedChange: Sendable {
  package var sequence: UInt64
  package var kind: Change.Kind
  package var path: ResourcePath
  package var commitTime: Instant
  /// It is the last change of its commit.
  package var endsCommit: Bool
  package var before: StoredDocument?
  package var after: StoredDocument?
}

extension StoreSnapshot {
  /// The changes after `sequence`, in order, up to the size of a page; empty if there are none.
  ///
  /// The log has the version before a change. The version after it is the one before the document's
  /// next change, in the same page or later in the log; or it is the stored document.
  ///
  /// Throws `outOfRange` if the log does not reach back that far.
  func changePage(after sequence: UInt64) throws -> [LoggedChange] {
    let limits = PageLimits(count: 1024, byteCount: 4 << 20)
    var page: [LoggedChange] = []
    var byteCount = 0
    // Index of each document's last change so far, whose version after it is not known yet.
    var open: [ResourcePath: Int] = [:]
    var isFull = false
    var newest: StoredVersions?
    try changes(after: sequence) { change in
      if let last = page.last, last.sequence + 1 == change.sequence {
        page[page.count - 1].endsCommit = change.startsCommit
      }
      if isFull {
        // Only searches for the next change after each document's last one.
        if newest == nil { newest = try StoredVersions(of: open, page, in: self) }
        if let index = newest?.wanted.removeValue(forKey: change.path) {
          page[index].after = try version(before: change)
        }
        return newest?.wanted.isEmpty == false
      }
      if let index = open[change.path] { page[index].after = try version(before: change) }
      open[change.path] = page.count
      page.append(
        LoggedChange(
          sequence: change.sequence, kind: change.kind, path: change.path,
          commitTime: change.commitTime, endsCommit: false, before: try version(before: change)))
      byteCount += change.before?.count ?? 0
      isFull = page.count >= limits.count || byteCount >= limits.byteCount
      return true
    }
    guard !page.isEmpty else { return [] }
    if newest == nil {
      newest = try StoredVersions(of: open, page, in: self)
      page[page.count - 1].endsCommit = true
    }
    for (index, document) in newest?.found ?? [] { page[index].after = document }
    return page
  }
}

/// Separates last changes that made the stored version of their document from the others.
private struct StoredVersions {
  var found: [(index: Int, document: StoredDocument)] = []
  /// The versions after the others are later in the log.
  var wanted: [ResourcePath: Int] = [:]

  init(
    of open: [ResourcePath: Int], _ page: [LoggedChange], in snapshot: StoreSnapshot
  ) throws {
    for (path, index) in open where page[index].kind != .deleted {
      let document = try snapshot.document(DocumentName(path, limit: snapshot.keyLimit))
      if let document, document.sequence == page[index].sequence {
        found.append((index, document))
      } else {
        wanted[path] = index
      }
    }
  }
}
