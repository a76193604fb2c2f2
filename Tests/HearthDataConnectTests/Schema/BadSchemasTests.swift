import Testing

@testable import HearthDataConnect

/// Sources with errors, and the diagnostics that they have, without those about a missing `@auth`.
@Suite struct `Schemas with errors` {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var source: String
    /// One diagnostic in each line, without the path.
    var expected: String

    init(_ name: String, _ source: String, _ expected: String) {
      self.name = name
      self.source = source
      self.expected = expected
    }

    var testDescription: String { name }
  }

  @Test(arguments: cases)
  func `schemas are refused with a place and a remedy`(_ test: Case) {
    let result = Fixtures.compile(test.source)
    let found = result.diagnostics.map(\.description)
    let expected = test.expected.split(separator: "\n").map { "schema.gql:\($0)" }
    #expect(found == expected)
    #expect((result.connector == nil) == found.contains { $0.contains(": error: ") })
  }

  static let cases: [Case] = [
    Case(
      "a type without @table",
      """
      type Movie { id: UUID! }
      """,
      """
      1:6: error: The type Movie is no table: add @table.
      """),
    Case(
      "an unknown directive",
      """
      type Movie @tabel { id: UUID! }
      """,
      """
      1:6: error: The type Movie is no table: add @table.
      1:12: error: There is no directive @tabel. Did you mean "@table"?
      """),
    Case(
      "an unknown argument of @table",
      """
      type Movie @table(keys: "id") { id: UUID! }
      """,
      """
      1:19: error: @table has no argument "keys". Did you mean "key"?
      """),
    Case(
      "two types of one name",
      """
      type Movie @table { id: UUID! }
      type Movie @table { id: UUID! }
      """,
      """
      2:6: error: Movie is defined twice, first in line 1: use one name for one type.
      """),
    Case(
      "a reserved name",
      """
      type Query @table { id: UUID! }
      type Date @table { id: UUID! }
      """,
      """
      1:6: error: The fields of Query are generated from the tables: remove this type.
      2:6: error: Date is a reserved name: use another one.
      """),
    Case(
      "a view",
      """
      type Top @view(sql: "select 1") { title: String }
      """,
      """
      1:6: error: Views are SQL, which is not supported: select and filter the tables in a query of the connector.
      """),
    Case(
      "an input",
      """
      input Filter { a: Int }
      """,
      """
      1:7: error: A schema has no `input` definitions: inputs are generated from the tables; pass the values as variables.
      """),
    Case(
      "a scalar",
      """
      scalar Money
      """,
      """
      1:8: error: A schema has no `scalar` definitions: use a built-in scalar, or Any for values of any form.
      """),
    Case(
      "an interface",
      """
      interface Node { id: UUID! }
      type Movie implements Node @table { id: UUID! }
      """,
      """
      1:11: error: A schema has no `interface` definitions: repeat the fields in each type.
      2:23: error: Interfaces are not supported: remove `implements`.
      """),
    Case(
      "a union",
      """
      union Either = A | B
      """,
      """
      1:7: error: A schema has no `union` definitions: refer to each table with a reference of its own.
      """),
    Case(
      "a directive",
      """
      directive @mine on OBJECT
      """,
      """
      1:11: error: A schema has no `directive` definitions: use the directives of the dialect.
      """),
    Case(
      "a schema definition",
      """
      schema { query: Query }
      """,
      """
      1:1: error: A schema has no `schema` definitions: the root types are generated from the tables.
      """),
    Case(
      "an extension of an unknown type",
      """
      type Movie @table { id: UUID! }
      extend type Movei { year: Int }
      """,
      """
      2:13: error: There is no type Movei to extend. Did you mean "Movie"?
      """),
    Case(
      "two fields of one name",
      """
      type Movie @table { id: UUID!  title: String  title: Int }
      """,
      """
      1:47: error: Movie has two fields title: keep one.
      """),
    Case(
      "a field that begins with an underscore",
      """
      type Movie @table { id: UUID!  _title: String }
      """,
      """
      1:32: error: Names that begin with _ are reserved: write title.
      """),
    Case(
      "a field with arguments",
      """
      type Movie @table { id: UUID!  size(unit: String): Int }
      """,
      """
      1:37: error: Fields with arguments need a resolver, which is not supported: compute the value in the app, or store it in a column.
      """),
    Case(
      "an unknown type",
      """
      type Movie @table { id: UUID!  title: Srting }
      """,
      """
      1:39: error: There is no type Srting. Did you mean "String"?
      """),
    Case(
      "a type of another dialect",
      """
      type Movie @table { id: ID!  at: DateTime }
      """,
      """
      1:25: error: There is no type ID: use UUID or String.
      1:34: error: There is no type DateTime: use Timestamp.
      """),
    Case(
      "a list of a table",
      """
      type Movie @table { id: UUID!  reviews: [Review] }
      type Review @table { movie: Movie! }
      """,
      """
      1:41: error: Lists of tables are no fields: declare a reference to Movie in Review, and select reviews_on_….
      """),
    Case(
      "a list of lists",
      """
      type Movie @table { id: UUID!  grid: [[Int]] }
      """,
      """
      1:38: error: grid is a list of lists: use a list of values, or Any.
      """),
    Case(
      "a key without its field",
      """
      type Movie @table(key: ["titel"]) { title: String! }
      """,
      """
      1:25: error: Movie has no field "titel". Did you mean "title"?
      """),
    Case(
      "a key that can be null",
      """
      type Movie @table(key: "title") { title: String }
      """,
      """
      1:42: error: title is the key and cannot be null: write String!.
      """),
    Case(
      "a key with a list",
      """
      type Movie @table(key: "tags") { tags: [String!]! }
      """,
      """
      1:24: error: tags cannot be part of the key: use a column with a single, ordered value.
      """),
    Case(
      "a key with a column twice",
      """
      type Movie @table(key: ["title", "title"]) { title: String! }
      """,
      """
      1:34: error: The key has title twice: name each column once.
      """),
    Case(
      "an empty key",
      """
      type Movie @table(key: []) { title: String! }
      """,
      """
      1:24: error: The key is empty: name a column, or leave key out.
      """),
    Case(
      "a key with a reference that can be null",
      """
      type A @table { x: Int }
      type B @table(key: "a") { a: A }
      """,
      """
      2:30: error: a is part of the key and cannot be null: write A!.
      """),
    Case(
      "keys that refer to each other",
      """
      type A @table(key: "b") { b: B! }
      type B @table(key: "a") { a: A! }
      """,
      """
      1:20: error: The key of A refers to itself: name a column of its own in the key.
      """),
    Case(
      "a column of a reference of another type",
      """
      type A @table { x: Int }
      type B @table { a: A!  aId: String! }
      """,
      """
      2:24: error: aId is the column of the reference a and is of type UUID: declare it so, or name another in @ref(fields:).
      """),
    Case(
      "a column of a reference that can be null",
      """
      type A @table { x: Int }
      type B @table { a: A!  aId: UUID }
      """,
      """
      2:29: error: aId can be null, and the reference a cannot: write UUID!.
      """),
    Case(
      "a reference that can be null with a column that cannot",
      """
      type A @table { x: Int }
      type B @table { a: A  aId: UUID! }
      """,
      """
      2:20: error: The columns of a cannot be null: write A!.
      """),
    Case(
      "a reference with too few fields",
      """
      type A @table(key: ["x", "y"]) { x: Int!  y: Int! }
      type B @table { a: A! @ref(fields: ["ax"]) }
      """,
      """
      2:36: error: The reference has 1 fields for 2 columns of A: name a field for each of x, y.
      """),
    Case(
      "a reference to an unknown column",
      """
      type A @table { slug: String! @unique }
      type B @table { a: A! @ref(fields: "aSlug", references: "slag") }
      """,
      """
      2:57: error: A has no column "slag". Did you mean "slug"?
      """),
    Case(
      "a reference to a column that is not unique",
      """
      type A @table { slug: String! }
      type B @table { a: A! @ref(fields: "aSlug", references: "slug") }
      """,
      """
      2:57: error: A reference is to the key or to unique columns: add @unique to A.slug.
      """),
    Case(
      "a default of a reference",
      """
      type A @table { x: Int }
      type B @table { a: A! @default(expr: "x") }
      """,
      """
      2:23: error: @default is for columns, and a is a reference: put it on the column, declared as a field.
      """),
    Case(
      "a reference of a column",
      """
      type A @table { x: Int @ref }
      """,
      """
      1:24: error: @ref is for references, and x is a column: use a table as its type.
      """),
    Case(
      "a default of another type",
      """
      type A @table { x: Int @default(value: "1") }
      """,
      """
      1:40: error: x is of type Int: write a whole number from -2147483648 to 2147483647.
      """),
    Case(
      "an unknown default of an enum",
      """
      enum E { RED BLUE }
      type A @table { x: E @default(value: READ) }
      """,
      """
      2:38: error: E has no value READ. Did you mean RED?
      """),
    Case(
      "a default without a value",
      """
      type A @table { x: Int @default }
      """,
      """
      1:24: error: @default needs one of value, expr, sql.
      """),
    Case(
      "two defaults",
      """
      type A @table { x: Int @default(value: 1, expr: "2") }
      """,
      """
      1:43: error: value and expr exclude each other: keep one.
      """),
    Case(
      "a default in SQL",
      """
      type A @table { x: Int @default(sql: "nextval(1)") }
      """,
      """
      1:38: error: Defaults in SQL are not supported: write expr: with CEL, like "request.time" or "uuidV4()".
      """),
    Case(
      "a length of a number",
      """
      type A @table { x: Int @col(dataType: "varchar(3)") }
      """,
      """
      1:39: error: varchar(3) is a length of a String: write it like varchar(30), on a String.
      """),
    Case(
      "a serial text",
      """
      type A @table { x: String @col(dataType: "serial") }
      """,
      """
      1:42: error: serial is for columns of type Int or Int64: change the type, or remove it.
      """),
    Case(
      "a type of a column without effect",
      """
      type A @table { x: Float @col(dataType: "numeric(3, 2)") }
      """,
      """
      1:41: note: The type numeric(3, 2) has no effect: values are stored as Float.
      """),
    Case(
      "a vector without a size",
      """
      type A @table { v: Vector! }
      """,
      """
      1:17: error: A Vector needs its number of elements: add @col(size: …).
      """),
    Case(
      "a size of a string",
      """
      type A @table { v: String @col(size: 3) }
      """,
      """
      1:38: error: size is for columns of type Vector: remove it.
      """),
    Case(
      "a search in numbers",
      """
      type A @table { x: Int @searchable }
      """,
      """
      1:24: error: @searchable is for columns of type String: x is of type Int.
      """),
    Case(
      "an index of an unknown field",
      """
      type A @table @index(fields: ["titel"]) { title: String }
      """,
      """
      1:31: error: A has no field "titel". Did you mean "title"?
      """),
    Case(
      "an index without fields",
      """
      type A @table @index { title: String }
      """,
      """
      1:15: error: @index on a type needs fields: add fields: ["…"].
      """),
    Case(
      "fields in the index of a field",
      """
      type A @table { title: String @index(fields: ["title"]) }
      """,
      """
      1:46: error: fields is for @index on a type: remove it here.
      """),
    Case(
      "too many directions",
      """
      type A @table @index(fields: ["x"], order: [ASC, DESC]) { x: Int }
      """,
      """
      1:44: error: order has 2 directions for 1 fields: give one for each.
      """),
    Case(
      "a unique list",
      """
      type A @table { tags: [String] @unique }
      """,
      """
      1:32: error: tags cannot be unique: use a column with a single value.
      """),
    Case(
      "an index of vectors",
      """
      type A @table { v: Vector @col(size: 2) @index(type: HNSW) }
      """,
      """
      1:41: note: An index of type HNSW has no effect: similarity compares all rows.
      """),
    Case(
      "an enum with an underscore",
      """
      enum My_Enum { A }
      """,
      """
      1:6: error: The name of an enum has no underscore: write MyEnum.
      """),
    Case(
      "an enum in lower case",
      """
      enum ratio { wide }
      """,
      """
      1:6: warning: Enums begin with a capital letter: write Ratio.
      1:14: warning: Values of enums are upper case: write WIDE.
      """),
    Case(
      "an enum without values",
      """
      enum E {}
      """,
      """
      1:6: error: The enum E has no values: add one.
      """),
    Case(
      "an enum with a value twice",
      """
      enum E { A B A }
      """,
      """
      1:14: error: A is given twice: keep one.
      """),
    Case(
      "an enum with a reserved value",
      """
      enum E { A true _B }
      """,
      """
      1:12: error: true is a reserved name: use another value.
      1:17: error: _B is a reserved name: use another value.
      """),
    Case(
      "two tables of one collection",
      """
      type A @table(name: "x") { a: Int }
      type B @table(name: "x") { a: Int }
      """,
      """
      2:6: error: A and B have the same collection "x": give one of them another name in @table.
      """),
    Case(
      "two tables with one root field",
      """
      type A @table(plural: "all") { a: Int }
      type B @table(plural: "all") { a: Int }
      """,
      """
      2:6: error: A and B have the same root field all: give one of them another singular or plural in @table.
      """),
    Case(
      "a singular that is no name",
      """
      type A @table(singular: "my a") { a: Int }
      """,
      """
      1:25: error: "my a" is no name of a field: use letters, digits and _, and begin with a letter.
      """),
    Case(
      "a collection that is no id",
      """
      type A @table(name: "a/b") { a: Int }
      """,
      """
      1:21: error: "a/b" is no id of a collection: use letters, digits and _.
      """),
    Case(
      "relations of one name",
      """
      type A @table { a: Int }
      type B @table(singular: "x", plural: "items") { a: A }
      type C @table(singular: "y", plural: "items") { a: A }
      """,
      """
      3:6: error: B and C have the same root field items: give one of them another singular or plural in @table.
      3:49: error: A.items_on_a is the relation of B.a and the relation of C.a: use another name.
      """),
    Case(
      "a column with the name of an aggregate",
      """
      type A @table { x: Int  x_sum: Int }
      """,
      """
      1:25: error: A.x_sum is a column and an aggregate: use another name.
      """),
    Case(
      "a column with the name of an expression",
      """
      type A @table { x: Int  x_expr: Int }
      """,
      """
      1:25: error: A_Data has two fields x_expr, one for another column: rename the column x_expr.
      """),
    Case(
      "an operation in the schema",
      """
      type A @table { a: Int }
      query Q { as { id } }
      """,
      """
      2:1: error: Operations are not part of the schema: move this query to the directory of a connector.
      """),
    Case(
      "a name of a generated type",
      """
      type A @table { a: Int }
      type A_Key @table { a: Int }
      """,
      """
      2:6: error: A_Key is the name of a generated type: use another one.
      """),
    Case(
      "a syntax error in each of two types",
      """
      type A @table { a Int }
      type B @table { b: }
      type C @table { c: Nope }
      """,
      """
      1:19: error: Expected `:` and the type of `a`, not `Int`.
      2:20: error: Expected a type, not `}`.
      3:20: error: There is no type Nope. Define it, or use a scalar like String.
      """),
  ]
}
