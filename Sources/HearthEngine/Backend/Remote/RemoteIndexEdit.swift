/// Changes of a store's indexes, under its lock.
struct RemoteIndexEdit {
  private let catalogue: RemoteCatalogue
  private let writing: any RemoteWriting
  var batch: RemoteBatch

  /// How many documents one step indexes.
  private static let stepCount = 500

  init(
    _ catalogue: RemoteCatalogue, _ writing: any RemoteWriting, id: [UInt8], record: RemoteRecord
  ) {
    self.catalogue = catalogue
    self.writing = writing
    batch = RemoteBatch(id: id, record: record)
  }

  var hasChanges: Bool { !batch.indexes.isEmpty }

  /// Adds an index that has no entries yet. An invalid one is verified again.
  mutating func declare(_ definition: IndexDefinition) throws(Status) {
    let stored = definition.stored
    if let known = catalogue.indexes.first(where: { $0.definition.hasSameReferences(as: stored) }) {
      guard known.definition != stored else { return }
      var changed = known
      changed.definition = stored
      return put(changed)
    }
    if var known = catalogue.index(definition) {
      guard case .invalid = known.state else { return }
      known.state = .verifying
      return put(known)
    }
    let numbers = catalogue.indexes.map(\.number) + Array(batch.indexes.keys)
    put(
      StoredIndex(
        number: (numbers.max() ?? 0) + 1, definition: stored,
        state: .building(documents: 0, upTo: []), origin: .declared))
  }

  mutating func drop(_ definition: IndexDefinition) {
    guard let known = catalogue.index(definition) else { return }
    batch.indexes[known.number] = .some(nil)
  }

  /// Sets the TTL policy of a collection id, and declares the index by which its expired documents
  /// are found; a nil field removes the policy.
  mutating func setTTL(_ collectionID: String, _ field: FieldSegments?) throws(Status) {
    var policies = catalogue.policies
    guard policies[collectionID]?.field != field else { return }
    policies[collectionID] = field.map { TTLPolicies.Rule(collectionID: collectionID, field: $0) }
    batch.indexes[RemoteCatalogue.policiesNumber] =
      policies.rules.isEmpty ? .some(nil) : policies.encoded()
    guard let field else { return }
    try declare(
      IndexDefinition(
        collectionID, scope: .group, [IndexDefinition.Component(field: field, kind: .ascending)]))
  }

  private mutating func put(_ index: StoredIndex) { batch.indexes[index.number] = index.encoded() }

  /// The next step of every unfinished index.
  mutating func buildFurther() throws(Status) {
    for var index in catalogue.indexes {
      switch index.state {
      case .building(let documents, let position):
        try advance(&index, documents, after: position)
      case .verifying:
        let duplicates = try duplicates(in: index)
        index.state = duplicates.values == 0 ? .ready : .invalid(duplicates)
      case .ready, .invalid, .dropping: continue
      }
      put(index)
    }
  }

  private mutating func advance(
    _ index: inout StoredIndex, _ documents: UInt64, after position: [UInt8]
  ) throws(Status) {
    let (page, isLast) = try page(of: index, after: position)
    for document in page {
      let path = document.path
      for key in try index.entryKeys(of: document) {
        batch.addedEntries.append(
          RemoteEntry(index: index.number, key: key, document: RemoteKey(path)))
      }
    }
    guard let last = page.last, !isLast else {
      index.state = index.definition.isUnique ? .verifying : .ready
      return
    }
    index.state = .building(
      documents: documents + UInt64(page.count), upTo: Array(last.path.text.utf8))
  }

  private func page(
    of index: StoredIndex, after position: [UInt8]
  ) throws(Status) -> (page: [StoredDocument], isLast: Bool) {
    let limits = RemoteLimits(count: Self.stepCount)
    var request = RemoteRead()
    request.scopes = [
      .following(
        Array(index.definition.collectionID.utf8),
        after: position.isEmpty ? nil : RemoteKey(try ResourcePath(remote: position)), limits)
    ]
    let answer = try writing.read(request)
    var page: [StoredDocument] = []
    for document in answer.documents { page.append(try StoredDocument(document)) }
    return (page, !answer.reaches(limits))
  }

  private func duplicates(in index: StoredIndex) throws(Status) -> IndexDuplicates {
    var seen: [[UInt8]: (first: ResourcePath, isCounted: Bool)] = [:]
    var found = IndexDuplicates()
    var position: [UInt8] = []
    while true {
      let (page, isLast) = try page(of: index, after: position)
      for document in page {
        let path = document.path
        for key in try index.uniqueKeys(of: document) {
          guard let known = seen[key] else {
            seen[key] = (path, false)
            continue
          }
          if known.first == path || known.isCounted { continue }
          seen[key] = (known.first, true)
          found.values += 1
          if found.examples.count < IndexDuplicates.exampleLimit {
            found.examples.append(.init(first: known.first, second: path))
          }
        }
      }
      guard let last = page.last, !isLast else { return found }
      position = Array(last.path.text.utf8)
    }
  }
}

extension StoredIndex {
  fileprivate func entryKeys(of document: StoredDocument) throws(Status) -> [[UInt8]] {
    guard UTF8Order.areEqual(document.path.parent.id, definition.collectionID) else { return [] }
    // Words are searched for in the documents.
    if definition.words != nil { return [] }
    do {
      var keys: [[UInt8]] = []
      try document.body.withBytes { body in
        try EntryExtractor(self).forEachEntry(of: document.path, MapView(body: body)) { key, _ in
          keys.append(Array(key))
        }
      }
      return keys
    } catch {
      throw Status(readingFailed: error)
    }
  }

  fileprivate func uniqueKeys(of document: StoredDocument) throws(Status) -> [[UInt8]] {
    do {
      return try document.body.withBytes {
        try EntryExtractor(self).uniqueKeys(of: document.path, MapView(body: $0))
      }
    } catch {
      throw Status(readingFailed: error)
    }
  }
}

extension RemoteCatalogue {
  /// Whether writing the documents depends on others.
  func constrains(_ mutations: [Mutation]) -> Bool {
    let definitions = constraints.map(\.definition)
    if definitions.isEmpty { return false }
    return mutations.contains { mutation in
      let collectionID = mutation.path.parent.id
      return definitions.contains { definition in
        if case .delete = mutation.operation {
          return definition.referenceRule.map { UTF8Order.areEqual($0.target, collectionID) }
            ?? false
        }
        return definition.isUnique && UTF8Order.areEqual(definition.collectionID, collectionID)
      }
    }
  }

  /// Whether an index may have entries of a document.
  func hasEntries(of document: RemoteKey) -> Bool {
    maintained.contains { index in
      index.definition.words == nil
        && index.definition.collectionID.utf8.elementsEqual(document.collectionID)
    }
  }

  /// All entries of a document.
  func entries(
    of document: StoredDocument
  ) throws(Status) -> [(index: UInt32, key: [UInt8])] {
    var entries: [(index: UInt32, key: [UInt8])] = []
    for index in maintained {
      for key in Set(try index.entryKeys(of: document)) { entries.append((index.number, key)) }
    }
    return entries
  }

  /// The changes of the entries of one document.
  func addEntries(of change: LoggedChange, to batch: inout RemoteBatch) throws(Status) {
    if maintained.isEmpty { return }
    let document = RemoteKey(change.path)
    for index in maintained {
      let before = Set(
        try change.before.map { one throws(Status) in try index.entryKeys(of: one) } ?? [])
      let after = Set(
        try change.after.map { one throws(Status) in try index.entryKeys(of: one) } ?? [])
      for key in before.subtracting(after) {
        batch.removedEntries.append(RemoteEntry(index: index.number, key: key, document: document))
      }
      for key in after.subtracting(before) {
        batch.addedEntries.append(RemoteEntry(index: index.number, key: key, document: document))
      }
    }
  }
}
