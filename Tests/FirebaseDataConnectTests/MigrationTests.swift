import DataConnectModel
import Foundation
import Hearth
import HearthTesting
import Testing

@testable import FirebaseDataConnect

/// Changes of a schema whose tables have rows.
@Suite struct MigrationTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  /// A connector with a schema, on the one database.
  private func connector(_ schema: String, _ operations: String = "") throws -> TestConnector {
    try TestConnector(
      TestConnector(schema: schema, operations: operations + "\nquery Q { __typename }").connector,
      database)
  }

  private static let movies = "type Movie @table(key: \"id\") { id: Int!  title: String }"
  private static let add = """
    mutation Add($id: Int!, $title: String) { movie_insert(data: {id: $id, title: $title}) }
    """

  private func fill(_ count: Int) async throws {
    let old = try connector(Self.movies, Self.add)
    for id in 1...count {
      try await old.mutate("Add", ["id": .int(Int64(id)), "title": .string("film \(id)")])
    }
  }

  private func documents(_ collection: String) async throws -> [[String: Any]] {
    try await database.firestore.collection(collection).getDocuments().documents.map { $0.data() }
  }

  // MARK: Classes

  @Test func `each change has its class`() async throws {
    let table = "type T @table(key: \"id\")"
    let cases: [(old: String, new: String, changes: [String])] = [
      ("\(table) { id: Int! }", "\(table) { id: Int! }", []),
      ("\(table) { id: Int! }", "\(table) { id: Int!  a: String }", ["additive T.a"]),
      (
        "\(table) { id: Int! }", "\(table) { id: Int!  a: Int! @default(value: 3) }",
        ["additive T.a"]
      ),
      ("\(table) { id: Int! }", "\(table) { id: Int!  a: Int! }", ["needsDefault T.a"]),
      ("\(table) { id: Int!  a: Int }", "\(table) { id: Int! }", ["destructive T.a"]),
      ("\(table) { id: Int!  a: Int }", "\(table) { id: Int!  a: Int! }", ["needsDefault T.a"]),
      ("\(table) { id: Int!  a: Int! }", "\(table) { id: Int!  a: Int }", ["additive T.a"]),
      ("\(table) { id: Int!  a: Int }", "\(table) { id: Int!  a: Int64 }", ["additive T.a"]),
      ("\(table) { id: Int!  a: Int }", "\(table) { id: Int!  a: Float }", ["additive T.a"]),
      ("\(table) { id: Int!  a: Float }", "\(table) { id: Int!  a: Int }", ["destructive T.a"]),
      ("\(table) { id: Int!  a: String }", "\(table) { id: Int!  a: Int }", ["destructive T.a"]),
      ("\(table) { id: Int!  a: Int }", "\(table) { id: Int!  a: [Int!] }", ["destructive T.a"]),
      ("\(table) { id: Int! }", "\(table) { id: String! }", ["destructive T"]),
      ("\(table) { id: Int! a: Int }", "\(table) { id: Int!  a: Int @unique }", ["additive T"]),
      ("\(table) { id: Int! a: Int @index }", "\(table) { id: Int!  a: Int }", ["additive T"]),
      ("\(table) { id: Int! }", "\(table) { id: Int! } type U @table { a: Int }", ["additive U"]),
      (
        "\(table) { id: Int! } type U @table { a: Int }", "\(table) { id: Int! }", ["destructive U"]
      ),
      (
        "\(table) { id: Int!  a: E } enum E { A B }", "\(table) { id: Int!  a: E } enum E { A C }",
        ["additive E", "destructive E"]
      ),
      (
        "type Old @table(key: \"id\", name: \"t\") { id: Int! }", "\(table) { id: Int! }", []
      ),
    ]
    for (old, new, changes) in cases {
      func plan(_ schema: String) throws -> ConnectorPlan {
        try ConnectorPlan(
          TestConnector(schema: schema, operations: "query Q { __typename }").connector)
      }
      let found = try SchemaComparison(from: plan(old), to: plan(new)).changes
      #expect(found.map { "\($0.kind) \($0.subject)" } == changes, "\(old) → \(new)")
    }
  }

  // MARK: Rows

  @Test func `rows get the defaults of new columns, once`() async throws {
    try await fill(450)
    let newer = try connector(
      """
      type Movie @table(key: "id") {
        id: Int!  title: String! @default(value: "?")  genre: String
        rating: Int! @default(value: 5)  code: UUID! @default(expr: "uuidV4()")
        number: Int! @col(dataType: "serial")  studio: Studio
      }
      type Studio @table(key: "name") { name: String! }
      """,
      """
      query NoGenre { movies(where: {genre: {isNull: true}}, limit: 1000) { id rating code number } }
      """)
    let changes = try await newer.dataConnect.schemaChanges()
    #expect(changes.allSatisfy { $0.kind == .additive } && changes.count == 8, "\(changes)")
    #expect(try await newer.dataConnect.migrate() == changes)
    let rows = try await newer.query("NoGenre")["movies"]?.elements ?? []
    #expect(rows.count == 450)
    #expect(rows.allSatisfy { $0["rating"] == 5 })
    #expect(
      Set(rows.map { $0["code"] }).count == 450 && Set(rows.map { $0["number"] }).count == 450)
    // Again, and by another program.
    #expect(try await newer.dataConnect.migrate().isEmpty)
    #expect(try await newer.dataConnect.schemaChanges().isEmpty)
    #expect(try await newer.query("NoGenre")["movies"]?.elements == rows)
  }

  @Test func `a program with the older schema goes on, and the newer one reads its rows`()
    async throws
  {
    try await fill(1)
    let newer = try connector(
      """
      type Movie @table(key: "id") {
        id: Int!  title: String  rating: Float! @default(value: 5)  genre: String
      }
      """, "query All { movies(orderBy: [{id: ASC}]) { id rating genre } }")
    try await newer.dataConnect.migrate()
    let older = try connector(Self.movies, Self.add)
    try await older.mutate("Add", ["id": 2])
    let row: DataObject = ["rating": .double(5), "genre": nil]
    #expect(
      try await newer.query("All")["movies"]
        == .list([
          .object(DataObject([("id", 1)] + row.members)),
          .object(DataObject([("id", 2)] + row.members)),
        ]))
    // The older one does not bring its schema back.
    #expect(try await newer.dataConnect.schemaChanges().isEmpty)
    let back = try await older.dataConnect.schemaChanges()
    #expect(back.map(\.kind) == [.destructive, .destructive])
  }

  private func uniqueFields() async throws -> [String] {
    // Those that are dropped are listed until their entries are deleted.
    try await database.firestore.indexes.list().filter { $0.state != .dropping }.map { "\($0)" }
      .filter { $0.contains("unique") }
  }

  @Test func `a program with the older schema does not bring its rules and indexes back`()
    async throws
  {
    let add = """
      mutation Add($id: Int!, $code: Int) {
        movie_insert(data: {id: $id, code: $code, reviews_on_movie: [{id: $id}]})
      }
      mutation Delete($id: Int!) { movie_delete(key: {id: $id}) }
      query All { reviews(orderBy: [{id: ASC}]) { id } }
      """
    let oldSchema = """
      type Movie @table(key: "id") { id: Int!  code: Int @unique }
      type Review @table(key: "id") { id: Int!  movie: Movie! }
      """
    let newSchema =
      oldSchema.replacing(" @unique", with: "").replacing("Movie! }", with: "Movie }")
    try await connector(oldSchema, add).mutate("Add", ["id": 1, "code": 7])
    let newer = try connector(newSchema, add)
    #expect(try await newer.dataConnect.migrate().map(\.kind) == [.additive, .additive])
    // It starts, and reads.
    let older = try connector(oldSchema, add)
    _ = try await older.query("All")
    try await newer.mutate("Add", ["id": 2, "code": 7])
    try await newer.mutate("Delete", ["id": 1])
    #expect(try await newer.query("All")["reviews"] == [["id": 1], ["id": 2]])
    #expect(try await uniqueFields() == [])
    // A program that migrates back is the newer one again.
    try await database.firestore.document("movie/2").delete()
    for id in ["1", "2"] { try await database.firestore.document("review/\(id)").delete() }
    try await connector(oldSchema, add).dataConnect.migrate()
    _ = try await connector(newSchema, add).query("All")
    let again = try connector(oldSchema, add)
    try await again.mutate("Add", ["id": 3, "code": 8])
    try await again.mutate("Delete", ["id": 3])
    #expect(try await again.query("All")["reviews"] == [])
    #expect(try await uniqueFields().count == 1)
  }

  @Test func `rules that came back while a migration began are withdrawn`() async throws {
    let old = """
      type Movie @table(key: "id") { id: Int!  code: Int @unique }
      type Review @table(key: "id") { id: Int!  movie: Movie! }
      """
    let new = old.replacing(" @unique", with: "").replacing("Movie! }", with: "Movie }")
    let add = "mutation Add { movie_insert(data: {id: 1, reviews_on_movie: [{id: 1}]}) }"
    let older = try connector(old, add)
    try await older.mutate("Add")
    let newer = try connector(new)
    try await newer.dataConnect.migrate()
    // As a program does that has read the schema before the migration.
    let service = try older.dataConnect.service()
    try await service.declare(service.plan.rules)
    #expect(try await uniqueFields().count == 1)
    try await service.withdrawIfMigrated()
    #expect(try await uniqueFields() == [])
    try await database.firestore.document("movie/1").delete()
    #expect(try await documents("review").count == 1)
  }

  @Test func `until its migration, a newer program adds rules, and replaces none`() async throws {
    let old = """
      type Movie @table(key: "id") { id: Int! }
      type Review @table(key: "id") { id: Int!  movie: Movie }
      """
    let new = """
      type Movie @table(key: "id") { id: Int! }
      type Review @table(key: "id") { id: Int!  movie: Movie! }
      type Poster @table(key: "id") { id: Int!  movie: Movie! }
      """
    let operations = """
      mutation Add { movie_insert(data: {id: 1, reviews_on_movie: [{id: 1}]}) }
      """
    try await connector(old, operations).mutate("Add")
    let newer = try connector(
      new, operations + "\nmutation Hang { poster_insert(data: {id: 1, movieId: 1}) }")
    try await newer.mutate("Hang")
    try await database.firestore.document("movie/1").delete()
    #expect(try await documents("review").count == 1, "The database's schema keeps it.")
    #expect(try await documents("poster").isEmpty)
  }

  @Test func `a program with the older schema declares nothing during a migration`() async throws {
    let old = """
      type Movie @table(key: "id") { id: Int!  title: String }
      type Review @table(key: "id") { id: Int!  movie: Movie! }
      """
    let operations = """
      mutation Add($id: Int!) { movie_insert(data: {id: $id, reviews_on_movie: [{id: $id}]}) }
      """
    for id in 1...3 { try await connector(old, operations).mutate("Add", ["id": .int(Int64(id))]) }
    let newer = try connector("type Review @table(key: \"id\") { id: Int!  movieId: Int }")
    var migration = SchemaMigration(try newer.dataConnect.service())
    migration.batchCount = 1
    migration.maximumBatches = 1
    await #expect(throws: CancellationError.self) {
      _ = try await migration.run(allowingDestructive: true)
    }
    _ = try await connector(old, operations).query("Q")
    // As the migration will do with the removed table's rows.
    try await database.firestore.document("movie/3").delete()
    #expect(try await documents("review").count == 3)
    try await newer.dataConnect.migrate(allowingDestructive: true)
    #expect(try await documents("movie").isEmpty)
    #expect(try await documents("review").count == 3)
  }

  @Test func `a column without a default is refused if rows lack it, and changes nothing`()
    async throws
  {
    try await fill(3)
    let before = try await documents("movie") as NSArray
    let newer = try connector(
      "type Movie @table(key: \"id\") { id: Int!  title: String!  genre: String!  year: Int }")
    let text = await message { try await newer.dataConnect.migrate() }
    #expect(text.hasPrefix("Movie.genre must have a value, and the row 1 has none"), "\(text)")
    #expect(try await documents("movie") as NSArray == before)
    // All rows have a title.
    let other = try connector("type Movie @table(key: \"id\") { id: Int!  title: String! }")
    #expect(try await other.dataConnect.migrate().map(\.kind) == [.needsDefault])
    #expect(try await other.dataConnect.schemaChanges().isEmpty)
  }

  @Test func `values are removed with permission only, and no others`() async throws {
    let schema = """
      type Movie @table(key: "id") { id: Int!  title: String  year: String  old: Int @unique }
      type Review @table(key: "id") { id: Int!  movie: Movie!  text: String }
      """
    let old = try connector(
      schema,
      """
      mutation Add($id: Int!) {
        movie_insert(data: {id: $id, title: "a", year: "1984", old: $id, reviews_on_movie: [{id: $id, text: "b"}]})
      }
      """)
    for id in 1...3 { try await old.mutate("Add", ["id": .int(Int64(id))]) }
    let newer = try connector(
      """
      type Movie @table(key: "id") { id: Int!  title: String  year: Int! @default(value: 2000) }
      """)
    let text = await message { try await newer.dataConnect.migrate() }
    #expect(text.contains("destructive: Movie.year changes from String to Int"), "\(text)")
    #expect(try await documents("movie").allSatisfy { $0["year"] as? String == "1984" })
    try await newer.dataConnect.migrate(allowingDestructive: true)
    #expect(try await documents("review").isEmpty)
    let movies = try await documents("movie")
    #expect(movies.count == 3)
    #expect(
      movies.allSatisfy {
        Set($0.keys) == ["id", "title", "year"] && $0["year"] as? Int == 2000
          && $0["title"] as? String == "a"
      })
    #expect(
      try await !database.firestore.indexes.list().contains { "\($0)".contains("old") })
  }

  @Test func `an Int column keeps its values as a Float column, and loses them on the way back`()
    async throws
  {
    let int = "type Movie @table(key: \"id\") { id: Int!  year: Int }"
    let float = int.replacing("year: Int", with: "year: Float")
    let operations = """
      mutation Add($id: Int!) { movie_insert(data: {id: $id, year: 1984}) }
      query Years { movies { year } }
      """
    try await connector(int, operations).mutate("Add", ["id": 1])
    let newer = try connector(float, operations)
    #expect(try await newer.dataConnect.migrate().map(\.kind) == [.additive])
    #expect(try await newer.query("Years")["movies"] == [["year": .double(1984)]])
    let back = try connector(int, operations)
    let refused = await message { try await back.dataConnect.migrate() }
    #expect(refused.contains("destructive: Movie.year changes from Float to Int"), "\(refused)")
    #expect(try await newer.query("Years")["movies"] == [["year": .double(1984)]])
    try await back.dataConnect.migrate(allowingDestructive: true)
    #expect(try await back.query("Years")["movies"] == [["year": nil]])
  }

  @Test func `a table is removed without the rows that have referred to it`() async throws {
    let old = try connector(
      """
      type Movie @table(key: "id") { id: Int! }
      type Review @table(key: "id") { id: Int!  movie: Movie!  text: String }
      """,
      """
      mutation Add { movie_insert(data: {id: 1, reviews_on_movie: [{id: 1, text: "b"}]}) }
      """)
    try await old.mutate("Add")
    let newer = try connector("type Review @table(key: \"id\") { id: Int!  text: String }")
    try await newer.dataConnect.migrate(allowingDestructive: true)
    #expect(try await documents("movie").isEmpty)
    #expect(try await documents("review").map { Set($0.keys) } == [["id", "text"]])
  }

  @Test func `the column of a reference keeps its values in both directions`() async throws {
    let plain = """
      type Movie @table(key: "id") { id: String! }
      type Review @table(key: "id") { id: Int!  movieId: String }
      """
    let linked = plain.replacing("movieId: String", with: "movie: Movie")
    let old = try connector(
      plain,
      """
      mutation Add { movie_insert(data: {id: "m"}) review_insert(data: {id: 1, movieId: "m"}) }
      """)
    try await old.mutate("Add")
    let newer = try connector(linked, "query R { reviews { movieId movie { id } } }")
    try await newer.dataConnect.migrate()
    #expect(
      try await newer.query("R")["reviews"] == [["movieId": "m", "movie": ["id": "m"]]])
    try await connector(plain).dataConnect.migrate()
    #expect(try await documents("review").map { $0["movieId"] as? String } == ["m"])
  }

  @Test func `another key deletes the rows, with permission`() async throws {
    try await fill(2)
    let newer = try connector("type Movie @table(key: \"title\") { title: String!  id: Int }")
    await #expect(throws: DataConnectOperationError.self) { try await newer.dataConnect.migrate() }
    #expect(try await documents("movie").count == 2)
    try await newer.dataConnect.migrate(allowingDestructive: true)
    #expect(try await documents("movie").isEmpty)
  }

  @Test(arguments: [
    (old: "UUID", new: "String", id: DataValue.string("00000000-0000-4000-8000-000000000001")),
    (old: "Int", new: "Int64", id: .int(7)),
  ])
  func `another key lists the tables that refer to its rows, and changes no others`(
    old: String, new: String, id: DataValue
  ) async throws {
    func connector(_ type: String) throws -> TestConnector {
      try self.connector(
        """
        type Movie @table(key: "id") { id: \(type)! }
        type Note @table(key: "id") { id: Int!  movie: Movie  text: String }
        type Reply @table(key: "id") { id: Int!  review: Review! }
        type Review @table(key: "id") { id: Int!  movie: Movie! }
        type Studio @table(key: "id") { id: Int! }
        """,
        """
        mutation Add($id: \(type)!) {
          movie_insert(data: {
            id: $id
            notes_on_movie: [{id: 1, text: "a"}]
            reviews_on_movie: [{id: 1, replies_on_review: [{id: 1}]}]
          })
          studio_insert(data: {id: 1})
        }
        mutation Review($id: \(type)!) { movie_insert(data: {id: $id, reviews_on_movie: [{id: 2}]}) }
        query Notes { notes { text movieId movie { id } } }
        """)
    }
    try await connector(old).mutate("Add", ["id": id])
    let newer = try connector(new)
    let changes = try await newer.dataConnect.schemaChanges()
    #expect(
      changes.map { "\($0.kind) \($0.subject)" } == [
        "destructive Movie", "additive Note.movieId", "destructive Note.movie", "destructive Reply",
        "destructive Review",
      ])
    await #expect(throws: DataConnectOperationError.self) { try await newer.dataConnect.migrate() }
    for table in ["movie", "note", "reply", "review", "studio"] {
      #expect(try await documents(table).count == 1)
    }
    try await newer.dataConnect.migrate(allowingDestructive: true)
    for table in ["movie", "reply", "review"] { #expect(try await documents(table).isEmpty) }
    #expect(try await documents("studio").count == 1)
    #expect(
      try await newer.query("Notes") == ["notes": [["text": "a", "movieId": nil, "movie": nil]]])
    // The rules hold again.
    try await newer.mutate("Review", ["id": id])
    try await database.firestore.collection("movie").getDocuments().documents[0].reference.delete()
    #expect(try await documents("review").isEmpty)
  }

  @Test func `a value that leads to no row is refused before anything is changed`() async throws {
    let plain = """
      type Movie @table(key: "id") { id: String! }
      type Poster @table(key: "id") { id: Int!  movie: Movie! }
      type Review @table(key: "id") { id: Int!  movieId: String }
      """
    let old = try connector(
      plain,
      """
      mutation Add($id: Int!, $movie: String) { review_insert(data: {id: $id, movieId: $movie}) }
      mutation AddMovie { movie_insert(data: {id: "m"}) }
      """)
    try await old.mutate("AddMovie")
    try await old.mutate("Add", ["id": 1, "movie": "m"])
    try await old.mutate("Add", ["id": 2, "movie": "gone"])
    try await old.mutate("Add", ["id": 3, "movie": nil])
    func state() async throws -> [String] {
      let record = try await SchemaRecord.document("films", in: database.firestore).getDocument()
      let indexes = try await database.firestore.indexes.list().map { "\($0)" }.sorted()
      let reviews = try await database.firestore.collection("review").getDocuments().documents
      return indexes + ["\(record["schema"] ?? "")", "\(record["target"] ?? "none")"]
        + reviews.map { "\($0.documentID) \($0["movieId"] ?? "") \($0.data().keys.sorted())" }
    }
    let before = try await state()
    let newer = try connector(
      plain.replacing("movieId: String", with: "movie: Movie")
        .replacing("Movie! }", with: "Movie }"))
    #expect(try await newer.dataConnect.schemaChanges().allSatisfy { $0.kind == .additive })
    let text = await message { try await newer.dataConnect.migrate() }
    #expect(text.hasPrefix("The row 2 of Review cannot be migrated"), "\(text)")
    await #expect(throws: DataConnectOperationError.self) { try await newer.dataConnect.migrate() }
    #expect(try await state() == before)
    try await database.firestore.document("review/2").delete()
    try await newer.dataConnect.migrate()
    #expect(
      try await documents("review").map { ($0["movie"] as? DocumentReference)?.documentID }
        == ["m", nil])
  }

  @Test func `a migration that ended early goes on`() async throws {
    try await fill(9)
    let newer = try connector(
      """
      type Movie @table(key: "id") { id: Int!  title: String  code: UUID! @default(expr: "uuidV4()") }
      """)
    for _ in 0..<3 {
      var migration = SchemaMigration(try newer.dataConnect.service())
      migration.batchCount = 2
      migration.maximumBatches = 1
      await #expect(throws: CancellationError.self) {
        _ = try await migration.run(allowingDestructive: false)
      }
    }
    let codes = try await documents("movie").compactMap { $0["code"] as? String }
    #expect(codes.count == 6)
    #expect(try await newer.dataConnect.schemaChanges().count == 1)
    try await newer.dataConnect.migrate()
    let all = try await documents("movie").compactMap { $0["code"] as? String }
    #expect(all.count == 9 && Set(all).isSuperset(of: codes))
  }
}
