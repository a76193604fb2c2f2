internal import LMDB

/// The state of a file, in a write transaction in which nothing is put while requests are planned.
struct FileState: PlanState {
  let snapshot: StoreSnapshot
  let catalogue: IndexCatalogue
  let state: StoreState
  private let hasTombstones: Bool
  let log = Log()

  /// Encodes each change at once: it keeps no versions.
  final class Log {
    var records = ChangeRecord.Builder()
  }

  /// - Parameter earlier: The time of a commit that changed nothing, so that the file does not have
  ///   it.
  init(_ snapshot: StoreSnapshot, after earlier: Instant? = nil) throws {
    self.snapshot = snapshot
    catalogue = try snapshot.indexes()
    var state = try snapshot.state()
    try StoreState.check(state.lastSequence)
    if let earlier { state.lastCommitTime = max(state.lastCommitTime, earlier) }
    self.state = state
    hasTombstones = try snapshot.lmdb.statistics(snapshot.tables.tombstones).entries > 0
  }

  func name(_ path: ResourcePath) -> DocumentName { snapshot.name(path) }

  func load(_ name: DocumentName, _ planned: inout Set<[UInt8]>) throws -> CommitPlan.Document {
    if let (key, record) = try snapshot.storedEntry(of: name) {
      // Damage does not prevent that a document is replaced.
      let version = try key.withUnsafeBytes {
        try snapshot.copy(
          StoredEntry(key: $0, record: record), path: name.path,
          verifies: snapshot.store.configuration.verifiesChecksumsOnRead)
      }
      return CommitPlan.Document(
        name: name, key: key, stored: record, storedTombstone: 0, tombstone: 0, version: version)
    }
    let tombstone = hasTombstones ? try snapshot.tombstone(of: name) : 0
    var document = CommitPlan.Document(
      name: name, key: name.key.bytes, stored: nil, storedTombstone: tombstone,
      tombstone: tombstone)
    if name.key.isTruncated {
      document.key = try snapshot.tables.documentsByName.freeKey(name.key, in: snapshot.lmdb) {
        planned.contains($0)
      }
      planned.insert(document.key)
    }
    return document
  }

  func document(_ name: DocumentName) throws -> StoredDocument? { try snapshot.document(name) }

  func body(of name: DocumentName) throws -> CommitPlan.Body {
    .stored(try snapshot.body(of: name))
  }

  func updateTime(of name: DocumentName) throws -> Instant? { try snapshot.updateTime(of: name) }

  func answer(
    _ request: ReadRequest, replacing versions: [PlannedVersion], _ tracing: QueryTracing
  ) throws -> ReadAnswer {
    try StoreView(snapshot, versions.isEmpty ? .stored : .planned(versions), tracing).answer(
      request)
  }

  func forEachPath(
    with key: [UInt8], in index: StoredIndex, of collection: ResourcePath?,
    _ body: (ResourcePath) throws -> Bool
  ) throws {
    let scan = try EntryScan(EntryRange(index, in: collection, values: key), in: snapshot)
    while let entry = try scan.next() {
      if try !body(scan.path(of: entry)) { return }
    }
  }

  func isUntouched(
    _ scope: StructuredQuery.Scope, since sequence: UInt64, _ state: StoreState
  ) throws -> Bool {
    guard sequence < state.lastSequence else { return true }
    guard sequence &+ 1 >= state.firstLoggedSequence else { return false }
    var isUntouched = true
    try snapshot.changes(after: sequence, in: scope) { _ in
      isUntouched = false
      return false
    }
    return isUntouched
  }

  /// A question is a look-up in the file.
  func prepare(_ questions: () throws -> [PlanQuestion]) {}

  func record(_ planned: PlannedChange, of document: CommitPlan.Document) {
    var change = Change(
      sequence: planned.sequence, kind: planned.kind, path: planned.path,
      commitTime: planned.commitTime, startsCommit: planned.startsCommit,
      previousSequence: planned.previousSequence, before: nil)
    guard let old = planned.before, document.isChanged else {
      change.before = planned.before == nil ? nil : document.stored
      return log.records.append(change)
    }
    document.record(of: old) { BodyParts($0) }.withUnsafeBytes { record in
      change.before = record
      log.records.append(change)
    }
  }
}

/// The puts and deletes of a planned group.
extension CommitPlan {
  /// One put, or a delete if the value is nil.
  struct Step {
    var table: Table
    var key: [UInt8]
    var value: [UInt8]?
    var isAppend = false
  }

  /// Puts and deletes everything. `state` is then the file's state.
  mutating func apply(
    to transaction: inout WriteTransaction, of file: FileState, trimming trim: ChangeLogTrim
  ) throws {
    let store = file.snapshot
    // All reads of the file come before the first put.
    let records = file.log.records.finish()
    let (trimmed, firstLogged) = try trim.plan(store, adding: records.count)
    state.firstLoggedSequence = firstLogged ?? state.firstLoggedSequence
    var steps = trimmed
    steps += try catalogueSteps(store)
    steps += try tombstoneSteps(store)
    steps += try expirationSteps(store)
    let index = try ChangeLogIndex.plan(store, from: base, to: state, adding: records)
    if let index {
      steps += index.steps.map {
        Step(table: store.tables.logIndex, key: $0.key, value: $0.value)
      }
      state.indexedSequence = index.indexed
    }
    let changed = documents.indices.filter { documents[$0].isChanged }.sorted {
      precedes(documents[$0].key, documents[$1].key)
    }

    var entries = EntryChanges(store, catalogue)
    var builder = FieldNameTableBuilder(store)
    var nameTables: [FieldNameTable?] = []
    for index in changed {
      let document = documents[index]
      nameTables.append(
        try document.version.flatMap { try builder.nameTable(of: $0.body, key: document.key) })
      try entries.add(
        document.name.path,
        from: document.stored.map { try store.body(DocumentRecord.storedBody(of: $0)) },
        to: document.version?.body)
    }

    let scratch = DocumentWriter.borrow()
    defer { scratch.giveBack() }
    let table = store.tables.documents
    var end = try AppendDetector(table, in: transaction.snapshot)
    for (index, nameTable) in zip(changed, nameTables) {
      let key = documents[index].key
      let record = try documents[index].version.map {
        try documents[index].record(of: $0) {
          try BodyParts($0, nameTable: nameTable, scratch: scratch)
        }
      }
      let isAppend = record != nil && key.withUnsafeBytes { end.isPassed(by: $0) }
      try put(Step(table: table, key: key, value: record, isAppend: isAppend), to: &transaction)
    }
    try entries.apply(to: &transaction)
    for step in steps { try put(step, to: &transaction) }
    for (table, key, value) in builder.steps { try transaction.put(table, key, value) }
    for record in records {
      try put(
        Step(
          table: store.tables.changes, key: KeyLayout.sequenceKey(record.first),
          value: record.bytes, isAppend: true),
        to: &transaction)
    }
    try put(
      Step(table: store.tables.meta, key: StoreState.key, value: state.encoded()),
      to: &transaction)
  }

  private func precedes(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.withUnsafeBytes { one in other.withUnsafeBytes { UTF8Order.compare(one, $0) < 0 } }
  }

  private func put(_ step: Step, to transaction: inout WriteTransaction) throws {
    try transaction.put(step.table, step.key, step.value, append: step.isAppend)
  }

  private func catalogueSteps(_ store: StoreSnapshot) throws -> [Step] {
    let catalogue = store.tables.collectionsByName
    var steps: [Step] = []
    var planned: Set<[UInt8]> = []
    for (path, change) in counts.changes where change != 0 {
      let truncated = store.keyLimit.catalogueKey(path)
      let entry = try catalogue.number(truncated, of: path, in: store.lmdb)
      let (count, overflow) = Int64(clamping: entry?.number ?? 0).addingReportingOverflow(change)
      guard !overflow, count >= 0 else {
        throw Status.dataLoss(
          "The catalogue counts fewer documents in \(path.text) than there are.")
      }
      let key =
        try entry?.key ?? catalogue.freeKey(truncated, in: store.lmdb) { planned.contains($0) }
      planned.insert(key)
      steps.append(
        Step(
          table: catalogue.table, key: key,
          value: count == 0
            ? nil
            : NumberRecord.encode(
              UInt64(count), path: path, key: key, isTruncated: truncated.isTruncated)))
    }
    return steps
  }

  private func expirationSteps(_ store: StoreSnapshot) throws -> [Step] {
    var expirations = ExpirationChanges(store, try TTLPolicies.read(store.lmdb, store.tables))
    guard !expirations.isIdle else { return [] }
    for document in documents where document.isChanged {
      let before = try document.stored.map {
        try store.body(DocumentRecord.storedBody(of: $0))
      }
      let after = document.version?.body
      guard let after else {
        try expirations.change(document.name.path, key: document.key, from: before, to: nil)
        continue
      }
      try after.withBytes {
        try expirations.change(
          document.name.path, key: document.key, from: before, to: StoredBody($0))
      }
    }
    return expirations.steps.map {
      Step(table: store.tables.expirations, key: $0.key, value: $0.value)
    }
  }

  private func tombstoneSteps(_ store: StoreSnapshot) throws -> [Step] {
    let table = store.tables.tombstonesByName
    var steps: [Step] = []
    var planned: Set<[UInt8]> = []
    for document in documents where document.tombstone != document.storedTombstone {
      let name = document.name
      let entry = try table.entry(name.key, of: name.path, in: store.lmdb)
      guard document.tombstone != 0 else {
        if let entry { steps.append(Step(table: table.table, key: entry.key, value: nil)) }
        continue
      }
      let key =
        try entry?.key ?? table.freeKey(name.key, in: store.lmdb) { planned.contains($0) }
      planned.insert(key)
      steps.append(
        Step(
          table: table.table, key: key,
          value: NumberRecord.encode(
            document.tombstone, path: name.path, key: key, isTruncated: name.key.isTruncated)))
    }
    return steps
  }
}
