import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Conditions that Firestore does not have, as users write them.
@Suite struct FilterExtensionsTests {
  private let database: TemporaryDatabase
  private let db: Firestore
  private let books: CollectionReference

  init() throws {
    database = try TemporaryDatabase()
    db = database.firestore
    books = db.collection("books")
  }

  private func fill() async throws {
    let all: [String: [String: Any]] = [
      "dune": ["title": "Dune", "tags": ["sand", "spice", "worms"], "pages": 412],
      "dunes": ["title": "DUNE", "tags": ["sand"], "pages": 100],
      "emma": ["title": "Emma", "tags": [1, 2.0, "spice"]],
      "none": ["pages": 412.0], "null": ["title": NSNull(), "tags": NSNull(), "pages": NSNull()],
    ]
    for (name, fields) in all { try await books.document(name).setData(fields) }
  }

  private func found(_ filter: Filter) async throws -> [String] {
    try await books.whereFilter(filter).getDocuments().documents.map(\.documentID)
  }

  @Test func `text is found by regular expressions, in linear time`() async throws {
    try await fill()
    #expect(try await found(.whereField("title", matchesPattern: "^Du")) == ["dune"])
    #expect(
      try await found(.whereField("title", matchesPattern: "^du.e$", options: "i")) == [
        "dune", "dunes",
      ])
    #expect(try await found(.whereField("title", matchesPattern: "(a*)*b")).isEmpty)
    for (pattern, options) in [("(", ""), ("a", "q"), ("(a)\\1", ""), ("(?=a)", "")] {
      let error = await #expect(throws: (any Error).self) {
        _ = try await found(.whereField("title", matchesPattern: pattern, options: options))
      }
      #expect((error as NSError?)?.code == FirestoreErrorCode.invalidArgument.rawValue)
    }
  }

  @Test func `points are found in circles, boxes and polygons, with an index and without`()
    async throws
  {
    func point(_ latitude: Double, _ longitude: Double) -> GeoPoint {
      GeoPoint(latitude: latitude, longitude: longitude)
    }
    for (id, place) in [
      ("oslo", point(59.91, 10.75)), ("bergen", point(60.39, 5.32)),
      ("suva", point(-18.14, 178.44)),
      ("apia", point(-13.83, -171.77)),
    ] {
      try await books.document(id).setData(["place": place])
    }
    try await books.document("none").setData(["place": "Oslo"])
    for isIndexed in [false, true] {
      if isIndexed {
        try await db.indexes.declare(FirestoreIndex("books", .cells("place")))
        try await db.indexes.waitUntilReady()
      }
      let oslo = point(59.9, 10.7)
      #expect(try await found(.whereField("place", isWithin: 5000, metersOf: oslo)) == ["oslo"])
      #expect(
        try await found(.whereField("place", isWithin: 310_000, metersOf: oslo)) == [
          "bergen", "oslo",
        ])
      #expect(
        try await found(
          .whereField("place", isWithinBoxFrom: point(-20, 170), to: point(-10, -170))) == [
            "apia", "suva",
          ])
      let triangle = [point(58, 4), point(62, 4), point(60, 8)]
      #expect(try await found(.whereField("place", isWithinPolygon: triangle)) == ["bergen"])
      #expect(
        try await found(.notFilter(.whereField("place", isWithinPolygon: triangle))) == [
          "apia", "none", "oslo", "suva",
        ])
    }
    for filter in [
      Filter.whereField("place", isWithin: -1, metersOf: point(0, 0)),
      .whereField("place", isWithin: .nan, metersOf: point(0, 0)),
      .whereField("place", isWithinBoxFrom: point(10, 0), to: point(0, 1)),
      .whereField("place", isWithinPolygon: [point(0, 0)]),
    ] {
      let error = await #expect(throws: (any Error).self) { _ = try await found(filter) }
      #expect((error as NSError?)?.code == FirestoreErrorCode.invalidArgument.rawValue)
    }
  }

  @Test func `times relative to now move a listener's result without a write`() async throws {
    func due(_ id: String, in seconds: Double) async throws -> Date {
      let date = Date(timeIntervalSinceNow: seconds)
      try await books.document(id).setData(["due": Timestamp(date: date)])
      return date
    }
    // Days apart: a busy machine may stop for a minute.
    let day = 86_400.0
    for (id, seconds) in [("past", -2 * day), ("soon", day), ("later", 3 * day)] {
      _ = try await due(id, in: seconds)
    }
    try await books.document("none").setData(["due": "soon"])
    #expect(
      try await Set(found(.whereField("due", isBeforeNow: .seconds(2 * day)))) == ["past", "soon"])
    #expect(try await found(.whereField("due", isAfterNow: .seconds(2 * day))) == ["later"])
    #expect(try await found(.whereField("due", isBeforeNow: .seconds(-day))) == ["past"])
    let date = try await due("soon", in: 2)
    let recorder = SnapshotRecorder(books.whereFilter(.whereField("due", isAfterNow: .zero)))
    var shown = try await recorder.next().documents.map(\.documentID)
    if shown != ["later"] {
      #expect(shown == ["later", "soon"])
      shown = try await recorder.next().documents.map(\.documentID)
    }
    #expect(shown == ["later"] && Date() >= date)
  }

  @Test func `days are counted from today, where the zone is`() async throws {
    let kiribati = try #require(TimeZone(secondsFromGMT: 14 * 3600))
    let now = Date()
    var calendar = Calendar(identifier: .gregorian)
    // Noon of each day, so that midnight during this test is all that could harm; and the days of both zones differ.
    for (zone, name) in [(TimeZone.gmt, "gmt"), (kiribati, "kiribati")] {
      calendar.timeZone = zone
      let noon = calendar.startOfDay(for: now).addingTimeInterval(43_200)
      for day in -2...2 {
        let date = try #require(calendar.date(byAdding: .day, value: day, to: noon))
        try await books.document("\(name)\(day)").setData([name: Timestamp(date: date)])
      }
      try await books.document("\(name) text").setData([name: "today"])
      func days(_ days: ClosedRange<Int>) async throws -> [String] {
        try await found(.whereField(name, isOnDays: days, in: zone))
      }
      try #require(calendar.startOfDay(for: Date()) == calendar.startOfDay(for: now))
      #expect(try await days(0...0) == ["\(name)0"])
      #expect(try await Set(days(-2 ... -1)) == ["\(name)-2", "\(name)-1"])
      #expect(try await days(-4_000_000...3_999_999).count == 5)
      let other = Filter.notFilter(.whereField(name, isOnDays: 0...1, in: zone))
      #expect(
        try await Set(found(other)).isSuperset(of: ["\(name)-1", "\(name)2", "\(name) text"]))
      for refused in [0...4_000_000, -4_000_001...0, 0...Int.max] {
        await expectRefused(.invalidArgument) { _ = try await days(refused) }
      }
    }
  }

  @Test func `regions and times have forms for names with dots`() async throws {
    let oslo = GeoPoint(latitude: 59.9, longitude: 10.7)
    let around = [
      GeoPoint(latitude: 59, longitude: 10), GeoPoint(latitude: 61, longitude: 10),
      GeoPoint(latitude: 60, longitude: 12),
    ]
    try await books.document("dotted").setData(["a.b": oslo, "t.u": Timestamp(date: Date())])
    try await books.document("nested").setData([
      "a": ["b": oslo], "t": ["u": Timestamp(date: Date())],
    ])
    func filters(_ place: FieldPath, _ time: FieldPath) -> [Filter] {
      [
        .whereField(place, isWithin: 10, metersOf: oslo),
        .whereField(place, isWithinBoxFrom: oslo, to: around[2]),
        .whereField(place, isWithinPolygon: around), .whereField(time, isAfterNow: .seconds(-600)),
        .whereField(time, isBeforeNow: .zero), .whereField(time, isOnDays: -1...1, in: .gmt),
      ]
    }
    for filter in filters(FieldPath(["a.b"]), FieldPath(["t.u"])) {
      #expect(try await found(filter) == ["dotted"])
    }
    for filter in filters(FieldPath(["a", "b"]), FieldPath(["t", "u"])) {
      #expect(try await found(filter) == ["nested"])
    }
  }

  @Test func `inequalities that are only conditions order nothing`() async throws {
    try await fill()
    let either = Filter.orFilter([
      .whereField("pages", isGreaterThan: 400), .whereField("tags", arrayContains: "sand"),
      .whereField("title", isEqualTo: "Emma"),
    ])
    // Emma has no number of pages, so that Firestore's own form leaves it out.
    #expect(try await found(either) == ["dunes", "dune", "none"])
    #expect(try await found(.unordered(either)) == ["dune", "dunes", "emma", "none"])
    #expect(try await found(.notFilter(.unordered(either))) == ["null"])
    let exist = Filter.andFilter([
      .whereField("title", isNotEqualTo: NSNull()), .whereField("pages", isNotEqualTo: NSNull()),
    ])
    #expect(try await found(.unordered(exist)) == ["dune", "dunes"])
  }

  @Test(arguments: [false, true])
  func `limits of Firestore do not apply to what is only a condition`(isIndexed: Bool) async throws
  {
    if isIndexed {
      try await db.indexes.declare([
        FirestoreIndex("books", .contains("tags")), FirestoreIndex("books", .ascending("tags")),
      ])
      try await db.indexes.waitUntilReady()
    }
    for number in 0..<60 {
      try await books.document("b\(number)").setData(["tags": ["t\(number)", "t\(number + 1)"]])
    }
    func tagged(_ number: Int) -> Filter { .whereField("tags", arrayContains: "t\(number)") }
    let both = Filter.andFilter([tagged(3), tagged(4)])
    #expect(try await found(.unordered(both)) == ["b3"])
    let many = Filter.orFilter((0..<40).map(tagged))
    #expect(try await found(.unordered(many)).count == 40)
    let list = Filter.whereField("tags", arrayContainsAny: (0..<40).map { "t\($0)" })
    #expect(try await found(.unordered(list)).count == 40)
    #expect(try await found(.notFilter(.unordered(list))).count == 20)
    // Entries alone do not decide it.
    let counted = books.whereFilter(.unordered(list)).count
    #expect(try await counted.getAggregation(source: .server).count == 40)
    let product = Filter.andFilter([many, .orFilter((30..<60).map(tagged))])
    #expect(try await found(.unordered(product)) == (29..<40).map { "b\($0)" }.sorted())
    for refused in [both, many, list] {
      await expectRefused(.invalidArgument) { _ = try await found(refused) }
    }
  }

  @Test(arguments: [false, true])
  func `a condition may have any number of alternatives`(isIndexed: Bool) async throws {
    if isIndexed {
      try await db.indexes.declare([
        FirestoreIndex("books", .ascending("id")), FirestoreIndex("books", .ascending("owner")),
      ])
      try await db.indexes.waitUntilReady()
    }
    for id in [0, 7, 1500, 1501, 9000] {
      try await books.document("b\(id)").setData(["id": id, "owner": id % 7])
    }
    func pair(_ id: Int) -> Filter {
      .andFilter([.whereField("id", isEqualTo: id), .whereField("owner", isEqualTo: id % 7)])
    }
    let pairs = Filter.unordered(.orFilter((0..<1600).map(pair)))
    #expect(try await found(pairs) == ["b0", "b1500", "b1501", "b7"])
    let none = Filter.unordered(
      .andFilter((0..<1501).map { .whereField("id", isNotEqualTo: $0) }))
    #expect(try await found(none) == ["b1501", "b9000"])
    let recorder = SnapshotRecorder(books.whereFilter(pairs))
    #expect(try await recorder.next().count == 4)
    try await books.document("b9").setData(["id": 9, "owner": 2])
    #expect(try await recorder.next().count == 5)
    _ = await expectRefused(.invalidArgument) {
      _ = try await found(.orFilter((0..<1501).map(pair)))
    }
  }

  @Test func `a list of any length compares as a short one does`() async throws {
    let values: [Any] = [
      1, 1.0, -0.0, 0, Double.nan, NSNull(), "a", [1, 2], ["a": 1], ["a": 1.0], true, "z",
    ]
    for (index, value) in values.enumerated() {
      let element = value is [Int] ? "array" : value
      try await books.document("b\(index)").setData(["v": value, "l": [element, "both"]])
    }
    let others: [Any] = (0..<40).map { "other \($0)" }
    let few: [Any] = [1.0, Double.nan, ["a": 1], 0, "both"]
    for list: (String, [Any]) -> Filter in [
      { .whereField($0, in: $1 + [[1, 2]]) }, { .whereField($0, notIn: $1 + [[1, 2]]) },
      { .whereField($0, arrayContainsAny: $1) }, { .whereField($0, arrayContainedIn: $1) },
      { .notFilter(.whereField($0, in: $1)) },
    ] {
      for field in ["v", "l"] {
        let short = try await found(.unordered(list(field, few)))
        #expect(try await found(.unordered(list(field, few + others))) == short)
      }
    }
    let numbers = (0..<40).map { $0 }
    try await books.document("all").setData(["l": numbers.map(Double.init) + [-1]])
    try await books.document("most").setData(["l": Array(numbers.dropLast()) + [-1, -2]])
    let all = Filter.unordered(.whereField("l", arrayContainsAll: numbers + [0, 0.0]))
    #expect(try await found(all) == ["all"])
  }

  @Test func `a condition goes through arrays, into each of their maps`() async throws {
    let all: [String: [String: Any]] = [
      "both": ["doses": [["drug": "ibu", "amount": 2], ["drug": "asa", "amount": 1]]],
      "deep": ["doses": [["packs": [["drug": "ibu"]]], 5, ["drug": NSNull()]]],
      "map": ["doses": ["drug": "ibu", "amount": 3]], "none": ["doses": [Any]()], "other": [:],
    ]
    for (name, fields) in all { try await books.document(name).setData(fields) }
    func through(_ filter: Filter) async throws -> [String] {
      try await found(.throughArrays(filter))
    }
    let ibu = Filter.whereField("doses.drug", isEqualTo: "ibu")
    #expect(try await found(ibu) == ["map"])
    #expect(try await through(ibu) == ["both", "map"])
    #expect(try await through(.notFilter(ibu)) == ["deep", "none", "other"])
    #expect(try await found(.notFilter(.throughArrays(ibu))) == ["deep", "none", "other"])
    #expect(try await through(.whereField("doses.amount", isLessThan: 2)) == ["both"])
    #expect(try await through(.whereField("doses.packs.drug", isEqualTo: "ibu")) == ["deep"])
    #expect(try await through(.whereField("doses.drug", isEqualTo: NSNull())) == ["deep"])
    let either = Filter.orFilter([ibu, .whereField("doses.packs.drug", in: ["ibu", "x"])])
    #expect(try await through(either) == ["both", "deep", "map"])
    #expect(try await found(.unordered(.throughArrays(either))) == ["both", "deep", "map"])
    try await db.indexes.declare(FirestoreIndex("books", .ascending("doses")))
    try await db.indexes.waitUntilReady()
    #expect(try await through(ibu) == ["both", "map"])
    let recorder = SnapshotRecorder(books.whereFilter(.throughArrays(ibu)))
    #expect(try await recorder.next().count == 2)
    try await books.document("other").setData(["doses": [["drug": "ibu"]]])
    #expect(try await recorder.next().count == 3)
    for refused in [
      Filter.whereField("doses.at", isAfterNow: .zero),
      .whereField("doses.drug", isInResultsOf: books),
    ] {
      await expectRefused(.invalidArgument) { _ = try await through(refused) }
    }
  }

  @Test func `an order may keep the documents that lack its field, as null`() async throws {
    try await fill()
    func ids(_ query: Query) async throws -> [String] {
      try await query.getDocuments().documents.map(\.documentID)
    }
    for isIndexed in [false, true] {
      if isIndexed {
        try await db.indexes.declare(FirestoreIndex("books", .ascending("pages")))
        try await db.indexes.waitUntilReady()
      }
      let up = books.order(by: "pages", descending: false, keepingMissing: true)
      let down = books.order(by: "pages", descending: true, keepingMissing: true)
      #expect(try await ids(up) == ["emma", "null", "dunes", "dune", "none"])
      #expect(try await ids(down) == ["none", "dune", "dunes", "null", "emma"])
      #expect(try await ids(up.offset(1).limit(to: 2)) == ["null", "dunes"])
      #expect(try await ids(up.limit(toLast: 2)) == ["dune", "none"])
      #expect(try await up.count.getAggregation(source: .server).count == 5)
      #expect(try await ids(books.order(by: "pages")).count == 4)
      let emma = try await books.document("emma").getDocument()
      #expect(try await ids(up.start(afterDocument: emma)) == ["null", "dunes", "dune", "none"])
      #expect(try await ids(down.start(at: [NSNull()])) == ["null", "emma"])
      // A condition that requires the field lets an index serve the order.
      let some = up.whereField("pages", isGreaterThan: 100)
      #expect(try await ids(some) == ["dune", "none"])
      if isIndexed, TestStore.name != "memory" {
        let plan = try await some.explain(analyze: true)
        #expect(plan.execution?.documentsRead == 2, "\(plan)")
      }
    }
  }

  @Test func `a pattern that takes too long is refused, and never just not found`() async throws {
    let pattern = Filter.whereField("title", matchesPattern: "y{500}z|(y{1,300}y{1,300})z")
    try await books.document("short").setData(["title": String(repeating: "y", count: 600) + "z"])
    #expect(try await found(pattern) == ["short"])
    let recorder = SnapshotRecorder(books.whereFilter(pattern))
    #expect(try await recorder.next().count == 1)
    try await books.document("long").setData(["title": String(repeating: "y", count: 1_000_000)])
    let sentence = await expectRefused(.invalidArgument) { _ = try await found(pattern) }
    #expect(
      sentence
        == "The regular expression takes more than 16777216 steps in a text of 1000000 bytes. Use "
        + "fewer or shorter repetitions.")
    await #expect(throws: (any Error).self) {
      _ = try await recorder.next(timeout: .seconds(300))
    }
    let query = books.whereFilter(pattern)
    await expectRefused(.invalidArgument) {
      try await db.write { transaction in _ = try transaction.getDocuments(query) }
    }
    // Documents that another condition leaves out are not searched.
    let few = Filter.andFilter([.whereField("title", isLessThan: "x"), pattern])
    #expect(try await found(few).isEmpty)
  }

  @Test func `an offset counts results, and not index entries`() async throws {
    try await fill()
    try await db.indexes.declare(FirestoreIndex("books", .ascending("title")))
    try await db.indexes.waitUntilReady()
    let ordered = books.order(by: "title")
    let filters: [Filter?] = [
      nil, .whereField("title", hasSuffix: "a"), .whereField("title", containsText: "e"),
      .whereField("pages", isEqualTo: 412), .notFilter(.whereField("pages", isEqualTo: 100)),
    ]
    for filter in filters {
      let query = filter.map { ordered.whereFilter($0) } ?? ordered
      let all = try await query.getDocuments().documents.map(\.documentID)
      let rest = try await query.offset(2).limit(to: 5).getDocuments().documents
      #expect(rest.map(\.documentID) == Array(all.dropFirst(2)))
      let second = try await query.offset(1).limit(to: 1).getDocuments().documents
      #expect(second.map(\.documentID) == Array(all.dropFirst().prefix(1)))
    }
  }

  @Test func `text is found by its parts`() async throws {
    try await fill()
    #expect(try await found(.whereField("title", hasPrefix: "Du")) == ["dune"])
    #expect(try await found(.whereField("title", hasPrefix: "")) == ["dune", "dunes", "emma"])
    #expect(try await found(.whereField("title", hasSuffix: "ne")) == ["dune"])
    #expect(try await found(.whereField("title", containsText: "m")) == ["emma"])
    #expect(try await found(.whereField("title", equalsIgnoringCase: "dunE")) == ["dune", "dunes"])
    #expect(try await found(.whereField(FieldPath(["title"]), hasPrefix: "E")) == ["emma"])
  }

  @Test func `arrays have all of some elements, values are of large sets`() async throws {
    try await fill()
    #expect(try await found(.whereField("tags", arrayContainsAll: ["spice", "sand"])) == ["dune"])
    #expect(try await found(.whereField("tags", arrayContainsAll: [1.0, 2])) == ["emma"])
    #expect(try await found(.whereField("tags", arrayContainsAll: ["spice", NSNull()])).isEmpty)
    #expect(
      try await found(.whereField("tags", arrayContainedIn: ["spice", "sand", "x"])) == ["dunes"])
    #expect(try await found(.whereField("tags", arrayContainedIn: ["spice"])).isEmpty)
    #expect(
      try await found(.whereField("tags", arrayContainedIn: [1, 2, "spice", NSNull()])) == ["emma"])
    try await db.indexes.declare(FirestoreIndex("books", .ascending("tags")))
    try await db.indexes.waitUntilReady()
    #expect(
      try await found(.whereField("tags", arrayContainedIn: ["spice", "sand", "x"])) == ["dunes"])
    let numbers = Array(300..<700)
    #expect(try await found(.whereField("pages", inSet: numbers)) == ["dune", "none"])
    let ids = (0..<5000).map { "b\($0)" } + ["emma", "dune"]
    #expect(
      try await found(.whereField(FieldPath.documentID(), inSet: ids)) == ["dune", "emma"])
  }

  @Test func `a negation finds all others, also without the field`() async throws {
    try await fill()
    let dune = Filter.whereField("title", equalsIgnoringCase: "dune")
    #expect(try await found(.notFilter(dune)) == ["emma", "none", "null"])
    #expect(try await found(.notFilter(.notFilter(dune))) == ["dune", "dunes"])
    let long = Filter.whereField("pages", isGreaterThan: 400)
    #expect(
      try await found(.notFilter(.orFilter([dune, long]))) == ["emma", "null"])
    #expect(
      try await found(.notFilter(.andFilter([dune, long]))) == ["dunes", "emma", "none", "null"])
    #expect(
      try await found(.andFilter([.notFilter(.whereField("title", isNotEqualTo: "Dune")), long]))
        == ["dune", "none"])
    #expect(try await found(.notFilter(.andFilter([]))).count == 5)
    #expect(
      try await found(.notFilter(.whereField(FieldPath.documentID(), in: ["dune", "emma"])))
        == ["dunes", "none", "null"])
    // Several are allowed where Firestore allows one.
    #expect(
      try await found(
        .andFilter([
          .notFilter(.whereField("title", isEqualTo: "Dune")),
          .notFilter(.whereField("title", isEqualTo: "Emma")), long,
        ])) == ["none"])
  }

  @Test func `a filter tests data that is in no document`() async throws {
    let drafts: [[String: Any]] = [
      ["n": 1], ["n": 2.0], ["n": NSNull()], [:], ["n": "2"], ["n": Double.nan],
    ]
    func passing(_ filter: Filter) throws -> [Int] {
      let predicate = try filter.predicate(in: db)
      return try drafts.indices.filter { try predicate(drafts[$0]) }
    }
    let two = Filter.whereField("n", inSet: Array(2..<100))
    #expect(try passing(two) == [1])
    #expect(try passing(.notFilter(two)) == [0, 2, 3, 4, 5])
    #expect(try passing(.whereField("n", isEqualTo: NSNull())) == [2])
    #expect(try passing(.whereField("n", isNotEqualTo: 2)) == [0, 4, 5])
    let small = Filter.whereField("n", isLessThan: 2)
    #expect(try passing(.orFilter([small, .whereField("n", isEqualTo: "2")])) == [0, 4])
    #expect(try passing(.andFilter([small, two])).isEmpty)
    #expect(try passing(.andFilter([])) == Array(drafts.indices))
    let id = Filter.whereField(FieldPath.documentID(), isEqualTo: "a")
    #expect(try passing(id).isEmpty)
    #expect(try passing(.notFilter(id)) == Array(drafts.indices))
    for filter: Filter in [
      .whereField("n", in: []), .whereField("n", isInResultsOf: books),
      .notFilter(.whereField("n", isAfterNow: .zero)),
    ] {
      await expectRefused(.invalidArgument) { _ = try filter.predicate(in: db) }
    }
    let predicate = try small.predicate(in: db)
    await expectRefused(.invalidArgument) { _ = try predicate(["n": FieldValue.delete()]) }
    await expectRefused(.invalidArgument) { _ = try predicate(["n": [[1]]]) }
    // Compared exactly, which a double could not.
    let large = try Filter.whereField("n", isGreaterThan: 0x1p53).predicate(in: db)
    #expect(try large(["n": (1 << 53) + 1]) && !large(["n": 1 << 53]))
  }

  @Test func `counts, orders and listeners know them`() async throws {
    try await fill()
    try await db.indexes.declare(
      FirestoreIndex("books", .ascending("title")), FirestoreIndex("books", .contains("tags")))
    try await db.indexes.waitUntilReady()
    let query = books.whereFilter(
      .orFilter([
        .whereField("title", hasSuffix: "a"), .whereField("tags", arrayContainsAll: ["sand"]),
      ]))
    #expect(try await query.count.getAggregation(source: .server).count == 3)
    // Not by the entries of the index alone.
    let suffix = books.whereFilter(.whereField("title", hasSuffix: "ne"))
    #expect(try await suffix.count.getAggregation(source: .server).count == 1)
    let ordered = query.order(by: "title", descending: true)
    #expect(
      try await ordered.getDocuments().documents.map(\.documentID) == ["emma", "dune", "dunes"])
    let recorder = SnapshotRecorder(ordered)
    _ = try await recorder.next()
    try await books.document("emma").updateData(["title": "Emma!"])
    #expect(try await recorder.next().documentChanges.map(\.type) == [.removed])
    try await books.document("null").updateData(["title": "Alma"])
    #expect(try await recorder.next().documents.map(\.documentID) == ["dune", "dunes", "null"])
    recorder.stop()
    let negated = SnapshotRecorder(
      books.whereFilter(.notFilter(.whereField("pages", isEqualTo: 1))))
    #expect(try await negated.next().count == 5)
    try await books.document("dune").updateData(["pages": 1])
    #expect(try await negated.next().count == 4)
    negated.stop()
  }

  @Test(.embedded("Counts what the engine reads."))
  func `sets of ids and prefixes read what they return`() async throws {
    for n in 0..<2000 { try await books.document("\(n)").setData(["title": "t\(n)"]) }
    let ids = stride(from: 0, to: 4000, by: 40).map { "\($0)" }
    let byID = books.whereFilter(.whereField(FieldPath.documentID(), inSet: ids))
    let first = try await byID.explain(analyze: true).execution
    #expect(first?.resultsReturned == 50)
    #expect(first.map { $0.keysRead <= 100 } == true)
    try await db.indexes.declare(FirestoreIndex("books", .ascending("title")))
    try await db.indexes.waitUntilReady()
    let byPrefix = books.whereFilter(.whereField("title", hasPrefix: "t199"))
    let second = try await byPrefix.explain(analyze: true).execution
    #expect(second?.resultsReturned == 11)
    #expect(second?.documentsRead == 11)
  }

  @Test func `what cannot be compared is refused with a sentence`() async throws {
    #expect(
      await expectRefused(.invalidArgument) {
        _ = try await found(.whereField(FieldPath.documentID(), hasPrefix: "a"))
      } == "The name of a document is not compared as text.")
    await expectRefused(.invalidArgument) {
      _ = try await found(.whereField("tags", arrayContainsAll: []))
    }
    await expectRefused(.invalidArgument) {
      _ = try await found(.whereField("tags", arrayContainsAll: Array(0..<31)))
    }
    await expectRefused(.invalidArgument) { _ = try await found(.whereField("a", inSet: [])) }
    var deep = Filter.whereField("a", isEqualTo: 1)
    for _ in 0..<200 { deep = .notFilter(deep) }
    await expectRefused(.invalidArgument) { _ = try await found(deep) }
  }
}
