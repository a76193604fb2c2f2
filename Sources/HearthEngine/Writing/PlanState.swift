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
