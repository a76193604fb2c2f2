import DataConnectModel
import Testing

@testable import HearthDataConnect

@Suite struct `Operations` {
  private static let schema = """
    type Movie @table { title: String! @searchable  year: Int  price: Float  ratio: Ratio }
    type User @table(key: "uid") { uid: String!  name: String }
    type Review @table(key: ["movie", "user"]) { movie: Movie!  user: User!  stars: Int }
    type Detail @table { movie: Movie! @unique  at: Date }
    type Setting @table(key: "key") { key: String!  value: Any }
    enum Ratio { WIDE ACADEMY }
    """

  private func compile(_ operations: String) throws -> [DataConnectModel.Operation] {
    let result = Fixtures.compile(Self.schema, operations)
    return try #require(result.connector, "\(result.diagnostics)").operations
  }

  private func first(_ operations: String) throws -> DataConnectModel.Operation {
    try #require(try compile(operations).first)
  }

  // MARK: Root fields

  @Test(arguments: [
    ("movie(id: \"11a7649b8ff5485bafbf2ea5f28894df\") { id }", RootField.Action.lookup),
    ("movies { id }", .list), ("movies_search(query: \"x\") { id }", .search),
    (
      "review(first: { where: { stars: { gt: 1 } }, orderBy: [{ stars: DESC }] }) { stars }",
      .lookup
    ),
    ("user(uid: \"x\") { uid }", .lookup), ("setting(key: { key: \"x\" }) { value }", .lookup),
    ("__typename", .typename),
  ])
  func `every field of queries has its action`(field: String, action: RootField.Action) throws {
    #expect(try first("query Q { \(field) }").fields[0].action == action)
  }

  @Test(arguments: [
    ("movie_insert(data: { title: \"x\" })", RootField.Action.insert),
    ("movie_insertMany(data: [{ title: \"x\" }, { title: \"y\" }])", .insertMany),
    ("movie_insertMany(data: { title: \"x\" }) { id }", .insertMany),
    ("movie_upsert(data: { title: \"x\" })", .upsert),
    ("movie_upsertMany(data: [])", .upsertMany),
    ("movie_update(first: {}, data: { year_update: { inc: 1 } }) { id year }", .update),
    ("movie_updateMany(where: { year: { eq: null } }, data: { year: null })", .updateMany),
    ("movie_updateMany(all: true, data: { year: 1 })", .updateMany),
    ("movie_delete(id_expr: \"uuidV4()\") { id }", .delete),
    ("movie_deleteMany(all: true)", .deleteMany),
    ("query { movies { id } }", .query), ("__typename", .typename),
  ])
  func `every field of mutations has its action`(field: String, action: RootField.Action) throws {
    #expect(try first("mutation M { \(field) }").fields[0].action == action)
  }

  @Test func `a query in a mutation has root fields of its own`() throws {
    let operation = try first(
      """
      mutation M @transaction {
        check: query { movies(limit: 1) @check(expr: "this.size() > 0", message: "none") @redact { id } }
        movie_deleteMany(all: true)
      }
      """)
    #expect(operation.isTransaction)
    let query = operation.fields[0]
    #expect(query.responseKey == "check")
    #expect(query.fields.map(\.action) == [.list])
    #expect(
      query.fields[0].modifiers
        == Modifiers(
          checks: [Check(expression: "this.size() > 0", message: "none", isOptional: false)],
          isRedacted: true))
  }

  @Test func `nested rows of a new row leave out the reference to it`() throws {
    let operation = try first(
      """
      mutation M {
        movie_insert(data: { title: "x", reviews_on_movie: { user: { uid_expr: "auth.uid" } } })
      }
      """)
    #expect(
      operation.fields[0].argument("data")?["reviews_on_movie"]
        == .list([.object([.init("user", .object([.init("uid_expr", .string("auth.uid"))]))])]))
  }

  // MARK: Selections

  @Test func `every kind of field can be selected`() throws {
    let operation = try first(
      """
      query Q {
        movies_search(query: "x") {
          title
          r: reviews_on_movie(limit: 1) { movie { id } user { name } }
          users_via_Review { uid }
          detail_on_movie { at }
          _count year_sum year_count(distinct: true) price_avg year_min
          _id __typename
          _metadata { relevance distance }
        }
      }
      """)
    #expect(
      operation.fields[0].selections.map(\.kind) == [
        .column("title"),
        .referring(table: "Review", reference: "movie", isSingle: false),
        .via(join: "Review", near: "movie", far: "user"),
        .referring(table: "Detail", reference: "movie", isSingle: true),
        .aggregate(.count, column: nil, isDistinct: false),
        .aggregate(.sum, column: "year", isDistinct: false),
        .aggregate(.count, column: "year", isDistinct: true),
        .aggregate(.avg, column: "price", isDistinct: false),
        .aggregate(.min, column: "year", isDistinct: false),
        .entityID, .typename, .metadata,
      ])
    #expect(
      operation.fields[0].selections.last?.selections.map(\.kind) == [.relevance, .distance])
  }

  @Test func `fragments are replaced by their fields`() throws {
    let operation = try first(
      """
      query Q($a: Boolean!) {
        movies { ...F }
        ...Root
        both: movies { ...F year }
        movie(first: {}) {
          ... on Movie @include(if: $a) { title ... @skip(if: false) { year } }
          ...F @redact
        }
      }
      fragment F on Movie { id reviews_on_movie { ...R } }
      fragment R on Review { stars }
      fragment Root on Query { users { uid } }
      """)
    #expect(operation.fields.map(\.responseKey) == ["movies", "users", "both", "movie"])
    #expect(operation.fields.map(\.fragment) == ["F", nil, nil, nil])
    #expect(operation.fields[0].selections.map(\.name) == ["id", "reviews_on_movie"])
    #expect(operation.fields[0].selections[1].fragment == "R")
    #expect(operation.fields[2].selections.map(\.name) == ["id", "reviews_on_movie", "year"])
    let movie = operation.fields[3].selections
    #expect(movie.map(\.name) == ["title", "year", "id", "reviews_on_movie"])
    #expect(movie.map(\.modifiers.include) == [.variable("a"), .variable("a"), nil, nil])
    #expect(movie.map(\.modifiers.skip) == [nil, .bool(false), nil, nil])
    #expect(movie.map(\.modifiers.isRedacted) == [false, false, true, true])
  }

  @Test func `equal fields are merged in all levels`() throws {
    let operation = try first(
      """
      query Q($a: Boolean!) {
        movies(limit: 1, offset: 2) { id title @include(if: $a) }
        movies(offset: 2, limit: 1) { title reviews_on_movie { stars } }
        movies(limit: 1, offset: 2) { reviews_on_movie { stars user { uid } } }
      }
      """)
    #expect(operation.fields.count == 1)
    let movies = operation.fields[0]
    #expect(movies.selections.map(\.name) == ["id", "title", "reviews_on_movie"])
    #expect(movies.selections[1].modifiers.include == nil)
    #expect(movies.selections[2].selections.map(\.name) == ["stars", "user"])
  }

  @Test func `equal fields of a mutation are executed once, with a warning`() throws {
    let result = Fixtures.compile(
      Self.schema,
      """
      mutation M @auth(level: USER) {
        movie_insert(data: { title: "x" })
        movie_insert(data: { title: "x" })
      }
      """)
    #expect(result.connector?.operations[0].fields.count == 1)
    #expect(
      result.diagnostics.map(\.description) == [
        "ops.gql:3:3: warning: \"movie_insert\" is given twice and executed once: remove one, or "
          + "give it an alias."
      ])
  }

  @Test func `a check of a fragment is one of the field that has the row`() throws {
    let operation = try first(
      """
      query Q { movie(first: {}) { ...F @check(expr: "this.year > 2000") } }
      fragment F on Movie { year }
      """)
    #expect(operation.fields[0].modifiers.checks.map(\.expression) == ["this.year > 2000"])
  }

  // MARK: Directives

  @Test(arguments: [
    ("PUBLIC", "true"), ("USER_ANON", "auth.uid != nil"),
    ("USER", "auth.uid != nil && auth.token.firebase.sign_in_provider != 'anonymous'"),
    ("USER_EMAIL_VERIFIED", "auth.uid != nil && auth.token.email_verified"), ("NO_ACCESS", "false"),
  ])
  func `levels are written out`(level: String, expression: String) throws {
    let operation = try first("query Q @auth(level: \(level)) { movies { id } }")
    #expect(operation.auth == Auth(level: level, expression: expression))
  }

  @Test func `directives of operations are kept`() throws {
    let operation = try first(
      """
      query Q($id: UUID! @retired(reason: "x"))
        @auth(expr: "auth.uid == 'x'", insecureReason: "because")
        @check(expr: "vars.id != null", message: "no id", optional: true)
        @check
        @retired {
        movie(id: $id) @retired { id @retired title @check }
      }
      """)
    #expect(operation.auth == Auth(expression: "auth.uid == 'x'", insecureReason: "because"))
    #expect(
      operation.checks == [
        Check(expression: "vars.id != null", message: "no id", isOptional: true),
        Check(
          expression: "!(this in [null, []])", message: "permission denied", isOptional: false),
      ])
    #expect(operation.isRetired)
    #expect(operation.variables[0].isRetired)
    #expect(operation.fields[0].modifiers.isRetired)
    #expect(operation.fields[0].selections[0].modifiers.isRetired)
    #expect(operation.fields[0].selections[1].modifiers.checks.count == 1)
  }

  @Test func `refreshes have their times, and triggers of other connectors`() throws {
    let operation = try first(
      """
      query Q
        @refresh(every: { minutes: 1, seconds: 30 })
        @refresh(every: { days: 2 }, onMutationExecuted: [
          { operation: "M" }, { operation: "other/X", condition: "true" }, { operation: "movies/M" }
        ]) { movies { id } }
      mutation M { movie_deleteMany(all: true) }
      """)
    #expect(
      operation.refreshes == [
        .every(milliseconds: 90_000), .every(milliseconds: 172_800_000),
        .onMutationExecuted(operation: "M", condition: nil),
        .onMutationExecuted(operation: "other/X", condition: "true"),
        .onMutationExecuted(operation: "movies/M", condition: nil),
      ])
  }

  // MARK: Variables

  @Test func `variables have every type`() throws {
    let operation = try first(
      """
      query Q(
        $a: Int64 = "12", $b: [String!]! = ["x"], $c: Ratio = WIDE, $d: Movie_Key!,
        $e: [Review_Key!], $f: Movie_Filter = { year: { gt: 1 } }, $g: [Movie_Order!],
        $h: OrderDirection! = ASC, $i: SearchQueryFormat, $j: Any = { a: [1, "x"] }, $k: String = null
      ) @check(expr: "vars.a + vars.b + vars.c + vars.d + vars.e + vars.j + vars.k") {
        movies(where: $f, orderBy: $g) { id }
        movies_search(query: "x", queryFormat: $i) { id }
        sorted: movies(orderBy: { title: $h }) { id }
      }
      """)
    #expect(
      operation.variables.map(\.type) == [
        .value(.int64, isNullable: true),
        .list(.value(.string, isNullable: false), isNullable: false),
        .value(.enumeration("Ratio"), isNullable: true), .key("Movie", isNullable: false),
        .list(.key("Review", isNullable: false), isNullable: true),
        .filter("Movie", isNullable: true),
        .list(.order("Movie", isNullable: false), isNullable: true),
        .orderDirection(isNullable: false), .searchQueryFormat(isNullable: true),
        .value(.any, isNullable: true), .value(.string, isNullable: true),
      ])
    #expect(
      operation.variables.map(\.defaultValue) == [
        .int(12), .list([.string("x")]), .name("WIDE"), nil, nil,
        .object([.init("year", .object([.init("gt", .int(1))]))]), nil, .name("ASC"), nil,
        .object([.init("a", .list([.int(1), .string("x")]))]), .null,
      ])
  }

  @Test func `a row's data can be limited to fields`() throws {
    let operation = try first(
      """
      mutation M(
        $a: Movie_Data! @allow(fields: "title year"),
        $b: [Review_Data!]! @allow(fields: ["movie", "stars userUid"], maxCount: 10)
      ) @auth(level: USER) {
        movie_insert(data: $a)
        review_insertMany(data: $b)
      }
      """)
    #expect(operation.variables[0].allowedFields == ["title", "year"])
    #expect(operation.variables[1].allowedFields == ["movie", "stars", "userUid"])
    #expect(operation.variables[1].maximumCount == 10)
  }

  @Test func `a variable can be null where the argument has a default`() throws {
    _ = try first("query Q($l: Int, $d: Boolean) { movies(limit: $l, distinct: $d) { id } }")
    _ = try first("query Q($q: String = \"x\") { movies_search(query: $q) { id } }")
  }

  @Test func `variables are possible inside of values of any form`() throws {
    let operation = try first(
      """
      mutation M($x: Int, $y: UUID) {
        setting_upsert(data: { key: "a", value: { list: [$x, { id: $y }], big: 18446744073709551616 } })
      }
      """)
    #expect(
      operation.fields[0].argument("data")?["value"]
        == .object([
          .init("list", .list([.variable("x"), .object([.init("id", .variable("y"))])])),
          .init("big", .float(18_446_744_073_709_551_616)),
        ]))
  }

  // MARK: Data files

  @Test func `operations of data files have names by their order`() throws {
    let input = Fixtures.input(Self.schema, "this is not read {")
    let files = [
      SourceFile(path: "b.gql", text: "mutation Named { movie_deleteMany(all: true) }"),
      SourceFile(
        path: "a.gql",
        text: """
          mutation { movie_insertMany(data: [{ title: "x" }, { title: "y" }]) }
          mutation @transaction { user_insert(data: { uid: "u" }) }
          """),
    ]
    let result = DataConnectCompiler().compile(seed: files, for: input)
    #expect(result.diagnostics == [])
    #expect(result.connector?.operations.map(\.name) == ["seed 1", "seed 2", "Named"])
    #expect(result.connector?.operations[1].isTransaction == true)
  }

  // MARK: Options and files

  @Test func `files are compiled in the order of their paths`() throws {
    var input = Fixtures.input(Self.schema, "")
    input.connector = [
      SourceFile(path: "b.gql", text: "query B { movies { id } }\nquery A { movies { id } }"),
      SourceFile(path: "a.gql", text: "query C { movies { ...F } }"),
      SourceFile(path: "c.gql", text: "fragment F on Movie { id }"),
    ]
    let connector = try #require(DataConnectCompiler().compile(input).connector)
    #expect(connector.operations.map(\.name) == ["C", "B", "A"])
    #expect(connector.serviceID == "service")
    #expect(connector.version == CompiledConnector.currentVersion)
  }

  @Test func `strict compilers need directives for access`() {
    let result = Fixtures.compile(
      Self.schema, "mutation M($d: Movie_Data!) { movie_insert(data: $d) }",
      options: CompilerOptions(isStrict: true))
    #expect(result.connector == nil)
    #expect(
      result.diagnostics.map(\.description) == [
        "ops.gql:1:10: error: M has no @auth, so that every user of the app can execute it: add "
          + "@auth(level: …).",
        "ops.gql:1:12: error: A client can set every column with $d: add @allow(fields: \"…\").",
      ])
  }

  @Test func `an error of the schema is not repeated where operations use the part`() {
    let result = Fixtures.compile(
      """
      type Top @view(sql: "select 1") { title: String }
      type Movie @table { title: Srting  year: Int  other: Nope }
      type Cycle @table(key: "cycle") { cycle: Cycle! }
      """,
      """
      query A($k: Cycle_Key, $t: [Top_Filter!]) @auth(level: PUBLIC) {
        tops { title }
        movies(where: { title: { eq: "x" }, other: {} }) { title other { id } title_count yaer }
        cycle(key: $k) { x }
        movie(first: { where: { _or: { title: {} } } }) { ... on Top { title } }
      }
      mutation B @auth(level: PUBLIC) { movie_insert(data: { title_expr: "x", other: {} }) }
      """)
    #expect(
      result.diagnostics.map(\.description) == [
        "ops.gql:3:85: error: Movie has no field \"yaer\". Did you mean \"year\"?",
        "schema.gql:1:6: error: Views are SQL, which is not supported: select and filter the tables "
          + "in a query of the connector.",
        "schema.gql:2:28: error: There is no type Srting. Did you mean \"String\"?",
        "schema.gql:2:54: error: There is no type Nope. Define it, or use a scalar like String.",
        "schema.gql:3:24: error: The key of Cycle refers to itself: name a column of its own in the "
          + "key.",
      ])
  }

  @Test func `operations with a syntax error in the schema are only parsed`() {
    let result = Fixtures.compile(
      "type A @table {\ntype Movie @table { id: UUID! }",
      "query A { tops { x } }\nquery B { x( }")
    #expect(
      result.diagnostics.map { "\($0.path):\($0.line):\($0.column)" }
        == ["ops.gql:2:14", "schema.gql:2:6"])
  }

  @Test func `fragments that multiply are an error`() {
    var text = "query Q { movies { ...F0 } }\nfragment F40 on Movie { id }\n"
    for n in 0..<40 { text += "fragment F\(n) on Movie { ...F\(n + 1) ...F\(n + 1) }\n" }
    let result = Fixtures.compile(Self.schema, text)
    #expect(result.connector == nil)
    #expect(result.diagnostics.contains { $0.message.contains("more than 10000 fields") })
  }

  @Test func `a long chain of fragments is an error and no overflow`() {
    var text = "query Q { movies { ...F0 } }\nfragment F5000 on Movie { id }\n"
    for n in 0..<5000 { text += "fragment F\(n) on Movie { ...F\(n + 1) }\n" }
    #expect(Fixtures.compile(Self.schema, text).connector == nil)
    text = "query Q { movies { ...F0 } }\nfragment F500 on Movie { id }\n"
    for n in 0..<500 {
      text += "fragment F\(n) on Movie { reviews_on_movie { movie { ...F\(n + 1) } } }\n"
    }
    let result = Fixtures.compile(Self.schema, text)
    #expect(result.diagnostics.contains { $0.message.contains("Nested more than 100 levels") })
  }
}
