import FirebaseDataConnect
import Foundation
import Hearth
import HearthDataConnect

/// The same library through typed operations: what a generated package does, on the same documents.
/// Their keys are only in their ids, and are not selected: inserted rows have them as fields, too.
struct OperationLibrary {
  private static let schema = """
    type Author @table(name: "authors", key: "id") {
      id: String!
      name: String!
      country: String!
      born: Int!
    }
    type Book @table(name: "books", key: "id") {
      id: String!
      title: String!
      summary: String!
      genre: String!
      pages: Int!
      year: Int!
      author: Author!
    }
    type Note @table(name: "notes") {
      text: String!
      author: Author!
    }
    type Review @table(name: "reviews", key: "id") {
      id: String!
      book: Book!
      stars: Int!
      month: Int!
      text: String!
    }
    """

  private static let operations = """
    query GetBook($id: String!) { book(id: $id) { title summary genre pages year authorId } }
    query Page($from: String!) {
      books(where: {title: {ge: $from}}, orderBy: [{title: ASC}], limit: 20) {
        title summary genre pages year authorId
      }
    }
    query PageWithReviews($from: String!) {
      books(where: {title: {ge: $from}}, orderBy: [{title: ASC}], limit: 20) {
        title summary genre pages year authorId
        reviews_on_book(orderBy: [{stars: DESC}], limit: 3) { stars month text }
      }
    }
    query Praised($month: Int!) {
      books(where: {reviews_on_book: {exist: {month: {eq: $month}, stars: {eq: 5}}}}, limit: 100000) {
        title summary genre pages year authorId
      }
    }
    query Totals($author: String!) {
      books(where: {authorId: {eq: $author}}) { genre _count pages_sum }
    }
    query AllTotals { books { genre _count pages_sum } }
    mutation Rename($id: String!, $name: String!) { author_update(id: $id, data: {name: $name}) }
    mutation AddNote($id: String!, $name: String!) {
      note_insert(data: {text: $name, authorId: $id})
    }
    query GetAuthor($id: String!) { author(id: $id) { id name } }
    """

  let dataConnect: DataConnect

  init(_ firestore: Firestore) throws {
    let result = DataConnectCompiler().compile(
      CompilerInput(
        serviceID: "library", location: "local", connectorID: "library",
        schema: [SourceFile(path: "schema.gql", text: Self.schema)],
        connector: [SourceFile(path: "operations.gql", text: Self.operations)]))
    guard let connector = result.connector else {
      fatalError(result.diagnostics.map(\.description).joined(separator: "\n"))
    }
    dataConnect = DataConnect(
      connectorConfig: ConnectorConfig(
        serviceId: "library", location: "local", connector: "library"),
      compiled: String(decoding: try JSONEncoder().encode(connector), as: UTF8.self),
      firestore: firestore)
  }

  // MARK: As generated

  struct BookRow: DataConnectRow {
    var title: String
    var summary: String
    var genre: String
    var pages: Int
    var year: Int
    var authorId: String

    init(row: DataConnectReader) throws {
      title = try row.read("title", at: 0)
      summary = try row.read("summary", at: 1)
      genre = try row.read("genre", at: 2)
      pages = try row.read("pages", at: 3)
      year = try row.read("year", at: 4)
      authorId = try row.read("authorId", at: 5)
    }
  }

  struct ReviewRow: DataConnectRow {
    var stars: Int
    var month: Int
    var text: String

    init(row: DataConnectReader) throws {
      stars = try row.read("stars", at: 0)
      month = try row.read("month", at: 1)
      text = try row.read("text", at: 2)
    }
  }

  struct BookWithReviews: DataConnectRow {
    var book: BookRow
    var reviews: [ReviewRow]

    init(row: DataConnectReader) throws {
      book = try BookRow(row: row)
      reviews = try row.read("reviews_on_book", at: 6)
    }
  }

  struct Genre: DataConnectRow {
    var genre: String
    var count: Int
    var pages: Int

    init(row: DataConnectReader) throws {
      genre = try row.read("genre", at: 0)
      count = try row.read("_count", at: 1)
      pages = try row.read("pages_sum", at: 2)
    }
  }

  struct Books<Row: DataConnectRow>: DataConnectRow {
    var books: [Row]

    init(row: DataConnectReader) throws { books = try row.read("books", at: 0) }
  }

  struct OneBook: DataConnectRow {
    var book: BookRow?

    init(row: DataConnectReader) throws { book = try row.read("book", at: 0) }
  }

  struct Nothing: DataConnectRow {
    init(row: DataConnectReader) throws {}
  }

  struct Variables<Value: DataConnectEncodable & Hashable & Sendable>: DataConnectVariables {
    var name: String
    var value: Value

    var dataConnectValues: DataObject {
      var values = DataObject()
      values[name] = value.dataConnectValue
      return values
    }
  }

  struct NoVariables: DataConnectVariables {
    var dataConnectValues: DataObject { DataObject() }
  }

  struct RenameVariables: DataConnectVariables {
    var id: String
    var name: String

    var dataConnectValues: DataObject {
      var values = DataObject()
      values["id"] = id.dataConnectValue
      values["name"] = name.dataConnectValue
      return values
    }
  }

  private func run<Result: DataConnectRow, Value: DataConnectEncodable & Hashable & Sendable>(
    _ operation: String, _ name: String, _ value: Value, _ type: Result.Type = Result.self
  ) async throws -> Result {
    try await dataConnect.query(
      name: operation, variables: Variables(name: name, value: value), resultsDataType: type
    ).execute(fetchPolicy: .serverOnly).data
  }

  struct OneAuthor: DataConnectRow {
    struct AuthorRow: DataConnectRow {
      var id: String
      var name: String

      init(row: DataConnectReader) throws {
        id = try row.read("id", at: 0)
        name = try row.read("name", at: 1)
      }
    }

    var author: AuthorRow?

    init(row: DataConnectReader) throws { author = try row.read("author", at: 0) }
  }

  /// The author as a reference that can be subscribed to.
  func author(_ id: String) -> QueryRefObservation<OneAuthor, Variables<String>> {
    dataConnect.query(
      name: "GetAuthor", variables: Variables(name: "id", value: id),
      resultsDataType: OneAuthor.self)
  }

  // MARK: Figures

  func book(_ index: Int) async throws -> Int {
    try await run("GetBook", "id", ID.book(index), OneBook.self).book?.pages ?? 0
  }

  func page(from title: String) async throws -> Int {
    try await run("Page", "from", title, Books<BookRow>.self).books.reduce(0) { $0 + $1.pages }
  }

  func pageWithReviews(from title: String) async throws -> Int {
    try await run("PageWithReviews", "from", title, Books<BookWithReviews>.self).books
      .reduce(0) { sum, found in
        sum + found.book.pages + found.reviews.reduce(0) { $0 + $1.stars }
      }
  }

  func praised(in month: Int) async throws -> Int {
    try await run("Praised", "month", month, Books<BookRow>.self).books
      .reduce(0) { $0 + $1.pages }
  }

  func totalsByGenre(of author: Int) async throws -> Int {
    try await run("Totals", "author", ID.author(author), Books<Genre>.self).books
      .reduce(0) { $0 + $1.count * $1.pages }
  }

  func totalsByGenre() async throws -> Int {
    try await dataConnect.query(
      name: "AllTotals", variables: NoVariables(), resultsDataType: Books<Genre>.self
    ).execute(fetchPolicy: .serverOnly).data.books.reduce(0) { $0 + $1.count * $1.pages }
  }

  func rename(_ author: Int, to name: String) async throws {
    _ = try await dataConnect.mutation(
      name: "Rename", variables: RenameVariables(id: ID.author(author), name: name),
      resultsDataType: Nothing.self
    ).execute()
  }

  func addNote(_ name: String, of author: Int) async throws {
    _ = try await dataConnect.mutation(
      name: "AddNote", variables: RenameVariables(id: ID.author(author), name: name),
      resultsDataType: Nothing.self
    ).execute()
  }
}
