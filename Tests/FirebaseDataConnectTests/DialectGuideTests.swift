import Foundation
import Hearth
import HearthDataConnect
import HearthTesting
import Testing

@testable import FirebaseDataConnect

/// The page about the dialect: its schema and its operations are compiled from the page, and executed.
@Suite struct DialectGuideTests {
  private let connector: TestConnector
  private let names: [String]

  private static let ada = DataConnectAuth(
    uid: "ada", token: ["firebase": ["sign_in_provider": "password"]])

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appending(
        path: "Sources/FirebaseDataConnect/FirebaseDataConnect.docc/Dialect.md"), encoding: .utf8)
    let blocks = page.components(separatedBy: "```graphql\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
    try #require(blocks.count > 10)
    let operations = blocks.dropFirst().joined(separator: "\n\n")
    let compilation = DataConnectCompiler().compile(
      CompilerInput(
        serviceID: "books", location: "local", connectorID: "books",
        schema: [SourceFile(path: "schema.gql", text: blocks[0])],
        connector: [SourceFile(path: "operations.gql", text: operations)]))
    let found = compilation.diagnostics.map(\.description).joined(separator: "\n")
    try #require(compilation.diagnostics.isEmpty, "\(found)")
    let compiled = try #require(compilation.connector)
    names = compiled.operations.map(\.name)
    connector = try TestConnector(compiled, TemporaryDatabase())
  }

  private static func id(_ number: Int) -> DataValue {
    .string("00000000-0000-0000-0000-00000000000\(number)".replacing("-", with: ""))
  }

  private func fill() async throws {
    let db = connector.firestore
    func id(_ number: Int) -> String { Self.id(number).text ?? "" }
    for (number, title, year, price, tags, mood) in [
      (1, "Dune", 1965, 8.0, ["new"], [1.0, 0]), (2, "Emma", 1815, 5, ["old"], [0, 1]),
      (3, "Ubik", 2001, 12, ["new"], [1, 0.1]),
    ] as [(Int, String, Int, Double, [String], [Double])] {
      try await db.document("book/\(id(number))").setData([
        "id": id(number), "title": title, "summary": "The sand and the worms of \(title)",
        "year": year, "price": price, "stock": 5, "tags": tags,
        "mood": FieldValue.vector(mood),
      ])
    }
    try await db.document("author/\(id(7))").setData(["id": id(7), "name": "Frank"])
    for uid in ["ada", "bob"] {
      try await db.document("reader/\(uid)").setData(["uid": uid, "email": "\(uid)@example.com"])
    }
    for (book, reader, stars) in [(1, "ada", 5), (1, "bob", 4), (2, "bob", 1)] {
      let auth = DataConnectAuth(
        uid: reader, token: ["firebase": ["sign_in_provider": "password"]])
      try await connector.mutate(
        "SaveReview", ["book": Self.id(book), "stars": .int(Int64(stars))], auth: auth)
    }
  }

  private func rows(
    _ name: String, _ variables: DataObject = [:], auth: DataConnectAuth? = nil
  ) async throws -> DataValue? {
    try await connector.query(name, variables, auth: auth).fields?.values.first
  }

  @Test func `the queries of the page find what it says`() async throws {
    try await fill()
    let id = Self.id(1)
    #expect(try await rows("GetBook", ["id": id]) == ["title": "Dune", "year": 1965])
    #expect(try await rows("GetReview", ["book": id, "reader": "bob"]) == ["stars": 4])
    #expect(
      try await rows("GetMyself", auth: Self.ada) == ["email": "ada@example.com", "role": .null])
    #expect(try await rows("CheapestBook", ["since": 1900]) == ["title": "Dune", "price": 8.0])
    #expect(
      try await rows("ListBooks", ["tag": "new"]) == [
        ["title": "Ubik", "year": 2001], ["title": "Dune", "year": 1965],
      ])
    #expect(
      try await rows("ListRatings", ["least": 2]) == [
        ["bookId": id, "_count": 2, "stars_avg": 4.5, "stars_max": 5]
      ])
    #expect(
      try await rows("CountEverything") == [
        ["_count": 3, "stock_sum": 15, "year_min": 1815, "year_count": 3]
      ])
    #expect(
      try await rows("ListBooksWithRatings")?.elements?.first == [
        "title": "Dune", "reviews_on_book": [["_count": 2, "stars_avg": 4.5]],
      ])
    #expect(try await rows("ListYears")?.elements?.count == 3)
    let similar = try await rows("ListSimilarBooks", ["mood": [1, 0]])?.elements
    #expect(similar?.map { $0["title"] } == ["Dune", "Ubik"])
  }

  @Test(arguments: [
    ("worms of emma", ["Emma"]), ("\"sand and the worms\" dune", ["Dune"]),
    ("sand -dune -emma", ["Ubik"]), ("dune or emma", ["Dune", "Emma"]), ("ub*", ["Ubik"]),
    ("the", []), ("", []), ("…", []),
  ])
  func `searches find what the page says`(words: String, wanted: [String]) async throws {
    try await fill()
    let found = try await rows("FindBooks", ["words": .string(words)])?.elements ?? []
    #expect(Set(found.compactMap { $0["title"]?.text }) == Set(wanted))
    #expect(found.count == wanted.count)
  }

  @Test func `the mutations of the page change what it says`() async throws {
    try await fill()
    let id = Self.id(1)
    let added = try await connector.mutate(
      "AddBook", ["title": "Ran", "author": Self.id(7)], auth: Self.ada)
    let book = try #require(added["book_insert"]?["id"])
    #expect(
      try await rows("GetBookWithOthers", ["id": book]) == [
        "title": "Ran", "reviews_on_book": [], "authors_via_BookAuthor": [["name": "Frank"]],
      ])
    #expect(try await rows("ListBooksOf", ["author": "Frank"]) == [["title": "Ran"]])
    try await connector.mutate("AddTeam", auth: Self.ada)
    let team = try await connector.firestore.collection("person").getDocuments().documents
    #expect(team.map(\.documentID) == ["Ada", "Grace"])
    try await connector.mutate("SellBook", ["id": id, "count": 2], auth: Self.ada)
    let sold = try await connector.firestore.document("book/\(id.text ?? "")").getDocument()
    #expect(sold["stock"] as? Int == 3 && sold["tags"] as? [String] == ["sold"])
    let raised = try await connector.mutate(
      "RaisePrices", ["below": 10, "by": 0.5], auth: Self.ada)
    #expect(raised["book_updateMany"] == 2)
    try await connector.mutate("DeleteMyself", auth: Self.ada)
    #expect(
      try await rows("ListRatings", ["least": 1])?.elements?.map { $0["_count"] } == [1, 1])
  }

  @Test func `errors have the paths of the page, and users the access`() async throws {
    try await fill()
    let response = try await connector.dataConnect.service().mutate(
      "AddBook", ["title": "Ran", "author": Self.id(9)], Self.ada)
    #expect(
      response.errors.first?.path
        == [.field("book_insert"), .field("bookAuthors_on_book"), .listIndex(0)])
    let anonymous = DataConnectAuth(
      uid: "eve", token: ["firebase": ["sign_in_provider": "anonymous"]])
    for (auth, wanted) in [
      (nil, "permission denied"), (anonymous, "permission denied"),
      (
        DataConnectAuth(uid: "eve", token: ["firebase": ["sign_in_provider": "password"]]),
        "Register first."
      ),
    ] as [(DataConnectAuth?, String)] {
      let text = await message {
        try await connector.mutate(
          "SaveReview", ["book": Self.id(1), "stars": 1], auth: auth)
      }
      #expect(text.contains(wanted), "\(text)")
    }
    #expect(names.count == Set(names).count)
  }

  @Test func `a name by other rules gets the name that the page says`() throws {
    let schema = """
      type Person @table(key: "name") { name: String!  boss: Person }
      type Film @table(plural: "movies", singular: "movie") { title: String! }
      type Actor @table { name: String! }
      type Role @table(key: ["film", "actor"]) { film: Film!  actor: Actor! }
      type Cast @table { film: Film!  actor: Actor! }
      """
    for (operation, hint) in [
      ("query Q { persons { name } }", "Did you mean \"people\"?"),
      ("query Q { people { persons_on_boss { name } } }", "Did you mean \"people_on_boss\"?"),
      ("query Q { films { title } }", "Did you mean \"movies\"?"),
      ("query Q { movies { actors { name } } }", "Did you mean \"actors_via_Role\"?"),
      ("query Q { movies { actors_on_film { name } } }", "Did you mean \"actors_via_Role\"?"),
      ("query Q { movies { roles { actorId } } }", "Did you mean \"roles_on_film\"?"),
      (
        "mutation M { person_insert(data: {name: \"a\", persons_on_boss: []}) }",
        "Did you mean \"people_on_boss\"?"
      ),
      (
        "query Q { movies { actors_via_Cast { name } } }",
        "Cast is a join table if its key is two references and nothing else, as in "
          + "@table(key: [\"film\", \"actor\"])."
      ),
      (
        "query Q { movies { actors_via_Actor { name } } }",
        "Actor is not a join table: it needs two references."
      ),
    ] {
      let found = DataConnectCompiler().compile(
        CompilerInput(
          serviceID: "films", location: "local", connectorID: "films",
          schema: [SourceFile(path: "schema.gql", text: schema)],
          connector: [SourceFile(path: "operations.gql", text: operation)])
      ).diagnostics.filter { $0.severity == .error }.map(\.description)
      #expect(found.contains { $0.contains(hint) }, "\(operation): \(found)")
    }
  }
}
