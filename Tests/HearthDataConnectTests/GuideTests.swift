import DataConnectModel
import Testing

@testable import HearthDataConnect

@Suite struct `Connectors of the guides` {
  @Test func `the operations of the guide for generated packages compile`() throws {
    let result = Fixtures.compile(Fixtures.guideSchema, Fixtures.guideOperations)
    let connector = try #require(result.connector, "\(result.diagnostics)")
    #expect(
      result.diagnostics.map(\.description) == [
        "ops.gql:1:10: warning: createMovie has no @auth, so that every user of the app can "
          + "execute it: add @auth(level: …).",
        "ops.gql:10:7: warning: getMovieByKey has no @auth, so that every user of the app can "
          + "execute it: add @auth(level: …).",
        "ops.gql:14:7: warning: listMoviesByGenre has no @auth, so that every user of the app can "
          + "execute it: add @auth(level: …).",
      ])
    #expect(
      connector.operations.map(\.name) == ["createMovie", "getMovieByKey", "listMoviesByGenre"])

    let create = try #require(connector.operation(named: "createMovie"))
    #expect(create.kind == .mutation)
    #expect(create.auth == nil)
    #expect(create.variables.map(\.name) == ["title", "releaseYear", "genre", "rating"])
    #expect(create.variables[1].type == .value(.int, isNullable: false))
    #expect(create.fields[0].action == .insert)
    #expect(create.fields[0].selections == [])
    #expect(create.fields[0].argument("data")?["genre"] == .variable("genre"))

    let get = try #require(connector.operation(named: "getMovieByKey"))
    #expect(get.variables[0].type == .key("Movie", isNullable: false))
    #expect(get.fields[0].action == .lookup)
    #expect(get.fields[0].selections.map(\.kind) == [.column("id"), .column("title")])

    let list = try #require(connector.operation(named: "listMoviesByGenre"))
    #expect(list.fields[0].argument("where")?["genre"]?["eq"] == .variable("genre"))
    #expect(connector.schema.enums.map(\.values) == [["ACADEMY", "WIDESCREEN", "ANAMORPHIC"]])
  }

  @Test(arguments: Fixtures.realtimeOperations.indices)
  func `the operations of the real-time guide compile`(index: Int) {
    let result = Fixtures.compile(Fixtures.realtimeSchema, Fixtures.realtimeOperations[index])
    #expect(result.connector != nil, "\(result.diagnostics)")
    #expect(!result.diagnostics.contains { $0.severity == .error })
  }

  @Test func `a selection on a mutation makes its result the row`() throws {
    let result = Fixtures.compile(Fixtures.realtimeSchema, Fixtures.realtimeOperations[1])
    let connector = try #require(result.connector)
    let upsert = try #require(connector.operation(named: "UpsertExtendedProfile")).fields[0]
    #expect(upsert.action == .upsert)
    #expect(upsert.selections.map(\.name) == ["id", "status", "photoUrl", "socialLink"])
    #expect(upsert.argument("data")?["id_expr"] == .string("auth.uid"))
  }

  @Test func `several refreshes are kept in order`() throws {
    let result = Fixtures.compile(Fixtures.realtimeSchema, Fixtures.realtimeOperations[5])
    let operation = try #require(result.connector?.operations.first)
    #expect(
      operation.refreshes == [
        .every(milliseconds: 30_000),
        .onMutationExecuted(operation: "UpdateMovie", condition: nil),
        .onMutationExecuted(operation: "BulkUpdateMovies", condition: nil),
      ])
    #expect(operation.auth?.insecureReason == "Anyone can list all movies.")
    #expect(
      result.diagnostics.map(\.description) == [
        "ops.gql:4:47: warning: There is no mutation UpdateMovie in this connector. Add it, "
          + "or write connector/UpdateMovie for one of another connector.",
        "ops.gql:5:47: warning: There is no mutation BulkUpdateMovies in this connector. Add "
          + "it, or write connector/BulkUpdateMovies for one of another connector.",
      ])
  }

  @Test func `the recipe connector compiles without a finding`() throws {
    let result = Fixtures.compile(Fixtures.recipeSchema, Fixtures.recipeOperations)
    #expect(result.diagnostics == [])
    let connector = try #require(result.connector)

    let card = try #require(connector.operation(named: "RecipeCard")).fields[0]
    #expect(
      card.selections.map(\.responseKey)
        == ["id", "name", "facts", "base", "topping", "opinions"])
    #expect(
      card.selections[3].kind
        == .via(join: "RecipeIngredient", near: "recipe", far: "ingredient"))
    #expect(card.selections[3].argument("where")?["part"]?["eq"] == .string("base"))
    #expect(
      card.selections[2].kind
        == .referring(table: "Nutrition", reference: "recipe", isSingle: false))

    let list = try #require(connector.operation(named: "Recipes")).fields[0]
    #expect(list.argument("limit") == .variable("limit"))
    #expect(
      list.argument("orderBy")
        == .list([
          .object([.init("score", .variable("byScore"))]),
          .object([.init("minutes", .variable("byMinutes"))]),
        ]))

    let popular = try #require(connector.operation(named: "Popular")).fields[0]
    #expect(popular.argument("orderBy") == .list([.object([.init("score", .name("DESC"))])]))

    let add = try #require(connector.operation(named: "Taste")).fields[0]
    #expect(
      add.argument("data")?["day_date"] == .object([.init("today", .bool(true))]))
  }

  @Test func `the connector with every scalar compiles with a warning about a name`() throws {
    let result = Fixtures.compile(Fixtures.sinkSchema, Fixtures.sinkOperations)
    #expect(
      result.diagnostics.map(\.description) == [
        "ops.gql:8:14: warning: There is no mutation CreateStandardScalar in this connector. "
          + "Did you mean \"createStandardScalar\"?",
        "schema.gql:1:6: note: The singular and the plural of StandardScalars are both "
          + "standardScalars, so that there is no field for lists: add plural: to @table.",
      ])
    let connector = try #require(result.connector)
    #expect(
      connector.operation(named: "StandardScalar")?.refreshes == [
        .onMutationExecuted(
          operation: "CreateStandardScalar",
          condition: "request.variables.words == mutation.variables.words")
      ])
    #expect(
      connector.operation(named: "SameTwice")?.fields[2].argument("id")
        == .string("11a7649b8ff5485bafbf2ea5f28894df"))
    let data = try #require(connector.operation(named: "Everything")?.fields[0].argument("data"))
    #expect(data["colors"] == .list([.name("BLUE")]))
    #expect(data["embedding"] == .list([.float(1), .float(2.5), .float(-3)]))
    #expect(data["days"] == .list([.string("2024-01-01"), .string("2024-01-02")]))
  }
}
