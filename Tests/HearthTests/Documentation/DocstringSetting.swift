/// What snippets of docstrings may use without a declaration: imports, and the names that all
/// readers understand.
struct DocstringSetting {
  /// Folders of `Sources`. Their snippets are files of one module.
  var modules: [String]
  var imports: [String]
  var prelude: String
  /// Types of the prelude whose properties snippets see, by the beginning of their path. The first
  /// that fits counts.
  var contexts: [(path: String, type: String)] = []
  /// Without this trait there is nothing to compile.
  var trait: String?

  static let all: [DocstringSetting] = [
    hearth, parseSwift, dataConnect, compiler, model, expressions, storage, testing, service,
    server,
  ]
}

extension DocstringSetting {
  private static let hearth = DocstringSetting(
    modules: ["Hearth", "HearthEngine", "HearthMacros"],
    imports: ["Foundation", "Hearth"],
    prelude: """
      struct Author: Codable { var name: String }
      enum Genre: String, Codable { case novel, essay }
      struct ISBN: Codable { var digits: String }
      struct Book: Codable {
        var title: String
        var pages: Int
        var isbn = ""
      }
      struct Event: Codable { var time: Date }
      struct Icon {}
      struct Broke: Error {}

      var db: Firestore { fatalError() }
      var old: Firestore { fatalError() }
      var new: Firestore { fatalError() }
      var books: CollectionReference { fatalError() }
      var shops: CollectionReference { fatalError() }
      var tasks: CollectionReference { fatalError() }
      var query: Query { fatalError() }
      var account: DocumentReference { fatalError() }
      var author: DocumentReference { fatalError() }
      var draft: DocumentReference { fatalError() }
      var dune: DocumentReference { fatalError() }
      var emma: DocumentReference { fatalError() }
      var from: DocumentReference { fatalError() }
      var herbert: DocumentReference { fatalError() }
      var reference: DocumentReference { fatalError() }
      var to: DocumentReference { fatalError() }
      var snapshot: DocumentSnapshot { fatalError() }
      var totals: AggregateQuerySnapshot { fatalError() }
      var change: Firestore.Change { fatalError() }
      var transaction: Transaction { fatalError() }
      var rule: FirestoreReferenceRule { fatalError() }
      var texts: SearchFields { fatalError() }
      var center: GeoPoint { fatalError() }
      var token: ChangeToken? { get { nil } set {} }

      var book: Book { fatalError() }
      var shelf: [Book] { [] }
      var bytes: Data { Data() }
      var fields: [String: Any] { [:] }
      var ids: [String] { [] }
      var kept: Data { Data() }
      var path: String { "" }
      var price: Int { 0 }
      var question: [Double] { [] }

      /// `books` and `dune` as they are where the documentation is about typed queries.
      struct Typed {
        struct Edition: Codable, DocumentModel {
          var year: Int

          struct Fields: Sendable { var year: Field<Int> { Field("year") } }
          static let fields = Fields()
        }

        struct Book: Codable, DocumentModel {
          var title: String
          var pages: Int
          var tags: [String] = []
          var author = ""
          var edition = Edition(year: 1965)
          var genre: Genre = .novel
          var publisher = ""
          var embedding = VectorValue([0.25])
          var updated: Date?
          var sequel: Reference<Book>?

          struct Fields: Sendable {
            var sequel: Field<Reference<Book>?> { Field("sequel") }
            var title: Field<String> { Field("title") }
            var pages: Field<Int> { Field("pages") }
            var tags: Field<[String]> { Field("tags") }
            var author: Field<String> { Field("author") }
            var edition: Field<Edition> { Field("edition") }
            var genre: Field<Genre> { Field("genre") }
            var publisher: Field<String> { Field("publisher") }
            var embedding: Field<VectorValue> { Field("embedding") }
            var updated: Field<Date?> { Field("updated") }
          }
          static let fields = Fields()
        }

        var books: TypedCollection<Book> { fatalError() }
        var dune: TypedDocument<Book> { fatalError() }
        var vector: VectorValue { fatalError() }
      }

      /// Values are documents' here, and payloads.
      struct Engine {
        var book: DocumentReference { fatalError() }
        var encoder: FirebaseDataEncoder { fatalError() }
        var event: Event { fatalError() }
        var payload: [String: Any] { [:] }
        var reader: DocumentValueReader { fatalError() }
        var fields: DocumentMapReader { fatalError() }
        var numbers: [Int64] { get { [] } nonmutating set {} }
      }
      """,
    contexts: [
      ("Sources/Hearth/Typed/", "Typed"),
      ("Sources/HearthEngine/", "Engine"),
    ])

  private static let parseSwift = DocstringSetting(
    modules: ["ParseSwift"],
    // Hearth has a `Query`, too.
    imports: [
      "Foundation", "class Hearth.Firestore", "struct Hearth.ChangeToken",
      "protocol Hearth.DocumentModel", "struct Hearth.Field", "ParseSwift",
    ],
    prelude: """
      struct Author: ParseObject {
        var objectId: String?
        var createdAt: Date?
        var updatedAt: Date?
        var ACL: ParseACL?
        var originalData: Data?

        var name: String?
      }

      struct ISBN: ParseObject {
        var objectId: String?
        var createdAt: Date?
        var updatedAt: Date?
        var ACL: ParseACL?
        var originalData: Data?

        var value: String?
      }

      struct Book: ParseObject {
        var objectId: String?
        var createdAt: Date?
        var updatedAt: Date?
        var ACL: ParseACL?
        var originalData: Data?

        var title: String?
        var isbn: ISBN?
        var publishingYear: Int?
        var cover: ParseFile?
      }

      struct Loan: ParseObject {
        var objectId: String?
        var createdAt: Date?
        var updatedAt: Date?
        var ACL: ParseACL?
        var originalData: Data?

        var due: Date?
      }

      struct Shop: ParseObject {
        var objectId: String?
        var createdAt: Date?
        var updatedAt: Date?
        var ACL: ParseACL?
        var originalData: Data?

        var place: ParseGeoPoint?
      }

      var book: Book { fatalError() }
      var dune: Book { fatalError() }
      var emma: Book { fatalError() }
      var herbert: Author { fatalError() }
      var linz: ParseGeoPoint { fatalError() }
      var query: Query<Book> { fatalError() }
      var bytes: Data { Data() }
      var token: ChangeToken? { get { nil } set {} }

      /// A class with a table of fields.
      struct Checked {
        struct Book: ParseObject, DocumentModel {
          var objectId: String?
          var createdAt: Date?
          var updatedAt: Date?
          var ACL: ParseACL?
          var originalData: Data?

          var title: String?
          var publishingYear: Int?

          struct Fields: Sendable {
            var title: Field<String?> { Field("title") }
            var publishingYear: Field<Int?> { Field("publishingYear") }
          }
          static let fields = Fields()
        }
      }
      """,
    contexts: [("Sources/ParseSwift/Queries/ObjectCondition.swift", "Checked")])

  private static let dataConnect = DocstringSetting(
    modules: ["FirebaseDataConnect"],
    imports: ["Foundation", "FirebaseCore", "FirebaseDataConnect", "Hearth", "Movies"],
    prelude: """
      struct Settings: Codable { var isDark: Bool }

      var connector: MoviesConnector { fatalError() }
      var movies: ListMoviesQuery.Ref { fatalError() }
      var reference: GetMovieByIdQuery.Ref { fatalError() }
      var error: DataConnectOperationError { fatalError() }
      """)

  private static let compiler = DocstringSetting(
    modules: ["HearthDataConnect"],
    imports: ["Foundation", "DataConnectModel", "HearthDataConnect"],
    prelude: """
      var schema: String { "" }
      var queries: String { "" }
      """)

  private static let model = DocstringSetting(
    modules: ["DataConnectModel"],
    imports: ["Foundation", "DataConnectModel", "FirebaseDataConnect", "Hearth"],
    prelude: """
      var connector: CompiledConnector { fatalError() }
      var config: ConnectorConfig { fatalError() }
      var db: Firestore { fatalError() }
      """)

  private static let expressions = DocstringSetting(
    modules: ["HearthCEL"],
    imports: ["Foundation", "HearthCEL"],
    prelude: """
      var auth: CELType { fatalError() }
      var environment: CELEnvironment { fatalError() }
      var expression: CELExpression { fatalError() }
      """)

  private static let storage = DocstringSetting(
    modules: ["LMDB"],
    imports: ["Foundation", "LMDB"],
    prelude: """
      var environment: Environment { fatalError() }
      var snapshot: Snapshot { fatalError() }
      var table: Table { fatalError() }
      var key: UnsafeRawBufferPointer { fatalError() }
      var lowest: UnsafeRawBufferPointer { fatalError() }
      var value: UnsafeRawBufferPointer { fatalError() }
      """)

  private static let testing = DocstringSetting(
    modules: ["HearthTesting"],
    imports: ["Foundation", "Hearth", "HearthTesting", "Testing"],
    prelude: """
      struct Book: Codable, Equatable {
        var title: String
        var pages: Int
        var tags: [String]

        static let dune = Book(title: "Dune", pages: 412, tags: ["sand"])
        static let emma = Book(title: "Emma", pages: 474, tags: [])
      }

      var clock: FixedClock { fatalError() }
      var db: Firestore { fatalError() }
      var path: String { "" }
      """)

  private static let service = DocstringSetting(
    modules: ["HearthService"],
    imports: ["Foundation", "Hearth", "HearthService", "Logging", "ServiceLifecycle"],
    prelude: """
      var db: Firestore { fatalError() }
      var logger: Logger { fatalError() }
      var server: any Service { fatalError() }
      """,
    trait: "Service")

  private static let server = DocstringSetting(
    modules: ["HearthServer"],
    imports: ["Foundation", "HearthServer"],
    prelude: """
      var key: String { "" }
      var newKey: String { "" }
      var oldKey: String { "" }
      var server: FirestoreServer { fatalError() }
      """,
    trait: "Server")
}
