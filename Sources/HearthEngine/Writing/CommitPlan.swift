internal import LMDB

/// A group of requests planned against one write transaction, before anything is put.
///
///     request ─▶ drafts of its documents ─▶ all allowed? ─▶ versions, log, counts
///                                             └─ no: the drafts are dropped, and with them the request
///
/// Each request is planned on top of those before it and joins the group only if all of it can be
/// done: a refused one leaves no trace. What the group will put and delete is complete before the first
/// put, for LMDB moves pages then.
struct CommitPlan {
  /// A document that the group has looked at.
  private struct Document {
    let name: DocumentName
    /// Where it is stored, or will be.
    var key: [UInt8]
    /// The record in the file; borrowed, for nothing is put while requests are planned.
    let stored: UnsafeRawBufferPointer?
    /// The sequence that deleted it, as the file has it and as the group leaves it; 0 if none.
    let storedTombstone: UInt64
    var tombstone: UInt64
    /// As the group leaves it; nil if it is not there.
    var version: StoredDocument?
    var isChanged = false
    /// Of the request that is being planned, if it touches this document.
    var draft: Int?
  }

  /// A document while a request is planned: as the writes up to here leave it.
  fileprivate struct StagedDocument {
    let document: Int
    var exists: Bool
    var body: DocumentBody
    /// On top of the body, once a field was changed.
    var edits: FieldEdits?
    /// Deleted on the way: a later write makes a new document.
    var isRenewed = false
    var isChange = false

    /// Its fields, to be changed.
    var fields: FieldEdits { edits ?? FieldEdits(of: exists ? body : .empty) }
  }

  let store: StoreSnapshot
  private let now: Instant
  private(set) var state: StoreState
  private let base: StoreState
  private let hasTombstones: Bool
  private let catalogue: IndexCatalogue
  private var documents: [Document] = []
  private var indexes: [DocumentName: Int] = [:]
  private var plannedKeys: Set<[UInt8]> = []
  private var counts = CollectionCounts()
  private var log = ChangeRecord.Builder()

  init(_ store: StoreSnapshot, now: Instant, documentCount: Int) throws {
    self.store = store
    self.now = now
    state = try store.state()
    base = state
    catalogue = try store.indexes()
    documents.reserveCapacity(documentCount)
    indexes.reserveCapacity(documentCount)
    hasTombstones = try store.lmdb.statistics(store.tables.tombstones).entries > 0
  }

  /// Nothing is to be put: no request has changed anything.
  var isEmpty: Bool { state == base }
  /// About what is going to be put, in bytes.
  private(set) var byteCount = 0

  // MARK: A request

  /// A request while it is planned: what its writes up to here make of the documents they touch.
  struct Request {
    let time: Instant
    fileprivate var drafts: [StagedDocument] = []
    fileprivate var draftOfMutation: [Int] = []
    fileprivate var results: [MutationResult] = []

    fileprivate init(at time: Instant) { self.time = time }
  }

  /// Plans one request and takes it into the group. Throws `Status`, and the group is as before.
  mutating func plan(_ mutations: [Mutation]) throws -> CommitResult {
    var request = begin(expecting: mutations.count)
    defer { drop(request) }
    for mutation in mutations { try add(mutation, to: &request) }
    return try take(&request)
  }

  /// Begins a request, whose time is after that of all before it. End it with `drop`.
  func begin(expecting mutationCount: Int = 0) -> Request {
    var request = Request(
      at: max(now, Instant(microseconds: state.lastCommitTime.microseconds &+ 1)))
    request.draftOfMutation.reserveCapacity(mutationCount)
    request.results.reserveCapacity(mutationCount)
    return request
  }

  /// Plans one write on top of the request's others. Throws, and the request is as before.
  mutating func add(_ mutation: Mutation, to request: inout Request) throws {
    let index = try load(name(mutation.path))
    let draft = documents[index].draft ?? request.drafts.count
    let version = documents[index].version
    if mutation.keepsFields { try verify(documents[index]) }
    if draft == request.drafts.count {
      documents[index].draft = draft
      request.drafts.append(
        StagedDocument(document: index, exists: version != nil, body: version?.body ?? .empty))
    }
    let result = try apply(mutation, to: &request.drafts[draft], of: version, at: request.time)
    request.draftOfMutation.append(draft)
    request.results.append(result)
  }

  /// Takes a request into the group. Throws `Status`, and the group is as before.
  mutating func take(_ request: inout Request) throws -> CommitResult {
    for index in request.drafts.indices { try finish(&request.drafts[index]) }
    // Everything that can be refused has been, save for what the storage below refuses.
    let (time, drafts) = (request.time, request.drafts)
    for (mutation, index) in request.draftOfMutation.enumerated() where drafts[index].exists {
      let draft = drafts[index]
      request.results[mutation].updateTime =
        draft.isChange ? time : documents[draft.document].version?.updateTime
    }
    var startsCommit = true
    for draft in drafts where draft.isChange {
      take(draft, at: time, startsCommit: startsCommit)
      startsCommit = false
    }
    if !startsCommit { state.lastCommitTime = time }
    return CommitResult(
      commitTime: state.lastCommitTime, sequence: state.lastSequence, results: request.results)
  }

  /// Ends a request that was taken, or is not to be.
  mutating func drop(_ request: Request) {
    for draft in request.drafts { documents[draft.document].draft = nil }
  }

  func name(_ path: ResourcePath) -> DocumentName { store.name(path) }

  /// The document's place among `documents`, as the group has it by now.
  private mutating func load(_ name: DocumentName) throws -> Int {
    let next = documents.count
    let index = indexes[name, default: next].asked()
    guard index == next else { return index }
    do {
      documents.append(try read(name))
    } catch {
      indexes[name] = nil
      throw error
    }
    return index
  }

  private mutating func read(_ name: DocumentName) throws -> Document {
    if let (key, record) = try store.storedEntry(of: name) {
      let version = try key.withUnsafeBytes {
        try store.copyToReplace(record, key: $0, path: name.path)
      }
      return Document(
        name: name, key: key, stored: record, storedTombstone: 0, tombstone: 0, version: version)
    }
    let tombstone = hasTombstones ? try store.tombstone(of: name) : 0
    var document = Document(
      name: name, key: name.key.bytes, stored: nil, storedTombstone: tombstone,
      tombstone: tombstone)
    if name.key.isCut {
      document.key = try store.tables.documentsByName.freeKey(name.cut, in: store.lmdb) {
        plannedKeys.contains($0)
      }
      plannedKeys.insert(document.key)
    }
    return document
  }

  /// Throws `dataLoss` if the stored version is damaged. For fields that a write keeps, which are copied
  /// unseen and get a new checksum, and for what is read.
  private func verify(_ document: Document) throws {
    guard let stored = document.stored, !document.isChanged else { return }
    try document.key.withUnsafeBytes { try DocumentRecord(parsing: stored).verifyChecksum(key: $0) }
  }

  private func apply(
    _ mutation: Mutation, to draft: inout StagedDocument, of version: StoredDocument?,
    at time: Instant
  ) throws -> MutationResult {
    do throws(Status) {
      try mutation.precondition.check(
        mutation.path, exists: draft.exists, updateTime: version?.updateTime, at: time)
    } catch {
      guard case .verify = mutation.operation else { throw error }
      var contention = error
      contention.isContention = true
      throw contention
    }
    switch mutation.operation {
    case .verify:
      return MutationResult()
    case .delete:
      draft.exists = false
      draft.isRenewed = true
      draft.body = .empty
      draft.edits = nil
      return MutationResult()
    case .set(let body):
      draft.exists = true
      draft.body = body
      draft.edits = nil
    case .patch(let values, let mask):
      var fields = draft.fields
      for field in mask { try fields.set(values.value(at: field.names), at: field.names) }
      draft.exists = true
      draft.edits = fields
    }
    var result = MutationResult()
    guard !mutation.transforms.isEmpty else { return result }
    var fields = draft.fields
    for (field, transform) in mutation.transforms {
      let (value, told) = transform.apply(to: try fields.value(at: field.names), at: time)
      try fields.set(value, at: field.names)
      result.transformResults.append(told)
    }
    draft.edits = fields
    return result
  }

  /// Encodes what the writes made of a document, and sees whether that is a change.
  private func finish(_ draft: inout StagedDocument) throws {
    if draft.exists, let edits = draft.edits {
      draft.body = try edits.encoded()
      draft.edits = nil
    }
    let version = documents[draft.document].version
    switch (version, draft.exists) {
    case (nil, let exists): draft.isChange = exists
    case (_?, false): draft.isChange = true
    case (let version?, true): draft.isChange = draft.isRenewed || draft.body != version.body
    }
    if draft.isChange, draft.exists {
      let path = documents[draft.document].name.path
      try Limits.check(draft.body, at: path)
      try catalogue.check(draft.body, at: path)
    }
  }

  /// Joins a request's document to the group.
  private mutating func take(_ draft: StagedDocument, at time: Instant, startsCommit: Bool) {
    let index = draft.document
    let path = documents[index].name.path
    let old = documents[index].version
    state.lastSequence += 1
    let sequence = state.lastSequence
    let previous = old?.sequence ?? documents[index].tombstone
    let kind: Change.Kind = old == nil ? .created : (draft.exists ? .updated : .deleted)
    var change = Change(
      sequence: sequence, kind: kind, path: path, commitTime: time, startsCommit: startsCommit,
      previousSequence: previous >= state.firstLoggedSequence ? previous : 0, before: nil)
    if let old, documents[index].isChanged {
      encode(old, of: documents[index], { BodyParts($0) }).withUnsafeBytes { record in
        change.before = record
        log.append(change)
      }
    } else {
      change.before = old == nil ? nil : documents[index].stored
      log.append(change)
    }
    documents[index].version =
      draft.exists
      ? StoredDocument(
        path: path, sequence: sequence,
        createTime: draft.isRenewed ? time : old?.createTime ?? time, updateTime: time,
        body: draft.body) : nil
    documents[index].isChanged = true
    byteCount += 256 + draft.body.bytes.count
    documents[index].tombstone = kind == .deleted ? sequence : 0
    switch kind {
    case .created: counts.add(1, to: path)
    case .updated: break
    case .deleted: counts.add(-1, to: path)
    }
  }

  private func encode(
    _ version: StoredDocument, of document: Document,
    _ parts: (UnsafeRawBufferPointer) throws -> BodyParts
  ) rethrows -> [UInt8] {
    try version.body.withBytes { body in
      try document.key.withUnsafeBytes { key in
        DocumentRecord.encode(
          sequence: version.sequence, updateTime: version.updateTime,
          createTime: version.createTime,
          path: document.name.key.isCut ? version.path.text : nil,
          body: try parts(body), key: key)
      }
    }
  }

  // MARK: Reading what is planned

  /// A document as the group and the request leave it.
  mutating func document(
    _ name: DocumentName, in request: inout Request
  ) throws -> StoredDocument? {
    guard let index = indexes[name] else { return try store.document(name) }
    guard let draft = documents[index].draft else {
      try verify(documents[index])
      return documents[index].version
    }
    return try version(of: &request.drafts[draft], at: request.time)
  }

  enum Body {
    /// Borrowed: nothing is put while requests are planned. Nil if there is no document.
    case stored(StoredBody?)
    case planned(DocumentBody)
  }

  /// As `document`, its body only.
  mutating func body(of name: DocumentName, in request: inout Request) throws -> Body {
    guard indexes[name] != nil else { return .stored(try store.body(of: name)) }
    return try document(name, in: &request).map { .planned($0.body) } ?? .stored(nil)
  }

  /// As the group leaves it, without the request that is being planned.
  func updateTime(of name: DocumentName) throws -> Instant? {
    if let index = indexes[name] { return documents[index].version?.updateTime }
    return try store.updateTime(of: name)
  }

  /// What the group and the request change of what a query finds.
  mutating func patch(
    for query: EffectiveQuery, requiring fields: [FieldSegments] = [],
    in request: inout Request
  ) throws -> DocumentOverlay {
    var patch = DocumentOverlay(for: query, requiring: fields)
    for document in documents where query.scope.contains(document.name.path) {
      if let draft = document.draft {
        try patch.add(document.name.path, version(of: &request.drafts[draft], at: request.time))
      } else if document.isChanged {
        try patch.add(document.name.path, document.version)
      }
    }
    return patch
  }

  /// Whether the request has written within a scope.
  func hasDrafts(in scope: StructuredQuery.Scope) -> Bool {
    documents.contains { $0.draft != nil && scope.contains($0.name.path) }
  }

  private func version(of draft: inout StagedDocument, at time: Instant) throws -> StoredDocument? {
    guard draft.exists else { return nil }
    try finish(&draft)
    let old = documents[draft.document].version
    guard draft.isChange else {
      try verify(documents[draft.document])
      return old
    }
    return StoredDocument(
      path: documents[draft.document].name.path, sequence: state.lastSequence &+ 1,
      createTime: draft.isRenewed ? time : old?.createTime ?? time, updateTime: time,
      body: draft.body)
  }

  /// Throws `aborted` if what a request rests on is not so any more.
  mutating func check(_ premises: ReadSet) throws {
    var request = begin()
    if let time = premises.time, time != request.time { throw ReadSet.isGone }
    if let state = premises.state, state != self.state { throw ReadSet.isGone }
    for (path, updateTime) in premises.documents {
      guard try self.updateTime(of: name(path)) == updateTime else { throw ReadSet.isGone }
    }
    for seen in premises.results {
      if let sequence = seen.sequence, try isUntouched(seen.query.scope, since: sequence) {
        continue
      }
      let patch = try patch(for: seen.query, in: &request)
      guard try seen.holds(for: store.documents(matching: seen.query, with: patch)) else {
        throw ReadSet.isGone
      }
    }
  }

  /// No document of the scope was written since, as far as that can be told quickly.
  private func isUntouched(
    _ scope: StructuredQuery.Scope, since sequence: UInt64
  ) throws -> Bool {
    if documents.contains(where: { $0.isChanged && scope.contains($0.name.path) }) { return false }
    guard sequence < base.lastSequence else { return true }
    guard sequence &+ 1 >= base.firstLoggedSequence else { return false }
    var isUntouched = true
    try store.changes(after: sequence, in: scope) { _ in
      isUntouched = false
      return false
    }
    return isUntouched
  }

  // MARK: The whole group

  /// One put, or a delete where the value is nil.
  struct Step {
    var table: Table
    var key: [UInt8]
    var value: [UInt8]?
    var isAppend = false
  }

  /// Puts and deletes everything. `state` is then what the file says.
  mutating func apply(
    to transaction: inout WriteTransaction, trimming trim: ChangeLogTrim
  ) throws {
    // Whatever looks at the file comes before the first put.
    let records = log.finish()
    let (trimmed, firstLogged) = try trim.plan(store, adding: records.count)
    state.firstLoggedSequence = firstLogged ?? state.firstLoggedSequence
    var steps = try trimmed + catalogueSteps() + tombstoneSteps() + dueSteps()
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
    var maker = FieldNameTableBuilder(store)
    var shapes: [UInt32?] = []
    for index in changed {
      let document = documents[index]
      shapes.append(try document.version.flatMap { try maker.shape(of: $0.body) })
      try entries.add(
        document.name.path,
        from: document.stored.map { try store.body(DocumentRecord.storedBody(of: $0)) },
        to: document.version?.body)
    }

    let table = store.tables.documents
    var end = try AppendDetector(table, in: transaction.snapshot)
    for (index, shape) in zip(changed, shapes) {
      let key = documents[index].key
      let record = try documents[index].version.map {
        try encode($0, of: documents[index]) { try BodyParts($0, shape: shape) }
      }
      let isAppend = record != nil && key.withUnsafeBytes { end.isPassed(by: $0) }
      try put(Step(table: table, key: key, value: record, isAppend: isAppend), to: &transaction)
    }
    try entries.apply(to: &transaction)
    for step in steps { try put(step, to: &transaction) }
    for (table, key, value) in maker.steps { try transaction.put(table, key, value) }
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
    try step.key.withUnsafeBytes { key in
      guard let value = step.value else {
        try transaction.delete(step.table, key)
        return
      }
      _ = try value.withUnsafeBytes {
        try transaction.put(step.table, key, $0, append: step.isAppend)
      }
    }
  }

  private func catalogueSteps() throws -> [Step] {
    let catalogue = store.tables.collectionsByName
    var steps: [Step] = []
    var planned: Set<[UInt8]> = []
    for (path, change) in counts.changes where change != 0 {
      let cut = store.keyLimit.catalogueKey(path)
      let entry = try catalogue.entry(cut, of: path, in: store.lmdb)
      let old = try entry.map { key, value in
        try key.withUnsafeBytes { try NumberRecord.decode(value, key: $0) }
      }
      let (count, overflow) = Int64(clamping: old ?? 0).addingReportingOverflow(change)
      guard !overflow, count >= 0 else {
        throw Status.dataLoss(
          "The catalogue counts fewer documents in \(path.text) than there are.")
      }
      let key =
        try entry?.key ?? catalogue.freeKey(cut, in: store.lmdb) { planned.contains($0) }
      planned.insert(key)
      steps.append(
        Step(
          table: catalogue.table, key: key,
          value: count == 0
            ? nil
            : NumberRecord.encode(UInt64(count), path: path, key: key, isCut: cut.isCut)))
    }
    return steps
  }

  private func dueSteps() throws -> [Step] {
    var due = ExpirationChanges(store, try TTLPolicies.read(store.lmdb, store.tables))
    guard !due.isIdle else { return [] }
    for document in documents where document.isChanged {
      let before = try document.stored.map {
        try store.body(DocumentRecord.storedBody(of: $0))
      }
      let after = document.version?.body
      guard let after else {
        try due.change(document.name.path, key: document.key, from: before, to: nil)
        continue
      }
      try after.withBytes {
        try due.change(document.name.path, key: document.key, from: before, to: StoredBody($0))
      }
    }
    return due.steps.map { Step(table: store.tables.due, key: $0.key, value: $0.value) }
  }

  private func tombstoneSteps() throws -> [Step] {
    let table = store.tables.tombstonesByName
    var steps: [Step] = []
    var planned: Set<[UInt8]> = []
    for document in documents where document.tombstone != document.storedTombstone {
      let name = document.name
      let entry = try table.entry(name.cut, of: name.path, in: store.lmdb)
      guard document.tombstone != 0 else {
        if let entry { steps.append(Step(table: table.table, key: entry.key, value: nil)) }
        continue
      }
      let key = try entry?.key ?? table.freeKey(name.cut, in: store.lmdb) { planned.contains($0) }
      planned.insert(key)
      steps.append(
        Step(
          table: table.table, key: key,
          value: NumberRecord.encode(
            document.tombstone, path: name.path, key: key, isCut: name.key.isCut)))
    }
    return steps
  }
}

extension Int {
  /// Itself; a mutating access, so that a dictionary keeps the default it was asked with.
  fileprivate mutating func asked() -> Int { self }
}

/// How many documents more or fewer the collections of a group hold.
private struct CollectionCounts {
  private(set) var changes: [(path: ResourcePath, change: Int64)] = []
  private var indexes: [ResourcePath: Int] = [:]
  /// Documents of one collection often come together.
  private var latest = 0

  mutating func add(_ change: Int64, to document: ResourcePath) {
    if latest < changes.count, document.isDirectly(in: changes[latest].path) {
      changes[latest].change += change
      return
    }
    let collection = document.parent
    if let index = indexes[collection] {
      latest = index
      changes[index].change += change
      return
    }
    latest = changes.count
    indexes[collection] = latest
    changes.append((collection, change))
  }
}
