/// Unique indexes and reference rules.
///
///     a write that deletes ─▶ documents that refer to it ─▶ staged, too ─▶ …      at once
///     the whole request    ─▶ deleted, and still referred to              ─▶ refused
///                          ├▶ new references ─▶ no such document            ─▶ refused
///                          └▶ new values ─▶ documents that have them      ─▶ refused
///
/// A deletion is followed at once, so that the request's reads and writes after it meet what the rules
/// leave. Rules that restrict, documents that must exist, and unique values are checked when the request
/// is complete: its writes may come in any order. A document is found in the request, in the group, or in
/// the file. Entries in the file do not count if the request or the group has changed their document.
extension CommitPlan {
  /// Throws `alreadyExists` for a value that another document has, and `failedPrecondition` for a
  /// deletion that a rule forbids, or a reference to a document that must exist. All staged documents are
  /// finished.
  mutating func enforceConstraints(on request: inout Request) throws {
    for staging in request.staged.indices { try note(staging, in: &request) }
    if request.isCopy { return }
    try store.prepare { questions(after: request) }
    try checkRestrictions(in: request)
    for index in catalogue.requiring { try checkTargets(of: index.definition, in: request) }
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

  // MARK: Questions

  /// Reads ahead for writes. A request may need more than they show.
  func prepare(for mutations: [Mutation]) throws {
    if catalogue.constrained.isEmpty { return }
    try store.prepare {
      mutations.flatMap { mutation -> [PlanQuestion] in
        switch mutation.operation {
        case .delete: questions(afterDeleting: mutation.path)
        case .set(let body): questions(afterSetting: mutation.path, to: body)
        case .patch, .verify: []
        }
      }
    }
  }

  private func questions(after request: Request) -> [PlanQuestion] {
    request.staged.flatMap { staged in
      let path = documents[staged.document].name.path
      if !staged.exists { return staged.wasDeleted ? questions(afterDeleting: path) : [] }
      return staged.isChange ? questions(afterSetting: path, to: staged.body) : []
    }
  }

  private func questions(afterDeleting path: ResourcePath) -> [PlanQuestion] {
    rules(for: path, .cascade, .nullify, .restrict).filter(\.isComplete)
      .map { .paths(key: $0.key(of: path), $0, of: nil) }
  }

  /// Nothing of a body that cannot be read: its own request is refused.
  private func questions(
    afterSetting path: ResourcePath, to body: DocumentBody
  ) -> [PlanQuestion] {
    let collectionID = path.parent.id
    var questions: [PlanQuestion] = []
    for index in catalogue.unique
    where UTF8Order.areEqual(index.definition.collectionID, collectionID) {
      let keys = (try? values(of: body, at: path, in: index)) ?? []
      questions += keys.map { .paths(key: $0, index, of: index.isGroup ? nil : path.parent) }
    }
    for index in catalogue.requiring
    where UTF8Order.areEqual(index.definition.collectionID, collectionID) {
      let targets = (try? references(of: index.definition, in: body)) ?? []
      questions += targets.map { .document(store.name($0)) }
    }
    return questions
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
    where documents[document].isChanged && request.constrained.keys[document] == nil {
      if try !body(documents[document].name.path) { return }
    }
    try store.forEachPath(with: key, in: index, of: collection) { path in
      try isChanged(path, in: request) || body(path)
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
      let before = Set(
        try document.version.map { try values(of: $0.body, at: path, in: index) } ?? [])
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

  /// Deletes and changes the documents that refer to a staged document that a write has deleted.
  /// Throws `resourceExhausted` for too many; the request fails with it.
  mutating func followRules(
    of staging: Int, isDeletion: Bool, in request: inout Request
  ) throws {
    noteLater(staging, in: &request)
    let document = request.staged[staging].document
    guard isDeletion, !rules(for: documents[document].name.path, .cascade, .nullify).isEmpty else {
      return
    }
    while let unnoted = request.unnoted.popLast() { try noteReferences(of: unnoted, in: &request) }
    var deleted = [document]
    do {
      // For so many of them the state is prepared.
      var preparedCount = 0
      while !deleted.isEmpty {
        if preparedCount < deleted.count {
          try store.prepare {
            deleted[preparedCount...].flatMap {
              questions(afterDeleting: documents[$0].name.path)
            }
          }
        }
        let document = deleted.removeLast()
        preparedCount = deleted.count
        try followDeletion(of: documents[document].name.path, in: &request, &deleted)
      }
    } catch let error as Status {
      request.failure = error
      throw error
    }
  }

  private mutating func followDeletion(
    of path: ResourcePath, in request: inout Request, _ deleted: inout [Int]
  ) throws {
    for index in rules(for: path, .cascade, .nullify) {
      let room = Limits.cascadedDocuments - request.cascaded.count
      let referring = try referring(to: path, by: index, upTo: room + 1, request)
      guard referring.count <= room else { throw Status.tooManyReferences(to: path) }
      for other in referring {
        let (staging, _, isDeletion) = try stage(
          index.definition.mutation(of: other, afterDeleting: path), in: &request)
        let document = request.staged[staging].document
        request.cascadedBytes += documents[document].version?.body.bytes.count ?? 0
        guard request.cascadedBytes <= Limits.cascadedBytes else {
          throw Status.tooManyReferences(to: path)
        }
        try noteReferences(of: staging, in: &request)
        request.cascaded.append(other)
        guard isDeletion else { continue }
        request.staged[staging].isDeletedByRule = true
        deleted.append(document)
      }
    }
  }

  /// The rules with one of these actions for references to a document.
  private func rules(
    for path: ResourcePath, _ actions: ReferenceRule.Action...
  ) -> [StoredIndex] {
    catalogue.references.filter { index in
      guard let rule = index.definition.referenceRule else { return false }
      return actions.contains(rule.action) && UTF8Order.areEqual(rule.target, path.parent.id)
    }
  }

  /// Throws `failedPrecondition` if the request has deleted a document that others refer to, and that
  /// must not be deleted then.
  private func checkRestrictions(in request: Request) throws {
    for staged in request.staged where staged.wasDeleted && !staged.exists {
      let path = documents[staged.document].name.path
      for index in rules(for: path, .restrict) {
        guard let other = try referring(to: path, by: index, upTo: 1, request).first else {
          continue
        }
        throw Status.referenced(path, by: other, index.definition)
      }
    }
  }

  /// Throws `failedPrecondition` if the request leaves a reference to a document that does not exist,
  /// where a rule demands that it does. A reference that the document had before may stay, unless the
  /// request deletes the document that it refers to: without that, it is older than the rule if it
  /// dangles.
  private func checkTargets(of rule: IndexDefinition, in request: Request) throws {
    // A document may have values without being a change: a rule has removed a reference, and a later
    // write has stored it again.
    for staged in request.staged
    where request.constrained.keys[staged.document]?.isEmpty == false {
      let referring = documents[staged.document]
      let path = referring.name.path
      guard UTF8Order.areEqual(rule.collectionID, path.parent.id) else { continue }
      let targets = try references(of: rule, in: staged.body)
      if targets.isEmpty { continue }
      let before = Set(try referring.version.map { try references(of: rule, in: $0.body) } ?? [])
      for target in targets {
        let name = store.name(target)
        let known = indexes[name].map { documents[$0] }
        let staged = known?.staging.map { request.staged[$0] }
        if before.contains(target), staged == nil || known?.version == nil { continue }
        let exists =
          try staged?.exists ?? known.map { $0.version != nil }
          ?? (store.updateTime(of: name) != nil)
        if !exists { throw Status.dangling(target, in: path, rule) }
      }
    }
  }

  private func references(
    of rule: IndexDefinition, in body: DocumentBody
  ) throws -> [ResourcePath] {
    let value = try body.withView { body throws(Status) in
      try body.value(at: rule.components[0].field)?
        .value(depthLeft: DocumentFormat.maximumDepth)
    }
    return rule.references(in: value)
  }

  private func noteLater(_ staging: Int, in request: inout Request) {
    guard request.staged[staging].hasNotedReferences else { return }
    request.staged[staging].hasNotedReferences = false
    request.unnoted.append(staging)
  }

  /// Notes what a staged document refers to, without encoding it.
  private func noteReferences(of staging: Int, in request: inout Request) throws {
    request.staged[staging].hasNotedReferences = true
    let document = request.staged[staging].document
    let collectionID = documents[document].name.path.parent.id
    var keys: [[UInt8]] = []
    var isConstrained = false
    for index in catalogue.references
    where UTF8Order.areEqual(index.definition.collectionID, collectionID) {
      isConstrained = true
      guard request.staged[staging].exists else { continue }
      let field = index.definition.components[0].field
      let targets =
        request.staged[staging].edits == nil
        ? try references(of: index.definition, in: request.staged[staging].body)
        : index.definition.references(
          in: try request.staged[staging].edits?.value(at: field.names))
      keys += targets.map { index.key(of: $0) }
    }
    if isConstrained { request.constrained.set(document, to: keys) }
  }

  /// The documents that refer to `path` after the request, at most `limit`.
  private func referring(
    to path: ResourcePath, by index: StoredIndex, upTo limit: Int, _ request: Request
  ) throws -> [ResourcePath] {
    var found: [ResourcePath] = []
    guard index.isComplete else {
      // Not all entries are there: look at every document.
      for other in try unindexed(referringTo: path, by: index)
      where !isChanged(other, in: request) && found.count < limit { found.append(other) }
      let key = index.key(of: path)
      for document in constrained.documents(with: key)
      where documents[document].isChanged && request.constrained.keys[document] == nil {
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
    return try store.answer(.results(EffectiveQuery(query)), replacing: [], .none).results.map(
      \.path)
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
