import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// Lists with aggregates, `having` and `distinct`.
@Suite struct GroupTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        type Studio @table(key: "name") { name: String! }
        type Movie @table {
          title: String!
          genre: String
          year: Int!
          budget: Float
          studio: Studio
        }
        """,
      operations: """
        mutation AddStudio($name: String!) { studio_upsert(data: {name: $name}) }
        mutation Add($title: String!, $genre: String, $year: Int!, $budget: Float, $studio: String) {
          movie_insert(data: {
            title: $title, genre: $genre, year: $year, budget: $budget, studioName: $studio
          })
        }
        query ByGenre($more: Int) {
          movies(orderBy: [{_count: DESC}, {genre: ASC}], having: {_count: {gt: $more}}) {
            genre _count year_min year_max year_avg budget_sum
          }
        }
        query All { movies { _count year_count genre_count(distinct: true) budget_sum year_max } }
        query Some($count: Int) {
          movies(
            having: {_or: [
              {_count: {in: [1]}}, {_not: {budget_sum: {isNull: true}}, year_max: {gt: 1990}}
            ], _not: {_count: {eq: $count}}},
            orderBy: [{genre: ASC}], limit: 1
          ) { genre }
        }
        query Varied($genres: Int) {
          movies(
            having: {_distinct: true, genre_count: {ge: $genres}, _count: {gt: 1}},
            orderBy: [{studioName: ASC}]
          ) { studioName genre_count }
        }
        query Other { movies(having: {budget_sum: {ne: 18}}, orderBy: [{genre: ASC}]) { genre } }
        query Values { movies(having: {genre_count: {lt: 6}}) {
          genre_count studioName_count sum: budget_sum(distinct: true) avg: budget_avg(distinct: true)
        } }
        query Studios {
          studios(orderBy: [{name: ASC}]) {
            name
            all: movies_on_studio { _count budget_sum year_max }
            genres: movies_on_studio(orderBy: [{genre: ASC}], having: {_count: {gt: 0}}) { genre _count }
            old: movies_on_studio(where: {year: {lt: 1980}}, distinct: true) { genre }
          }
        }
        mutation Checked($name: String!) @transaction {
          query {
            movies(where: {studioName: {eq: $name}}) {
              _count @check(expr: "this == 0", message: "The studio has movies.")
            }
          }
          studio_delete(name: $name)
        }
        query None { movies(where: {year: {gt: 3000}}) { _count budget_sum year_max } }
        query Genres { movies(distinct: true, orderBy: [{genre: ASC}], limit: 2) { genre } }
        query ByStudio { movies(orderBy: [{studioName: ASC}]) { studioName _count } }
        """)
  }

  private func fill() async throws {
    try await connector.mutate("AddStudio", ["name": "Fox"])
    for (title, genre, year, budget, studio) in [
      ("Alien", "Horror", 1979, 11.5, "Fox"), ("Aliens", "Action", 1986, 18, "Fox"),
      ("Heat", "Action", 1995, nil, nil), ("Fog", "Horror", 1980, 1, nil),
      ("Ran", nil, 1985, nil, nil), ("Them", "Horror", 1954, nil, nil),
    ] as [(String, String?, Int64, Double?, String?)] {
      try await connector.mutate(
        "Add",
        [
          "title": .string(title), "genre": genre.map { .string($0) } ?? .null, "year": .int(year),
          "budget": budget.map { .double($0) } ?? .null,
          "studio": studio.map { .string($0) } ?? .null,
        ])
    }
  }

  private func movies(_ query: String, _ variables: DataObject = [:]) async throws -> DataValue? {
    try await connector.query(query, variables)["movies"]
  }

  @Test func `the condition of groups may be about different values`() async throws {
    try await fill()
    // Without a studio: Action, Horror twice, and one without a genre. Fox: Horror and Action.
    for (genres, studios) in [(1, [nil, "Fox"]), (2, [nil, "Fox"]), (3, [])]
      as [(Int64, [String?])]
    {
      let found = try await movies("Varied", ["genres": .int(genres)])?.elements
      #expect(
        found?.map { $0["studioName"] } == studios.map { $0.map { .string($0) } ?? .null },
        "\(genres)")
    }
  }

  @Test func `rows are grouped by the selected columns`() async throws {
    try await fill()
    #expect(
      try await movies("ByGenre") == [
        [
          "genre": "Horror", "_count": 3, "year_min": 1954, "year_max": 1980, "year_avg": 1971.0,
          "budget_sum": 12.5,
        ],
        [
          "genre": "Action", "_count": 2, "year_min": 1986, "year_max": 1995, "year_avg": 1990.5,
          "budget_sum": 18.0,
        ],
        [
          "genre": nil, "_count": 1, "year_min": 1985, "year_max": 1985, "year_avg": 1985.0,
          "budget_sum": nil,
        ],
      ])
    let genres = try await movies("ByGenre", ["more": 2])?.elements?.compactMap { $0["genre"] }
    #expect(genres == ["Horror"])
    #expect(
      try await movies("ByStudio") == [
        ["studioName": nil, "_count": 4], ["studioName": "Fox", "_count": 2],
      ])
  }

  @Test func `without a column all rows are one group, also if there are none`() async throws {
    #expect(try await movies("None") == [["_count": 0, "budget_sum": nil, "year_max": nil]])
    try await fill()
    #expect(
      try await movies("All") == [
        ["_count": 6, "year_count": 6, "genre_count": 2, "budget_sum": 30.5, "year_max": 1995]
      ])
    #expect(try await movies("None") == [["_count": 0, "budget_sum": nil, "year_max": nil]])
  }

  @Test func `distinct rows are each once`() async throws {
    try await fill()
    #expect(try await movies("Genres") == [["genre": nil], ["genre": "Action"]])
  }

  @Test func `values of a column are counted, and different ones are added`() async throws {
    try await fill()
    try await connector.mutate("Add", ["title": "Cube", "year": 1997, "budget": 1.0])
    #expect(
      try await movies("Values") == [
        ["genre_count": 5, "studioName_count": 2, "sum": 30.5, "avg": .double(30.5 / 3)]
      ])
  }

  @Test func `conditions of groups are combined`() async throws {
    try await fill()
    #expect(try await movies("Some", ["count": 9]) == [["genre": nil]])
    #expect(try await movies("Some", ["count": 1]) == [["genre": "Action"]])
    // The sum of those without a genre is null, which is not another number.
    #expect(try await movies("Other") == [["genre": "Horror"]])
  }

  @Test func `rows of a relation are grouped`() async throws {
    try await fill()
    try await connector.mutate("AddStudio", ["name": "MGM"])
    #expect(
      try await connector.query("Studios")["studios"] == [
        [
          "name": "Fox", "all": [["_count": 2, "budget_sum": 29.5, "year_max": 1986]],
          "genres": [["genre": "Action", "_count": 1], ["genre": "Horror", "_count": 1]],
          "old": [["genre": "Horror"]],
        ],
        [
          "name": "MGM", "all": [["_count": 0, "budget_sum": nil, "year_max": nil]],
          "genres": [], "old": [],
        ],
      ])
  }

  @Test func `a mutation checks groups of what it would change`() async throws {
    try await fill()
    try await connector.mutate("AddStudio", ["name": "MGM"])
    #expect(
      await message { try await connector.mutate("Checked", ["name": "Fox"]) }
        .contains("The studio has movies."))
    try await connector.mutate("Checked", ["name": "MGM"])
    #expect(
      try await connector.query("Studios")["studios"]?.elements?.compactMap { $0["name"] } == [
        "Fox"
      ])
  }

  @Test func `groups are in the order of an enum's values, and pages are of this order`()
    async throws
  {
    let connector = try TestConnector(
      schema: """
        enum Level { LOW MID HIGH }
        type Task @table(key: "id") { id: Int!  level: Level  isDone: Boolean! }
        """,
      operations: """
        mutation Add($id: Int!, $level: Level, $isDone: Boolean!) {
          task_insert(data: {id: $id, level: $level, isDone: $isDone})
        }
        query Counts($limit: Int, $offset: Int) {
          tasks(orderBy: [{level: DESC}], limit: $limit, offset: $offset) { level _count }
        }
        query Many { tasks(orderBy: [{_count: DESC}, {level: ASC}], having: {_count: {gt: 1}}) { level _count } }
        query Distinct { tasks(distinct: true, orderBy: [{isDone: ASC}, {level: ASC}]) { level isDone } }
        """)
    for (id, level, isDone) in [
      (1, "LOW", true), (2, "HIGH", false), (3, "MID", true), (4, "HIGH", false), (5, nil, true),
      (6, "LOW", false), (7, "MID", true), (8, "MID", true),
    ] as [(Int64, String?, Bool)] {
      try await connector.mutate(
        "Add",
        [
          "id": .int(id), "level": level.map { .string($0) } ?? .null, "isDone": .bool(isDone),
        ])
    }
    let all: [DataValue] = [
      ["level": "HIGH", "_count": 2], ["level": "MID", "_count": 3], ["level": "LOW", "_count": 2],
      ["level": nil, "_count": 1],
    ]
    #expect(try await connector.query("Counts")["tasks"] == .list(all))
    #expect(
      try await connector.query("Counts", ["limit": 2, "offset": 1])["tasks"]
        == .list(Array(all[1...2])))
    #expect(
      try await connector.query("Many")["tasks"] == [
        ["level": "MID", "_count": 3], ["level": "LOW", "_count": 2],
        ["level": "HIGH", "_count": 2],
      ])
    #expect(
      try await connector.query("Distinct")["tasks"] == [
        ["level": "LOW", "isDone": false], ["level": "HIGH", "isDone": false],
        ["level": nil, "isDone": true], ["level": "LOW", "isDone": true],
        ["level": "MID", "isDone": true],
      ])
  }
}
