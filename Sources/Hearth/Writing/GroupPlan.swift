import LMDB

/// A group of requests planned against one write transaction, before anything is put.
///
/// Each request is planned on top of those before it and joins the group only if all of it can be
/// done: a refused one leaves no trace. What the group will put and delete, old versions and log
/// records included, is complete before the first put, for LMDB moves pages then.
struct GroupPlan {
  /// A document as the group leaves it.
  private struct Planned {
    var storedKey: [UInt8]
    /// Nil once deleted.
    var record: [UInt8]?
  }

  private let store: StoreSnapshot
  private let now: Instant
  private(set) var state: StoreState
  private let base: StoreState
  private var patch = Patch()
  private var planned: [DocumentName: Planned] = [:]
  private var tombstones: [DocumentName: UInt64?] = [:]
  private var countChanges: [ResourcePath: Int64] = [:]
  private var log = ChangeRecord.Builder()

  init(_ store: StoreSnapshot, now: Instant) throws {
    self.store = store
    self.now = now
    state = try store.state()
    base = state
  }

  /// Nothing is to be put: no request has changed anything.
  var isEmpty: Bool { state == base }

  // MARK: A request

  /// A document while a request is planned: as it was before the request, and as it is by now.
  private struct Working {
    let before: StoredDocument?
    let storedRecord: [UInt8]?
    let storedKey: [UInt8]?
    var exists: Bool
    /// The document's fields by now; read from the body once they are asked for.
    var body: DocumentBody
    var fields: MapValue?
    /// Deleted on the way: a later write makes a new document.
    var isRenewed = false

    mutating func loadedFields() throws -> MapValue {
      if let fields { return fields }
      let loaded = exists ? try body.map() : MapValue()
      fields = loaded
      return loaded
    }
  }

  /// Plans one request and takes it into the group. Throws `Status`, and the group is as before.
  mutating func plan(_ mutations: [Mutation]) throws -> CommitResult {
    let time = max(now, Instant(microseconds: state.lastCommitTime.microseconds + 1))
    var working: [DocumentName: Working] = [:]
    var order: [DocumentName] = []
    var results: [MutationResult] = []
    results.reserveCapacity(mutations.count)
    for mutation in mutations {
      let name = mutation.name
      if working[name] == nil {
        working[name] = try load(name)
        order.append(name)
      }
      guard var document = working.removeValue(forKey: name) else { continue }
      results.append(try apply(mutation, to: &document, at: time))
      working[name] = document
    }
    let changes = try take(order, working, at: time)
    for index in mutations.indices {
      let name = mutations[index].name
      switch mutations[index].operation {
      case .delete: break
      case .set, .patch, .verify:
        results[index].updateTime =
          changes.contains(name) ? time : working[name]?.before?.updateTime
      }
    }
    return CommitResult(
      commitTime: changes.isEmpty ? max(now, state.lastCommitTime) : time,
      sequence: state.lastSequence, results: results)
  }

  private func load(_ name: DocumentName) throws -> Working {
    if let version = patch[name] {
      let record = planned[name]
      return Working(
        before: version, storedRecord: record?.record, storedKey: record?.storedKey,
        exists: version != nil, body: version?.body ?? .empty)
    }
    guard let (key, record) = try store.storedEntry(of: name) else {
      return Working(
        before: nil, storedRecord: nil, storedKey: nil, exists: false, body: .empty)
    }
    let document = try key.withUnsafeBytes { try store.copy(record, key: $0, path: name.path) }
    return Working(
      before: document, storedRecord: Array(record), storedKey: key, exists: true,
      body: document.body)
  }

  private func apply(
    _ mutation: Mutation, to document: inout Working, at time: Instant
  ) throws -> MutationResult {
    try check(mutation.precondition, of: mutation.name.path, document, at: time)
    switch mutation.operation {
    case .verify:
      return MutationResult()
    case .delete:
      document.exists = false
      document.isRenewed = true
      document.body = .empty
      document.fields = nil
    case .set(let body):
      document.exists = true
      document.body = body
      document.fields = nil
    case .patch(let values, let mask):
      var fields = try document.loadedFields()
      for field in mask { fields.set(values.value(at: field.names), at: field.names) }
      document.exists = true
      document.fields = fields
    }
    var result = MutationResult()
    guard !mutation.transforms.isEmpty else { return result }
    var fields = try document.loadedFields()
    for (field, transform) in mutation.transforms {
      let (value, told) = transform.apply(to: fields.value(at: field.names), at: time)
      fields.set(value, at: field.names)
      result.transformResults.append(told)
    }
    document.exists = true
    document.fields = fields
    return result
  }

  private func check(
    _ precondition: Mutation.Precondition, of path: ResourcePath, _ document: Working,
    at time: Instant
  ) throws(Status) {
    switch precondition {
    case .none: break
    case .exists(true):
      guard document.exists else {
        throw Status(.notFound, "No document to update: \(path.text)")
      }
    case .exists(false):
      guard !document.exists else {
        throw Status(.alreadyExists, "Document already exists: \(path.text)")
      }
    case .updateTime(let wanted):
      guard wanted <= time else {
        throw .invalidArgument("The update time of the precondition is in the future.")
      }
      guard document.exists else {
        throw Status(.notFound, "No document to update: \(path.text)")
      }
      let found = document.before?.updateTime ?? time
      guard found == wanted else {
        throw Status(
          .failedPrecondition,
          "the stored version (\(found.microseconds)) does not match the required base version "
            + "(\(wanted.microseconds))")
      }
    }
  }

  /// Joins a request's documents to the group. The names of those that changed.
  private mutating func take(
    _ order: [DocumentName], _ working: [DocumentName: Working], at time: Instant
  ) throws -> Set<DocumentName> {
    var versions: [(name: DocumentName, document: Working, body: DocumentBody)] = []
    for name in order {
      guard let document = working[name] else { continue }
      let body: DocumentBody
      if document.exists, let fields = document.fields {
        try Limits.checkNesting(fields)
        body = try DocumentBody(encoding: fields)
      } else {
        body = document.body
      }
      let existed = document.before != nil
      if existed == document.exists,
        !existed || (!document.isRenewed && body == document.before?.body)
      {
        continue
      }
      if document.exists { try Limits.check(body, at: name.path) }
      versions.append((name, document, body))
    }
    // Everything that can be refused has been; from here on the group changes.
    var changed: Set<DocumentName> = []
    for (index, version) in versions.enumerated() {
      try take(version.name, version.document, version.body, at: time, startsCommit: index == 0)
      changed.insert(version.name)
    }
    if !changed.isEmpty { state.lastCommitTime = time }
    return changed
  }

  private mutating func take(
    _ name: DocumentName, _ document: Working, _ body: DocumentBody, at time: Instant,
    startsCommit: Bool
  ) throws {
    let before = document.before
    let kind: Change.Kind =
      before == nil ? .created : (document.exists ? .updated : .deleted)
    state.lastSequence += 1
    let sequence = state.lastSequence
    log.append(
      Change(
        sequence: sequence, kind: kind, path: name.path, commitTime: time,
        startsCommit: startsCommit,
        previousSequence: try before?.sequence ?? deletionSequence(of: name),
        before: document.storedRecord))
    var storedKey = document.storedKey
    if storedKey == nil {
      storedKey = try store.tables.documentsByName.freeKey(
        name.cut, planned: planned.values.lazy.map(\.storedKey), in: store.lmdb)
    }
    let key = storedKey ?? name.key.bytes
    var version: StoredDocument?
    var record: [UInt8]?
    if document.exists {
      let created = document.isRenewed ? time : before?.createTime ?? time
      version = StoredDocument(
        path: name.path, sequence: sequence, createTime: created, updateTime: time, body: body)
      record = body.withBytes { body in
        key.withUnsafeBytes {
          DocumentRecord.encode(
            sequence: sequence, updateTime: time, createTime: created,
            path: name.key.isCut ? name.path.text : nil, body: body, key: $0)
        }
      }
    }
    patch.set(name, to: version)
    planned[name] = Planned(storedKey: key, record: record)
    switch kind {
    case .created:
      countChanges[name.path.parent, default: 0] += 1
      tombstones[name] = .some(nil)
    case .updated: break
    case .deleted:
      countChanges[name.path.parent, default: 0] -= 1
      tombstones[name] = sequence
    }
  }

  /// The sequence that deleted this document last, while the log holds it; else 0.
  private func deletionSequence(of name: DocumentName) throws -> UInt64 {
    if let planned = tombstones[name] { return planned ?? 0 }
    guard
      let (key, value) = try store.tables.tombstonesByName.entry(
        name.cut, of: name.path, in: store.lmdb)
    else { return 0 }
    let sequence = try key.withUnsafeBytes { try NumberRecord.decode(value, key: $0) }
    return sequence >= state.firstLoggedSequence ? sequence : 0
  }

  // MARK: The whole group

  /// One put, or a delete where the value is nil.
  struct Step {
    var table: Table
    var key: [UInt8]
    var value: [UInt8]?
    var isAppend = false
  }

  /// What is to be done to the file, complete; in the order of keys within each table.
  mutating func steps(trimmingTo retention: ChangeLogTrim?) throws -> [Step] {
    let tables = store.tables
    var steps: [Step] = []
    steps.reserveCapacity(planned.count + 8)
    if let retention {
      let trim = try retention.plan(store, before: base)
      steps.append(contentsOf: trim.steps)
      state.firstLoggedSequence = trim.firstKept
    }
    let sorted = planned.values.sorted { $0.storedKey.lexicographicallyPrecedes($1.storedKey) }
    for document in sorted {
      steps.append(
        Step(table: tables.documents, key: document.storedKey, value: document.record))
    }
    for (path, change) in countChanges where change != 0 {
      steps.append(try catalogueStep(path, change, planned: steps.lazy.map(\.key)))
    }
    for (name, sequence) in tombstones {
      if let step = try tombstoneStep(name, sequence, planned: steps.lazy.map(\.key)) {
        steps.append(step)
      }
    }
    for record in log.finish() {
      steps.append(
        Step(
          table: tables.changes, key: KeyLayout.sequenceKey(record.first), value: record.bytes,
          isAppend: true))
    }
    steps.append(Step(table: tables.meta, key: StoreState.key, value: state.encoded()))
    return steps
  }

  private func catalogueStep(
    _ path: ResourcePath, _ change: Int64, planned: some Sequence<[UInt8]>
  ) throws -> Step {
    let catalogue = store.tables.collectionsByName
    let cut = store.keyLimit.catalogueKey(path)
    let entry = try catalogue.entry(cut, of: path, in: store.lmdb)
    let old = try entry.map { key, value in
      try key.withUnsafeBytes { try NumberRecord.decode(value, key: $0) }
    }
    let (count, underflow) = Int64(clamping: old ?? 0).addingReportingOverflow(change)
    guard !underflow, count >= 0 else {
      throw Status.dataLoss("The catalogue counts fewer documents in \(path.text) than there are.")
    }
    let key = try entry?.key ?? catalogue.freeKey(cut, planned: planned, in: store.lmdb)
    return Step(
      table: catalogue.table, key: key,
      value: count == 0
        ? nil
        : NumberRecord.encode(UInt64(count), path: path, key: key, isCut: cut.isCut))
  }

  private func tombstoneStep(
    _ name: DocumentName, _ sequence: UInt64?, planned: some Sequence<[UInt8]>
  ) throws -> Step? {
    let table = store.tables.tombstonesByName
    let entry = try table.entry(name.cut, of: name.path, in: store.lmdb)
    guard let sequence else {
      return entry.map { Step(table: table.table, key: $0.key, value: nil) }
    }
    let key = try entry?.key ?? table.freeKey(name.cut, planned: planned, in: store.lmdb)
    return Step(
      table: table.table, key: key,
      value: NumberRecord.encode(sequence, path: name.path, key: key, isCut: name.key.isCut))
  }
}
