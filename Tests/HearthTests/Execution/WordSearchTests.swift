import Foundation
import HearthPatterns
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

@Suite struct WordSearchTests {
  private static func world(_ random: inout SeededGenerator, _ count: Int) -> [(
    path: ResourcePath, fields: MapValue
  )] {
    (0..<count).map { number in
      let collection = random.one(in: 5) ? "shelves/\(random.below(2))/books" : "books"
      return (
        ResourcePath(relative: collection).appending("b\(number)"), document(&random)
      )
    }
  }

  private static func document(_ random: inout SeededGenerator) -> MapValue {
    var fields = MapValue([("n", .integer(Int64(random.below(4))))])
    if random.below(6) > 0 { fields["title"] = .string(text(&random, upTo: 4)) }
    if random.below(6) > 0 { fields["text"] = .string(text(&random, upTo: 30)) }
    if random.one(in: 9) { fields["text"] = .integer(1) }
    return fields
  }

  private static let words = WordFields(
    [
      .init(field: FieldSegments(["title"]), weight: 3),
      .init(field: FieldSegments(["text"]), weight: 1),
    ], .english)

  private static let indexes = [
    IndexDefinition("books", [.init(words: words)]),
    IndexDefinition("books", scope: .group, [.init(words: words)]),
  ]

  @Test(arguments: [511, 40])
  func `an index, a scan and memory find what the formula says`(keyLimit: Int) async throws {
    var ranked = 0
    for seed in 0..<UInt64(Soak.isOn ? 60 : 2) {
      var random = SeededGenerator(seed: seed &+ UInt64(keyLimit))
      let documents = Self.world(&random, 110)
      let indexed = try await QueryWorld(
        documents, keyLimit: KeyLimit(keyLimit), indexes: Self.indexes)
      let plain = try await QueryWorld(documents, keyLimit: KeyLimit(keyLimit))
      let stored = try plain.database.store.read { snapshot in
        try documents.compactMap { try snapshot.document(at: $0.path) }
      }
      for _ in 0..<30 {
        let query = try Self.query(&random)
        try query.check()
        let expected = try Self.naive(query, documents)
        let found = try indexed.documents(query).map(\.path)
        let scanned = try plain.documents(query).map(\.path)
        let inMemory = try MemoryAnswer(EffectiveQuery(query)).documents(stored).map(\.path)
        let fetched = try RemoteResults(EffectiveQuery(query)).documents(stored).map(\.path)
        if expected.count > 1 { ranked += 1 }
        await Task.yield()
        guard expected.agrees(with: found, query), scanned == found, inMemory == found,
          fetched == found
        else {
          Issue.record(
            """
            seed \(seed) \(query): \(found) and \(scanned) and \(inMemory) and \(fetched), not \
            \(expected)
            """)
          return
        }
      }
      #expect(try indexed.database.store.check().problems == [])
    }
    #expect(ranked > 25)
  }

  /// Of its own writes, and of those of others in the same group, which are not stored either.
  @Test(arguments: [false, true])
  func `a search in a closure finds what it finds when all is stored`(hasIndex: Bool) async throws {
    for seed in 0..<UInt64(Soak.isOn ? 60 : 2) {
      var random = SeededGenerator(seed: seed &+ 77)
      let documents = Self.world(&random, 60)
      let world = try await QueryWorld(documents, indexes: hasIndex ? Self.indexes : [])
      let queries = try (0..<30).map { _ in try Self.query(&random) }
      let changes = try (0..<20).map { number in
        let path =
          random.one(in: 2)
          ? documents[random.below(60)].path
          : ResourcePath(
            ["books", "new\(number)"])
        return Mutation(
          path: path,
          operation: random.one(in: 4)
            ? .delete : .set(try DocumentBody(encoding: Self.document(&random))))
      }
      let writer = world.database.writer
      let gate = DispatchSemaphore(value: 0)
      let isBusy = Guarded(false)
      writer.submit([]) { _ in
        isBusy.withLock { $0 = true }
        gate.wait()
      }
      // Else it could take some of the others into its group.
      try await eventually { isBusy.withLock(\.self) }
      for mutation in changes.prefix(10) { writer.submit([mutation]) { _ in } }
      let found = Guarded<[[ResourcePath]]>([])
      let counts = Guarded<[[Value]]>([])
      let count = [Aggregation(.count(upTo: nil))]
      async let done = writer.perform { live in
        for mutation in changes.dropFirst(10) { try live.write(mutation) }
        for query in queries {
          let query = EffectiveQuery(query)
          let documents = try live.answer(.results(query)).results
          let values = try live.answer(.values(count, over: query)).values
          found.withLock { $0.append(documents.map(\.path)) }
          counts.withLock { $0.append(values) }
        }
      }
      try await eventually { writer.waitingCount >= 11 }
      gate.signal()
      _ = try await done
      for (index, query) in queries.enumerated() {
        let stored = try world.documents(query).map(\.path)
        #expect(found.withLock { $0[index] } == stored, "seed \(seed) \(query)")
        #expect(counts.withLock { $0[index] } == [.integer(Int64(stored.count))])
      }
    }
  }

  @Test func `among equal scores a search with a limit has the first names`() async throws {
    var random = SeededGenerator(seed: 6)
    let names = (10..<90).map { "b\($0)" }
    let documents = names.shuffled(using: &random).map { name in
      (
        path: ResourcePath(["books", name]),
        fields: MapValue([("text", .string("the same words"))])
      )
    }
    let fields = WordFields([.init(field: FieldSegments(["text"]), weight: 1)], .none)
    let index = IndexDefinition("books", [.init(words: fields)])
    for indexes in [[index], []] {
      let world = try await QueryWorld(documents, indexes: indexes)
      for limit in [1, 5, 64] {
        var query = StructuredQuery(.collection(ResourcePath(["books"])))
        query.question = .search(try TextSearch("same words", in: fields, matchesAll: true))
        query.limit = limit
        #expect(try world.documents(query).map(\.path.id) == Array(names.prefix(limit)))
      }
    }
  }

  @Test func `a search with a limit reads few entries of a frequent word`() async throws {
    var random = SeededGenerator(seed: 5)
    let documents = (0..<6000).map { number -> (path: ResourcePath, fields: MapValue) in
      var text = (0..<(5 + random.below(60))).map { _ in "w\(random.below(3000))" }
      if random.below(2) == 0 { text += Array(repeating: "frequent", count: 1 + random.below(4)) }
      if random.below(3) == 0 { text.append("common") }
      if number % 600 == 7 { text.append("rare") }
      return (
        ResourcePath(["books", "b\(number)"]),
        MapValue([("text", .string(text.joined(separator: " ")))])
      )
    }
    let fields = WordFields([.init(field: FieldSegments(["text"]), weight: 1)], .none)
    let world = try await QueryWorld(
      documents, indexes: [IndexDefinition("books", [.init(words: fields)])])
    func touched(_ text: String, matchesAll: Bool = true) throws -> (entries: Int, found: Int) {
      var query = StructuredQuery(.collection(ResourcePath(["books"])))
      query.question = .search(try TextSearch(text, in: fields, matchesAll: matchesAll))
      query.limit = 20
      let counters = ReadCounters()
      let found = try world.documents(query, touched: counters)
      return (counters.entries + counters.documents, found.count)
    }
    let frequency = documents.count { document in
      if case .string(let text)? = document.fields["text"] {
        text.contains("frequent")
      } else {
        false
      }
    }
    let one = try touched("frequent")
    #expect(one.found == 20 && one.entries <= frequency / 10, "\(one) of \(frequency)")
    let both = try touched("frequent rare")
    #expect(both.found > 0 && both.entries <= frequency / 10, "\(both)")
    let any = try touched("frequent rare", matchesAll: false)
    #expect(any.found == 20 && any.entries <= frequency / 10, "\(any)")
    // With a limit, other entries are read than without.
    for (text, matchesAll) in [
      ("frequent", true), ("frequent common", true), ("frequent common", false), ("rare w7", false),
    ] {
      var query = StructuredQuery(.collection(ResourcePath(["books"])))
      query.question = .search(try TextSearch(text, in: fields, matchesAll: matchesAll))
      let all = try world.documents(query).map(\.path)
      query.limit = 15
      query.offset = 3
      #expect(try world.documents(query).map(\.path) == Array(all.dropFirst(3).prefix(15)))
    }
    let rare = try touched("rare")
    #expect(rare.found == 10 && rare.entries <= 40, "\(rare)")
  }

  @Test(arguments: [ListeningFixture.Kind.store, .memory, .late])
  func `a listener's ranking is the search run again after every commit`(
    _ kind: ListeningFixture.Kind
  ) async throws {
    var events = 0
    for seed in Soak.seeds(Soak.isOn ? 300 : 15, andOnce: 114, 152, 268) {
      var random = SeededGenerator(seed: seed)
      let fixture = try ListeningFixture(kind, seed: seed)
      let registry = fixture.registry()
      defer { registry.close() }
      var documents: [ResourcePath: MapValue] = [:]
      func commit(_ count: Int) throws {
        var mutations: [Mutation] = []
        for _ in 0..<count {
          let path = ResourcePath(["books", "b\(random.below(20))"])
          if random.one(in: 4) {
            documents[path] = nil
            mutations.append(Mutation(path: path, operation: .delete))
          } else {
            let fields = Self.document(&random)
            documents[path] = fields
            mutations.append(
              Mutation(path: path, operation: .set(try DocumentBody(encoding: fields))))
          }
        }
        for outcome in fixture.commitTogether([mutations]) { _ = try outcome.get() }
      }
      try commit(15)
      var query = try Self.query(&random)
      query.scope = .collection(ResourcePath(["books"]))
      let asker = Asker(.results(of: query), registry)
      var last: [ResourcePath]?
      for _ in 0..<12 {
        registry.settle()
        while let event = try asker.take() {
          events += 1
          last = event.list.documents.map(\.path)
        }
        let expected = try Self.naive(query, documents.map { ($0.key, $0.value) })
        #expect(expected.agrees(with: last ?? [], query), "seed \(seed) \(query)")
        await Task.yield()
        try commit(1 + random.below(3))
      }
    }
    #expect(events > 40)
  }

  @Test func `words, prefixes and phrases are distinguished, and a text without words is refused`()
    throws
  {
    let search = try TextSearch("  Sand-worm* \"the spice\" dune", in: Self.words, matchesAll: true)
    #expect(
      search.terms.map { String(decoding: $0.bytes, as: UTF8.self) } == [
        "worm", "sand", "the", "spice", "dune",
      ])
    #expect(search.terms.map(\.isPrefix) == [true, false, false, false, false])
    #expect(search.phrases.count == 1)
    for text in ["", "  ", "* \"\"", "!!!"] {
      let error = #expect(throws: Status.self) {
        try TextSearch(text, in: Self.words, matchesAll: true)
      }
      #expect(error?.code == .invalidArgument)
    }
    let many = (0..<65).map { "w\($0)" }.joined(separator: " ")
    #expect(throws: Status.self) { try TextSearch(many, in: Self.words, matchesAll: true) }
  }

  /// Entries are read by what the rarer word adds: first those of `often`, then those of `long`, which
  /// cannot be better, and then that of `best`, a short text in which the other word weighs more.
  @Test func `a part that cannot be better does not end the search`() async throws {
    func text(_ sand: Int, _ worm: Int, _ others: Int) -> String {
      Array(repeating: "sand ", count: sand).joined()
        + Array(repeating: "worm ", count: worm).joined()
        + Array(repeating: "x ", count: others).joined()
    }
    let texts = [
      ("often", text(20, 1, 9)), ("long", text(10, 0, 50)), ("best", text(1, 2, 0)),
      ("other", text(0, 1, 20)), ("another", text(0, 1, 20)), ("third", text(0, 0, 4)),
    ]
    let documents = texts.map { id, text in
      (path: ResourcePath(["books", id]), fields: MapValue([("text", .string(text))]))
    }
    let world = try await QueryWorld(documents, indexes: Self.indexes)
    var query = StructuredQuery(.collection(ResourcePath(["books"])))
    query.question = .search(try TextSearch("sand worm", in: Self.words, matchesAll: true))
    query.limit = 1
    #expect(try world.documents(query).map(\.path.id) == ["best"])
    #expect(try Self.naive(query, documents).agrees(with: [documents[2].path], query))
  }

  @Test func `classes of counts and lengths are in order, and have a smallest member`() {
    var last = -1
    for number in 0..<70_000 {
      let impactClass = WordPosting.impactClass(number)
      #expect(Int(impactClass) >= last)
      #expect(WordPosting.smallest(of: impactClass) <= number)
      #expect(WordPosting.largest(of: impactClass) >= number)
      if Int(impactClass) != last { #expect(WordPosting.smallest(of: impactClass) == number) }
      last = Int(impactClass)
    }
    #expect(WordPosting.impactClass(WordPosting.lengthLimit) < 0xFF)
  }

  private static let vocabulary: [(word: String, weight: Int)] = [
    ("the", 40), ("run", 8), ("running", 5), ("runner", 3), ("sand", 6), ("worm", 4), ("dune", 2),
    ("spice", 1), ("desert", 3), ("Ünder", 1), ("x", 1),
  ]

  private static func text(_ random: inout SeededGenerator, upTo count: Int) -> String {
    let total = vocabulary.reduce(0) { $0 + $1.weight }
    return (0..<random.below(count)).map { _ in
      var rest = random.below(total)
      return vocabulary.first { word in
        rest -= word.weight
        return rest < 0
      }?.word ?? ""
    }.joined(separator: " ")
  }

  private static func query(_ random: inout SeededGenerator) throws -> StructuredQuery {
    var query = StructuredQuery(
      random.one(in: 4)
        ? .group("books", below: .root) : .collection(ResourcePath(["books"])))
    var parts: [String] = []
    for _ in 0..<(1 + random.below(3)) {
      switch random.below(8) {
      case 0: parts.append("\"sand worm\"")
      case 1: parts.append(random.pick(["ru*", "s*", "runn*", "zz*"]))
      default: parts.append(random.pick(vocabulary.map(\.word) + ["absent"]))
      }
    }
    query.question = .search(
      try TextSearch(parts.joined(separator: " "), in: words, matchesAll: random.below(3) > 0))
    if random.one(in: 3) {
      query.add(
        .comparison(
          .init(
            field: FieldSegments(["n"]), operator: random.pick([.equal, .lessThan]),
            operand: .integer(Int64(random.below(4))))))
    }
    if random.below(4) > 0 { query.limit = 1 + random.below(12) }
    if random.one(in: 4) { query.offset = random.below(4) }
    return query
  }

  /// BM25, written from its formula, on words found by the tokenizer.
  private static func naive(
    _ query: StructuredQuery, _ documents: [(path: ResourcePath, fields: MapValue)]
  ) throws -> NaiveRanking {
    guard case .search(let search) = query.question else {
      throw Status(.internal, "The query has no search.")
    }
    let tokenizer = WordTokenizer(.english)
    struct Text {
      var stems: [String]
      var folded: [[String]]
      var weight: Int
    }
    func texts(_ fields: MapValue) -> [Text] {
      [("title", 3), ("text", 1)].compactMap { name, weight in
        guard case .string(let text)? = fields[name] else { return nil }
        var forms: [[String]] = []
        Array(text.utf8).withUnsafeBytes { bytes in
          tokenizer.forEachWord(in: bytes) { word, position, _ in
            if position == forms.count { forms.append([]) }
            forms[position].append(String(decoding: word, as: UTF8.self))
          }
        }
        return Text(stems: tokenizer.words(in: text), folded: forms, weight: weight)
      }
    }
    let inScope = documents.filter { query.scope.contains($0.path) }
    let all = inScope.map { (path: $0.path, fields: $0.fields, texts: texts($0.fields)) }
    func length(_ texts: [Text]) -> Double {
      texts.reduce(0.0) { $0 + Double($1.weight * $1.stems.count) }
    }
    let counted = all.filter { length($0.texts) > 0 }
    let total = Double(counted.count)
    let average = counted.isEmpty ? 1 : counted.reduce(0.0) { $0 + length($1.texts) } / total
    func count(_ term: TextSearch.Term, _ texts: [Text]) -> Double {
      let wanted = String(decoding: term.bytes, as: UTF8.self)
      return texts.reduce(0.0) { sum, text in
        let found =
          term.isPrefix
          ? text.folded.count { forms in forms.contains { $0.hasPrefix(wanted) } }
          : text.stems.count { $0 == wanted }
        return sum + Double(found * text.weight)
      }
    }
    let reference = ReferenceQuery(
      query: {
        var plain = query
        plain.question = .results
        plain.limit = nil
        plain.offset = 0
        plain.orders = [.init(field: .documentID)]
        return plain
      }())
    let passing = Set(
      reference.run(inScope.map(ReferenceQuery.Document.init)).map(\.path))
    var ranked: [(path: ResourcePath, score: Double)] = []
    for document in all where passing.contains(document.path) {
      let counts = search.terms.map { count($0, document.texts) }
      guard search.matchesAll ? counts.allSatisfy({ $0 > 0 }) : counts.contains(where: { $0 > 0 }),
        search.phrases.allSatisfy({ phrase in
          let phrase = phrase.map { String(decoding: $0, as: UTF8.self) }
          return document.texts.contains { text in
            text.stems.indices.contains { text.stems[$0...].starts(with: phrase) }
          }
        })
      else { continue }
      var score = 0.0
      for (term, found) in zip(search.terms, counts) where found > 0 {
        let frequency = Double(all.count { count(term, $0.texts) > 0 })
        let idf =
          term.isPrefix ? 1 : log(1 + (total - frequency + 0.5) / (frequency + 0.5))
        score +=
          idf * found * 2.2
          / (found + 1.2 * (0.25 + 0.75 * length(document.texts) / average))
      }
      ranked.append((document.path, score))
    }
    ranked.sort { one, other in
      one.score != other.score
        ? one.score > other.score : ResourcePath.compare(one.path, other.path) < 0
    }
    return NaiveRanking(ranked)
  }
}

/// The scores of all matches, by the formula.
private struct NaiveRanking {
  private let scores: [ResourcePath: Double]
  private let sorted: [Double]

  init(_ ranked: [(path: ResourcePath, score: Double)]) {
    scores = Dictionary(uniqueKeysWithValues: ranked.map { ($0.path, $0.score) })
    sorted = ranked.map(\.score)
  }

  var count: Int { sorted.count }

  /// Whether the documents are the best ones, in order. Documents whose scores are equal up to rounding
  /// may come in either order: the formula is calculated in another order here.
  func agrees(with found: [ResourcePath], _ query: StructuredQuery) -> Bool {
    let expected = sorted.dropFirst(query.offset).prefix(query.limit ?? .max)
    guard Set(found).count == found.count, found.count == expected.count else { return false }
    return zip(found, expected).allSatisfy { path, score in
      guard let own = scores[path] else { return false }
      return abs(own - score) <= 1e-12 * max(1, score)
    }
  }
}
