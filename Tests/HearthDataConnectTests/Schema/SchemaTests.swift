import DataConnectModel
import Testing

@testable import HearthDataConnect

@Suite struct `Schemas` {
  private func schema(_ text: String) throws -> Schema {
    let result = Fixtures.compile(text)
    return try #require(result.connector, "\(result.diagnostics)").schema
  }

  @Test func `a table without a key has an implicit id`() throws {
    let table = try #require(try schema("type Movie @table { title: String }").tables.first)
    #expect(table.collectionID == "movie")
    #expect(table.singular == "movie")
    #expect(table.plural == "movies")
    #expect(table.key == ["id"])
    #expect(
      table.columns == [
        Column(
          name: "id", type: .uuid, isNullable: false, defaultValue: .expression("uuidV4()"),
          isImplicit: true),
        Column(name: "title", type: .string, isNullable: true),
      ])
  }

  @Test func `a declared id is the key without a default of its own`() throws {
    let table = try #require(try schema("type Movie @table { id: String! }").tables.first)
    #expect(table.columns == [Column(name: "id", type: .string, isNullable: false)])
    #expect(table.key == ["id"])
  }

  @Test func `a key can name an id that is not declared`() throws {
    let table = try #require(
      try schema("type Movie @table(key: [\"id\", \"year\"]) { year: Int! }").tables.first)
    #expect(table.key == ["id", "year"])
    #expect(table.column("id")?.isImplicit == true)
  }

  @Test func `names of the table can be given`() throws {
    let table = try #require(
      try schema(
        """
        type SavedRecipe @table(
          name: "SavedRecipes", singular: "saved_recipe", plural: "all_saved"
        ) { x: Int }
        """
      ).tables.first)
    #expect(table.collectionID == "SavedRecipes")
    #expect(table.singular == "saved_recipe")
    #expect(table.plural == "all_saved")
  }

  @Test func `a reference has columns with the names of the field and the other key`() throws {
    let schema = try schema(
      """
      type Review @table { user: User!  movie: Movie  text: String }
      type User @table(key: "uid") { uid: String! }
      type Movie @table { title: String }
      """)
    let review = try #require(schema.table("Review"))
    #expect(review.columns.map(\.name) == ["id", "userUid", "movieId", "text"])
    #expect(review.columns.map(\.isNullable) == [false, false, true, true])
    #expect(
      review.references == [
        Reference(
          name: "user", target: "User", columns: ["userUid"], targetColumns: ["uid"],
          isNullable: false, isOneToOne: false),
        Reference(
          name: "movie", target: "Movie", columns: ["movieId"], targetColumns: ["id"],
          isNullable: true, isOneToOne: false),
      ])
  }

  @Test func `a key with references has their columns in the order of the key`() throws {
    let schema = try schema(
      """
      type A @table(key: ["b", "n"]) { n: Int!  b: B! }
      type B @table(key: ["c", "d"]) { c: C!  d: Date! }
      type C @table { x: Int }
      type D @table { a: A! }
      """)
    #expect(schema.table("A")?.key == ["bCId", "bD", "n"])
    #expect(schema.table("A")?.columns.map(\.name) == ["n", "bCId", "bD"])
    #expect(
      schema.table("D")?.columns.map(\.name) == ["id", "aBCId", "aBD", "aN"])
    #expect(schema.table("D")?.reference("a")?.targetColumns == ["bCId", "bD", "n"])
  }

  @Test func `a key can name the columns of references`() throws {
    let schema = try schema(
      """
      type A @table { x: Int }
      type B @table(key: ["aId", "otherId"]) { a: A!  second: A! @ref(fields: "otherId") }
      """)
    #expect(schema.table("B")?.key == ["aId", "otherId"])
  }

  @Test func `columns of a reference can be declared and shared`() throws {
    let schema = try schema(
      """
      type Org @table { name: String }
      type Team @table(key: ["org", "name"]) { org: Org!  name: String! }
      type Task @table {
        orgId: UUID!
        org: Org!
        team: Team @ref(fields: ["orgId", "teamName"])
      }
      """)
    let task = try #require(schema.table("Task"))
    #expect(task.columns.map(\.name) == ["id", "orgId", "teamName"])
    #expect(task.column("orgId")?.isImplicit == false)
    #expect(task.column("teamName")?.isNullable == true)
    #expect(task.reference("team")?.columns == ["orgId", "teamName"])
  }

  @Test func `a reference can be to unique columns`() throws {
    let schema = try schema(
      """
      type A @table { slug: String! @unique }
      type B @table { a: A! @ref(references: "slug") }
      """)
    #expect(schema.table("B")?.columns.map(\.name) == ["id", "aSlug"])
    #expect(schema.table("B")?.column("aSlug")?.type == .string)
    let types = InputTypes(schema: schema)
    #expect(types.object("B_Data")?.field("a") == nil)
    #expect(types.object("B_Filter")?.field("a") != nil)
  }

  @Test func `a unique reference, or one that has the whole key, is one-to-one`() throws {
    let schema = try schema(
      """
      type Movie @table { x: Int }
      type A @table { movie: Movie! @unique }
      type B @table(key: "movie") { movie: Movie! }
      type C @table @unique(fields: ["movie"]) { movie: Movie }
      type D @table @unique(fields: ["movie", "x"]) { movie: Movie!  x: Int }
      """)
    #expect(
      schema.tables.dropFirst().map { $0.references[0].isOneToOne } == [true, true, true, false])
    #expect(
      schema.relations()["Movie"]?.map(\.name)
        == ["a_on_movie", "b_on_movie", "c_on_movie", "ds_on_movie"])
    #expect(schema.table("D")?.uniques == [Table.Index(columns: ["movieId", "x"])])
  }

  @Test func `a join table has relations through it`() throws {
    let relations = try schema(Fixtures.recipeSchema).relations()
    #expect(
      relations["Recipe"]?.map(\.name) == [
        "nutritions_on_recipe", "tastings_on_recipe", "recipeIngredients_on_recipe",
        "cook_bookmarks_on_recipe", "cooks_via_Tasting", "ingredients_via_RecipeIngredient",
        "cooks_via_CookBookmark",
      ])
    let via = try #require(relations["Ingredient"]?.last)
    #expect(via.target == "Recipe")
    #expect(via.argumentTable == "RecipeIngredient")
    #expect(via.kind == .via(join: "RecipeIngredient", near: "ingredient", far: "recipe"))
  }

  @Test func `a join table of one table with itself has a relation for each direction`() throws {
    let relations = try schema(
      "type P @table { x: Int }\ntype F @table(key: [\"a\", \"b\"]) { a: P!  b: P! }"
    ).relations()
    #expect(
      relations["P"]?.map(\.name) == ["fs_on_a", "fs_on_b", "ps_via_F_on_a", "ps_via_F_on_b"])
    #expect(relations["P"]?.last?.kind == .via(join: "F", near: "b", far: "a"))
  }

  @Test func `columns have their types, limits and defaults`() throws {
    let schema = try schema(
      """
      type A @table {
        name: String! @col(dataType: "varchar(30)") @searchable(language: "german")
        number: Int! @col(dataType: "serial")
        vector: Vector @col(size: 768)
        tags: [String]
        days: [Date!]! @default(value: "2024-01-02T10:00:00Z")
        ratio: Ratio @default(value: WIDE)
        big: Int64 @default(value: "9007199254740993")
        part: Float @default(value: 1)
        now: Timestamp @default(sql: "now()")
        uid: UUID @default(sql: "gen_random_uuid()")
        at: Date @default(expr: "request.time")
      }
      enum Ratio { WIDE }
      extend enum Ratio { NARROW }
      extend type A { extra: Any @index }
      """)
    let table = try #require(schema.table("A"))
    #expect(table.column("name")?.maximumLength == 30)
    #expect(table.column("name")?.searchLanguage == "german")
    #expect(table.column("number")?.isSerial == true)
    #expect(table.column("vector")?.vectorSize == 768)
    #expect(table.column("tags")?.hasNullElements == true)
    #expect(table.column("days")?.hasNullElements == false)
    #expect(table.column("days")?.defaultValue == .value(.list([.string("2024-01-02")])))
    #expect(table.column("ratio")?.defaultValue == .value(.name("WIDE")))
    #expect(table.column("big")?.defaultValue == .value(.int(9_007_199_254_740_993)))
    #expect(table.column("part")?.defaultValue == .value(.float(1)))
    #expect(table.column("now")?.defaultValue == .expression("request.time"))
    #expect(table.column("uid")?.defaultValue == .expression("uuidV4()"))
    #expect(table.column("at")?.defaultValue == .expression("request.time"))
    #expect(table.indexes == [Table.Index(columns: ["extra"])])
    #expect(schema.enums[0].values == ["WIDE", "NARROW"])
  }

  @Test func `an index has the columns of references, and directions`() throws {
    let schema = try schema(
      """
      type A @table @index(name: "i", fields: ["b", "x"], order: [DESC, ASC]) { b: B!  x: Int }
      type B @table(key: ["p", "q"]) { p: Int!  q: Int! }
      """)
    #expect(
      schema.table("A")?.indexes == [
        Table.Index(name: "i", columns: ["bP", "bQ", "x"], isDescending: [true, true, false])
      ])
  }

  @Test func `internal directives of other services are ignored`() throws {
    _ = try schema("type A @table @fdc_x(a: 1) { x: Int @fdc_y }")
  }

  @Test func `a long chain of keys is an error and no overflow`() {
    var text = "type T0 @table { x: Int }\n"
    for n in 1...3000 { text += "type T\(n) @table(key: \"t\") { t: T\(n - 1)! }\n" }
    let reversed = text.split(separator: "\n").reversed().joined(separator: "\n")
    for schema in [text, reversed] {
      let result = Fixtures.compile(schema)
      let isCompiled = result.connector != nil
      #expect(!isCompiled)
      let isReported = result.diagnostics.contains { $0.message.contains("refer to each other") }
      #expect(isReported)
    }
  }

  @Test func `a long chain of references to references is an error and no overflow`() {
    var lines = ["type T0 @table { a: Int! @unique }"]
    for n in 1...3000 {
      lines.append(
        "type T\(n) @table { r: T\(n - 1)! @unique @ref(fields: \"a\", references: \"a\") }")
    }
    let result = Fixtures.compile(lines.reversed().joined(separator: "\n"))
    let isReported = result.diagnostics.contains { $0.message.contains("More than 64 references") }
    #expect(isReported)
  }

  @Test func `keys that double are an error`() {
    var text = "type T0 @table { x: Int }\n"
    for n in 1...30 {
      text += "type T\(n) @table(key: [\"a\", \"b\"]) { a: T\(n - 1)!  b: T\(n - 1)! }\n"
    }
    let result = Fixtures.compile(text)
    let isReported = result.diagnostics.contains { $0.message.contains("more than 32") }
    #expect(isReported)
  }
}
