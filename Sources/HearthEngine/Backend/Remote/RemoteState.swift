/// The documents that were read of a state, for one request.
struct RemoteState: Sendable {
  /// Each once. One scope has each once, and several may share some.
  private(set) var documents: [StoredDocument] = []
  let sequence: UInt64

  /// - Parameter scopes: Those that the answer is to.
  init(_ answer: RemoteAnswer, of scopes: [RemoteScope]) throws(Status) {
    sequence = answer.record.sequence
    documents.reserveCapacity(answer.documents.count)
    for document in answer.documents { documents.append(try StoredDocument(document)) }
    if scopes.count > 1 {
      var seen: Set<ResourcePath> = []
      documents.removeAll { !seen.insert($0.path).inserted }
    }
  }

  /// Undoes the changes since an earlier state.
  mutating func restore(_ former: [(name: [UInt8], version: RemoteVersion?)]) throws(Status) {
    if former.isEmpty { return }
    var versions: [ResourcePath: StoredDocument?] = [:]
    for (name, version) in former {
      let path = try ResourcePath(remote: name)
      // Of several scopes, each has the same version.
      versions.updateValue(
        try version.map { version throws(Status) in try StoredDocument(path, version) },
        forKey: path)
    }
    documents.removeAll { versions.keys.contains($0.path) }
    documents += versions.values.compactMap(\.self)
  }

  /// The documents at these paths; nil for one that does not exist.
  func documents(at paths: [ResourcePath]) -> [StoredDocument?] {
    if paths.count == 1 { return [documents.first { $0.path == paths[0] }] }
    let byPath = Dictionary(
      documents.lazy.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    return paths.map { byPath[$0] }
  }

  func result(of request: ResultRequest) throws -> FetchedResult {
    switch request {
    case .document(let path): return .document(documents(at: [path])[0])
    case .documentsAt(let paths): return .documentsAt(documents(at: paths))
    case .documents(let query, let fields):
      return .documents(try RemoteResults(query).whole(documents, requiring: fields))
    case .documentsReferring(let relation, let paths):
      return .several(
        try paths.compactMap(relation.query).map { query in
          .documents(try RemoteResults(EffectiveQuery(query)).whole(documents))
        })
    case .totals(let query, let aggregations):
      return .totals(try RemoteResults(query).totals(aggregations, documents, isLive: true))
    case .groups(let grouped):
      var query = EffectiveQuery(grouped.query)
      query.projection = []
      var totals = GroupTotals(grouped, isLive: true)
      for document in try RemoteResults(query).whole(documents) {
        try document.body.withBytes { try totals.add(MapView(body: $0)) }
      }
      return .groups(totals)
    case .several(let requests): return .several(try requests.map(result))
    case .search(let query):
      let (found, statistics) = try RemoteResults(query).matches(documents)
      return .search(found, statistics)
    }
  }

  func groups(_ query: GroupedQuery, at time: Instant) throws -> [QueryGroup] {
    var whole = EffectiveQuery(query.query).resolved(at: time, inSemiJoins: true)
    whole.projection = []
    var totals = GroupTotals(query)
    for document in try RemoteResults(whole).whole(documents) {
      try document.body.withBytes { try totals.add(MapView(body: $0)) }
    }
    return try totals.results()
  }
}
