internal import HearthText

/// The result of a search for words, updated from changes alone.
///
/// Holds every match, whatever the limit is: each change of a text changes the statistics, and so all
/// scores. A commit costs as much as sorting the matches.
final class LiveSearch: LiveResult {
  let query: EffectiveQuery
  private(set) var list = ResultList()
  private let search: TextSearch
  private let words: TextMatcher
  private var matcher: Matcher
  private var statistics: TextStatistics
  private var members: [ResourcePath: (document: StoredDocument, match: TextMatch)] = [:]
  private var isLoaded = false

  /// For a query that asks for the search, which has been checked.
  init(_ query: EffectiveQuery, _ search: TextSearch) {
    self.query = query
    self.search = search
    words = TextMatcher(search)
    matcher = Matcher(query.filters)
    statistics = TextStatistics(search)
  }

  var heldCount: Int { members.count }

  var request: ReadRequest? { isLoaded ? nil : .matches(search, among: query) }

  func reset() { isLoaded = false }

  /// The documents of its scope change its result.
  var watchedQuery: EffectiveQuery? { EffectiveQuery(StructuredQuery(query.scope)) }

  func hold(_ fetched: ReadAnswer) throws {
    guard case .matches(let documents, let statistics) = fetched else { throw Status.otherAnswer }
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

  func apply(_ updates: [DocumentUpdate]) throws -> LiveChange {
    let before = list
    for update in updates where query.scope.contains(update.path) {
      if let old = update.old { statistics.add(try find(old).match, sign: -1) }
      members[update.path] = nil
      guard let new = update.new else { continue }
      statistics.add(try find(new).match)
      try add(new)
    }
    rank()
    return .changed(.several(before.changes(to: list)))
  }

  private func rank() {
    let ranking = TextRanking(search, statistics)
    let scored = members.values.map { (score: ranking.score($0.match), document: $0.document) }
      .sorted { one, other in
        if one.score != other.score { return one.score > other.score }
        return ResourcePath.compare(one.document.path, other.document.path) < 0
      }
    let window = scored.dropFirst(query.offset).prefix(query.limit ?? .max).map(\.document)
    let places = places(of: window)
    list = ResultList(
      ResultTree(
        sorted: zip(window, places).map { document, place in
          var key = KeyBuffer(minimumCapacity: 64)
          key.append(bigEndian: place)
          // Another document may come to the place of one that is gone.
          key.append(path: document.path)
          return ResultRow(key: key.bytes, document: document)
        }))
    self.places = Dictionary(
      uniqueKeysWithValues: zip(window.lazy.map(\.path), places))
  }

  // MARK: Places

  /// The key of each document of the result. Every commit changes all scores, but few places: a
  /// document whose place is the same has not changed.
  private var places: [ResourcePath: UInt64] = [:]

  /// Ascending places, as many as possible the same as before.
  private func places(of documents: [StoredDocument]) -> [UInt64] {
    let before = documents.map { places[$0.path] }
    let kept = Self.longestAscending(before)
    var result: [UInt64] = []
    result.reserveCapacity(documents.count)
    var low: UInt64 = 0
    var index = 0
    while index < documents.count {
      if kept.contains(index), let place = before[index] {
        result.append(place)
        low = place
        index += 1
        continue
      }
      var end = index
      while end < documents.count, !kept.contains(end) { end += 1 }
      let high = end < documents.count ? before[end] ?? .max : low + min(UInt64.max - low, 1 << 62)
      let step = (high - low) / UInt64(end - index + 1)
      // Without room between two places, all are assigned again.
      guard step > 0 else { return documents.indices.map { UInt64($0 + 1) << 32 } }
      for position in 1...(end - index) { result.append(low + step * UInt64(position)) }
      low = result[result.count - 1]
      index = end
    }
    return result
  }

  /// The indexes of a longest ascending subsequence, without those that are nil.
  private static func longestAscending(_ numbers: [UInt64?]) -> Set<Int> {
    /// For each length, the index of the smallest number that ends such a sequence.
    var ends: [Int] = []
    var previous: [Int] = Array(repeating: -1, count: numbers.count)
    for (index, number) in numbers.enumerated() {
      guard let number else { continue }
      let low = ends.partitioningIndex { (numbers[$0] ?? 0) >= number }
      if low > 0 { previous[index] = ends[low - 1] }
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var kept: Set<Int> = []
    var index = ends.last ?? -1
    while index >= 0 {
      kept.insert(index)
      index = previous[index]
    }
    return kept
  }
}
