import DataConnectModel
import Testing

@testable import HearthDataConnect

/// Names and conformances that are derived from operations.
@Suite struct ConnectorShapeTests {
  private static let schema = """
    type User @table(key: "uid") { uid: String! name: String! }
    type Movie @table { title: String! status: Status! owner: User! editor: User tags: [String!] note: Any }
    type Review @table(key: ["movie", "user"]) {
      id: UUID! @default(expr: "uuidV4()") user: User! movie: Movie! text: String
    }
    type Badge @table(key: ["user", "kind"]) { id: Int! @unique user: User! kind: String! }
    type Type @table { Data: String }
    enum Status { NEW allCases }
    """

  private func shape(_ operations: String) throws -> ConnectorShape {
    ConnectorShape(try Connectors.compile(schema: Self.schema, operations))
  }

  private func data(_ selection: String) throws -> RowShape.Body {
    let shape = try shape("query q @auth(level: PUBLIC) { \(selection) }")
    return try #require(shape.operations.first).data.body
  }

  private func rows(_ body: RowShape.Body) -> [String] { body.rows.map(\.name) }

  private func types(_ body: RowShape.Body) -> [String] {
    body.fields.map { "\($0.name): \($0.type)" }
  }

  // MARK: Structures

  @Test func `a structure has the name of its type, with an alias after it`() throws {
    let body = try data("movies { title } best: movies { title } user(uid: \"a\") { name }")
    #expect(rows(body) == ["Movie", "MovieBest", "User"])
    #expect(types(body) == ["movies: [Movie]", "best: [MovieBest]", "user: User?"])
  }

  @Test func `fields with equal selections share a structure, and others do not`() throws {
    let same = try data("movies { owner { uid } editor { uid } }")
    #expect(types(same.rows[0].body) == ["owner: User", "editor: User?"])
    #expect(rows(same.rows[0].body) == ["User"])

    let other = try data("movies { owner { uid } editor { name } }")
    #expect(types(other.rows[0].body) == ["owner: User", "editor: UserEditor?"])
    #expect(rows(other.rows[0].body) == ["User", "UserEditor"])
  }

  @Test func `a structure does not take a name that is in use`() throws {
    // `MovieKey` and `Status` are types of the module; `Data` and `Type` are of Swift.
    let body = try data("key: movies { title status } types { Data } movies { title }")
    #expect(rows(body) == ["MovieKey_", "Type_", "Movie"])
    let nested = try data("user(uid: \"a\") { User: uid movies_on_owner { title } }")
    #expect(types(nested.rows[0].body) == ["User: String", "movies_on_owner: [Movie]"])
  }

  @Test func `redacted fields have no position, and retired ones only a position`() throws {
    let body = try data("movies { id @redact title @retired(reason: \"x\") status tags }").rows[0]
      .body
    #expect(body.fields.map(\.wireName) == ["status", "tags"])
    #expect(body.fields.map(\.index) == [1, 2])
    #expect(body.key == nil)
  }

  @Test func `a field with a condition is optional`() throws {
    let shape = try shape(
      """
      query q($a: Boolean!) @auth(level: PUBLIC) {
        movies { id @skip(if: $a) title @include(if: $a) status @include(if: true) note @skip(if: $a) }
        users @include(if: $a) { uid }
      }
      """)
    let body = try #require(shape.operations.first).data.body
    #expect(types(body) == ["movies: [Movie]", "users: [User]?"])
    #expect(
      types(body.rows[0].body) == [
        "id: UUID?", "title: String?", "status: Status", "note: AnyValue?",
      ])
    #expect(body.rows[0].body.key == nil)
  }

  // MARK: Keys

  @Test func `a row is identifiable if its whole key is selected without an alias`() throws {
    #expect(try data("movies { id }").rows[0].body.key?.identity == .declared)
    #expect(try data("movies { key: id }").rows[0].body.key == nil)
    #expect(
      try data("users { uid }").rows[0].body.key?.identity == .column("uid", type: "String"))
    #expect(try data("reviews { movieId }").rows[0].body.key == nil)
    #expect(try data("reviews { movieId userUid }").rows[0].body.key?.identity == .key)
    // `id` of a review is a column without @unique, and of a badge one with it.
    #expect(
      try data("reviews { id movieId userUid }").rows[0].body.key?.identity
        == RowShape.Identity.none)
    #expect(try data("badges { id userUid kind }").rows[0].body.key?.identity == .declared)
    #expect(
      try data("reviews { id: text movieId userUid }").rows[0].body.key?.identity
        == RowShape.Identity.none)
  }

  @Test
  func `a key has its columns in the order of the type, and reads them in the order of the key`()
    throws
  {
    let shape = try shape(
      "query q($key: Review_Key!) @auth(level: PUBLIC) { review(key: $key) { text } }")
    let key = try #require(shape.keys.first)
    #expect(key.name == "ReviewKey")
    #expect(key.properties.map(\.name) == ["userUid", "movieId"])
    #expect(key.properties.map(\.index) == [1, 0])
  }

  @Test func `only keys and enums that operations use are generated`() throws {
    let shape = try shape("query q @auth(level: PUBLIC) { movies { title } }")
    #expect(shape.keys.isEmpty && shape.enums.isEmpty && shape.inputs.isEmpty)
    let input = try self.shape(
      "mutation m($data: Movie_Data!) @auth(level: PUBLIC) { movie_insert(data: $data) }")
    #expect(input.keys.map(\.name) == ["MovieKey"])
    #expect(input.inputs.map(\.name) == ["MovieData"])
    #expect(input.enums.map(\.name) == ["Status"])
    #expect(input.enums[0].cases.map(\.name) == ["NEW", "allCases_"])
    #expect(input.enums[0].cases.map(\.rawValue) == ["NEW", "allCases"])
  }

  // MARK: Operations

  @Test func `mutations come first, each kind in the order of the source`() throws {
    let shape = try shape(
      """
      query B @auth(level: PUBLIC) { movies { title } }
      mutation CreateMutation @auth(level: PUBLIC) { movie_deleteMany(all: true) }
      query a @auth(level: PUBLIC) { movies { title } }
      mutation old @auth(level: PUBLIC) @retired(reason: "x") { movie_deleteMany(all: true) }
      """)
    #expect(
      shape.operations.map(\.property) == ["createMutationMutation", "bQuery", "aQuery"])
    #expect(shape.operations.map(\.className) == ["CreateMutationMutation", "BQuery", "AQuery"])
    #expect(shape.operations.map(\.alias) == ["createMutation", "b", "a"])
  }

  @Test func `the short name of an operation gives way to other members`() throws {
    let shape = try shape(
      """
      query list @auth(level: PUBLIC) { movies { title } }
      query listQuery @auth(level: PUBLIC) { movies { title } }
      query useEmulator @auth(level: PUBLIC) { movies { title } }
      """)
    #expect(
      shape.operations.map(\.property) == ["listQuery", "listQueryQuery", "useEmulatorQuery"])
    #expect(shape.operations.map(\.alias) == ["list", nil, nil])
  }

  @Test func `no property has the name of its type`() throws {
    let connector = try Connectors.compile(
      "3d.films",
      schema: """
        type movie @table(key: ["a", "b"]) { a: Int! b: Int! }
        """,
      """
      query _list @auth(level: PUBLIC) { movies { a b } }
      query _listQuery @auth(level: PUBLIC) { movies { a b } }
      """)
    let shape = ConnectorShape(connector)
    #expect(shape.connectorClass == "_3dFilmsConnector" && shape.property == "_3dFilmsConnector_")
    #expect(shape.operations.map(\.className) == ["_listQuery", "_listQueryQuery"])
    #expect(shape.operations.map(\.property) == ["_listQuery_", "_listQueryQuery_"])
    let settings = SwiftSDKSettings(package: "Films")
    let files = SwiftGenerator(settings: settings).files(for: connector)
    let operations = try #require(files.first { $0.path.hasSuffix("Operations.swift") }).text
    #expect(operations.contains("public var movieKey_: movieKey {"))
    #expect(operations.contains("public var id: movieKey { movieKey_ }"))
  }

  @Test func `a variable that can be null, or has a default, is optional`() throws {
    let shape = try shape(
      """
      query q(
        $a: String, $b: Int! = 3, $c: [UUID!]!, $fetchPolicy: Status!, $where: Movie_Filter!,
        $order: [Movie_Order!], $direction: OrderDirection
      ) @auth(level: PUBLIC) {
        movies(where: {_and: [$where, {title: {eq: $a}, id: {in: $c}, status: {eq: $fetchPolicy}}]}, limit: $b, orderBy: $order) { title }
        users(orderBy: [{name: $direction}]) { uid }
      }
      """)
    let operation = try #require(shape.operations.first)
    #expect(
      operation.variables.map { "\($0.name): \($0.type)\($0.isOptional ? "?" : "")" } == [
        "a: String?", "b: Int?", "c: [UUID]", "fetchPolicy_: Status", "where: AnyValue",
        "order: [AnyValue]?", "direction: OrderDirection?",
      ])
  }

  @Test func `a retired variable stays if the operation needs it`() throws {
    let shape = try shape(
      """
      query q($a: String @retired(reason: "x"), $b: String! @retired(reason: "x")) @auth(level: PUBLIC) {
        movies(where: {title: {eq: $a, ne: $b}}) { title }
      }
      """)
    #expect(shape.operations.first?.variables.map(\.name) == ["b"])
  }

  @Test func `mutations give keys, counts, or rows if they select them`() throws {
    let shape = try shape(
      """
      mutation m($id: UUID!) @auth(level: PUBLIC) {
        movie_insert(data: {title: "a", status: NEW, ownerUid: "u"})
        user_insertMany(data: [{uid: "u", name: "n"}])
        movie_update(id: $id, data: {title: "b"})
        movie_deleteMany(where: {title: {eq: "c"}})
        user_upsert(data: {uid: "u", name: "n"}) { uid name }
        check: query { users { uid } }
      }
      """)
    let body = try #require(shape.operations.first).data.body
    #expect(
      types(body) == [
        "movie_insert: MovieKey", "user_insertMany: [UserKey]", "movie_update: MovieKey?",
        "movie_deleteMany: Int", "user_upsert: User", "check: QueryCheck",
      ])
  }
}
