internal import LMDB

/// Unique indexes and reference rules: decided for a request before it joins the group.
///
///     staged documents ─▶ deleted ones ─▶ documents that refer to them ─▶ staged, too ─▶ …
///                      └▶ new values   ─▶ documents that have them     ─▶ refused
///
/// Such a document is found in the request, in the group, or in the file. Entries in the file do not
/// count if the request or the group has changed their document.
extension CommitPlan {
  /// Throws `alreadyExists` for a value that another document has, `failedPrecondition` for a
  /// deletion that a rule forbids, and `resourceExhausted` for one that changes too many documents.
  mutating func enforceConstraints(on request: inout Request) throws {
    for staging in request.staged.indices { try note(staging, in: &request) }
    if request.isCopy { return }
    if !catalogue.references.isEmpty { try followDeletions(in: &request) }
    for index in catalogue.unique { try check(index, in: request) }
  }

  /// Notes what a finished document has in indexes with constraints.
  private func note(_ staging: Int, in request: inout Request) throws {
    let staged = request.staged[staging]
    // A new document that a rule deletes is no change, and has nothing any more.
    guard staged.isChange || request.constrained.keys[staged.document] != nil else { return }
    let path = documents[staged.document].name.path
    var keys: [[UInt8]] = []
    if staged.exists {
      let collectionID = path.parent.id
      for index in catalogue.constrained
      where UTF8Order.areEqual(index.definition.collectionID, collectionID) {
        keys += try values(of: staged.body, at: path, in: index)
      }
    }
    request.constrained.set(staged.document, to: keys)
  }

  private func values(
    of body: DocumentBody, at path: ResourcePath, in index: StoredIndex
  ) throws -> [[UInt8]] {
    try body.withBytes {
      try EntryExtractor(index).uniqueKeys(of: path, MapView(body: $0))
    }
  }

  // MARK: Documents with a value

  /// Calls `body` with the path of every document that has the key after the request, until it
  /// returns false.
  private func forEachDocument(
    with key: [UInt8], in index: StoredIndex, of collection: ResourcePath?, _ request: Request,
    _ body: (ResourcePath) throws -> Bool
  ) throws {
    for document in request.constrained.documents(with: key)
    where try !body(documents[document].name.path) { return }
    for document in constrained.documents(with: key)
    where request.constrained.keys[document] == nil {
      if try !body(documents[document].name.path) { return }
    }
    let scan = try EntryScan(EntryRange(index, in: collection, values: key), in: store)
    while let entry = try scan.next() {
      let path = try scan.path(of: entry)
      if isChanged(path, in: request) { continue }
      if try !body(path) { return }
    }
  }

  /// Whether the group or the request has changed the document.
  private func isChanged(_ path: ResourcePath, in request: Request) -> Bool {
    guard let index = indexes[store.name(path)] else { return false }
    return documents[index].isChanged || request.constrained.keys[index] != nil
  }

  // MARK: Unique indexes

  private func check(_ index: StoredIndex, in request: Request) throws {
    for staged in request.staged where staged.isChange && staged.exists {
      let document = documents[staged.document]
      let path = document.name.path
      guard UTF8Order.areEqual(index.definition.collectionID, path.parent.id) else { continue }
      let before = try document.version.map { try values(of: $0.body, at: path, in: index) } ?? []
      for key in try values(of: staged.body, at: path, in: index) where !before.contains(key) {
        let collection = index.isGroup ? nil : path.parent
        try forEachDocument(with: key, in: index, of: collection, request) { other in
          if other == path { return true }
          throw Status.duplicate(of: other, at: path, index.definition)
        }
      }
    }
  }

  // MARK: References

  /// Deletes and changes the documents that refer to those that the request deletes.
  private mutating func followDeletions(in request: inout Request) throws {
    var deleted = request.staged.filter { isDeleted($0) }.map(\.document)
    var restricted: [(index: StoredIndex, path: ResourcePath)] = []
    var bytes = 0
    while let document = deleted.popLast() {
      let path = documents[document].name.path
      for index in catalogue.references {
        guard let rule = index.definition.referenceRule,
          UTF8Order.areEqual(rule.target, path.parent.id)
        else { continue }
        guard rule.action != .restrict else {
          restricted.append((index, path))
          continue
        }
        let room = Limits.cascadedDocuments - request.cascaded.count
        let referring = try referring(to: path, by: index, upTo: room + 1, request)
        guard referring.count <= room else { throw Status.tooManyReferences(to: path) }
        for other in referring {
          let (staging, _) = try stage(
            index.definition.mutation(of: other, afterDeleting: path), in: &request)
          bytes += documents[request.staged[staging].document].version?.body.bytes.count ?? 0
          guard bytes <= Limits.cascadedBytes else { throw Status.tooManyReferences(to: path) }
          try finish(&request.staged[staging])
          try note(staging, in: &request)
          request.cascaded.append(other)
          // Also a new document: others of the request may refer to it.
          let staged = request.staged[staging]
          if !staged.exists { deleted.append(staged.document) }
        }
      }
    }
    for (index, path) in restricted {
      guard let other = try referring(to: path, by: index, upTo: 1, request).first else { continue }
      throw Status.referenced(path, by: other, index.definition)
    }
  }

  private func isDeleted(_ staged: StagedDocument) -> Bool {
    !staged.exists && documents[staged.document].version != nil
  }

  /// The documents that refer to `path` after the request, at most `limit`.
  private func referring(
    to path: ResourcePath, by index: StoredIndex, upTo limit: Int, _ request: Request
  ) throws -> [ResourcePath] {
    var found: [ResourcePath] = []
    guard index.isReady else {
      // Not all entries are there: look at every document.
      for other in try unindexed(referringTo: path, by: index)
      where !isChanged(other, in: request) && found.count < limit { found.append(other) }
      let key = index.key(of: path)
      for document in constrained.documents(with: key)
      where request.constrained.keys[document] == nil {
        found.append(documents[document].name.path)
      }
      found += request.constrained.documents(with: key).map { documents[$0].name.path }
      return found
    }
    try forEachDocument(with: index.key(of: path), in: index, of: nil, request) { other in
      found.append(other)
      return found.count < limit
    }
    return found
  }

  private func unindexed(
    referringTo path: ResourcePath, by index: StoredIndex
  ) throws -> [ResourcePath] {
    let query = index.definition.query(referringTo: path)
    return try store.documents(matching: EffectiveQuery(query)).map(\.path)
  }
}

extension StoredIndex {
  /// The key of all entries that refer to a document, in an index of references.
  fileprivate func key(of path: ResourcePath) -> [UInt8] {
    var range = EntryRange(self)
    range.fix(.reference(path))
    return range.prefix
  }
}
