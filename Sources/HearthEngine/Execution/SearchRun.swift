internal import HearthPatterns
internal import HearthText
internal import LMDB

/// A search for words among the documents of one snapshot.
///
///     an index on words     its entries, those with high scores first ─▶ documents ─▶ the best
///     no index              every document of the scope ─▶ statistics, matches ─▶ the best
///
/// Law: both find the same documents with the same scores.
struct SearchRun: RankedRun {
  let search: TextSearch
  let query: EffectiveQuery
  let snapshot: StoreSnapshot

  func documents(with overlay: DocumentOverlay?, _ trace: QueryTrace) throws -> [StoredDocument] {
    if let overlay { return try documents(replacedBy: overlay, trace) }
    guard query.isResolved else {
      let resolved = try snapshot.resolved(query, trace: trace)
      return try SearchRun(search: search, query: resolved, snapshot: snapshot)
        .documents(with: nil, trace)
    }
    guard let index = try notedIndex(trace) else {
      let (found, statistics) = try scan(trace)
      return try search.ranked(found, statistics, for: query)
    }
    var best = SearchResults(limit: query.lastWanted)
    try WordSearch(query, search, index, in: snapshot, trace).find(&best)
    return try best.documents(from: query.offset, search)
  }

  /// Reads every match: each version changes the statistics, and so all scores.
  private func documents(
    replacedBy overlay: DocumentOverlay, _ trace: QueryTrace
  ) throws -> [StoredDocument] {
    // The statistics are those of the newest state.
    guard case .paths(let replaced) = overlay.replaced else { throw Status.onlyInNewestState }
    _ = try notedIndex(trace)
    var (documents, statistics) = try matches(trace)
    let words = TextMatcher(search)
    var matcher = Matcher(query.filters, until: snapshot.deadline)
    func match(_ document: StoredDocument) throws -> TextMatch {
      try document.body.withBytes { try words.find(in: MapView(body: $0)).match }
    }
    var found: [(document: StoredDocument, match: TextMatch)] = []
    for document in documents where !replaced.contains(document.path) {
      found.append((document, try match(document)))
    }
    for (path, document) in overlay.all {
      if let old = try snapshot.document(at: path) { statistics.add(try match(old), sign: -1) }
      guard let document else { continue }
      try document.body.withBytes { bytes in
        let fields = try MapView(body: bytes)
        let (match, isMatch) = try words.find(in: fields)
        statistics.add(match)
        if isMatch, try matcher.matches(fields, path: { path }) { found.append((document, match)) }
      }
    }
    return try search.ranked(found, statistics, for: query)
  }

  func explanation() throws -> QueryExplanation? {
    let index = try index()
    return QueryExplanation(
      plan: index.map { "index (\($0.definition)), best scores first" }
        ?? "every document of the scope",
      indexes: index.map { [$0.definition.description] } ?? [], isServed: index != nil,
      missingIndexes: index == nil ? query.wantedIndexes().map(\.json) : [])
  }

  /// Every match, whatever the query's limit is, and the statistics of its scope.
  func matches(
    _ trace: QueryTrace
  ) throws -> (documents: [StoredDocument], statistics: TextStatistics) {
    guard let index = try index() else {
      let (found, statistics) = try scan(trace)
      return (found.map(\.document), statistics)
    }
    let run = try WordSearch(query, search, index, in: snapshot, trace)
    var documents: [StoredDocument] = []
    try run.forEachMatch { document, _ in documents.append(document) }
    return (documents, run.statistics)
  }

  private func index() throws -> StoredIndex? {
    guard let (id, scope) = query.scope.indexed else { return nil }
    return try snapshot.indexes().readable(scope, of: id).first {
      $0.definition.words == search.fields
    }
  }

  /// The index. Notes in the trace that it is missing, or throws if the trace is strict.
  private func notedIndex(_ trace: QueryTrace) throws -> StoredIndex? {
    if let index = try index() { return index }
    if trace.isStrict { throw Status.requires(query.wantedIndexes()) }
    trace.missing = query.wantedIndexes()
    return nil
  }

  private func scan(
    _ trace: QueryTrace
  ) throws -> (found: [(document: StoredDocument, match: TextMatch)], statistics: TextStatistics) {
    var statistics = TextStatistics(search)
    let words = TextMatcher(search)
    var matcher = Matcher(query.filters, until: snapshot.deadline)
    var found: [(document: StoredDocument, match: TextMatch)] = []
    var all = EffectiveQuery(StructuredQuery(query.scope))
    all.orders = [StructuredQuery.Order(field: .documentID)]
    let run = try snapshot.run(all, needsOrder: false, trace: trace)
    try run.forEachUnordered { entry, fields in
      let (match, isMatch) = try words.find(in: fields)
      statistics.add(match)
      guard isMatch, try matcher.matches(fields, path: { try snapshot.path(of: entry) }) else {
        return true
      }
      let path = try snapshot.path(of: entry)
      found.append((try snapshot.copy(entry, path: path), match))
      return true
    }
    trace.found = found.count
    return (found, statistics)
  }
}

extension TextSearch {
  /// The document, with its score if the search asks for it.
  func scored(_ document: StoredDocument, _ score: Double) throws -> StoredDocument {
    try scoreField.map { try document.setting($0, to: .double(score)) } ?? document
  }

  /// The results of a query among the matches, the best first.
  func ranked(
    _ found: [(document: StoredDocument, match: TextMatch)], _ statistics: TextStatistics,
    for query: EffectiveQuery
  ) throws -> [StoredDocument] {
    let ranking = TextRanking(self, statistics)
    var best = SearchResults(limit: query.lastWanted)
    for (document, match) in found { best.add(document, ranking.score(match)) }
    return try best.documents(from: query.offset, self)
  }
}

/// The best results of a search so far.
struct SearchResults {
  private let limit: Int?
  /// In order, if there is a limit.
  private var results: [(document: StoredDocument, score: Double)] = []

  /// - Parameter limit: Nil for all results.
  init(limit: Int?) { self.limit = limit }

  /// Whether a document with this score, or less, and this path cannot be among them.
  func excludes(_ score: Double, _ path: () throws -> ResourcePath) rethrows -> Bool {
    guard let limit, results.count >= limit else { return false }
    guard let worst = results.last, score >= worst.score else { return true }
    return try score == worst.score && ResourcePath.compare(path(), worst.document.path) > 0
  }

  mutating func add(_ document: StoredDocument, _ score: Double) {
    guard let limit else { return results.append((document, score)) }
    if excludes(score, { document.path }) { return }
    let index = results.partitioningIndex { !Self.isBefore($0, (document, score)) }
    results.insert((document, score), at: index)
    if results.count > limit { results.removeLast() }
  }

  func documents(from offset: Int, _ search: TextSearch) throws -> [StoredDocument] {
    let sorted = limit == nil ? results.sorted(by: Self.isBefore) : results
    return try sorted.dropFirst(offset).map { try search.scored($0.document, $0.score) }
  }

  private static func isBefore(
    _ one: (document: StoredDocument, score: Double),
    _ other: (document: StoredDocument, score: Double)
  ) -> Bool {
    if one.score != other.score { return one.score > other.score }
    return ResourcePath.compare(one.document.path, other.document.path) < 0
  }
}

/// A search that reads an index on words.
final class WordSearch {
  let statistics: TextStatistics
  private let query: EffectiveQuery
  private let search: TextSearch
  private let index: StoredIndex
  private let snapshot: StoreSnapshot
  private let trace: QueryTrace
  private let ranking: TextRanking
  private let words: TextMatcher
  private let prefix: [UInt8]
  private let collection: ResourcePath?
  /// Whether the entries of one word are read, of which each document has one.
  private let readsOneWord: Bool
  private var matcher: Matcher
  /// The names of documents that were looked at.
  private var seen: Set<[UInt8]> = []

  init(
    _ query: EffectiveQuery, _ search: TextSearch, _ index: StoredIndex,
    in snapshot: StoreSnapshot, _ trace: QueryTrace
  ) throws {
    self.query = query
    self.search = search
    self.index = index
    self.snapshot = snapshot
    self.trace = trace
    words = TextMatcher(search)
    readsOneWord = search.matchesAll && search.terms.contains { !$0.isPrefix }
    matcher = Matcher(query.filters, until: snapshot.deadline)
    collection = query.scope.collection
    prefix = EntryRange(index, in: collection).prefix
    statistics = try Self.statistics(search, prefix, snapshot, trace)
    ranking = TextRanking(search, statistics)
  }

  private static func statistics(
    _ search: TextSearch, _ prefix: [UInt8], _ snapshot: StoreSnapshot, _ trace: QueryTrace
  ) throws -> TextStatistics {
    func read(_ term: [UInt8]?) throws -> WordStatistic {
      trace.touched.keys += 1
      let key = WordStatistic.key(prefix, term, snapshot.keyLimit)
      return try key.withUnsafeBytes { key in
        try snapshot.lmdb.get(snapshot.tables.entries, key).map(WordStatistic.init)
          ?? WordStatistic()
      }
    }
    var statistics = TextStatistics(search)
    let all = try read(nil)
    statistics.documents = Int(clamping: all.documents)
    statistics.length = Int(clamping: all.length)
    for (index, term) in search.terms.enumerated() where !term.isPrefix {
      statistics.frequencies[index] = Int(clamping: try read(term.stem).documents)
    }
    return statistics
  }

  // MARK: Entries

  /// The entries whose component begins with these bytes.
  private func scan(_ beginning: [UInt8], isBackwards: Bool = false) throws -> EntryScan {
    let range = EntryRange(index, in: collection).part(KeyRange(prefix: beginning))
    return try EntryScan(range, in: snapshot, isBackwards: isBackwards, touched: trace.touched)
  }

  /// The posting of an entry, and the document's name, which is valid until the scan moves on.
  private func read(
    _ entry: ScannedEntry
  ) throws -> (posting: WordPosting, name: UnsafeRawBufferPointer) {
    var reader = KeyReader(entry.suffix)
    guard case .bytes(let bytes) = try reader.readValue() else {
      throw Status.dataLoss("An index entry is of no word.")
    }
    return (try WordPosting.decode(bytes), reader.rest)
  }

  private func term(_ index: Int) -> [UInt8] { search.terms[index].stem }

  // MARK: All matches

  /// Calls `body` with every match.
  func forEachMatch(_ body: (StoredDocument, TextMatch) throws -> Void) throws {
    for beginnings in driver {
      for beginning in beginnings {
        let scan = try scan(beginning)
        while let entry = try scan.next() { try look(at: entry, read(entry).name, scan, body) }
      }
    }
  }

  /// The beginnings of entries of which every match has one: those of the rarest word, or of all
  /// terms if one of them suffices.
  private var driver: [[[UInt8]]] {
    let beginnings = search.terms.indices.map { index -> [[UInt8]] in
      guard search.terms[index].isPrefix else { return [WordPosting.prefix(term(index))] }
      let bytes = search.terms[index].bytes
      if bytes.isEmpty { return [] }
      return [WordTokenizer.Form.stem, .full].map { form in
        WordPosting.prefix(termsWith: [form.rawValue] + bytes)
      }
    }
    guard search.matchesAll else { return beginnings }
    return [beginnings[rarest ?? 0]]
  }

  /// The word that the fewest documents have; nil if there are only prefixes.
  private var rarest: Int? {
    search.terms.indices.filter { !search.terms[$0].isPrefix }
      .min { statistics.frequencies[$0] < statistics.frequencies[$1] }
  }

  /// Calls `body` if the entry's document matches and was not looked at before.
  private func look(
    at entry: ScannedEntry, _ name: UnsafeRawBufferPointer, _ scan: EntryScan,
    _ body: (StoredDocument, TextMatch) throws -> Void
  ) throws {
    guard readsOneWord || seen.insert(Array(name)).inserted else { return }
    try look(at: scan.document(of: entry), body)
  }

  private func look(
    at stored: StoredEntry, _ body: (StoredDocument, TextMatch) throws -> Void
  ) throws {
    trace.touched.documents += 1
    try snapshot.deadline?.check()
    let fields = try snapshot.fields(ofRecord: stored.record)
    guard try matcher.matches(fields, path: { try snapshot.path(of: stored) }) else { return }
    let (match, isMatch) = try words.find(in: fields)
    guard isMatch else { return }
    trace.found += 1
    let path = try snapshot.path(of: stored)
    try body(snapshot.copy(stored, path: path), match)
  }

  // MARK: The best matches

  func find(_ best: inout SearchResults) throws {
    guard query.limit != nil, search.terms.allSatisfy({ !$0.isPrefix }) else {
      return try forEachMatch { best.add($0, ranking.score($1)) }
    }
    if search.matchesAll, try findInAllLists(&best) { return }
    try findByImpact(&best)
  }

  /// A part of a word's entries with similar scores.
  private struct Part {
    var term: Int
    var classes: [UInt8]
    /// No entry of it adds more.
    var bound: Double
    /// No document of it is shorter.
    var shortest: Int
  }

  /// Reads entries with high scores first, until no document that was not looked at can be among the
  /// best.
  private func findByImpact(_ best: inout SearchResults) throws {
    let terms = search.matchesAll ? rarest.map { [$0] } ?? [] : Array(search.terms.indices)
    var parts: [Part] = []
    for term in terms { parts += try self.parts(of: term) }
    parts.sort { $0.bound > $1.bound }
    let counts = try search.terms.indices.map { search.terms.count > 1 ? try largestCount($0) : 0 }
    // A document that was neither looked at nor passed over has no more than this: of a term whose
    // entries are read in this order, the bound of the next of them. A document is as long as the
    // count of each word.
    var bounds = search.terms.indices.map { term in
      terms.contains(term)
        ? parts.first { $0.term == term }?.bound ?? 0
        : ranking.score(of: term, count: counts[term], length: counts[term])
    }
    for (position, part) in parts.enumerated() {
      if best.excludes(bounds.reduce(0, +), { .root }) { return }
      // The most that a document of this length has, with so much for the part's word. Added as in
      // `TextRanking.score`, so that rounding makes it no less than the score of a document.
      func most(_ own: Double, _ length: Int) -> Double {
        var sum = 0.0
        for term in bounds.indices {
          sum +=
            term == part.term
            ? own
            : min(bounds[term], ranking.score(of: term, count: counts[term], length: length))
        }
        return sum
      }
      if !best.excludes(most(part.bound, part.shortest), { .root }) {
        try look(at: part, most, &best)
      }
      bounds[part.term] = parts[(position + 1)...].first { $0.term == part.term }?.bound ?? 0
    }
  }

  private func look(
    at part: Part, _ most: (Double, Int) -> Double, _ best: inout SearchResults
  ) throws {
    let scan = try scan(WordPosting.prefix(term(part.term), part.classes))
    while let entry = try scan.next() {
      let (posting, name) = try read(entry)
      let own = ranking.score(of: part.term, count: posting.count, length: posting.length)
      let most = most(own, posting.length)
      // Entries with one count are in the order of lengths, and then of names: none of those that
      // follow is better.
      if try best.excludes(most, { try scan.path(of: entry) }) {
        let bytes = posting.bytes(of: [])
        let next =
          best.excludes(most, { .root })
          ? Array(bytes[3..<5]) : Array(bytes[3...])
        let passed = WordPosting.prefix(term(part.term), part.classes + next)
        guard let end = KeyRange.end(passed) else { return }
        end.withUnsafeBytes { scan.seek(to: $0) }
        continue
      }
      try look(at: entry, name, scan) { best.add($0, ranking.score($1)) }
    }
  }

  /// No document has the word more often.
  private func largestCount(_ term: Int) throws -> Int {
    let scan = try scan(WordPosting.prefix(self.term(term)), isBackwards: true)
    guard let last = try scan.next() else { return 0 }
    return WordPosting.largest(of: WordPosting.impactClass(try read(last).posting.count))
  }

  /// The classes of a word's entries, found by skipping from one to the next.
  private func parts(of term: Int) throws -> [Part] {
    let beginning = WordPosting.prefix(self.term(term))
    let scan = try scan(beginning)
    var parts: [Part] = []
    while let entry = try scan.next() {
      let (posting, _) = try read(entry)
      let classes = [
        WordPosting.impactClass(posting.count), WordPosting.impactClass(posting.length),
      ]
      let shortest = WordPosting.smallest(of: classes[1])
      let bound = ranking.score(
        of: term, count: WordPosting.largest(of: classes[0]), length: shortest)
      parts.append(Part(term: term, classes: classes, bound: bound, shortest: shortest))
      guard let next = KeyRange.end(WordPosting.prefix(self.term(term), classes)) else { break }
      next.withUnsafeBytes { scan.seek(to: $0) }
    }
    return parts
  }

  // MARK: Several frequent words

  /// Intersects the entries of all words, if none is rare. Documents are read only for the best.
  private func findInAllLists(_ best: inout SearchResults) throws -> Bool {
    let terms = search.terms.indices.sorted {
      statistics.frequencies[$0] < statistics.frequencies[$1]
    }
    guard terms.count > 1, search.phrases.isEmpty,
      statistics.frequencies[terms[0]] > 64,
      statistics.frequencies[terms[1]] / 8 < statistics.frequencies[terms[0]]
    else { return false }
    struct Candidate {
      var match: TextMatch
      var found: Int
    }
    var candidates: [[UInt8]: Candidate] = [:]
    for (round, term) in terms.enumerated() {
      let scan = try scan(WordPosting.prefix(self.term(term)))
      while let entry = try scan.next() {
        let (posting, bytes) = try read(entry)
        let name = Array(bytes)
        if round == 0 {
          var match = TextMatch(counts: terms.map { _ in 0 }, length: posting.length)
          match.counts[term] = posting.count
          candidates[name] = Candidate(match: match, found: 1)
        } else if let slot = candidates.index(forKey: name), candidates.values[slot].found == round
        {
          candidates.values[slot].match.counts[term] = posting.count
          candidates.values[slot].found += 1
        }
      }
    }
    var ranked = candidates.filter { $0.value.found == terms.count }
      .map { (name: $0.key, score: ranking.score($0.value.match)) }
    ranked.sort { $0.score > $1.score }
    for (name, score) in ranked {
      if best.excludes(score, { .root }) { break }
      guard let stored = try document(named: name) else {
        throw Status.dataLoss("An index entry is of no stored document.")
      }
      try look(at: stored) { document, _ in best.add(document, score) }
    }
    return true
  }

  private func document(named name: [UInt8]) throws -> StoredEntry? {
    let path = try name.withUnsafeBytes { bytes in
      var reader = KeyReader(bytes)
      return try collection?.appending(reader.readID()) ?? reader.readPath()
    }
    return try snapshot.storedEntry(of: snapshot.name(path)).map { key, record in
      let pinned = key.withUnsafeBytes { PinnedBytes(copying: $0) }
      pins.append(pinned)
      return StoredEntry(key: pinned.buffer, record: record)
    }
  }

  /// Keeps keys alive.
  private var pins: [PinnedBytes] = []
}
