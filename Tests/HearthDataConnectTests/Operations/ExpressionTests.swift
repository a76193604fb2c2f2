import DataConnectModel
import Synchronization
import Testing

@testable import HearthDataConnect

@Suite struct `Expressions` {
  @Test func `each expression is checked with its context`() throws {
    let seen = Mutex<[(String, ExpressionContext)]>([])
    let options = CompilerOptions { source, context in
      seen.withLock { $0.append((source, context)) }
      return nil
    }
    let result = Fixtures.compile(
      """
      type Movie @table { title: String! @default(expr: "default")  day: Date @default(expr: "day") }
      """,
      """
      query Q($a: Int) @auth(expr: "auth") @check(expr: "check")
        @refresh(onMutationExecuted: { operation: "M", condition: "known" })
        @refresh(onMutationExecuted: { operation: "other/N", condition: "unknown" }) {
        movies(where: { title: { eq_expr: "value" } }, limit: $a) { title @check(expr: "field") }
      }
      mutation M($id: UUID!) @auth(level: USER) {
        first: movie_delete(id: $id)
        movie_insert(data: { title_expr: "response.first.id" })
      }
      """, options: options)
    #expect(result.diagnostics == [])
    let q: [String: InputType] = ["a": .value(.int, isNullable: true)]
    let m: [String: InputType] = ["id": .value(.uuid, isNullable: false)]
    let expected: [String: ExpressionContext] = [
      "default": .init(kind: .value(.string)),
      "day": .init(kind: .value(.date)),
      "auth": .init(kind: .auth, operationKind: .query, variables: q),
      "check": .init(kind: .check, operationKind: .query, variables: q),
      "known": .init(
        kind: .refreshCondition, operationKind: .query, variables: q, mutationVariables: m),
      "unknown": .init(kind: .refreshCondition, operationKind: .query, variables: q),
      "value": .init(kind: .value(.string), operationKind: .query, variables: q),
      "field": .init(kind: .check, operationKind: .query, variables: q),
      "response.first.id": .init(
        kind: .value(.string), operationKind: .mutation, variables: m, responseKeys: ["first"]),
    ]
    let all = seen.withLock { $0 }
    #expect(Set(all.map(\.0)) == Set(expected.keys))
    #expect(all.count == expected.count)
    for (source, context) in all { #expect(context == expected[source], "\(source)") }
  }

  @Test func `the message of an expression is reported at its string`() {
    let options = CompilerOptions { source, _ in source == "bad" ? "bad is not known." : nil }
    let result = Fixtures.compile(
      "type Movie @table { title: String! @default(expr: \"bad\") }",
      """
      query Q @auth(expr: "bad") @refresh(onMutationExecuted: [{ operation: "M", condition: "bad" }]) {
        movie(id_expr: "bad") { id @check(expr: "bad") }
      }
      mutation M @auth(level: USER) { movie_deleteMany(where: { title: { eq_expr: "bad" } }) }
      """, options: options)
    #expect(
      result.diagnostics.map(\.description)
        == [
          "ops.gql:1:21", "ops.gql:1:87", "ops.gql:2:18", "ops.gql:2:43", "ops.gql:4:77",
          "schema.gql:1:51",
        ].map { "\($0): error: In the expression: bad is not known." })
  }

  @Test func `a variable that only an expression uses is used`() {
    let result = Fixtures.compile(
      "type Movie @table { title: String }",
      """
      query Q($genre: String) @auth(level: PUBLIC) @refresh(onMutationExecuted: {
        operation: "M", condition: "request.variables.genre == mutation.variables.kind"
      }) { movies { id } }
      mutation M($kind: String, $other: String) @auth(level: PUBLIC) { movie_deleteMany(all: true) }
      """)
    #expect(
      result.diagnostics.map(\.description) == [
        "ops.gql:4:27: warning: The variable $other is not used: remove it."
      ])
  }

  @Test(arguments: [
    (
      "$id: UUID", "vars.id == auth.uid", "vars.id == auth.uid, at character 9",
      ", and vars.id may be null"
    ),
    ("$id: UUID!", "vars.id != auth.uid", "vars.id != auth.uid, at character 9", ""),
    (
      "$id: UUID", "!(request.variables.id != request.auth.uid)",
      "request.variables.id != request.auth.uid, at character 24",
      ", and request.variables.id may be null"
    ),
    (
      "$ids: [UUID!]!", "!(auth.uid in vars.ids)", "auth.uid in vars.ids, at character 12", ""
    ),
  ])
  func `a condition of access that null meets is warned of`(
    variable: String, condition: String, comparison: String, other: String
  ) {
    let name = variable.prefix { $0 != ":" }
    let argument = name == "$ids" ? "{in: $ids}" : "{eq: $id}"
    let result = Fixtures.compile(
      "type Movie @table { title: String }",
      "query Q(\(variable)) @auth(expr: \"\(condition)\") { movies(where: {id: \(argument)}) { id } }"
    )
    let path = comparison.contains("request") ? "request.auth" : "auth"
    #expect(
      result.diagnostics.map(\.message) == [
        "In the expression: \(comparison), lets in callers without authentication: \(path).uid is null "
          + "for them\(other). Add \(path) != null &&."
      ])
    #expect(result.diagnostics.first?.severity == .warning && result.connector != nil)
  }

  @Test(arguments: [
    ("$id: UUID!", "vars.id == auth.uid"), ("$id: UUID", "auth != null && vars.id == auth.uid"),
    ("$id: UUID", "vars.id == auth.token.sub"),
  ])
  func `a condition of access that null does not meet is not warned of`(
    variable: String, condition: String
  ) {
    let result = Fixtures.compile(
      "type Movie @table { title: String }",
      "query Q(\(variable)) @auth(expr: \"\(condition)\") { movies(where: {id: {eq: $id}}) { id } }"
    )
    #expect(result.diagnostics == [])
  }

  /// By default, expressions are checked for syntax, names and types.
  @Test(arguments: [
    (
      ##"query Q($id: UUID!) @auth(expr: "auth.uid ==") { movie(id: $id) { id } }"##,
      "Expected an expression"
    ),
    (
      ##"query Q($id: UUID!) @auth(expr: "vars.ide == auth.uid") { movie(id: $id) { id } }"##, "ide"
    ),
    (##"query Q($id: UUID!) @auth(expr: "size(vars.id)") { movie(id: $id) { id } }"##, "bool"),
    (##"query Q @auth(expr: "user.uid == 'a'") { movies { id } }"##, "user"),
    (##"mutation M { movie_insert(data: {title_expr: "1 + 1"}) }"##, "string"),
    (##"mutation M { movie_insert(data: {year_expr: "auth.uid", title: "x"}) }"##, "int"),
    (
      ##"""
      mutation Update($id: UUID!) { movie_update(id: $id, data: {title: "x"}) }
      query Q @refresh(onMutationExecuted:
        {operation: "Update", condition: "mutation.variables.genre == 'a'"}) { movies { id } }
      """##, "genre"
    ),
    // A condition names the operation of each value.
    (
      ##"""
      mutation Update($id: UUID!) { movie_update(id: $id, data: {title: "x"}) }
      query Q($id: UUID) @refresh(onMutationExecuted:
        {operation: "Update", condition: "vars.id == mutation.variables.id"}) { movies { id } }
      """##, "vars"
    ),
    (
      ##"""
      mutation Update($id: UUID!) { movie_update(id: $id, data: {title: "x"}) }
      query Q($id: UUID) @refresh(onMutationExecuted:
        {operation: "Update", condition: "auth.uid == mutation.auth.uid"}) { movies { id } }
      """##, "auth"
    ),
    (
      ##"""
      mutation Update($id: UUID!) { movie_update(id: $id, data: {title: "x"}) }
      query Q($id: UUID) @refresh(onMutationExecuted:
        {operation: "Update", condition: "request.time > timestamp('2026-01-01T00:00:00Z')"}) { movies { id } }
      """##, "time"
    ),
    (
      ##"""
      mutation Update($id: UUID!) { movie_update(id: $id, data: {title: "x"}) }
      query Q($id: UUID) @refresh(onMutationExecuted:
        {operation: "Update", condition: "request.operationName == 'query'"}) { movies { id } }
      """##, "operationName"
    ),
    (
      ##"query Q($name: String) @auth(expr: "vars.name.matches('a+')") { movies { id } }"##,
      "Regular expressions are not supported here"
    ),
    (
      ##"query Q @auth(expr: "matches(auth.uid, 'a+')") { movies { id } }"##,
      "use startsWith, endsWith or contains"
    ),
  ])
  func `an expression with an error is refused`(operations: String, named: String) {
    let result = Fixtures.compile(
      "type Movie @table { title: String!  year: Int }", operations, options: CompilerOptions())
    let errors = result.diagnostics.filter { $0.severity == .error }
    #expect(errors.count == 1 && errors.first?.message.contains(named) == true, "\(errors)")
  }

  @Test(arguments: [
    ##"query Q($id: UUID!) @auth(expr: "auth.uid == vars.id && auth.token.admin == true") { movie(id: $id) { id } }"##,
    ##"query Q @auth(expr: "request.time > timestamp('2026-01-01T00:00:00Z')") { movies { id } }"##,
    ##"mutation M { movie_insert(data: {title_expr: "auth.uid", year_expr: "2 * 4"}) }"##,
    ##"mutation M { movie_insert(data: {title: "a", score_expr: "1", day_expr: "request.time"}) }"##,
  ])
  func `an expression without an error is accepted`(operations: String) {
    let result = Fixtures.compile(
      "type Movie @table { title: String!  year: Int  score: Float  day: Date }", operations,
      options: CompilerOptions())
    #expect(result.connector != nil, "\(result.diagnostics)")
  }
}
