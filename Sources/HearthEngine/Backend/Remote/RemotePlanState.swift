/// A store's state as far as it was read. The rest is read when it is asked for: by commits under the store's
/// lock, and by users' closures that only read.
///
/// A document is read once. Each read that this needs blocks for a round trip.
final class RemotePlanState: PlanState {
  /// Reads the documents that a request needs, and possibly more. Always of the same state.
  typealias Read = (_ needs: (RemoteCatalogue) -> RemoteNeeds) throws(Status) -> [StoredDocument]

  let catalogue: IndexCatalogue
  private let read: Read
  /// The documents that were read; nil for one that does not exist.
  private var known: [ResourcePath: StoredDocument?] = [:]
  /// The documents that have a key in an index with a constraint. The key begins with the index's
  /// number.
  private var paths: [[UInt8]: [ResourcePath]] = [:]
  /// The changes of the plan.
  private(set) var changes: [PlannedChange] = []
  /// Why reading has failed: nothing that depends on this state can be decided.
  private(set) var failure: Status?

  /// - Parameters:
  ///   - documents: Some that exist.
  ///   - paths: Those that do not exist, if they are not among the documents.
  init(
    _ catalogue: RemoteCatalogue, _ documents: [StoredDocument] = [],
    known paths: some Sequence<ResourcePath> = [], _ read: @escaping Read
  ) {
    self.catalogue = catalogue.all
    self.read = read
    for document in documents { known[document.path] = document }
    for path in paths where known[path] == nil { known[path] = .some(nil) }
  }

  private func documents(
    _ needs: (RemoteCatalogue) -> RemoteNeeds
  ) throws(Status) -> [StoredDocument] {
    do throws(Status) {
      let found = try read(needs)
      for document in found { known[document.path] = document }
      return found
    } catch {
      failure = failure ?? error
      throw error
    }
  }

  // MARK: Documents

  func name(_ path: ResourcePath) -> DocumentName { DocumentName(path, limit: .standard) }

  func load(_ name: DocumentName, _ planned: inout Set<[UInt8]>) throws -> CommitPlan.Document {
    CommitPlan.Document(
      name: name, key: name.key.bytes, stored: nil, storedTombstone: 0, tombstone: 0,
      version: try document(name))
  }

  func document(_ name: DocumentName) throws -> StoredDocument? {
    try prepare { [.document(name)] }
    return known[name.path] ?? nil
  }

  func body(of name: DocumentName) throws -> CommitPlan.Body {
    try document(name).map { .planned($0.body) } ?? .stored(nil)
  }

  func updateTime(of name: DocumentName) throws -> Instant? { try document(name)?.updateTime }

  // MARK: Queries

  func answer(
    _ request: ReadRequest, replacing versions: [PlannedVersion], _ tracing: QueryTracing
  ) throws -> ReadAnswer {
    switch request {
    case .results(let query, let fields):
      return .results(
        try RemoteResults(query).documents(
          candidates(for: query, replacing: versions), requiring: fields))
    case .values(let aggregations, let query):
      return .values(
        try RemoteResults(query).aggregate(
          aggregations, candidates(for: query, replacing: versions)))
    default: throw Status.otherAnswer
    }
  }

  /// Documents that have all results.
  private func candidates(
    for query: EffectiveQuery, replacing versions: [PlannedVersion]
  ) throws(Status) -> [StoredDocument] {
    let found = try documents { RemoteNeeds(.results(query), $0) }
    // Of several scopes, some may have the same documents.
    var seen = Set(versions.map(\.path))
    return found.filter { seen.insert($0.path).inserted } + versions.compactMap(\.document)
  }

  /// After a failover that has lost commits, the same sequence may be that of another state.
  func isUntouched(
    _ scope: StructuredQuery.Scope, since sequence: UInt64, _ state: StoreState
  ) -> Bool {
    false
  }

  func record(_ change: PlannedChange, of document: CommitPlan.Document) {
    changes.append(change)
  }

  // MARK: Constraints

  func forEachPath(
    with key: [UInt8], in index: StoredIndex, of collection: ResourcePath?,
    _ body: (ResourcePath) throws -> Bool
  ) throws {
    try prepare { [.paths(key: key, index, of: collection)] }
    for path in paths[key] ?? [] where try !body(path) { return }
  }

  /// In one round trip, or none if everything is known.
  func prepare(_ questions: () throws -> [PlanQuestion]) throws {
    var unknown: Set<ResourcePath> = []
    var keys: Set<[UInt8]> = []
    var indexes: [UInt32: StoredIndex] = [:]
    var ranges: [UInt32: [RemoteRange]] = [:]
    var needs = RemoteNeeds()
    for question in try questions() {
      switch question {
      case .document(let name):
        if known[name.path] == nil { unknown.insert(name.path) }
      case .paths(let key, let index, let collection):
        guard paths[key] == nil, keys.insert(key).inserted else { continue }
        indexes[index.number] = index
        if index.isComplete {
          let range = EntryRange(index, in: collection, values: key)
          ranges[index.number, default: []].append(
            RemoteRange(lower: range.lower, upper: range.upper))
        } else {
          // Not all documents have their entries yet.
          needs.add(whole: RemoteScope(collection, index.definition.collectionID))
        }
      }
    }
    for (number, ranges) in ranges { needs.scopes.append(.entries(index: number, ranges, nil)) }
    needs.add(Array(unknown))
    if needs.scopes.isEmpty { return }
    let found = try documents { _ in needs }
    for path in unknown where known[path] == nil { known[path] = .some(nil) }
    for key in keys { paths[key] = [] }
    var seen: Set<ResourcePath> = []
    // In the order of a file's entries, which is that of the changes by rules.
    let inOrder = found.sorted { ResourcePath.compare($0.path, $1.path) < 0 }
    for document in inOrder where seen.insert(document.path).inserted {
      let collectionID = document.path.parent.id
      for index in indexes.values
      where UTF8Order.areEqual(index.definition.collectionID, collectionID) {
        for key in Set(try index.uniqueKeys(of: document)) where keys.contains(key) {
          paths[key]?.append(document.path)
        }
      }
    }
  }
}

extension RemoteScope {
  /// All documents of a collection, or of all with an id.
  fileprivate init(_ collection: ResourcePath?, _ collectionID: String) {
    self.init(collection.map { .collection($0) } ?? .group(collectionID, below: .root))
  }
}

extension LoggedChange {
  init(_ change: PlannedChange, endsCommit: Bool) {
    self.init(
      sequence: change.sequence, kind: change.kind, path: change.path,
      commitTime: change.commitTime, endsCommit: endsCommit, before: change.before,
      after: change.after)
  }
}
