import Foundation
import HearthTesting
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

@Suite struct GroupedAggregateQueryTests {
  private let database: TemporaryDatabase
  private let db: Firestore
  private let books: CollectionReference

  init() throws {
    database = try TemporaryDatabase()
    db = database.firestore
    books = db.collection("books")
  }

  private func fill() async throws {
    let all: [[String: Any]] = [
      ["author": "a", "pages": 100, "year": 1990, "genre": "x"],
      ["author": "a", "pages": 200.5, "year": 1980, "genre": "x"],
      ["author": "a", "pages": "many", "genre": "y"],
      ["author": "b", "pages": 50, "year": 2000, "genre": 1],
      ["author": "b", "year": NSNull(), "genre": 1.0],
      ["pages": 7], ["author": NSNull(), "pages": 8],
    ]
    for (number, fields) in all.enumerated() {
      try await books.document("\(number)").setData(fields)
    }
  }

  @Test func `each group has what it is formed by, and its aggregations`() async throws {
    try await fill()
    let (pages, mean) = (AggregateField.sum("pages"), AggregateField.average("pages"))
    let (first, last) = (AggregateField.minimum("year"), AggregateField.maximum("year"))
    let genres = AggregateField.countDistinct("genre")
    let groups = try await books.group(
      by: ["author"], aggregating: [.count(), pages, mean, first, last, genres, .count()]
    ).getGroups()
    #expect(groups.map { $0["author"] as? String } == [nil, "a", "b"])
    #expect(groups[0]["author"] is NSNull && groups[0]["pages"] == nil)
    #expect(groups.map(\.count) == [2, 3, 2])
    #expect(groups.map { $0.get(pages) as? Double } == [15, 300.5, 50])
    #expect(groups.map { $0.get(mean) as? Double } == [7.5, 150.25, 50])
    #expect(groups.map { $0.get(first) as? Int } == [nil, 1980, 2000])
    #expect(groups.map { $0.get(last) as? Int } == [nil, 1990, 2000])
    #expect(groups.map { $0.get(genres) as? Int } == [0, 2, 1])
    #expect(groups[0].get(.sum("other")) is NSNull)
  }

  @Test func `groups have conditions, orders and limits`() async throws {
    try await fill()
    let pages = AggregateField.sum("pages")
    let grouped = books.group(by: ["author"], aggregating: [.count(), pages])
    func authors(_ query: GroupedAggregateQuery) async throws -> [String?] {
      try await query.getGroups().map { $0["author"] as? String }
    }
    #expect(try await authors(grouped.having(.count(), isGreaterThan: 2)) == ["a"])
    #expect(try await authors(grouped.having(pages, isLessThanOrEqualTo: 50)) == [nil, "b"])
    #expect(
      try await authors(
        grouped.having(pages, isGreaterThanOrEqualTo: 50).having(.count(), isNotEqualTo: 3)) == [
          "b"
        ])
    #expect(try await authors(grouped.having(.count(), isEqualTo: 2.0)) == [nil, "b"])
    #expect(try await authors(grouped.having(.count(), isLessThan: 0)).isEmpty)
    #expect(try await authors(grouped.order(by: pages, descending: true)) == ["a", "b", nil])
    // Ties are in the order of the fields.
    #expect(try await authors(grouped.order(by: .count())) == [nil, "b", "a"])
    #expect(try await authors(grouped.order(by: "author", descending: true).limit(to: 1)) == ["b"])
    #expect(try await authors(grouped.offset(1).limit(to: 1)) == ["a"])
  }

  @Test func `each order of groups has a direction of its own`() async throws {
    try await fill()
    // The counts are 2, 3 and 2, the sums 15, 300.5 and 50.
    let (count, pages) = (AggregateField.count(), AggregateField.sum("pages"))
    let grouped = books.group(by: ["author"], aggregating: [count, pages])
    let cases: [(first: Bool, second: Bool, authors: [String?])] = [
      (false, false, [nil, "b", "a"]), (false, true, ["b", nil, "a"]),
      (true, false, ["a", nil, "b"]), (true, true, ["a", "b", nil]),
    ]
    for (first, second, authors) in cases {
      let ordered = grouped.order(by: count, descending: first)
        .order(by: pages, descending: second)
      let found = try await ordered.getGroups().map { $0["author"] as? String }
      #expect(found == authors, "descending: \(first), \(second)")
      let page = try await ordered.offset(1).limit(to: 1).getGroups()
      #expect(page.map { $0["author"] as? String } == [authors[1]])
    }
  }

  @Test func `filters and limits of the query come first; several fields, or none, form groups`()
    async throws
  {
    try await fill()
    let few = books.order(by: "pages").limit(to: 3)
    let groups = try await few.group(by: ["author"]).getGroups()
    #expect(groups.map(\.count) == [2, 1])
    let pairs = try await books.whereField("author", isEqualTo: "a")
      .group(by: [FieldPath(["author"]), FieldPath(["genre"])]).getGroups()
    #expect(pairs.map { $0["genre"] as? String } == ["x", "y"])
    #expect(pairs.map(\.count) == [2, 1])
    let all = try await books.group(by: [String](), aggregating: [.maximum("author")]).getGroups()
    #expect(all.map { $0.get(.maximum("author")) as? String } == ["b"])
    #expect(try await db.collection("none").group(by: ["a"]).getGroups().isEmpty)
  }

  /// As the same query without groups: neither ordered by that time, nor without those that have none.
  @Test func `a time relative to now is only a condition of what is grouped or included`()
    async throws
  {
    let tasks = db.collection("tasks")
    func due(_ hours: Double) -> Timestamp { Timestamp(date: Date() + hours * 3600) }
    try await tasks.document("a").setData(["x": "late", "due": due(2)])
    try await tasks.document("b").setData(["x": "soon", "due": due(1)])
    try await tasks.document("c").setData(["x": "pinned", "isPinned": true])
    try await tasks.document("d").setData(["x": "over", "due": due(-1)])
    let isDue = Filter.whereField("due", isAfterNow: .zero)
    let first = tasks.whereFilter(isDue).limit(to: 1)
    #expect(try await first.getDocuments().documents.map(\.documentID) == ["a"])
    #expect(try await first.group(by: ["x"]).getGroups().map { $0["x"] as? String } == ["late"])
    let open = tasks.whereFilter(
      .orFilter([isDue, .whereField("isPinned", isEqualTo: true)]))
    #expect(try await open.getDocuments().documents.map(\.documentID) == ["a", "b", "c"])
    let groups = try await open.group(by: ["x"]).getGroups()
    #expect(groups.map { $0["x"] as? String } == ["late", "pinned", "soon"])
    let joined = try await open.including(.reference("by")).getDocuments()
    #expect(joined.documents.map(\.documentID) == ["a", "b", "c"])
    let read = try await db.runTransaction { transaction, _ in
      try? transaction.getDocuments(open).documents.map(\.documentID)
    }
    #expect(read as? [String] == ["a", "b", "c"])
  }

  @Test func `the smallest, the largest and the different values of all results`() async throws {
    try await fill()
    let fields: [AggregateField] = [
      .minimum("year"), .maximum("year"), .countDistinct("year"), .count(),
    ]
    let query = books.aggregate(fields)
    let found = try await query.getAggregation(source: .server)
    // A document contributes only if it has every field.
    #expect(fields.map { found.get($0) as? Int } == [1980, 2000, 3, 4])
    var live = query.snapshots.makeAsyncIterator()
    #expect(try await live.next() == found)
    try await books.document("1").delete()
    let after = try #require(try await live.next())
    #expect(fields.map { after.get($0) as? Int } == [1990, 2000, 2, 3])
    try await books.document("3").updateData(["year": 1970])
    let again = try #require(try await live.next())
    #expect(fields.map { again.get($0) as? Int } == [1970, 1990, 2, 3])
  }

  @Test func `values are counted, and different numbers are added, once and live`() async throws {
    try await fill()
    let fields: [AggregateField] = [
      .countValues("year"), .sumDistinct("year"), .averageDistinct("year"),
    ]
    try await books.document("7").setData(["year": 1980.0])
    let query = books.aggregate(fields)
    let found = try await query.getAggregation(source: .server)
    #expect(fields.map { found.get($0) as? Double } == [4, 5970, 1990])
    var live = query.snapshots.makeAsyncIterator()
    #expect(try await live.next() == found)
    try await books.document("1").updateData(["year": NSNull()])
    let after = try #require(try await live.next())
    #expect(fields.map { after.get($0) as? Double } == [3, 5970, 1990])
    try await books.document("7").delete()
    let last = try #require(try await live.next())
    #expect(fields.map { last.get($0) as? Double } == [2, 3990, 1995])
    let groups = try await books.group(by: ["author"], aggregating: fields).getGroups()
    #expect(groups.map { $0.get(fields[0]) as? Int } == [0, 1, 1])
  }

  @Test func `a group knows the number of its documents without being asked to count`() async throws
  {
    try await fill()
    let pages = AggregateField.sum("pages")
    let query = books.group(by: ["author"], aggregating: [pages])
    #expect(try await query.getGroups().map(\.count) == [2, 3, 2])
    #expect(try await query.getGroups().map { $0.get(pages) as? Double } == [15, 300.5, 50])
    let bare = books.group(by: ["author"], aggregating: [])
    #expect(try await bare.getGroups().map(\.count) == [2, 3, 2])
    // It was not requested as an aggregation.
    let requested = try await query.getGroups().map { $0.get(.count()) as? Int }
    #expect(requested == [nil, nil, nil])
    await expectRefused(.invalidArgument) {
      _ = try await query.having(.count(), isGreaterThan: 1).getGroups()
    }
    var live = query.snapshots.makeAsyncIterator()
    #expect(try await live.next()?.map(\.count) == [2, 3, 2])
    // The sum stays the same.
    try await books.document("more").setData(["author": "b", "pages": 0])
    #expect(try await live.next()?.map(\.count) == [2, 3, 3])
  }

  @Test func `groups are read in closures, and see the writes before them`() async throws {
    try await fill()
    let grouped = books.group(by: ["author"], aggregating: [.count()])
    let outside = try await grouped.getGroups().map(\.count)
    let inside = try await db.read { try $0.getGroups(grouped).map(\.count) }
    #expect(inside == outside)
    let time = try await db.write { writer -> [Int] in
      try writer.deleteDocument(books.document("0"))
      return try writer.getGroups(grouped).map(\.count)
    }
    #expect(time == [2, 2, 2])
    #expect(try await grouped.getGroups().map(\.count) == [2, 2, 2])
    await expectRefused(.invalidArgument) {
      _ = try await db.read { try $0.getGroups(books.group(by: ["a", "a"])) }
    }
  }

  @Test func `what is no grouping is refused with a sentence`() async throws {
    #expect(
      await expectRefused(.invalidArgument) {
        _ = try await books.group(by: ["a"]).order(by: "b").getGroups()
      } == "The query does not group by b.")
    #expect(
      await expectRefused(.invalidArgument) {
        _ = try await books.group(by: ["a"]).having(.sum("b"), isEqualTo: 1).getGroups()
      } == "'sum(b)' was not requested in the aggregation query")
    for wrong in [
      books.group(by: ["a", "a"]), books.group(by: ["a..b"]),
      books.group(by: [FieldPath.documentID()]),
      books.group(by: ["a"], aggregating: [.sum("a..b")]), books.group(by: ["a"]).limit(to: -1),
      books.group(by: ["a"]).offset(-1), books.group(by: ["a"]).having(.count(), isEqualTo: self),
      books.whereField("", isEqualTo: 1).group(by: ["a"]),
      books.findNearest(
        vectorField: "v", queryVector: VectorValue([1]), limit: 1, distanceMeasure: .cosine
      ).group(by: ["a"]),
    ] {
      await expectRefused(.invalidArgument) { _ = try await wrong.getGroups() }
    }
  }

  @Test func `the results of a vector search are not aggregated`() async throws {
    let nearest = books.findNearest(
      vectorField: "v", queryVector: VectorValue([1]), limit: 1, distanceMeasure: .cosine)
    let expected = "The results of a vector search are not aggregated."
    #expect(
      await expectRefused(.invalidArgument) {
        _ = try await nearest.count.getAggregation(source: .server)
      } == expected)
    #expect(
      await expectRefused(.invalidArgument) {
        _ = try await db.read { try $0.getAggregation(nearest.aggregate([.sum("a")])) }
      } == expected)
    #expect(
      await expectRefused(.invalidArgument) {
        for try await _ in nearest.count.snapshots { break }
      } != nil)
  }

  /// Over random documents and queries, the engine groups as the plain reference does.
  @Test(arguments: 0..<8 as Range<UInt64>)
  func `groups of random queries are those of the reference`(seed: UInt64) async throws {
    var random = RandomQueries(seed: seed)
    let world = random.world(60)
    let fixture = try StoreFixture()
    let mutations = try world.map { try fixture.set($0.path, $0.fields) }
    for outcome in fixture.commitTogether(mutations.map { [$0] }) { _ = try outcome.get() }
    let documents = world.map(ReferenceQuery.Document.init)
    var found = 0
    for query in random.validQueries(60, world) {
      var grouped = GroupedQuery(query, by: [], [Aggregation(.count(upTo: nil))])
      let names = ["a", "b", "c", "m.x"].map {
        FieldSegments($0.split(separator: ".").map(String.init))
      }
      grouped.keys = names.filter { _ in random.values.generator.one(in: 3) }
      for name in names where random.values.generator.one(in: 3) {
        grouped.aggregations += [
          Aggregation(.minimum(name)), Aggregation(.maximum(name)), Aggregation(.distinct(name)),
          Aggregation(.values(name)), Aggregation(.distinctSum(name)),
          Aggregation(.distinctAverage(name)),
        ]
      }
      if random.values.generator.one(in: 3) {
        grouped.having = [
          .comparison(
            .init(
              field: GroupedQuery.field(ofAggregation: 0), operator: .greaterThan,
              operand: .integer(1)))
        ]
      }
      if random.values.generator.one(in: 2) {
        grouped.orders = [.init(field: GroupedQuery.field(ofAggregation: 0), isDescending: true)]
      }
      if random.values.generator.one(in: 3) { grouped.limit = random.values.generator.below(4) }
      if random.values.generator.one(in: 4) { grouped.offset = random.values.generator.below(3) }
      guard (try? grouped.checkOnlyGroups()) != nil else { continue }
      let own = try fixture.store.read { try StoreView($0).answer(.groups(grouped)).groups }
      let expected = ReferenceQuery.groups(grouped, documents)
      let difference = zip(own, expected).first { "\($0)" != "\($1)" }
      #expect(
        own.count == expected.count && difference == nil,
        "seed \(seed): \(own.count) \(expected.count) \(difference as Any)")
      found += own.count
    }
    // Some conditions leave few documents.
    #expect(found > 4)
  }
}
