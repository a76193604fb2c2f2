internal import LMDB

/// The state of a store that commits are planned on: the newest one, which nobody else changes meanwhile.
///
///     CommitPlan ─▶ documents by path, results of queries, documents by what they have in a constraint's index
///                     ├─ FileState         a transaction of a file
///                     └─ RemotePlanState   what was read of a server, under its lock
protocol PlanState {
  /// Its indexes. Only those with constraints matter to a plan.
  var catalogue: IndexCatalogue { get }

  func name(_ path: ResourcePath) -> DocumentName

  /// The document that a plan begins with.
  ///
  /// - Parameter planned: The keys that the plan's new documents have; a new one is added.
  func load(_ name: DocumentName, _ planned: inout Set<[UInt8]>) throws -> CommitPlan.Document

  func document(_ name: DocumentName) throws -> StoredDocument?
  func body(of name: DocumentName) throws -> CommitPlan.Body
  /// Nil if there is no such document.
  func updateTime(of name: DocumentName) throws -> Instant?

  /// The answer to a request of `results` or `values`, whose query has no semi-joins and relative times.
  ///
  /// - Parameter versions: Documents of the query's scope that are others than in this state.
  func answer(
    _ request: ReadRequest, replacing versions: [PlannedVersion], _ tracing: QueryTracing
  ) throws -> ReadAnswer

  /// Calls `body` with every document that has a key in an index with a constraint, until it returns
  /// false; see `EntryExtractor.uniqueKeys`.
  func forEachPath(
    with key: [UInt8], in index: StoredIndex, of collection: ResourcePath?,
    _ body: (ResourcePath) throws -> Bool
  ) throws

  /// Whether no document of a scope was written after a sequence; false if that cannot be determined
  /// quickly.
  func isUntouched(
    _ scope: StructuredQuery.Scope, since sequence: UInt64, _ state: StoreState
  ) throws -> Bool

  /// Reads at once what will be asked for, if each question is a round trip.
  func prepare(_ questions: () throws -> [PlanQuestion]) throws

  /// Takes a change, in the order of their sequences.
  ///
  /// - Parameter document: As it was before the change.
  func record(_ change: PlannedChange, of document: CommitPlan.Document)
}

/// A change of one document, with its versions before and after it.
struct PlannedChange {
  let sequence: UInt64
  let kind: Change.Kind
  let path: ResourcePath
  let commitTime: Instant
  /// It is the first one of its request.
  let startsCommit: Bool
  /// The sequence of the document's change before, if the log has it; otherwise 0.
  let previousSequence: UInt64
  let before: StoredDocument?
  let after: StoredDocument?
}

/// A question of a plan to its state.
enum PlanQuestion {
  case document(DocumentName)
  /// See `PlanState.forEachPath`.
  case paths(key: [UInt8], StoredIndex, of: ResourcePath?)
}

/// The state of a file, in a write transaction in which nothing is put while requests are planned.
struct FileState: PlanState {
  let snapshot: StoreSnapshot
  let catalogue: IndexCatalogue
  private let hasTombstones: Bool
  let log = Log()

  /// Encodes each change at once: it keeps no versions.
  final class Log {
    var records = ChangeRecord.Builder()
  }

  init(_ snapshot: StoreSnapshot) throws {
    self.snapshot = snapshot
    catalogue = try snapshot.indexes()
    hasTombstones = try snapshot.lmdb.statistics(snapshot.tables.tombstones).entries > 0
  }

  func name(_ path: ResourcePath) -> DocumentName { snapshot.name(path) }

  func load(_ name: DocumentName, _ planned: inout Set<[UInt8]>) throws -> CommitPlan.Document {
    if let (key, record) = try snapshot.storedEntry(of: name) {
      let version = try key.withUnsafeBytes {
        try snapshot.copyToReplace(record, key: $0, path: name.path)
      }
      return CommitPlan.Document(
        name: name, key: key, stored: record, storedTombstone: 0, tombstone: 0, version: version)
    }
    let tombstone = hasTombstones ? try snapshot.tombstone(of: name) : 0
    var document = CommitPlan.Document(
      name: name, key: name.key.bytes, stored: nil, storedTombstone: tombstone,
      tombstone: tombstone)
    if name.key.isTruncated {
      document.key = try snapshot.tables.documentsByName.freeKey(name.truncated, in: snapshot.lmdb)
      { planned.contains($0) }
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
