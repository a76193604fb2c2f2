/// The result of a search for words, updated from changes alone.
///
/// Holds every match, whatever the limit is: each change of a text changes the statistics, and so all
/// scores. A commit costs as much as sorting the matches.
final class LiveSearch {
  let query: EffectiveQuery
  /// The result that is delivered.
  private(set) var list = ResultList()
  private let search: TextSearch
  private let words: TextMatcher
  private var matcher: Matcher
  private var statistics: TextStatistics
  private var members: [ResourcePath: (document: StoredDocument, match: TextMatch)] = [:]
  private var isLoaded = false

  /// For a query with a search, which has been checked.
  init(_ query: EffectiveQuery, _ search: TextSearch) {
    self.query = query
    self.search = search
    words = TextMatcher(search)
    matcher = Matcher(query.filters)
    statistics = TextStatistics(search)
  }

  var heldCount: Int { members.count }

  /// Nil if the result is known.
  var request: ResultRequest? { isLoaded ? nil : .search(query) }

  func reset() { isLoaded = false }

  /// The documents of its scope change its result.
  var routedQuery: EffectiveQuery { EffectiveQuery(StructuredQuery(query.scope)) }

  /// Takes the answer to `request`.
  func hold(_ fetched: FetchedResult) throws {
    guard case .search(let documents, let statistics) = fetched else { throw Status.otherResult }
    self.statistics = statistics
    members = [:]
    for document in documents { try add(document) }
    isLoaded = true
    rank()
  }

  private func find(_ document: StoredDocument) throws -> (match: TextMatch, isMatch: Bool) {
    try document.body.withBytes { bytes in
      let fields = try MapView(body: bytes)
      let found = try words.find(in: fields)
      guard found.isMatch, query.scope.contains(document.path) else { return (found.match, false) }
      return (found.match, try matcher.matches(fields) { document.path })
    }
  }

  private func add(_ document: StoredDocument) throws {
    let (match, isMatch) = try find(document)
    if isMatch { members[document.path] = (document, match) }
  }

  /// Returns the changes of the result.
  func apply(_ updates: [DocumentUpdate]) throws -> [ResultChange] {
    let before = list
    for update in updates where query.scope.contains(update.path) {
      if let old = update.old { statistics.add(try find(old).match, sign: -1) }
      members[update.path] = nil
      guard let new = update.new else { continue }
      statistics.add(try find(new).match)
      try add(new)
    }
    rank()
    return before.changes(to: list)
  }

  private func rank() {
    let ranking = TextRanking(search, statistics)
    var rows = members.values.map { document, match in
      ResultRow(key: Self.key(ranking.score(match), document.path), document: document)
    }
    rows.sort { SortKeyEncoder.compare($0.key, $1.key) < 0 }
    let window = rows.dropFirst(query.offset).prefix(query.limit ?? .max)
    list = ResultList(ResultTree(sorted: Array(window)))
  }

  /// High scores first. No score is negative.
  private static func key(_ score: Double, _ path: ResourcePath) -> [UInt8] {
    var key = KeyBuffer(minimumCapacity: 64)
    key.append(bigEndian: ~score.bitPattern)
    key.append(.reference(path))
    return key.bytes
  }
}
