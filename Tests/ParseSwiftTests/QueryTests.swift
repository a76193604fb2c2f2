import Foundation
import Hearth
import HearthTesting
import ParseSwift
import TestSupport
import Testing

/// A place with everything that conditions are on.
struct Place: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
  var number: Int?
  var tags: [String]?
  var point: ParseGeoPoint?
  var area: ParsePolygon?
  var visited: Date?
  var author: Author?
  var authors: [Author]?
  var pointer: Pointer<Genre>?
  var isOpen: Bool?
  var token: UUID?
}

extension Place: ParseKeyed {
  static var keys: [PartialKeyPath<Place>: String] {
    [\.name: "name", \.number: "number", \.author: "author"]
  }
}

/// Every comparator of the original, over one database of its own for each test.
@Suite struct QueryTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private func withDatabase<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    try ParseSwift.withFirestore(database.firestore) { try body() }
  }

  /// The numbers of the places that meet the conditions, in order; count and the list of ids agree.
  private func numbers(_ constraints: QueryConstraint...) throws -> [Int] {
    let query = Place.query(constraints)
    let found = try query.find().compactMap(\.number).sorted()
    #expect(try query.count() == found.count)
    #expect(try query.order([.ascending("number")]).find().compactMap(\.number) == found)
    return found
  }

  private func code<Answer>(_ body: () throws -> Answer) -> ParseError.Code? {
    do {
      _ = try body()
      return nil
    } catch { return (error as? ParseError)?.code }
  }

  @Test func `values of every type compare, arrays by their elements`() throws {
    enum Size: String, Codable { case small, large }
    try withDatabase {
      let authors = try ["Ann", "Bob", "Cid"].map { try Author(name: $0).save() }
      let genre = try Genre(name: "fiction").save()
      let token = UUID()
      let date = Date(timeIntervalSince1970: 1_000_000)
      try Place(
        name: "small", number: 0, tags: ["a", "b"], visited: date, author: authors[0],
        authors: [authors[0], authors[1]], pointer: genre.toPointer(), isOpen: true, token: token
      ).save()
      try Place(number: 1, tags: ["b"], authors: [authors[2]], isOpen: false).save()
      try Place(number: 2, tags: []).save()
      #expect(try numbers("name" == Size.small) == [0])
      #expect(try numbers("isOpen" == true) == [0])
      #expect(try numbers("isOpen" != true) == [1, 2])
      #expect(try numbers("token" == token) == [0])
      #expect(try numbers("visited" == date, "visited" <= date, "visited" < Date()) == [0])
      #expect(try numbers("number" == 1.0) == [1])
      #expect(try numbers("tags" == "b") == [0, 1])
      #expect(try numbers("tags" != "a") == [1, 2])
      #expect(try numbers("tags" == ["a", "b"]) == [0])
      #expect(try numbers("author" == authors[0]) == [0])
      #expect(try numbers("author" != authors[0]) == [1, 2])
      #expect(try numbers("authors" == authors[1]) == [0])
      #expect(try numbers("pointer" == genre) == [0])
      #expect(try numbers("pointer" == genre.toPointer()) == [0])
      #expect(try numbers(equalTo(key: "number", value: 2)) == [2])
      // Conditions of one key never replace each other.
      #expect(try numbers("number" >= 1, "number" == 1) == [1])
      #expect(try numbers("number" >= 2, "number" == 1) == [])
      #expect(try numbers(equalTo(key: "number", value: 1), "number" > 1) == [])
      #expect(try numbers(\Place.name == "small", \Place.number < 1, \Place.number >= 0) == [0])
      #expect(try numbers(\Place.author == authors[0], \Place.number != 1) == [0])
      #expect(try numbers(\Place.author == Author.query("name" == "Ann")) == [0])
      #expect(try numbers(\Place.number > 0, \Place.number <= 1) == [1])
      #expect(code { try numbers(\Place.tags == ["a"]) } == .invalidKeyName)
    }
  }

  @Test func `sets, presence and negation`() throws {
    try withDatabase {
      let authors = try ["Ann", "Bob", "Cid"].map { try Author(name: $0).save() }
      try Place(name: "x", number: 0, tags: ["a", "b"], author: authors[0]).save()
      try Place(number: 1, tags: ["b"], authors: authors).save()
      try Place(name: "z", number: 2, tags: [], author: authors[1]).save()
      try Place(number: 3).save()
      #expect(try numbers(containedIn(key: "tags", array: ["a", "c"])) == [0])
      #expect(try numbers(containedIn(key: "name", array: ["x", "z", "y"])) == [0, 2])
      #expect(try numbers(containedIn(key: "author", array: [authors[1], authors[2]])) == [2])
      #expect(try numbers(containedIn(key: "authors", array: [authors[2]])) == [1])
      #expect(try numbers(notContainedIn(key: "author", array: [authors[1]])) == [0, 1, 3])
      #expect(try numbers(notContainedIn(key: "name", array: ["x"])) == [1, 2, 3])
      #expect(try numbers(containedIn(key: "name", array: [String]())) == [])
      #expect(try numbers(notContainedIn(key: "name", array: [String]())) == [0, 1, 2, 3])
      #expect(try numbers(containsAll(key: "tags", array: ["b", "a"])) == [0])
      #expect(try numbers(containsAll(key: "authors", array: [authors[0], authors[2]])) == [1])
      #expect(try numbers(containedBy(key: "tags", array: ["b", "c"])) == [1, 2])
      #expect(try numbers(containedBy(key: "tags", array: ["b", "a"])) == [0, 1, 2])
      #expect(try numbers(containedBy(key: "authors", array: authors)) == [1])
      #expect(try numbers(containedBy(key: "tags", array: [String]())) == [2])
      #expect(try numbers(exists(key: "name")) == [0, 2])
      #expect(try numbers(isNotNull(key: "name")) == [0, 2])
      #expect(try numbers(isNull(key: "name"), isNull(key: "tags")) == [3])
      #expect(try numbers(doesNotExist(key: "tags")) == [3])
      #expect(
        try numbers(or(queries: [Place.query("number" == 1), Place.query("name" == "z")])) == [
          1, 2,
        ])
      #expect(
        try numbers(and(queries: [Place.query("number" > 1), Place.query("name" == "z")])) == [2])
      #expect(
        try numbers(nor(queries: [Place.query("number" == 1), Place.query("name" == "z")])) == [
          0, 3,
        ])
      #expect(try numbers(or([])) == [] && numbers(nor([])) == [0, 1, 2, 3])
      #expect(try numbers(and([])) == [0, 1, 2, 3])
    }
  }

  @Test func `a list without conditions matches all objects, also inside other conditions`() throws
  {
    try withDatabase {
      for number in 0..<3 { try Place(number: number).save() }
      let one = Place.query("number" == 1)
      #expect(try numbers(or(queries: [Place.query(), one])) == [0, 1, 2])
      #expect(try numbers(and(queries: [Place.query(), one])) == [1])
      #expect(try numbers(nor(queries: [Place.query()])) == [])
      #expect(try numbers(nor(queries: [one, Place.query()])) == [])
      #expect(try numbers(or(and([]), "number" == 1)) == [0, 1, 2])
      #expect(try numbers(or(and(and([])), "number" == 1)) == [0, 1, 2])
      #expect(try numbers(and(or(and([])), "number" == 1)) == [1])
      #expect(try numbers(or(or([]), "number" == 1)) == [1])
      #expect(try numbers(nor(and([]))) == [])
    }
  }

  @Test(.timeLimit(patience))
  func `a query with a limit of 0 has no results, wherever it is`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      let author = try await Author(name: "Ann").save()
      let place = try await Place(name: "Ann", number: 0, author: author).save()
      _ = try await place.relation?.add("authors", objects: [author]).save()
      let none = Author.query().limit(0)
      let by: [QueryConstraint] = [
        "author" == none, matchesKeyInQuery(key: "name", queryKey: "name", query: none),
      ]
      for constraint in by {
        let (count, others) = (
          try await Place.query(constraint).count(), try await Place.query(nor(constraint)).count()
        )
        #expect(count == 0 && others == 1)
      }
      for query in [none, try Author.queryRelations("authors", parent: place).limit(0)] {
        let found = try await query.find()
        let (page, count) = try await query.withCount()
        #expect(found == [] && page == [] && count == 1)
        var results = query.results.makeAsyncIterator()
        #expect(try await results.next() == [])
        let subscription = try #require(query.subscribeCallback)
        await subscription.begun()
        subscription.unsubscribe()
        let plan = try await query.explain(analyze: true)
        #expect(plan.execution?.resultsReturned == 0)
        _ = try await query.countExplain()
      }
    }
  }

  @Test func `an id equals references, and no property of strings`() throws {
    try withDatabase {
      let author = try Author(name: "Ann").save()
      try Place(name: author.id, number: 0, tags: [author.id], author: author).save()
      for (key, queryKey) in [("name", "objectId"), ("tags", "objectId"), ("objectId", "name")] {
        let constraint = matchesKeyInQuery(key: key, queryKey: queryKey, query: Author.query())
        #expect(code { try numbers(constraint) } == .invalidQuery, "\(key)")
        #expect(code { try numbers(nor(constraint)) } == .invalidQuery, "\(key)")
      }
      #expect(
        try numbers(matchesKeyInQuery(key: "author", queryKey: "objectId", query: Author.query()))
          == [0])
      #expect(
        try numbers(
          matchesKeyInQuery(key: "objectId", queryKey: "objectId", query: Place.query())) == [0])
    }
  }

  @Test func `queries are conditions, by reference and by any key`() throws {
    try withDatabase {
      let authors = try ["Ann", "Bob", "Cid"].map { try Author(name: $0).save() }
      try Place(name: "Ann", number: 0, author: authors[1]).save()
      try Place(name: "Bob", number: 1, tags: ["Ann", "x"], authors: [authors[0]]).save()
      try Place(number: 2).save()
      let early = Author.query("name" < "Bob")
      let late = Author.query("name" >= "Bob").order([.descending("name")]).select("name")
      #expect(try numbers("author" == late) == [0])
      #expect(try numbers("author" != late) == [1, 2])
      #expect(try numbers("authors" == early) == [1])
      #expect(try numbers(matchesKeyInQuery(key: "name", queryKey: "name", query: early)) == [0])
      #expect(try numbers(matchesKeyInQuery(key: "tags", queryKey: "name", query: early)) == [1])
      #expect(
        try numbers(doesNotMatchKeyInQuery(key: "name", queryKey: "name", query: early)) == [1, 2])
      #expect(try numbers("author" == late.limit(1)) == [])
      #expect(try numbers(or("author" == late, "authors" == early)) == [0, 1])
    }
  }

  @Test func `relative times move with the clock, and are written as in the original`() throws {
    try withDatabase {
      let now = Date()
      for (number, days) in [-20.0, -2, 0, 2, 20].enumerated() {
        try Place(number: number, visited: now.addingTimeInterval(days * 86_400 - 5)).save()
      }
      #expect(try numbers(relative("visited" < "now")) == [0, 1, 2])
      #expect(try numbers(relative("visited" >= "now")) == [3, 4])
      #expect(try numbers(relative("visited" > "1 week ago")) == [1, 2, 3, 4])
      #expect(try numbers(relative("visited" <= "3 days ago")) == [0])
      #expect(try numbers(relative("visited" < "in 1 week 2 days")) == [0, 1, 2, 3])
      #expect(try numbers(relative("visited" > "in 5 hours 3 mins 1 sec")) == [3, 4])
      for text in ["", "yesterday", "2 days", "in 2 days ago", "in x days", "in -1 days", "1 ago"] {
        #expect(code { try numbers(relative("visited" < text)) } == .invalidQuery, "\(text)")
      }
      #expect(code { try numbers(relative("visited" == "now")) } == .invalidQuery)
      #expect(code { try numbers(relative("visited" < 5)) } == .invalidQuery)
      #expect(code { try numbers(relative(exists(key: "visited"))) } == .invalidQuery)
      #expect(
        code { try numbers(relative("visited" < "in 9223372036854775807 years")) } == .invalidQuery)
    }
  }

  @Test func `places are found by distance, boxes and polygons`() throws {
    try withDatabase {
      var random = SeededGenerator(seed: 8)
      var points: [ParseGeoPoint] = []
      for number in 0..<60 {
        let point = try ParseGeoPoint(
          latitude: Double.random(in: -80...80, using: &random),
          longitude: Double.random(in: -180...180, using: &random))
        points.append(point)
        try Place(number: number, point: point).save()
      }
      try Place(number: 60).save()
      let center = try ParseGeoPoint(latitude: 20, longitude: 30)
      let byDistance = points.indices.sorted {
        points[$0].distanceInRadians(center) < points[$1].distanceInRadians(center)
      }
      let near = Place.query(near(key: "point", geoPoint: center))
      #expect(try near.find().compactMap(\.number) == byDistance)
      #expect(try near.skip(3).limit(5).find().compactMap(\.number) == Array(byDistance[3..<8]))
      #expect(try near.skip(58).limit(5).find().count == 2 && near.skip(58).count() == 60)
      #expect(try near.first().number == byDistance[0])
      let within = byDistance.filter { points[$0].distanceInKilometers(center) <= 5000 }
      #expect(within.count > 3)
      let kilometers = Place.query(
        withinKilometers(key: "point", geoPoint: center, distance: 5000))
      #expect(try kilometers.find().compactMap(\.number) == within)
      #expect(
        try numbers(withinKilometers(key: "point", geoPoint: center, distance: 5000, sorted: false))
          == within.sorted())
      #expect(
        try numbers(withinMiles(key: "point", geoPoint: center, distance: 5000 / 6371 * 3958.8))
          == within.sorted())
      #expect(
        try numbers(withinRadians(key: "point", geoPoint: center, distance: 5000 / 6371))
          == within.sorted())
      #expect(
        code { try numbers(withinRadians(key: "point", geoPoint: center, distance: -1)) }
          == .invalidQuery)
      let southwest = try ParseGeoPoint(latitude: -10, longitude: -20)
      let northeast = try ParseGeoPoint(latitude: 50, longitude: 80)
      let inBox = points.indices.filter {
        (-10...50).contains(points[$0].latitude) && (-20...80).contains(points[$0].longitude)
      }
      #expect(
        try numbers(
          withinGeoBox(key: "point", fromSouthWest: southwest, toNortheast: northeast)) == inBox)
      let polygon = try ParsePolygon(
        southwest, ParseGeoPoint(latitude: 50, longitude: -20), northeast,
        ParseGeoPoint(latitude: -10, longitude: 80))
      #expect(try numbers(withinPolygon(key: "point", polygon: polygon)) == inBox)
      #expect(try numbers(withinPolygon(key: "point", points: polygon.coordinates)) == inBox)
      #expect(points.indices.filter { polygon.containsPoint(points[$0]) } == inBox)
      #expect(polygon.containsPoint(southwest) && polygon.containsPoint(northeast))
      let saved = try Place(number: 99, area: polygon).save()
      #expect(try saved.fetch().area == polygon)
      #expect(code { try ParsePolygon(southwest, northeast) } == .invalidValue)
      #expect(code { try ParseGeoPoint(latitude: 91, longitude: 0) } == .invalidValue)
      // A bounded order by distance inside another query has no meaning.
      let subquery = matchesKeyInQuery(key: "number", queryKey: "number", query: near.limit(2))
      #expect(code { try numbers(subquery) } == .invalidQuery)
    }
  }

  @Test func `results are ordered by distance, whatever is read of them`() throws {
    try withDatabase {
      let center = try ParseGeoPoint(latitude: 0, longitude: 0)
      let latitudes = [5.0, 3, 1, 2, 4, 7, 6]
      for latitude in latitudes {
        let point = try ParseGeoPoint(latitude: latitude, longitude: 0)
        try Place(name: "x", number: Int(latitude), point: point).save()
      }
      let near = Place.query(near(key: "point", geoPoint: center)).limit(5)
      for query in [near, near.select("number"), near.exclude("point"), near.exclude("name")] {
        #expect(try query.find().map(\.number) == [1, 2, 3, 4, 5])
        #expect(try query.skip(1).withCount().0.map(\.number) == [2, 3, 4, 5, 6])
        #expect(try query.first().number == 1)
      }
      #expect(try near.select("number").first().name == nil)
    }
  }

  @Test func `without an order by distance, results are as in any query`() throws {
    try withDatabase {
      let center = try ParseGeoPoint(latitude: 0, longitude: 0)
      // The farthest was saved first, and the nearest between others.
      let places = try [5.0, 3, 1, 2, 4].enumerated().map { number, latitude in
        try Place(number: number, point: ParseGeoPoint(latitude: latitude, longitude: 0)).save()
      }
      let (radians, miles, kilometers) = (0.08, 0.08 * 3958.8, 0.08 * 6371)
      func constraints(sorted: Bool) -> [QueryConstraint] {
        [
          withinRadians(key: "point", geoPoint: center, distance: radians, sorted: sorted),
          withinMiles(key: "point", geoPoint: center, distance: miles, sorted: sorted),
          withinKilometers(key: "point", geoPoint: center, distance: kilometers, sorted: sorted),
        ]
      }
      for constraint in constraints(sorted: false) {
        let query = Place.query(constraint)
        #expect(try query.find().map(\.number) == [1, 2, 3, 4])
        #expect(try query.skip(1).limit(2).find().map(\.number) == [2, 3])
        #expect(try query.limit(2).after(places[2]).find().map(\.number) == [3, 4])
      }
      for constraint in constraints(sorted: true) {
        let query = Place.query(constraint)
        #expect(try query.find().map(\.number) == [2, 3, 1, 4])
        #expect(try query.skip(1).limit(2).find().map(\.number) == [3, 1])
        #expect(code { try query.after(places[2]).find() } == .invalidQuery)
        // An order of the query replaces that by distance.
        #expect(
          try query.order([.descending("number")]).find().map(\.number) == [4, 3, 2, 1])
      }
    }
  }

  @Test func `texts are found by words, patterns and parts`() throws {
    try withDatabase {
      let names = ["Dune", "Dune Messiah", "the messiah of dune dune", "a.c", "abc", "DUNE\nx"]
      for (number, name) in names.enumerated() { try Place(name: name, number: number).save() }
      func found(_ constraint: QueryConstraint) throws -> Set<Int> {
        Set(try Place.query(constraint).find().compactMap(\.number))
      }
      #expect(try found(matchesText(key: "name", text: "dune")) == [0, 1, 2, 5])
      #expect(try found(matchesText(key: "name", text: "dune mess*")) == [1, 2])
      #expect(try found(matchesText(key: "name", text: "\"dune messiah\"")) == [1])
      #expect(
        try found(matchesText(key: "name", text: "dunes", options: [.language: "en"])) == [
          0, 1, 2, 5,
        ])
      // The most frequent one first, among the shortest.
      let ranked = try Place.query(matchesText(key: "name", text: "dune")).find()
      #expect(ranked.first?.number == 0)
      #expect(
        try Place.query(matchesText(key: "name", text: "dune"), "number" > 0).limit(1).count() == 3)
      #expect(
        code { try matchesText(key: "name", text: "x", options: [.caseSensitive: true]) }
          == .operationForbidden)
      #expect(
        code { try matchesText(key: "name", text: "x", options: [.language: 5]) } == .invalidValue)
      #expect(code { try numbers(or(matchesText(key: "name", text: "x"))) } == .invalidQuery)
      #expect(try numbers(matchesRegex(key: "name", regex: "^Dune$")) == [0])
      #expect(try numbers(matchesRegex(key: "name", regex: "^dune$", modifiers: "im")) == [0, 5])
      #expect(try numbers(containsString(key: "name", substring: "a.c")) == [3])
      #expect(try numbers(containsString(key: "name", substring: "A.C", modifiers: "i")) == [3])
      #expect(try numbers(hasPrefix(key: "name", prefix: "Dune")) == [0, 1])
      #expect(try numbers(hasPrefix(key: "name", prefix: "dune", modifiers: "i")) == [0, 1, 5])
      #expect(try numbers(hasSuffix(key: "name", suffix: "c")) == [3, 4])
      #expect(try numbers(hasSuffix(key: "name", suffix: ".C", modifiers: "i")) == [3])
      #expect(code { try numbers(matchesRegex(key: "name", regex: "(")) } == .invalidValue)
    }
  }

  @Test func `a part of a text is no pattern, also with modifiers`() throws {
    try withDatabase {
      for (number, name) in ["A.b", "Acb", "A+", "AA+", "(A.b", "x"].enumerated() {
        try Place(name: name, number: number).save()
      }
      for (prefix, found) in [("a.", [0]), ("a+", [2]), ("(a", [4]), ("a|x", [])] {
        #expect(
          try numbers(hasPrefix(key: "name", prefix: prefix, modifiers: "i")) == found, "\(prefix)")
      }
      for (part, found) in [("a.b", [0, 4]), ("(a", [4]), ("a|x", [])] {
        #expect(
          try numbers(containsString(key: "name", substring: part, modifiers: "i")) == found,
          "\(part)")
      }
      for (suffix, found) in [(".B", [0, 4]), ("a+", [2, 3]), ("a|x", [])] {
        #expect(
          try numbers(hasSuffix(key: "name", suffix: suffix, modifiers: "i")) == found, "\(suffix)")
      }
      try Place(name: "a #1 b\n", number: 6).save()
      #expect(try numbers(containsString(key: "name", substring: " #1 ", modifiers: "x")) == [6])
      #expect(try numbers(hasPrefix(key: "name", prefix: "A #", modifiers: "ix")) == [6])
      #expect(try numbers(hasSuffix(key: "name", suffix: "B", modifiers: "i")).contains(6) == false)
      #expect(try numbers(hasSuffix(key: "name", suffix: "B\n", modifiers: "i")) == [6])
      #expect(try numbers(hasSuffix(key: "name", suffix: "b", modifiers: "m")).contains(6))
    }
  }

  @Test func `the ACL is read with any selection, and a save keeps it`() throws {
    try withDatabase {
      var acl = ParseACL()
      acl.publicRead = true
      acl.setWriteAccess(objectId: "ann", value: true)
      try Place(ACL: acl, name: "x", number: 1).save()
      for query in [
        Place.query().select("name"), Place.query().exclude("name"), Place.query().exclude("ACL"),
        Place.query().select("name").exclude("ACL"),
      ] {
        #expect(try query.first().ACL == acl)
        try ParseSwift.withIdentity(ParseIdentity(user: "ann")) {
          let found = try query.first()
          #expect(found.ACL == acl)
          #expect(try found.set(\.number, to: (found.number ?? 1) + 1).save().ACL == acl)
        }
      }
    }
  }

  @Test func `properties are selected and left out, and a save keeps them`() throws {
    try withDatabase {
      let author = try Author(name: "Ann").save()
      try Place(name: "x", number: 1, tags: ["a"], author: author, authors: [author]).save()
      let query = Place.query()
      let selected = try query.select("name").first()
      #expect(selected.name == "x" && selected.number == nil && selected.tags == nil)
      #expect(selected.createdAt != nil && selected.objectId != nil)
      #expect(try query.select("name").select(["number"]).first().number == 1)
      let without = try query.exclude("name", "tags").first()
      #expect(without.name == nil && without.tags == nil && without.number == 1)
      let child = try query.select("author.name").include("author").first()
      #expect(child.author?.name == "Ann" && child.name == nil)
      try selected.set(\.name, to: "y").save()
      let all = try query.includeAll().first()
      #expect(all.name == "y" && all.number == 1 && all.tags == ["a"])
      #expect(all.author?.name == "Ann" && all.authors?.first?.name == "Ann")
      #expect(try query.include("*").first() == all)
      #expect(code { try query.include("author.").find() } == nil)
    }
  }

  @Test func `pages, counts and all results agree`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      let results = try await (0..<25).map { Place(name: "\($0 % 3)", number: $0) }.saveAll()
      #expect(results.count == 25)
      let query = Place.query("number" >= 5)
      let ordered = query.order([.ascending("name"), .descending("number")])
      let all = try await ordered.find()
      var pages: [Place] = []
      while true {
        let page = try await ordered.limit(6).after(pages.last).find()
        if page.isEmpty { break }
        pages += page
      }
      #expect(pages == all && all.count == 20)
      let plain = try await query.find()
      let rest = try await query.limit(4).after(plain[9]).find()
      #expect(rest == Array(plain[10..<14]))
      let (page, count) = try await ordered.limit(4).skip(3).withCount()
      #expect(page == Array(all[3..<7]) && count == 20)
      let none = try await ordered.limit(0).withCount()
      #expect(none.0 == [] && none.1 == 20)
      let unlimited = try await query.findAll(batchLimit: 2)
      #expect(Set(unlimited) == Set(all))
      for wrong in [query.limit(1), query.skip(1), ordered] {
        let error = await #expect(throws: ParseError.self) { try await wrong.findAll() }
        #expect(error?.code == .invalidQuery)
      }
      let names: [String] = try await query.distinct("name")
      #expect(names == ["0", "1", "2"])
      struct Row: Codable, Equatable, Sendable {
        var name: String?
        var places: Int
        var total: Double
        var largest: Int
      }
      let rows = try await query.aggregate(
        by: ["name"], ["places": .count, "total": .sum("number"), "largest": .maximum("number")],
        as: Row.self)
      let wanted = names.map { name in
        let numbers = all.filter { $0.name == name }.compactMap(\.number)
        return Row(
          name: name, places: numbers.count, total: Double(numbers.reduce(0, +)),
          largest: numbers.max() ?? 0)
      }
      #expect(rows == wanted)
      let wrong = await #expect(throws: ParseError.self) {
        let _: [Int] = try await query.distinct("name")
      }
      #expect(wrong?.code == .incorrectType)
      let plan = try await query.explain(analyze: true)
      #expect(plan.execution?.resultsReturned == 20)
      // The page before may have ended with an object that was deleted.
      try await all[5].delete()
      let next = try await ordered.limit(2).after(all[5]).find()
      #expect(next == Array(all[6..<8]))
    }
  }

  @Test func `findAll refuses a query that begins after an object`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      let places = try await (0..<3).map { Place(number: $0) }.saveAll().map { try $0.get() }
      let part = Place.query().after(places[0])
      let found = try await part.find()
      #expect(found == Array(places[1...]))
      let error = await #expect(throws: ParseError.self) { try await part.findAll() }
      #expect(error?.code == .invalidQuery)
      let all = try await part.after(nil).findAll()
      #expect(all == places)
    }
    try withDatabase {
      let last = try Place.query().first()
      #expect(code { try Place.query().after(last).findAll() } == .invalidQuery)
    }
  }

  @Test func `different values are those of objects that have the property`() async throws {
    try await ParseSwift.withFirestore(database.firestore) {
      let places = try await [
        Place(name: "b", number: 1), Place(name: "a", number: 2), Place(name: "b"),
        Place(number: 4), Place(name: "null", number: 5),
      ].saveAll().map { try $0.get() }
      // Null, which no save stores, is the same as no value.
      try await database.firestore.document("Place/\(places[4].id)").updateData(["name": NSNull()])
      let names: [String] = try await Place.query().distinct("name")
      #expect(names == ["a", "b"])
      let numbers: [Int] = try await Place.query().distinct("number")
      #expect(numbers == [1, 2, 4, 5])
      let dates: [Date] = try await Place.query().distinct("visited")
      #expect(dates.isEmpty)
    }
    try withDatabase {
      let names: [String] = try Place.query("number" > 1).distinct("name")
      #expect(names == ["a"])
      let first = try Place.query().first()
      #expect(throws: ParseError.self) {
        let _: [String] = try Place.query().after(first).distinct("name")
      }
    }
  }

  @Test func `synchronous and asynchronous forms answer the same`() throws {
    try withDatabase {
      try [("a", 1), ("b", 2), ("b", 3)].map { Place(name: $0, number: $1) }.saveAll()
      let names: [String] = try Place.query().distinct("name")
      #expect(names == ["a", "b"])
      #expect(try Place.query("name" == "b").limit(1).withCount().1 == 2)
      struct Row: Codable, Equatable, Sendable {
        var name: String
        var average: Double
      }
      let rows = try Place.query().aggregate(
        by: ["name"], ["average": .average("number")], as: Row.self)
      #expect(rows == [Row(name: "a", average: 1), Row(name: "b", average: 2.5)])
      #expect(try Place.query().findAll().count == 3)
      #expect(
        code { let _: [String] = try Place.query().limit(1).distinct("name") } == .aggregateError)
    }
  }
}
