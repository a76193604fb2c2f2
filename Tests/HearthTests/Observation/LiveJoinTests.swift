import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// Joins, semi-joins and groups, live: every event is the query evaluated naively at its commit.
///
/// Random worlds of authors, books, reviews and publishers that refer to each other, in part to
/// documents that do not exist; random queries on them; listeners that are slow. Lookaheads and steps
/// are tiny.
@Suite struct LiveJoinTests {
  static let scenarios = Soak.isOn ? 8_000 : 40

  @Test(arguments: [ListeningFixture.Kind.store, .memory, .late])
  func `every event of a join is the query evaluated at its commit`(
    _ kind: ListeningFixture.Kind
  ) async throws {
    var tally = JoinScenario.Tally()
    for seed in Soak.seeds(Self.scenarios, andOnce: 3756, 6961) {
      var scenario = try JoinScenario(seed: seed, kind)
      do { try scenario.run() } catch { throw JoinScenario.Mismatch("seed \(seed): \(error)") }
      tally.add(scenario.tally)
      // Other tests wait for a thread.
      await Task.yield()
    }
    print("joins in agreement over \(kind): \(tally)")
    #expect(tally.events > 8 * Self.scenarios)
    #expect(tally.onlyIncluded > Self.scenarios / 4)
    #expect(tally.semiJoins > Self.scenarios && tally.groups > Self.scenarios / 2)
  }

  @Test func `a change of an included document reads nothing again`() throws {
    let fixture = try ListeningFixture(.store)
    let registry = fixture.registry()
    defer { registry.close() }
    for number in 0..<30 {
      try fixture.commit(
        fixture.set("authors/a\(10 + number)", ("name", .integer(0))),
        fixture.set(
          "books/b\(10 + number)",
          ("author", .reference(ResourcePath(["authors", "a\(10 + number)"])))))
    }
    var query = StructuredQuery(.collection(ResourcePath(["books"])))
    query.limit = 10
    let joined = JoinedQuery(
      query, including: [Inclusion(.reference(FieldSegments(["author"])))])
    let asker = Asker(.joined(joined), registry, eventLimit: 16)
    registry.settle()
    let first = try #require(try asker.take())
    #expect(first.list.count == 10)
    let before = registry.readStatistics()
    try fixture.commit(fixture.set("authors/a13", ("name", .integer(1))))
    // Neither a result nor included with one.
    try fixture.commit(fixture.set("authors/a30", ("name", .integer(1))))
    registry.settle()
    let event = try #require(try asker.take())
    #expect(event.changes?.isEmpty == true)
    let book = event.list.documents[3]
    let author = try #require(event.included?.documents(0, of: book, at: 0).documents.first)
    #expect(try author.body.map().value(at: ["name"]) == .integer(1))
    #expect(try asker.take() == nil)
    let after = registry.readStatistics()
    #expect(after.visits == before.visits + 1 && after.refills == before.refills)
  }

  @Test func `a change of a referring document looks at few windows, however many there are`()
    throws
  {
    let work = try [10, 1000].map { count in
      let fixture = try ListeningFixture(.store)
      let registry = fixture.registry()
      defer { registry.close() }
      for number in 0..<count { try fixture.commit(fixture.set("books/b\(number)")) }
      let books = StructuredQuery(.collection(ResourcePath(["books"])))
      let reviews = StructuredQuery(.collection(ResourcePath(["reviews"])))
      let joined = JoinedQuery(
        books,
        including: [Inclusion(.referring(reviews, FieldSegments(["book"]), isArray: false))])
      let asker = Asker(.joined(joined), registry, eventLimit: 16)
      registry.settle()
      #expect(try asker.take()?.list.count == count)
      func comparisons() throws -> Int {
        try registry.queue.sync {
          try #require(registry.state.views[asker.target]).routeComparisons
        }
      }
      let before = try comparisons()
      let book = Value.reference(ResourcePath(["books", "b7"]))
      try fixture.commit(fixture.set("reviews/r", ("book", book)))
      registry.settle()
      let event = try #require(try asker.take())
      let document = try #require(event.list.documents.first { $0.path.id == "b7" })
      #expect(event.included?.documents(0, of: document, at: 0).documents.count == 1)
      return try comparisons() - before
    }
    #expect(work[0] == work[1] && work[0] <= 4, "\(work)")
  }

  @Test func `a change of a joined document visits only the queries whose values it changes`()
    throws
  {
    let fixture = try ListeningFixture(.store)
    let registry = fixture.registry()
    defer { registry.close() }
    for number in 0..<20 {
      try fixture.commit(
        fixture.set("authors/a\(number)", ("country", .integer(Int64(number % 4)))),
        fixture.set(
          "books/b\(number)", ("author", .reference(ResourcePath(["authors", "a\(number)"])))))
    }
    let askers = (0..<4).map { country in
      var authors = StructuredQuery(.collection(ResourcePath(["authors"])))
      authors.add(
        .comparison(
          StructuredQuery.Comparison(
            field: FieldSegments(["country"]), operator: .equal, operand: .integer(Int64(country))))
      )
      var books = StructuredQuery(.collection(ResourcePath(["books"])))
      books.add(
        .comparison(
          StructuredQuery.Comparison(
            field: FieldSegments(["author"]), isArray: false, in: SemiJoin(authors, .documentID))))
      return Asker(.query(EffectiveQuery(books)), registry, eventLimit: 16)
    }
    registry.settle()
    for asker in askers { #expect(try asker.take()?.list.count == 5) }
    let before = registry.readStatistics()
    try fixture.commit(fixture.set("authors/a0", ("country", .integer(1))))
    registry.settle()
    #expect(try askers[0].take()?.list.count == 4)
    #expect(try askers[1].take()?.list.count == 6)
    #expect(try askers[2].take() == nil && askers[3].take() == nil)
    #expect(registry.readStatistics().visits == before.visits + 2)
    // A book finds its query by the value of its author.
    try fixture.commit(
      fixture.set("books/new", ("author", .reference(ResourcePath(["authors", "a2"])))))
    registry.settle()
    #expect(try askers[2].take()?.list.count == 6)
    #expect(registry.readStatistics().visits == before.visits + 3)
  }
}

private struct JoinScenario {
  struct Mismatch: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
  }

  struct Tally {
    var events = 0
    var onlyIncluded = 0
    var semiJoins = 0
    var groups = 0

    mutating func add(_ other: Tally) {
      events += other.events
      onlyIncluded += other.onlyIncluded
      semiJoins += other.semiJoins
      groups += other.groups
    }
  }

  struct Version: Equatable {
    var path: ResourcePath
    var fields: MapValue
    var time: Instant
  }

  typealias State = [ResourcePath: Version]

  enum Wanted {
    case joined(JoinedQuery)
    case query(StructuredQuery)
    case totals(StructuredQuery, [Aggregation])
    case groups(GroupedQuery)

    var target: Listener.Target {
      switch self {
      case .joined(let joined): .joined(joined)
      case .query(let query): .results(of: query)
      case .totals(let query, let aggregations): .totals(of: query, aggregations)
      case .groups(let grouped): .groups(grouped)
      }
    }
  }

  struct Watch {
    var wanted: Wanted
    var asker: Asker
    var sequence: UInt64
    /// The answer shown before, as text.
    var shown: String?
    var results: [ResourcePath]?
  }

  var random: SeededGenerator
  let fixture: ListeningFixture
  let registry: ListenerRegistry
  var states: [(sequence: UInt64, state: State)] = [(0, [:])]
  var watches: [Watch] = []
  var tally = Tally()
  /// All that the clock has shown, and the one that naive answers are for.
  var times: [Instant] = []
  var time = Instant.earliest

  init(seed: UInt64, _ kind: ListeningFixture.Kind) throws {
    random = SeededGenerator(seed: seed &* 104_729 &+ 7)
    fixture = try ListeningFixture(kind, seed: seed, isLogShort: seed % 9 == 4)
    var tuning = MaterializedQueryTuning()
    tuning.minimumLookahead = 1
    tuning.stepLimit = 6
    registry = fixture.registry(tuning)
  }

  mutating func run() throws {
    defer { registry.close() }
    for _ in 0..<8 { try commit(5) }
    for _ in 0..<30 {
      switch random.below(10) {
      case 0, 1, 2: if watches.count < 4 { listen() }
      case 3, 4:
        registry.settle()
        for index in watches.indices where random.below(3) > 0 { try take(index) }
      case 5:
        fixture.clock.advance(by: Int64(random.below(12)))
        times.append(fixture.clock.now)
        registry.checkTimes()
      default: try commit(1 + random.below(3))
      }
    }
    registry.checkTimes()
    registry.settle()
    for index in watches.indices {
      while try take(index) {}
      let newest = states[states.count - 1].state
      time = fixture.clock.now
      let now = text(of: answer(watches[index].wanted, newest))
      if case .joined(let joined) = watches[index].wanted {
        let once = try fixture.joined(joined)
        let read = try text(
          of: .nodes(
            once.documents.map { try node($0, joined.inclusions, 0, once.included) }))
        guard read == now else {
          throw Mismatch(
            "read once: \(joins(watches[index].wanted)) \(joined)\n\(read)\ninstead of\n\(now)")
        }
      }
      guard watches[index].shown == now else {
        throw Mismatch(
          "not the newest: \(watches[index].wanted)\n\(now)\nbut\n\(watches[index].shown ?? "nothing")"
        )
      }
    }
  }

  // MARK: The world

  private static let counts = ["publishers": 3, "authors": 6, "books": 12, "reviews": 14]

  private mutating func path(in collection: String) -> ResourcePath {
    // One more than are ever written: a dangling reference.
    ResourcePath([collection, "\(random.below((Self.counts[collection] ?? 1) + 1))"])
  }

  private mutating func document() -> (path: ResourcePath, fields: MapValue?) {
    let collection = random.pick(["publishers", "authors", "authors", "books", "books", "reviews"])
    let path = ResourcePath([collection, "\(random.below(Self.counts[collection] ?? 1))"])
    if random.below(5) == 0 { return (path, nil) }
    var fields = MapValue()
    fields["n"] = .integer(Int64(random.below(4)))
    if random.below(3) > 0 {
      fields["t"] = .timestamp(fixture.clock.now.adding(saturating: Int64(random.below(30)) - 10))
    }
    func some(_ count: Int, of collection: String) -> Value {
      .array((0..<random.below(count)).map { _ in .reference(self.path(in: collection)) })
    }
    switch collection {
    case "authors":
      if random.below(5) > 0 { fields["publisher"] = .reference(self.path(in: "publishers")) }
    case "books":
      if random.below(6) > 0 { fields["author"] = .reference(self.path(in: "authors")) }
      if random.below(3) > 0 { fields["authors"] = some(4, of: "authors") }
    case "reviews":
      if random.below(6) > 0 { fields["book"] = .reference(self.path(in: "books")) }
      if random.below(3) > 0 { fields["books"] = some(4, of: "books") }
      if random.below(6) == 0 { fields["book"] = .null }
    default: break
    }
    return (path, fields)
  }

  private mutating func commit(_ count: Int) throws {
    let documents = (0..<count).map { _ in document() }
    let mutations = try documents.map { path, fields in
      Mutation(
        path: path,
        operation: try fields.map { .set(try DocumentBody(encoding: $0)) } ?? .delete)
    }
    fixture.clock.advance(by: Int64(random.below(3)))
    times.append(fixture.clock.now)
    let result = try fixture.commitTogether([mutations])[0].get()
    var state = states[states.count - 1].state
    for ((path, fields), written) in zip(documents, result.results) {
      guard let time = written.updateTime, let fields else {
        state[path] = nil
        continue
      }
      state[path] = Version(path: path, fields: fields, time: time)
    }
    if state != states[states.count - 1].state { states.append((result.sequence, state)) }
  }

  // MARK: Queries

  private mutating func query(_ collection: String, depth: Int = 0) -> StructuredQuery {
    var query = StructuredQuery(.collection(ResourcePath([collection])))
    if random.below(3) == 0 {
      query.add(
        .comparison(
          StructuredQuery.Comparison(
            field: FieldSegments(["n"]), operator: random.pick([.equal, .lessThan, .greaterThan]),
            operand: .integer(Int64(random.below(4))))))
    }
    if random.below(depth == 0 ? 2 : 4) == 0, depth < 3 {
      var filter = StructuredQuery.Filter.comparison(semiJoin(collection, depth))
      if random.below(4) == 0 { filter = filter.negated }
      if random.below(3) == 0 {
        filter = .any([
          filter,
          .comparison(
            StructuredQuery.Comparison(
              field: FieldSegments(["n"]), operator: .equal,
              operand: .integer(Int64(random.below(4))))),
        ])
      }
      query.add(filter)
    }
    if random.below(5) == 0 {
      let filter = StructuredQuery.Filter.comparison(
        StructuredQuery.Comparison(
          field: FieldSegments(["t"]), isBefore: random.one(in: 2),
          nowPlus: Int64(random.below(9)) - 4))
      query.add(random.below(4) == 0 ? filter.negated : filter)
    }
    if random.below(2) == 0 {
      query.orders = [.init(field: FieldSegments(["n"]), isDescending: random.one(in: 2))]
    }
    if random.below(3) == 0 {
      query.limit = 1 + random.below(4)
      if random.below(3) == 0 { query.offset = random.below(2) }
      if random.below(3) == 0, !query.orders.isEmpty { query.isLimitToLast = true }
    }
    return query
  }

  private mutating func semiJoin(
    _ collection: String, _ depth: Int
  ) -> StructuredQuery.Comparison {
    func comparison(
      _ field: FieldSegments, isArray: Bool = false, _ other: String, _ otherField: FieldSegments
    ) -> StructuredQuery.Comparison {
      StructuredQuery.Comparison(
        field: field, isArray: isArray,
        in: SemiJoin(query(other, depth: depth + 1), otherField))
    }
    let id = FieldSegments.documentID
    switch collection {
    case "publishers": return comparison(id, "authors", FieldSegments(["publisher"]))
    case "authors":
      return random.one(in: 2)
        ? comparison(id, "books", FieldSegments([random.pick(["author", "authors"])]))
        : comparison(FieldSegments(["publisher"]), "publishers", id)
    case "books":
      switch random.below(4) {
      case 0: return comparison(id, "reviews", FieldSegments([random.pick(["book", "books"])]))
      case 1: return comparison(FieldSegments(["authors"]), isArray: true, "authors", id)
      case 2: return comparison(FieldSegments(["n"]), "authors", FieldSegments(["n"]))
      default: return comparison(FieldSegments(["author"]), "authors", id)
      }
    default:
      return random.one(in: 2)
        ? comparison(FieldSegments(["book"]), "books", id)
        : comparison(FieldSegments(["books"]), isArray: true, "books", id)
    }
  }

  private mutating func inclusions(of collection: String, depth: Int = 0) -> [Inclusion] {
    guard depth < 3 else { return [] }
    var all: [Inclusion] = []
    func add(_ relation: Inclusion.Relation, _ other: String) {
      all.append(Inclusion(relation, including: inclusions(of: other, depth: depth + 1)))
    }
    func some() -> Bool { random.below(depth == 0 ? 2 : 3) == 0 }
    switch collection {
    case "publishers":
      if some() {
        add(
          .referring(query("authors", depth: 2), FieldSegments(["publisher"]), isArray: false),
          "authors")
      }
    case "authors":
      if some() { add(.reference(FieldSegments(["publisher"])), "publishers") }
      if some() {
        add(
          .referring(query("books", depth: 2), FieldSegments(["author"]), isArray: false), "books")
      }
      if some() {
        add(
          .referring(query("books", depth: 2), FieldSegments(["authors"]), isArray: true), "books")
      }
    case "books":
      if some() { add(.reference(FieldSegments(["author"])), "authors") }
      if some() { add(.reference(FieldSegments(["authors"])), "authors") }
      if some() {
        add(
          .referring(query("reviews", depth: 2), FieldSegments(["book"]), isArray: false), "reviews"
        )
      }
    default:
      if some() { add(.reference(FieldSegments(["books"])), "books") }
      if some() { add(.reference(FieldSegments(["book"])), "books") }
    }
    return all
  }

  private mutating func listen() {
    let collection = random.pick(["publishers", "authors", "books", "books", "reviews"])
    let wanted: Wanted
    switch random.below(6) {
    case 0, 1, 2:
      wanted = .joined(JoinedQuery(query(collection), including: inclusions(of: collection)))
    case 3: wanted = .query(query(collection))
    case 4:
      var query = query(collection)
      query.orders = []
      query.isLimitToLast = false
      wanted = .totals(
        query, [Aggregation(.count(upTo: nil)), Aggregation(.sum(FieldSegments(["n"])))])
    default:
      var grouped = GroupedQuery(
        query("books"), by: [FieldSegments([random.pick(["author", "n"])])],
        [Aggregation(.count(upTo: nil)), Aggregation(.maximum(FieldSegments(["n"])))])
      if random.one(in: 3) { grouped.limit = 2 }
      wanted = .groups(grouped)
    }
    // Not by the random numbers: seeds keep their stories.
    let number = 7 * states.count + 3 * watches.count
    if case .query(let query) = wanted, number % 2 == 0 {
      let (sequence, state) = states[number % states.count]
      watches.append(
        Watch(
          wanted: wanted,
          asker: Asker(
            wanted.target, registry, since: sequence, eventLimit: random.pick([0, 16])),
          sequence: sequence, results: results(of: query, state).map(\.path)))
      return
    }
    watches.append(
      Watch(
        wanted: wanted, asker: Asker(wanted.target, registry, eventLimit: random.pick([0, 16])),
        sequence: states[states.count - 1].sequence))
  }

  private func joins(_ wanted: Wanted) -> String {
    let query: StructuredQuery
    switch wanted {
    case .joined(let joined): query = joined.query
    case .query(let plain), .totals(let plain, _): query = plain
    case .groups(let grouped): query = grouped.query
    }
    return query.filters.semiJoins.map {
      "\($0.field) of \($0.query) \($0.query.filters.semiJoins.map(\.query))"
    }.joined(separator: ", ")
  }

  // MARK: The naive answer

  indirect enum Node: Equatable {
    case document(Version, [[Node]])
  }

  enum Answer {
    case nodes([Node])
    case values([Value])
  }

  private func document(_ version: Version) -> ReferenceQuery.Document {
    ReferenceQuery.Document((version.path, version.fields))
  }

  private func resolved(_ filter: StructuredQuery.Filter, _ state: State) -> StructuredQuery.Filter
  {
    switch filter {
    case .all(let members): return .all(members.map { resolved($0, state) })
    case .any(let members): return .any(members.map { resolved($0, state) })
    case .comparison(let comparison):
      if case .offset(let offset)? = comparison.relativeTime {
        var plain = StructuredQuery.Comparison(
          field: comparison.field,
          operator: comparison.operator == .beforeNow ? .lessThanOrEqual : .greaterThan,
          operand: .timestamp(Instant(microseconds: time.microseconds + offset)))
        plain.isNegated = comparison.isNegated
        return .comparison(plain)
      }
      guard let join = comparison.semiJoin else { return filter }
      var values: [Value] = []
      for version in results(of: join.query, state) {
        guard let value = document(version).find(join.field)?.value else { continue }
        if case .array(let elements) = value { values += elements } else { values.append(value) }
      }
      let isArray = comparison.operator == .arrayContainsAnyInResults
      var plain = StructuredQuery.Comparison(
        field: comparison.field, operator: isArray ? .arrayContainsAny : .inSet,
        operand: .array(values))
      plain.isNegated = comparison.isNegated
      return .comparison(plain)
    }
  }

  private func results(of query: StructuredQuery, _ state: State) -> [Version] {
    var plain = query
    plain.orders = query.effectiveOrders
    plain.filters = query.filters.map { resolved($0, state) }
    return ReferenceQuery(query: plain).run(state.values.map(document)).compactMap {
      state[$0.path]
    }
  }

  private func node(_ version: Version, _ inclusions: [Inclusion], _ state: State) -> Node {
    .document(
      version,
      inclusions.map { inclusion in
        let found: [Version]
        switch inclusion.relation {
        case .reference(let field):
          var paths: [ResourcePath] = []
          switch document(version).find(field)?.value {
          case .reference(let path): paths = [path]
          case .array(let elements):
            for case .reference(let path) in elements { paths.append(path) }
          default: break
          }
          found = paths.compactMap { state[$0] }
        case .referring(var query, let field, let isArray):
          query.add(
            .comparison(
              StructuredQuery.Comparison(
                field: field, operator: isArray ? .arrayContains : .equal,
                operand: .reference(version.path))))
          found = results(of: query, state)
        }
        return found.map { node($0, inclusion.inclusions, state) }
      })
  }

  private func answer(_ wanted: Wanted, _ state: State) -> Answer {
    switch wanted {
    case .query(let query):
      return .nodes(results(of: query, state).map { .document($0, []) })
    case .joined(let joined):
      return .nodes(results(of: joined.query, state).map { node($0, joined.inclusions, state) })
    case .totals(let query, let aggregations):
      var query = query
      if query.orders.isEmpty, query.start == nil, query.end == nil,
        query.limit != nil || query.offset > 0
      {
        // The documents that an index on the summed field has first.
        var fields = query.impliedOrderFields
        if !fields.contains(FieldSegments(["n"])) { fields.append(FieldSegments(["n"])) }
        query.orders = fields.map { StructuredQuery.Order(field: $0) }
      }
      let found = results(of: query, state).filter { version in
        document(version).find(FieldSegments(["n"])) != nil
      }
      var sum: Int64 = 0
      for version in found { if case .integer(let n)? = version.fields["n"] { sum += n } }
      _ = aggregations
      return .values([.integer(Int64(found.count)), .integer(sum)])
    case .groups(let grouped):
      var plain = grouped
      plain.query.orders = grouped.query.effectiveOrders
      plain.query.filters = grouped.query.filters.map { resolved($0, state) }
      let groups = ReferenceQuery.groups(plain, state.values.map(document))
      return .values(groups.map { .array($0.keys + $0.values) })
    }
  }

  private func text(of answer: Answer) -> String {
    switch answer {
    case .values(let values): return "\(values)"
    case .nodes(let nodes):
      func text(_ node: Node) -> String {
        guard case .document(let version, let lists) = node else { return "" }
        let included = lists.map { "[" + $0.map(text).joined(separator: " ") + "]" }
        return "\(version.path.text)@\(version.time)\(included.joined())"
      }
      return nodes.map(text).joined(separator: "\n")
    }
  }

  // MARK: What was shown

  private func node(
    _ document: StoredDocument, _ inclusions: [Inclusion], _ level: Int,
    _ included: IncludedDocuments?
  ) throws -> Node {
    .document(
      Version(
        path: document.path, fields: try document.body.map(), time: document.updateTime),
      try inclusions.indices.map { index in
        guard let included else { throw Mismatch("nothing included") }
        let (below, found) = included.documents(index, of: document, at: level)
        return try found.map { try node($0, inclusions[index].inclusions, below, included) }
      })
  }

  private func shown(_ event: ResultEvent, _ wanted: Wanted) throws -> String {
    func node(
      _ document: StoredDocument, _ inclusions: [Inclusion], _ level: Int
    ) throws -> Node {
      try self.node(document, inclusions, level, event.included)
    }
    switch wanted {
    case .query: return text(of: .nodes(try event.list.documents.map { try node($0, [], 0) }))
    case .joined(let joined):
      return text(of: .nodes(try event.list.documents.map { try node($0, joined.inclusions, 0) }))
    case .totals, .groups: return text(of: .values(event.values ?? []))
    }
  }

  @discardableResult
  private mutating func take(_ index: Int) throws -> Bool {
    guard let event = try watches[index].asker.take() else { return false }
    let watch = watches[index]
    tally.events += 1
    switch watch.wanted {
    case .groups: tally.groups += 1
    case .joined(let joined): if joined.query.filters.hasSemiJoins { tally.semiJoins += 1 }
    case .query(let query), .totals(let query, _):
      if query.filters.hasSemiJoins { tally.semiJoins += 1 }
    }
    guard event.sequence >= watch.sequence,
      let state = states.last(where: { $0.sequence <= event.sequence })?.state
    else { throw Mismatch("back, or never: \(watch.wanted)") }
    watches[index].sequence = event.sequence
    let shown = try shown(event, watch.wanted)
    var expected = ""
    // Which time it is of is not said.
    for candidate in times.reversed() {
      time = candidate
      expected = text(of: answer(watch.wanted, state))
      if shown == expected { break }
      if !MaterializedQuery(watch.wanted.target).isTimed { break }
    }
    guard shown == expected else {
      throw Mismatch(
        "\(joins(watch.wanted)) \(watch.wanted) at \(event.sequence):\n\(shown)\ninstead of\n\(expected)"
      )
    }
    if shown == watch.shown { throw Mismatch("nothing new: \(watch.wanted) at \(event.sequence)") }
    let paths = event.list.documents.map(\.path)
    if let changes = event.changes, let before = watch.results {
      if changes.isEmpty, watch.shown != nil { tally.onlyIncluded += 1 }
      var working = before
      for change in changes {
        if let old = change.oldIndex {
          guard working[old] == change.document.path else {
            throw Mismatch("index: \(watch.wanted)")
          }
          working.remove(at: old)
        }
        if let new = change.newIndex { working.insert(change.document.path, at: new) }
      }
      guard working == paths else { throw Mismatch("changes: \(watch.wanted)") }
    }
    watches[index].shown = shown
    watches[index].results = paths
    return true
  }
}
