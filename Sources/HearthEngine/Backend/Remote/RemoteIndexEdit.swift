/// Changes of a store's indexes, under its lock.
struct RemoteIndexEdit {
  private let catalogue: RemoteCatalogue
  private let writing: any RemoteWriting
  var batch: RemoteBatch
  /// The indexes that this edit adds; the catalogue does not have them yet.
  private var added: Set<IndexDefinition> = []

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
    if var known = catalogue.indexes.first(where: { $0.definition.hasSameReferences(as: stored) }),
      known.definition != stored
    {
      known.replaceRule(by: stored)
      return put(known)
    }
    if var known = catalogue.index(definition) {
      guard case .invalid = known.state else { return }
      known.state = .verifying
      return put(known)
    }
    guard added.insert(stored).inserted else { return }
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

  /// The next step of every index that is being built.
  mutating func buildFurther() throws(Status) {
    for var index in catalogue.indexes {
      guard case .building(let documents, let position) = index.state else { continue }
      try advance(&index, documents, after: position)
      put(index)
    }
  }

  /// The end of a verification. Of an earlier generation it says nothing: another index may have the
  /// number now.
  mutating func conclude(_ verification: RemoteIndexVerification) {
    guard catalogue.generation == verification.generation else { return }
    for var index in catalogue.indexes {
      guard let violations = verification.violations[index.number] else { continue }
      index.state = violations.count == 0 ? .ready : .invalid(violations)
      put(index)
    }
  }

  private mutating func advance(
    _ index: inout StoredIndex, _ documents: UInt64, after position: [UInt8]
  ) throws(Status) {
    let (page, isLast) = try index.page(after: position, writing.read)
    for document in page {
      let path = document.path
      for key in try index.entryKeys(of: document) {
        batch.addedEntries.append(
          RemoteEntry(index: index.number, key: key, document: RemoteKey(path)))
      }
    }
    guard let last = page.last, !isLast else {
      index.state = index.definition.isVerified ? .verifying : .ready
      return
    }
    index.state = .building(
      documents: documents + UInt64(page.count), upTo: Array(last.path.text.utf8))
  }
}

extension StoredIndex {
  /// How many documents are read at once.
  private static let pageCount = 500

  /// Some of the documents that it may have entries of, in the store's order.
  ///
  /// - Parameter position: The path of the last document before them, in UTF-8; empty at the beginning.
  func page(
    after position: [UInt8], _ read: (RemoteRead) throws(Status) -> RemoteAnswer
  ) throws(Status) -> (page: [StoredDocument], isLast: Bool) {
    let limits = PageLimits(count: Self.pageCount)
    let scope = RemoteScope.following(
      Array(definition.collectionID.utf8),
      after: position.isEmpty ? nil : RemoteKey(try ResourcePath(remote: position)), limits)
    let answer = try read(RemoteRead(scopes: [scope]))
    return (try answer.stored(), !answer.reaches(limits))
  }

  fileprivate func entryKeys(of document: StoredDocument?) throws(Status) -> [[UInt8]] {
    guard let document, UTF8Order.areEqual(document.path.parent.id, definition.collectionID) else {
      return []
    }
    // Words are searched for in the documents.
    if definition.words != nil { return [] }
    var keys: [[UInt8]] = []
    try Status.ofReading {
      try document.body.withBytes { body in
        try EntryExtractor(self).forEachEntry(of: document.path, MapView(body: body)) { key, _ in
          keys.append(Array(key))
        }
      }
    }
    return keys
  }
}

extension RemoteCatalogue {
  /// Whether writing the documents depends on others.
  func constrains(_ mutations: [Mutation]) -> Bool {
    let definitions = all.constrained.map(\.definition)
    if definitions.isEmpty { return false }
    return mutations.contains { mutation in
      let collectionID = mutation.path.parent.id
      return definitions.contains { definition in
        if case .delete = mutation.operation {
          return definition.referenceRule.map { UTF8Order.areEqual($0.target, collectionID) }
            ?? false
        }
        return definition.isVerified && UTF8Order.areEqual(definition.collectionID, collectionID)
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
      let before = Set(try index.entryKeys(of: change.before))
      let after = Set(try index.entryKeys(of: change.after))
      let entry = { RemoteEntry(index: index.number, key: $0, document: document) }
      batch.removedEntries += before.subtracting(after).map(entry)
      batch.addedEntries += after.subtracting(before).map(entry)
    }
  }
}
