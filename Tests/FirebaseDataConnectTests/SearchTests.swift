import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// Searches in columns with `@searchable`.
@Suite struct SearchTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        type Movie @table(key: "title") {
          title: String! @searchable
          plot: String @searchable(language: "english")
          year: Int
        }
        type Review @table { movie: Movie!  text: String! }
        """,
      operations: """
        mutation Add($title: String!, $plot: String, $year: Int) {
          movie_insert(data: {
            title: $title, plot: $plot, year: $year, reviews_on_movie: [{text: $title}]
          })
        }
        mutation Change($title: String!, $plot: String) {
          movie_update(key: {title: $title}, data: {plot: $plot})
        }
        query Find($text: String!, $format: SearchQueryFormat, $after: Int, $limit: Int) {
          movies_search(query: $text, queryFormat: $format, where: {year: {gt: $after}}, limit: $limit) {
            title
          }
        }
        query FindInOrder($text: String!, $limit: Int, $after: Int) {
          movies_search(
            query: $text, where: {year: {gt: $after}}, orderBy: [{year: DESC}], limit: $limit
          ) { title reviews_on_movie { text } }
        }
        query FindScored($text: String!, $least: Float, $order: [Movie_Order!], $limit: Int) {
          movies_search(
            query: $text, relevanceThreshold: $least, orderBy: $order, limit: $limit
          ) { title _metadata { relevance distance } reviews_on_movie { _metadata { relevance } } }
        }
        query FindWithReviews($text: String!) {
          movies_search(query: $text) { title reviews_on_movie { text } }
        }
        """)
  }

  private func titles(_ variables: DataObject) async throws -> [DataValue] {
    try await connector.query("Find", variables)["movies_search"]?.elements?
      .compactMap { $0["title"] } ?? []
  }

  private func fill() async throws {
    for (title, plot, year) in [
      ("Dune", "Great worms live in the sand of a desert planet", 1984),
      ("Tremors", "A worm and another worm eat a small town, worms everywhere", 1990),
      ("Lawrence", "A man crosses the desert", 1962),
    ] {
      try await connector.mutate(
        "Add", ["title": .string(title), "plot": .string(plot), "year": .int(Int64(year))])
    }
  }

  @Test func `the best rows are first, and words are found by their stems`() async throws {
    try await fill()
    #expect(try await titles(["text": "worms"]) == ["Tremors", "Dune"])
    #expect(try await titles(["text": "desert"]).count == 2)
    #expect(try await titles(["text": "desert worm"]) == ["Dune"])
    #expect(try await titles(["text": "dune"]) == ["Dune"])
    #expect(try await titles(["text": "worm", "after": 1985]) == ["Tremors"])
    #expect(try await titles(["text": "worm", "limit": 1]) == ["Tremors"])
    #expect(try await titles(["text": "spice"]).isEmpty)
    try await connector.mutate("Change", ["title": "Lawrence", "plot": "spice"])
    #expect(try await titles(["text": "spice"]) == ["Lawrence"])
  }

  @Test func `a text is read as a web search`() async throws {
    try await fill()
    #expect(try await titles(["text": "the deserts of a planet"]) == ["Dune"])
    #expect(try await titles(["text": "desert -worm"]) == ["Lawrence"])
    #expect(try await titles(["text": "-worm"]) == ["Lawrence"])
    #expect(try await titles(["text": "-desert -\"small town\""]).isEmpty)
    #expect(try await titles(["text": "town or sand -planet"]) == ["Tremors"])
    #expect(try await titles(["text": "man or town"]).count == 2)
    #expect(try await titles(["text": "man or town", "after": 1970]) == ["Tremors"])
    #expect(try await titles(["text": "worm -spice", "limit": 1]) == ["Tremors"])
    #expect(try await titles(["text": "\"the small town\""]) == ["Tremors"])
    #expect(try await titles(["text": "\"town small\" or crosses"]) == ["Lawrence"])
  }

  @Test(arguments: ["QUERY", "PLAIN", "PHRASE", "ADVANCED"])
  func `a text without words finds nothing`(format: String) async throws {
    try await fill()
    for text in ["", "  ", "...", "the", "a"] {
      #expect(try await titles(["text": .string(text), "format": .string(format)]).isEmpty)
      for name in ["FindInOrder", "FindScored", "FindWithReviews"] {
        let found = try await connector.query(name, ["text": .string(text)])
        #expect(found["movies_search"] == .list([]))
      }
    }
  }

  @Test func `rows without a word have scores, an order and relations`() async throws {
    try await fill()
    let found = try await connector.query("FindScored", ["text": "desert -worm"])["movies_search"]
    let score = try Double(
      dataConnectValue: found?.elements?.first?["_metadata"]?["relevance"] ?? .null)
    #expect(found?.elements?.count == 1 && score > 0)
    let ordered = try await connector.query("FindInOrder", ["text": "town or desert"])
    #expect(
      ordered["movies_search"]?.elements?.map { $0["title"] } == ["Tremors", "Dune", "Lawrence"])
    let related = try await connector.query("FindWithReviews", ["text": "-desert"])
    #expect(
      related["movies_search"] == [
        ["title": "Tremors", "reviews_on_movie": [["text": "Tremors"]]]
      ])
  }

  @Test func `a phrase is found as a whole`() async throws {
    try await fill()
    #expect(try await titles(["text": "small town", "format": "PHRASE"]) == ["Tremors"])
    #expect(try await titles(["text": "town small", "format": "PHRASE"]).isEmpty)
    #expect(try await titles(["text": "town small", "format": "PLAIN"]) == ["Tremors"])
  }

  @Test func `an advanced search has operators, conditions and pages`() async throws {
    try await fill()
    func find(_ text: String, _ more: DataObject = [:]) async throws -> [DataValue] {
      var variables: DataObject = ["text": .string(text), "format": "ADVANCED"]
      for (name, value) in more.members { variables[name] = value }
      return try await titles(variables)
    }
    #expect(try await find("worm & desert") == ["Dune"])
    #expect(try await find("worm | desert").count == 3)
    #expect(try await find("desert & !worm") == ["Lawrence"])
    #expect(try await find("!worm") == ["Lawrence"])
    #expect(try await find("!!worm") == ["Tremors", "Dune"])
    #expect(try await find("(town | sand) & !(planet)") == ["Tremors"])
    #expect(try await find("'small town'") == ["Tremors"])
    #expect(try await find("small <-> town | man").count == 2)
    #expect(try await find("town <-> small").isEmpty)
    #expect(try await find("plan:* & gre:*A") == ["Dune"])
    #expect(try await find("desert | !desert", ["after": 1970]) == ["Dune", "Tremors"])
    // More of the words, better ones.
    #expect(try await find("desert | sand | planet", ["limit": 1]) == ["Dune"])
    #expect(try await find("spice & !worm").isEmpty)
  }

  @Test(arguments: [
    ("a b", 3), ("a &", 4), ("(a", 3), ("a)", 2), ("a <2> b", 4), ("'a", 3),
    ("a <-> b:*", 1),
    ("| a", 1), ("!", 2),
  ])
  func `a wrong expression of a search is refused with its place`(
    text: String, place: Int
  ) async throws {
    try await fill()
    do {
      _ = try await titles(["text": .string(text), "format": "ADVANCED"])
      Issue.record("It is not refused.")
    } catch {
      #expect("\(error)".contains("at character \(place)."), "\(error)")
    }
  }

  @Test func `rows that are found have their relations`() async throws {
    try await fill()
    let found = try await connector.query("FindWithReviews", ["text": "worm"])["movies_search"]
    #expect(
      found == [
        ["title": "Tremors", "reviews_on_movie": [["text": "Tremors"]]],
        ["title": "Dune", "reviews_on_movie": [["text": "Dune"]]],
      ])
  }

  @Test func `rows that are found may be in another order than that of their scores`() async throws
  {
    try await fill()
    func titles(_ variables: DataObject) async throws -> [DataValue] {
      try await connector.query("FindInOrder", variables)["movies_search"]?.elements?
        .compactMap { $0["title"] } ?? []
    }
    #expect(try await titles(["text": "desert"]) == ["Dune", "Lawrence"])
    #expect(try await titles(["text": "worm"]) == ["Tremors", "Dune"])
    #expect(try await titles(["text": "worm", "limit": 1]) == ["Tremors"])
    #expect(try await titles(["text": "worm", "after": 1985]) == ["Tremors"])
    #expect(try await titles(["text": "worm", "limit": 0]).isEmpty)
    #expect(try await titles(["text": "spice"]).isEmpty)
  }

  @Test func `rows that are found have their scores, and may have to reach one`() async throws {
    try await fill()
    func found(_ variables: DataObject) async throws -> [DataValue] {
      try await connector.query("FindScored", variables)["movies_search"]?.elements ?? []
    }
    let all = try await found(["text": "worm"])
    #expect(all.map { $0["title"] } == ["Tremors", "Dune"])
    let scores = try all.map {
      try Double(dataConnectValue: $0["_metadata"]?["relevance"] ?? .null)
    }
    #expect(scores[0] > scores[1] && scores[1] > 0)
    #expect(all.allSatisfy { $0["_metadata"]?["distance"] == DataValue.null })
    #expect(
      all.allSatisfy {
        $0["reviews_on_movie"]?.elements?.first?["_metadata"]?["relevance"] == DataValue.null
      })
    let between = DataValue.double((scores[0] + scores[1]) / 2)
    #expect(try await found(["text": "worm", "least": between]) == [all[0]])
    #expect(try await found(["text": "worm", "least": .double(scores[1])]) == all)
    #expect(try await found(["text": "worm", "least": 1000]).isEmpty)
    #expect(try await found(["text": "worm", "limit": 1]) == [all[0]])
    let byYear = try await found(["text": "worm", "order": [["year": "ASC"]]])
    #expect(byYear == [all[1], all[0]])
    let few = try await found(["text": "worm", "order": [["year": "ASC"]], "least": between])
    #expect(few == [all[0]])
  }
}
