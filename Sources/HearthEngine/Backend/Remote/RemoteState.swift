/// The documents that were read of a state, for one request.
struct RemoteState: Sendable {
  /// Each once. One scope has each once, and several may share some.
  private(set) var documents: [StoredDocument]
  let version: StateVersion

  /// - Parameter scopes: Those that the answer is to.
  init(_ answer: RemoteAnswer, of scopes: [RemoteScope]) throws(Status) {
    version = StateVersion(answer.record)
    documents = try answer.stored()
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

  /// - Parameter request: One whose needs are in this state, without relative times.
  func answer(_ request: ReadRequest) throws -> ReadAnswer {
    switch request {
    case .documents(let paths): return .documents(documents(at: paths))
    case .results(let query, let fields):
      return .results(try RemoteResults(query).documents(documents, requiring: fields))
    case .values(let aggregations, let query):
      return .values(try RemoteResults(query).aggregate(aggregations, documents))
    case .totals(let query, let aggregations):
      return .totals(try RemoteResults(query).totals(aggregations, documents, isLive: true))
    case .matches(let search, let query):
      let (found, statistics) = try RemoteResults(query).matches(of: search, documents)
      return .matches(found.map(\.document), statistics)
    case .collections(let path), .documentPaths(in: let path):
      return .paths(ResourcePath.prefixes(of: documents.map(\.path), below: path))
    default:
      guard let answer = try request.composed(answer) else { throw Status.otherAnswer }
      return answer
    }
  }

  /// The documents at these paths; nil for one that does not exist.
  private func documents(at paths: [ResourcePath]) -> [StoredDocument?] {
    if paths.count == 1 { return [documents.first { $0.path == paths[0] }] }
    let byPath = Dictionary(
      documents.lazy.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    return paths.map { byPath[$0] }
  }
}

extension StateVersion {
  init(_ record: RemoteRecord) {
    self.init(
      sequence: record.sequence, time: Timestamp(Instant(microseconds: record.time)))
  }
}

extension ResourcePath {
  /// The distinct paths with one more segment than `path`, of documents below it.
  static func prefixes(of documents: [ResourcePath], below path: ResourcePath) -> [ResourcePath] {
    let count = path.segments.count + 1
    return Set(
      documents.filter { $0.segments.count >= count && $0.hasPrefix(path) }
        .map { ResourcePath(Array($0.segments.prefix(count))) }
    ).sorted { compare($0, $1) < 0 }
  }
}
