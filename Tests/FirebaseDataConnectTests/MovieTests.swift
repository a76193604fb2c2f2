import FirebaseDataConnect
import Foundation
import Hearth
import Testing

/// The tutorials' movies, from GraphQL to documents.
@Suite struct MovieTests {
  static let schema = """
    type Movie @table(key: "id") {
      id: UUID! @default(expr: "uuidV4()")
      title: String!
      releaseYear: Int
      genre: String
      rating: Int
      description: String
    }
    """

  static let operations = """
    mutation createMovie($title: String!, $releaseYear: Int!, $genre: String!, $rating: Int!) {
      movie_insert(data: {
        title: $title
        releaseYear: $releaseYear
        genre: $genre
        rating: $rating
      })
    }

    query getMovieByKey($key: Movie_Key!) {
      movie(key: $key) { id title }
    }

    query listMoviesByGenre($genre: String!) {
      movies(where: {genre: {eq: $genre}}) {
        id
        title
      }
    }

    query GetMovieById($id: UUID!) @auth(level: PUBLIC) {
      movie(id: $id) { id title genre description }
    }

    mutation UpdateMovie($id: UUID!, $genre: String!, $description: String!) {
      movie_update(id: $id, data: { genre: $genre description: $description })
    }

    mutation DeleteMovie($id: UUID!) { movie_delete(id: $id) }

    query ListByYear($limit: Int, $offset: Int, $order: OrderDirection) {
      movies(orderBy: [{releaseYear: $order}, {title: ASC}], limit: $limit, offset: $offset) {
        title releaseYear
      }
    }
    """

  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(schema: Self.schema, operations: Self.operations)
  }

  private func create(_ title: String, _ year: Int, _ genre: String) async throws -> DataValue {
    let result = try await connector.mutate(
      "createMovie",
      [
        "title": .string(title), "releaseYear": .int(Int64(year)), "genre": .string(genre),
        "rating": 5,
      ])
    return try #require(result["movie_insert"]?["id"])
  }

  @Test func `a movie is created, read by its key, changed and deleted`() async throws {
    let id = try await create("Empire Strikes Back", 1980, "Sci-Fi")
    let movie = try await connector.query("getMovieByKey", ["key": ["id": id]])
    #expect(movie == ["movie": ["id": id, "title": "Empire Strikes Back"]])
    let changed = try await connector.mutate(
      "UpdateMovie", ["id": id, "genre": "Fantasy", "description": "snow"])
    #expect(changed == ["movie_update": ["id": id]])
    #expect(
      try await connector.query("GetMovieById", ["id": id])["movie"] == [
        "id": id, "title": "Empire Strikes Back", "genre": "Fantasy", "description": "snow",
      ])
    #expect(try await connector.mutate("DeleteMovie", ["id": id]) == ["movie_delete": ["id": id]])
    #expect(try await connector.query("GetMovieById", ["id": id]) == ["movie": nil])
    #expect(try await connector.mutate("DeleteMovie", ["id": id]) == ["movie_delete": nil])
  }

  @Test func `a list has the rows of its filter, in its order, in pages`() async throws {
    for (title, year, genre) in [
      ("Dune", 1984, "Sci-Fi"), ("Alien", 1979, "Sci-Fi"), ("Heat", 1995, "Crime"),
      ("Brazil", 1984, "Sci-Fi"),
    ] { _ = try await create(title, year, genre) }
    let found = try await connector.query("listMoviesByGenre", ["genre": "Crime"])
    #expect(found["movies"]?.elements?.compactMap { $0["title"] } == ["Heat"])
    func titles(_ variables: DataObject) async throws -> [DataValue] {
      try await connector.query("ListByYear", variables)["movies"]?.elements?
        .compactMap { $0["title"] } ?? []
    }
    #expect(try await titles(["order": "ASC"]) == ["Alien", "Brazil", "Dune", "Heat"])
    #expect(try await titles(["order": "DESC", "limit": 2]) == ["Heat", "Brazil"])
    #expect(try await titles(["limit": 2, "offset": 1]) == ["Brazil", "Dune"])
    #expect(try await titles(["limit": 0]).isEmpty)
  }

  @Test func `a row is a document`() async throws {
    let id = try await create("Dune", 1984, "Sci-Fi")
    let documents = try await connector.firestore.collection("movie").getDocuments().documents
    #expect(documents.map { .string($0.documentID) } == [id])
    #expect(documents.first?["title"] as? String == "Dune")
    #expect(documents.first?["description"] is NSNull)
    try await documents.first?.reference.updateData(["title": "Dune 2"])
    #expect(try await connector.query("GetMovieById", ["id": id])["movie"]?["title"] == "Dune 2")
  }

  @Test func `variables of other types are refused, and nothing is written`() async throws {
    let complete: DataObject = [
      "title": "Dune", "releaseYear": 1984, "genre": "Sci-Fi", "rating": 5,
    ]
    for (name, value, wanted) in [
      ("title", DataValue.null, "$title must not be null."),
      ("releaseYear", "1984", "$releaseYear must be of the type Int"),
      ("releaseYear", 3_000_000_000, "must fit in 32 bits"),
      ("colour", "red", "has no variable $colour"),
    ] {
      var variables = complete
      variables[name] = value
      let text = await message { try await connector.mutate("createMovie", variables) }
      #expect(text.contains(wanted), "\(text)")
    }
    var incomplete = complete
    incomplete["title"] = nil
    let text = await message { try await connector.mutate("createMovie", incomplete) }
    #expect(text == "$title is missing." || text.contains("$title is missing"), "\(text)")
    #expect(try await connector.firestore.collection("movie").getDocuments().isEmpty)
  }

  @Test func `a subscription to a row follows mutations of this row alone`() async throws {
    let id = try await create("Dune", 1984, "Sci-Fi")
    let other = try await create("Alien", 1979, "Sci-Fi")
    let reference = connector.reference("GetMovieById", ["id": id])
    var results = try await reference.subscribe().makeAsyncIterator()
    func next() async throws -> DataValue? {
      try await results.next()?.get().data["movie"]
    }
    #expect(try await next()?["genre"] == "Sci-Fi")
    try await connector.mutate(
      "UpdateMovie", ["id": other, "genre": "Horror", "description": ""])
    try await connector.mutate("UpdateMovie", ["id": id, "genre": "Epic", "description": ""])
    #expect(try await next()?["genre"] == "Epic")
    #expect(reference.data?["movie"]?["genre"] == "Epic")
    try await connector.mutate("DeleteMovie", ["id": id])
    #expect(try await next() == .null)
  }
}
