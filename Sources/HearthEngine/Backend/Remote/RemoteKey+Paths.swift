extension RemoteKey {
  package init(_ path: ResourcePath) {
    let parent = path.parent
    collection = parent.remoteIDs
    var key = KeyBuffer(minimumCapacity: 64)
    key.append(id: path.id)
    id = key.bytes
    collectionID = Array(parent.id.utf8)
    name = Array(path.text.utf8)
  }
}

extension ResourcePath {
  /// Its ids as key bytes: a prefix of those of all paths below.
  var remoteIDs: [UInt8] {
    var key = KeyBuffer(minimumCapacity: 64)
    key.appendIDs(of: self)
    return key.bytes
  }

  init(remote name: [UInt8]) throws(Status) {
    try self.init(storedDocument: String(decoding: name, as: UTF8.self))
  }
}

extension RemoteScope {
  /// All documents of a scope.
  init(_ scope: StructuredQuery.Scope) {
    switch scope {
    case .collection(let path): self = .collection(path.remoteIDs, nil)
    case .group(let id, let below): self = .group(Array(id.utf8), below: below.remoteIDs)
    case .subtree(let below): self = .subtree(below: below.remoteIDs)
    }
  }
}

extension StoredDocument {
  convenience init(_ path: ResourcePath, _ version: RemoteVersion) throws(Status) {
    self.init(
      path: path, sequence: version.sequence,
      createTime: Instant(microseconds: version.createTime),
      updateTime: Instant(microseconds: version.updateTime),
      body: try DocumentBody(validating: version.body))
  }
}

extension LoggedChange {
  init(_ change: RemoteLoggedChange) throws(Status) {
    let path = try ResourcePath(remote: change.name)
    func document(_ version: RemoteVersion?) throws(Status) -> StoredDocument? {
      guard let version else { return nil }
      return try StoredDocument(path, version)
    }
    let before = try document(change.before)
    let after = try document(change.after)
    self.init(
      sequence: change.sequence,
      kind: before == nil ? .created : after == nil ? .deleted : .updated, path: path,
      commitTime: Instant(microseconds: change.time), endsCommit: change.endsCommit, before: before,
      after: after)
  }
}
