import DataConnectModel
import Testing

@testable import HearthDataConnect

@Suite struct `Input types` {
  private func names(_ object: String, _ schema: String = Fixtures.sinkSchema) throws -> [String] {
    let connector = try #require(Fixtures.compile(schema).connector)
    return try #require(InputTypes(schema: connector.schema).object(object)).fields.map(\.name)
  }

  @Test(arguments: [
    (
      "String_Filter",
      "eq eq_expr ne ne_expr gt ge lt le contains startsWith endsWith pattern in nin isNull"
    ),
    ("UUID_Filter", "eq eq_expr ne ne_expr in nin isNull"),
    ("Boolean_Filter", "eq ne in nin isNull"), ("Any_Filter", "eq ne in nin isNull"),
    ("Vector_Filter", "eq ne in nin isNull"), ("Color_Filter", "eq ne gt ge lt le in nin isNull"),
    (
      "Int64_Filter",
      "eq eq_expr ne ne_expr gt gt_expr ge ge_expr lt lt_expr le le_expr in nin isNull"
    ),
    ("Color_ListFilter", "includes excludes includesAll excludesAll"),
    (
      "Date_ListFilter",
      "includes includes_expr includes_date excludes excludes_expr excludes_date includesAll "
        + "excludesAll"
    ),
    ("Int_Update", "inc dec"), ("Color_ListUpdate", "append prepend add remove"),
    ("Everything_Key", "id id_expr"),
    (
      "Everything_Data",
      "id id_expr flag moment moment_expr moment_time moment_update color colors colors_update "
        + "embedding number number_expr number_update days days_update"
    ),
  ])
  func `every object has its fields`(object: String, expected: String) throws {
    #expect(try names(object) == expected.split(separator: " ").map(String.init))
  }

  @Test func `a key has columns and the keys of references, each column once`() throws {
    let connector = try #require(Fixtures.compile(Fixtures.recipeSchema).connector)
    let key = try #require(InputTypes(schema: connector.schema).object("CookBookmark_Key"))
    #expect(
      key.fields.map(\.name)
        == ["cookId", "cookId_expr", "recipeId", "recipeId_expr", "cook", "recipe"])
    #expect(
      key.groups == [
        .init(["cookId", "cookId_expr", "cook"], isRequired: true),
        .init(["recipeId", "recipeId_expr", "recipe"], isRequired: true),
      ])
    #expect(key.field("recipeId_expr")?.subject == .column("recipeId"))
    #expect(key.field("recipeId_expr")?.form == .expression)
    #expect(key.field("recipe")?.isLiteralOnly == true)
    #expect(key.field("recipe")?.shape.description == "Recipe_Key")
  }

  @Test func `shapes are written as GraphQL`() {
    let type = InputType.list(
      .list(.key("Movie", isNullable: false), isNullable: true), isNullable: false)
    #expect(type.shape.description == "[[Movie_Key!]]!")
    #expect(InputShape(.expression(.string)).description == "String_Expr")
    #expect(
      InputShape(.choice(.orderDirection), isNullable: false).description == "OrderDirection!")
  }
}
