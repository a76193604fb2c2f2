import Testing

@testable import HearthDataConnect

/// Sources with errors, and the diagnostics that they have, without those about a missing `@auth`.
@Suite struct `Operations with errors` {
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

  private static let schema = """
    type Movie @table {
      id: UUID! @default(expr: "uuidV4()")
      title: String! @col(dataType: "varchar(10)")
      year: Int
      views: Int64
      rating: Float
      released: Date
      seen: Timestamp
      tags: [String!]
      ratio: Ratio
      extra: Any
      isPublic: Boolean
      vector: Vector @col(size: 2)
    }
    type User @table(key: "uid") { uid: String!  name: String @searchable }
    type Review @table(key: ["movie", "user"]) { movie: Movie!  user: User!  stars: Int!  text: String }
    type Ticket @table { movie: Movie }
    enum Ratio { WIDE ACADEMY }
    """

  @Test(arguments: cases)
  func `operations are refused with a place and a remedy`(_ test: Case) {
    let result = Fixtures.compile(Self.schema, test.source)
    let found = result.diagnostics.map(\.description).filter { !$0.contains("has no @auth") }
    let expected = test.expected.split(separator: "\n").map { "ops.gql:\($0)" }
    #expect(found == expected)
    #expect((result.connector == nil) == found.contains { $0.contains(": error: ") })
  }

  static let cases: [Case] = [
    Case(
      "an unknown character",
      """
      query A { movies { id ? } }
      """,
      """
      1:23: error: Unexpected character “?” (U+003F): remove it or put it in a string.
      """),
    Case(
      "a string without an end",
      """
      query A { movies(where: { title: { eq: "abc } }) { id } }
      """,
      """
      1:40: error: The string has no end: close it with a double quote on the same line.
      """),
    Case(
      "single quotes",
      """
      query A { movies(where: { title: { eq: 'abc' } }) { id } }
      """,
      """
      1:40: error: Strings have double quotes: write "…" instead of '…'.
      """),
    Case(
      "a missing brace",
      """
      query A { movies { id }
      """,
      """
      1:24: error: Expected a field, or `}`, not the end of the file.
      """),
    Case(
      "an error in one definition and one in the next",
      """
      query A { movies(limit: ) { id } }
      query B { movies { } }
      """,
      """
      1:25: error: Expected a value, not `)`.
      2:20: error: Empty braces: write the fields to select between them.
      """),
    Case(
      "empty braces",
      """
      query A { }
      """,
      """
      1:11: error: Empty braces: write the fields to select between them.
      """),
    Case(
      "empty parentheses",
      """
      query A { movies() { id } }
      """,
      """
      1:18: error: Empty parentheses: write arguments, or remove them.
      """),
    Case(
      "a missing type of a variable",
      """
      query A($id) { movie(id: $id) { id } }
      """,
      """
      1:12: error: Expected `:` and the type of the variable, not `)`.
      """),
    Case(
      "a misspelled keyword",
      """
      qurey A { movies { id } }
      """,
      """
      1:1: error: Expected a definition, like `type`, `enum`, `query`, `mutation` or `fragment`, not `qurey`. Did you mean "query"?
      """),
    Case(
      "a number with a leading zero",
      """
      query A { movies(limit: 012) { id } }
      """,
      """
      1:25: error: 012 is no number: write it like 12 or -1.5e3.
      """),
    Case(
      "a single dot",
      """
      query A { movies { .. F } }
      """,
      """
      1:20: error: A single dot is no token: write `...` for a fragment.
      """),
    Case(
      "an unknown escape",
      #"""
      query A { movies(where: { title: { eq: "a\qb" } }) { id } }
      """#,
      #"""
      1:40: error: Unknown escape in a string. Known ones are \" \\ \/ \b \f \n \r \t \u.
      """#),
    Case(
      "a fragment without a name",
      """
      fragment on Movie { id }
      """,
      """
      1:10: error: A fragment needs a name before `on`.
      """),
    Case(
      "an operation without a name",
      """
      { movies { id } }
      """,
      """
      1:1: error: The operations of a connector have names: write query and a name before `{`.
      """),
    Case(
      "a subscription",
      """
      subscription A { movies { id } }
      """,
      """
      1:1: error: There are no subscriptions: every query can be subscribed to. Write query, and add @refresh.
      """),
    Case(
      "two operations of one name",
      """
      query A { movies { id } }
      query A { movies { id } }
      """,
      """
      2:7: error: There are two operations A: give one of them another name.
      """),
    Case(
      "names that differ in the first letter",
      """
      query listAll { movies { id } }
      mutation ListAll { movie_delete(id_expr: "uuidV4()") }
      """,
      """
      2:10: error: listAll and ListAll differ only in the case of the first letter, and have the same name in generated code: give one of them another name.
      """),
    Case(
      "a type in a connector",
      """
      type A @table { id: UUID! }
      """,
      """
      1:6: error: Types are not part of a connector: move A to the directory of the schema.
      """),
    Case(
      "an unknown root field",
      """
      query A { moveis { id } }
      """,
      """
      1:11: error: There is no query field "moveis". Did you mean "movies"?
      """),
    Case(
      "a query field in a mutation",
      """
      mutation A { movies { id } }
      """,
      """
      1:14: error: movies is a field of queries: write query { movies … } in a mutation.
      """),
    Case(
      "a mutation field in a query",
      """
      query A { movie_insert(data: { title: "x" }) }
      """,
      """
      1:11: error: movie_insert is a field of mutations: write it in a mutation.
      """),
    Case(
      "SQL in a query",
      """
      query A { _select(sql: "select 1") }
      """,
      """
      1:11: error: SQL is not supported: use the fields of the tables with where, orderBy and aggregates.
      """),
    Case(
      "SQL in a mutation",
      """
      mutation A { _execute(sql: "drop") }
      """,
      """
      1:14: error: SQL is not supported: use the fields of the tables, like movie_updateMany.
      """),
    Case(
      "introspection",
      """
      query A { __schema { types } }
      """,
      """
      1:11: error: __schema is not possible in a connector: read the generated files of the schema.
      """),
    Case(
      "a list without fields",
      """
      query A { movies }
      """,
      """
      1:11: error: movies is of type Movie: add { … } with the fields to select.
      """),
    Case(
      "fields of a scalar",
      """
      query A { movies { id { x } } }
      """,
      """
      1:20: error: id is of type UUID! and has no fields: remove { … }.
      """),
    Case(
      "fields of a number of rows",
      """
      mutation A { movie_deleteMany(all: true) { id } }
      """,
      """
      1:14: error: movie_deleteMany is of type Int! and has no fields: remove { … }.
      """),
    Case(
      "arguments of query",
      """
      mutation A { query(a: 1) { movies { id } } }
      """,
      """
      1:20: error: query has no arguments: remove a.
      """),
    Case(
      "an unknown field",
      """
      query A { movies { titel } }
      """,
      """
      1:20: error: Movie has no field "titel". Did you mean "title"?
      """),
    Case(
      "an unknown relation",
      """
      query A { movies { reviews_on_film { stars } } }
      """,
      """
      1:20: error: Movie has no field "reviews_on_film". Did you mean "reviews_on_movie"?
      """),
    Case(
      "an unknown field of _metadata",
      """
      query A { users_search(query: "a") { _metadata { relevanse } } }
      """,
      """
      1:50: error: _Metadata has no field "relevanse". Did you mean "relevance"?
      """),
    Case(
      "a response key for two fields",
      """
      query A { movies { title title: year } }
      """,
      """
      1:26: error: "title" is the name of two different fields: give one of them an alias.
      """),
    Case(
      "a response key with other arguments",
      """
      query A { movies(limit: 1) { id } movies(limit: 2) { id } }
      """,
      """
      1:35: error: "movies" is the name of two different fields: give one of them an alias.
      """),
    Case(
      "a redacted field that is selected again",
      """
      query A { movies { title @redact title } }
      """,
      """
      1:34: error: "title" is selected twice, once with @redact: select it once.
      """),
    Case(
      "two conditions for one object",
      """
      query A($a: Boolean!) { movies { tickets_on_movie @include(if: $a) { id } tickets_on_movie { _count } } }
      """,
      """
      1:75: error: "tickets_on_movie" is selected twice with other conditions: give one of them an alias.
      """),
    Case(
      "an unknown fragment",
      """
      query A { movies { ...Filds } }
      fragment Fields on Movie { id }
      """,
      """
      1:23: error: There is no fragment Filds. Did you mean "Fields"?
      """),
    Case(
      "a fragment on another type",
      """
      query A { movies { ...F } }
      fragment F on User { uid }
      """,
      """
      1:23: error: The fragment F is on User, and the fields here are of Movie: use a fragment on Movie.
      """),
    Case(
      "a fragment that contains itself",
      """
      query A { movies { ...F } }
      fragment F on Movie { id ...G }
      fragment G on Movie { title ...F }
      """,
      """
      3:32: error: The fragment F contains itself: remove the spread.
      """),
    Case(
      "a fragment on an unknown type",
      """
      query A { movies { ... on Movei { id } } }
      """,
      """
      1:27: error: There is no type Movei. Did you mean "Movie"?
      """),
    Case(
      "two fragments of one name",
      """
      query A { movies { ...F } }
      fragment F on Movie { id }
      fragment F on Movie { title }
      """,
      """
      3:10: error: There are two fragments F: give one of them another name.
      """),
    Case(
      "a check on a fragment in a list",
      """
      query A { movies { ... @check(expr: "true") { id } } }
      """,
      """
      1:24: error: @check on a fragment is not possible in a list: put it on the list or on a field.
      """),
    Case(
      "an unknown argument",
      """
      query A { movies(limt: 1) { id } }
      """,
      """
      1:18: error: movies has no argument "limt". Did you mean "limit"?
      """),
    Case(
      "an argument that is given twice",
      """
      query A { movies(limit: 1, limit: 2) { id } }
      """,
      """
      1:28: error: limit is given twice: keep one.
      """),
    Case(
      "a negative limit",
      """
      query A { movies(limit: -1) { id } }
      """,
      """
      1:25: error: limit cannot be negative: write 0 or more.
      """),
    Case(
      "a string for a limit",
      """
      query A { movies(limit: "1") { id } }
      """,
      """
      1:25: error: limit is of type Int: write a whole number from -2147483648 to 2147483647.
      """),
    Case(
      "no selector",
      """
      query A { movie { id } }
      """,
      """
      1:11: error: movie needs one of id, id_expr, key, first.
      """),
    Case(
      "two selectors",
      """
      query A($id: UUID!) { movie(id: $id, first: {}) { id } }
      """,
      """
      1:38: error: id and first exclude each other: keep one.
      """),
    Case(
      "a key without a column",
      """
      query A($id: UUID!) { review(key: { movieId: $id }) { stars } }
      """,
      """
      1:35: error: Review_Key needs userUid: every column of the key is given, as one of userUid, userUid_expr, user.
      """),
    Case(
      "a key with a column given twice",
      """
      query A($id: UUID!) { review(key: { movieId: $id, movie: { id: $id }, userUid: "u" }) { stars } }
      """,
      """
      1:51: error: movieId and movie exclude each other: keep one.
      """),
    Case(
      "an unknown column of a key",
      """
      query A($id: UUID!) { review(key: { movieID: $id, userUid: "u" }) { stars } }
      """,
      """
      1:37: error: Review_Key has no field "movieID". Did you mean "movieId"?
      """),
    Case(
      "an argument of a single key that has two columns",
      """
      query A($id: UUID!) { review(movieId: $id) { stars } }
      """,
      """
      1:30: error: review has no argument "movieId". It has key, first.
      """),
    Case(
      "a null key",
      """
      query A { movie(id: null) { id } }
      """,
      """
      1:11: error: movie needs one of id, id_expr, key, first.
      """),
    Case(
      "an unknown operator",
      """
      query A { movies(where: { title: { equals: "x" } }) { id } }
      """,
      """
      1:36: error: String_Filter has no operator "equals". It has eq, ne, gt, ge, lt, le, contains, startsWith, endsWith, pattern, in, nin, isNull.
      """),
    Case(
      "an operator of another type",
      """
      query A { movies(where: { year: { contains: 1 } }) { id } }
      """,
      """
      1:35: error: Int_Filter has no operator "contains". It has eq, ne, gt, ge, lt, le, in, nin, isNull.
      """),
    Case(
      "a value without an operator",
      """
      query A { movies(where: { title: "x" }) { id } }
      """,
      """
      1:34: error: title is of type String_Filter: write an object like { eq: … }.
      """),
    Case(
      "a value and an expression",
      """
      query A { movies(where: { title: { eq: "x", eq_expr: "vars.x" } }) { id } }
      """,
      """
      1:45: error: eq and eq_expr exclude each other: keep one.
      """),
    Case(
      "a misspelled column in a filter",
      """
      query A { movies(where: { yaer: { eq: 1 } }) { id } }
      """,
      """
      1:27: error: Movie_Filter has no field "yaer". Did you mean "year"?
      """),
    Case(
      "an unknown combination",
      """
      query A { movies(where: { _nand: [] }) { id } }
      """,
      """
      1:27: error: Movie_Filter has no field "_nand". Did you mean "_and"?
      """),
    Case(
      "a pattern without a pattern",
      """
      query A { movies(where: { title: { pattern: { ignoreCase: true } } }) { id } }
      """,
      """
      1:45: error: String_Pattern needs one of like, regex.
      """),
    Case(
      "a filter of related rows without exist",
      """
      query A { movies(where: { reviews_on_movie: { stars: { gt: 1 } } }) { id } }
      """,
      """
      1:47: error: Review_ListFilter has no field "stars". It has exist, count.
      """),
    Case(
      "today is no false",
      """
      query A { movies(where: { released: { eq_date: { today: false } } }) { id } }
      """,
      """
      1:57: error: today takes no value but true: remove it instead.
      """),
    Case(
      "a relative date without a start",
      """
      query A { movies(where: { released: { eq_date: { add: { days: 1 } } } }) { id } }
      """,
      """
      1:48: error: Date_Relative needs one of today, on.
      """),
    Case(
      "a null in a list",
      """
      query A { movies(where: { title: { in: ["a", null] } }) { id } }
      """,
      """
      1:46: error: an element of in cannot be null: write a string in double quotes.
      """),
    Case(
      "an unknown direction",
      """
      query A { movies(orderBy: { title: UP }) { id } }
      """,
      """
      1:36: error: OrderDirection has no value UP. Write one of ASC, DESC.
      """),
    Case(
      "a direction in quotes",
      """
      query A { movies(orderBy: { title: "DESC" }) { id } }
      """,
      """
      1:36: error: title is of type OrderDirection: write DESC without quotes.
      """),
    Case(
      "an order by a list",
      """
      query A { movies(orderBy: { tags: ASC }) { id } }
      """,
      """
      1:29: error: Movie_Order has no field "tags". It has id, title, year, views, rating, released, seen, ratio, extra, isPublic, _count, id_count, title_count, year_count, ….
      """),
    Case(
      "a variable in distinct of an aggregate",
      """
      query A($d: Boolean!) { movies { title_count(distinct: $d) } }
      """,
      """
      1:56: error: distinct of an aggregate takes no variable: write true or false.
      """),
    Case(
      "a vector of another size",
      """
      query A { movies_vector_similarity(compare: [1, 2, 3]) { id } }
      """,
      """
      1:45: error: vector has 2 numbers, and this list 3: write 2.
      """),
    Case(
      "an embedding",
      """
      query A { movies_vector_similarity(compare_embed: { text: "x" }) { id } }
      """,
      """
      1:11: error: movies_vector_similarity needs compare: add compare: … of type Vector!.
      1:36: error: compare_embed needs a model in the cloud, which does not exist here: give the vector itself.
      """),
    Case(
      "having of a column",
      """
      query A { movies(having: { title: { eq: "x" } }) { id } }
      """,
      """
      1:28: error: Movie_Having has no field "title". It has _and, _or, _not, _distinct, _count, id_count, title_count, year_count, year_sum, year_avg, year_min, year_max, views_count, views_sum, ….
      """),
    Case(
      "a whole number of more than 32 bits",
      """
      mutation A { movie_insert(data: { title: "x", year: 2147483648 }) }
      """,
      """
      1:53: error: year is of type Int: write a whole number from -2147483648 to 2147483647.
      """),
    Case(
      "a fraction for an Int",
      """
      mutation A { movie_insert(data: { title: "x", year: 1.5 }) }
      """,
      """
      1:53: error: year is of type Int: write a whole number from -2147483648 to 2147483647.
      """),
    Case(
      "a whole number of more than 64 bits",
      """
      mutation A { movie_insert(data: { title: "x", views: 9223372036854775808 }) }
      """,
      """
      1:54: error: views is of type Int64: write a whole number of 64 bits.
      """),
    Case(
      "a number that is too large",
      """
      mutation A { movie_insert(data: { title: "x", rating: 1e999 }) }
      """,
      """
      1:55: error: rating is of type Float: write a number.
      """),
    Case(
      "a number for a string",
      """
      mutation A { movie_insert(data: { title: 5 }) }
      """,
      """
      1:42: error: title is of type String: write a string in double quotes.
      """),
    Case(
      "a string for a boolean",
      """
      mutation A { movie_insert(data: { title: "x", isPublic: "true" }) }
      """,
      """
      1:57: error: isPublic is of type Boolean: write true or false.
      """),
    Case(
      "a wrong UUID",
      """
      mutation A { movie_insert(data: { title: "x", id: "1234" }) }
      """,
      """
      1:51: error: id is of type UUID: write a string with 32 hexadecimal digits, with or without dashes.
      """),
    Case(
      "a day that does not exist",
      """
      mutation A { movie_insert(data: { title: "x", released: "2023-02-29" }) }
      """,
      """
      1:57: error: released is of type Date: write a string like "2024-02-29".
      """),
    Case(
      "a time without an offset",
      """
      mutation A { movie_insert(data: { title: "x", seen: "2023-02-28T10:00:00" }) }
      """,
      """
      1:53: error: seen is of type Timestamp: write a string like "2024-02-29T12:00:00Z".
      """),
    Case(
      "an unknown value of an enum",
      """
      mutation A { movie_insert(data: { title: "x", ratio: WIED }) }
      """,
      """
      1:54: error: Ratio has no value WIED. Did you mean WIDE?
      """),
    Case(
      "an enum in quotes",
      """
      mutation A { movie_insert(data: { title: "x", ratio: "WIDE" }) }
      """,
      """
      1:54: error: ratio is of type Ratio: write WIDE without quotes.
      """),
    Case(
      "a name in a value of any form",
      """
      mutation A { movie_insert(data: { title: "x", extra: { a: [B] } }) }
      """,
      """
      1:60: error: extra is of type Any: write "B" in quotes.
      """),
    Case(
      "a member of any form that is given twice",
      """
      mutation A { movie_insert(data: { title: "x", extra: { a: 1, a: 2 } }) }
      """,
      """
      1:62: error: "a" is given twice: keep one.
      """),
    Case(
      "a string that is too long",
      """
      mutation A { movie_insert(data: { title: "01234567890" }) }
      """,
      """
      1:42: error: title has at most 10 characters: use a shorter string.
      """),
    Case(
      "an expression that is no string",
      """
      mutation A { movie_insert(data: { title: "x", year_expr: 5 }) }
      """,
      """
      1:58: error: year_expr is of type Int_Expr: write an expression in CEL as a string.
      """),
    Case(
      "an empty expression",
      """
      mutation A { movie_insert(data: { title: "x", year_expr: " " }) }
      """,
      """
      1:58: error: The expression is empty: write an expression in CEL.
      """),
    Case(
      "a missing column",
      """
      mutation A { movie_insert(data: { year: 1 }) }
      """,
      """
      1:33: error: A new row of Movie needs title, which has no default: add title.
      """),
    Case(
      "a missing reference",
      """
      mutation A { review_insert(data: { userUid: "u", stars: 1 }) }
      """,
      """
      1:34: error: A new row of Review needs movie, which has no default: add movie.
      """),
    Case(
      "a missing column of an upsert",
      """
      mutation A { movie_upsert(data: { year: 1 }) }
      """,
      """
      1:33: warning: title has no default: the upsert fails if there is no such row of Movie. Add title.
      """),
    Case(
      "a null column",
      """
      mutation A($id: UUID!) { movie_update(id: $id, data: { title: null }) }
      """,
      """
      1:63: error: title cannot be null: give a value, or leave it out.
      """),
    Case(
      "a null reference",
      """
      mutation A { review_insert(data: { movie: null, userUid: "u", stars: 1 }) }
      """,
      """
      1:43: error: movie cannot be null: give the key of a row of Movie.
      """),
    Case(
      "a reference and its column",
      """
      mutation A($id: UUID!) { ticket_insert(data: { movie: { id: $id }, movieId: $id }) }
      """,
      """
      1:68: error: movieId and movie exclude each other: keep one.
      """),
    Case(
      "a value and an update",
      """
      mutation A($id: UUID!) { movie_update(id: $id, data: { year: 1, year_update: { inc: 1 } }) }
      """,
      """
      1:65: error: year and year_update exclude each other: keep one.
      """),
    Case(
      "an update of a new row",
      """
      mutation A { movie_insert(data: { title: "x", year_update: { inc: 1 } }) }
      """,
      """
      1:47: error: year_update changes a value, and a new row has none: give the value itself.
      """),
    Case(
      "two updates in one",
      """
      mutation A($id: UUID!) { movie_update(id: $id, data: { year_update: { inc: 1, dec: 1 } }) }
      """,
      """
      1:79: error: inc and dec exclude each other: keep one.
      """),
    Case(
      "nested rows in an update",
      """
      mutation A($id: UUID!) { movie_update(id: $id, data: { tickets_on_movie: [{}] }) }
      """,
      """
      1:56: error: tickets_on_movie is possible only in new rows: add rows with mutations of their own.
      """),
    Case(
      "a missing column of a nested row",
      """
      mutation A { movie_insert(data: { title: "x", reviews_on_movie: [{ stars: 1 }] }) }
      """,
      """
      1:66: error: A new row of Review needs user, which has no default: add user.
      """),
    Case(
      "a nested row with its reference",
      """
      mutation A($id: UUID!) { movie_insert(data: { title: "x", tickets_on_movie: [{ movieId: $id }] }) }
      """,
      """
      1:78: error: movie is the row around this one: remove movieId.
      """),
    Case(
      "an update without data",
      """
      mutation A($id: UUID!) { movie_update(id: $id) }
      """,
      """
      1:26: error: movie_update needs data: add data: … of type Movie_Data!.
      """),
    Case(
      "an update of many rows without a filter",
      """
      mutation A { movie_updateMany(data: { year: 1 }) }
      """,
      """
      1:14: error: movie_updateMany without a filter changes all rows: give where, or all: true.
      """),
    Case(
      "a deletion of many rows without a filter",
      """
      mutation A { movie_deleteMany }
      """,
      """
      1:14: error: movie_deleteMany without a filter changes all rows: give where, or all: true.
      """),
    Case(
      "an empty filter",
      """
      mutation A { movie_deleteMany(where: {}) }
      """,
      """
      1:38: error: An empty filter matches all rows: write all: true instead.
      """),
    Case(
      "all that is false",
      """
      mutation A { movie_deleteMany(all: false) }
      """,
      """
      1:36: error: movie_deleteMany without a filter changes all rows: give where, or all: true.
      """),
    Case(
      "a filter and all",
      """
      mutation A { movie_deleteMany(where: { year: { eq: 1 } }, all: true) }
      """,
      """
      1:59: error: where and all exclude each other: keep one.
      """),
    Case(
      "a null filter",
      """
      mutation A { movie_deleteMany(where: null) }
      """,
      """
      1:14: error: movie_deleteMany without a filter changes all rows: give where, or all: true.
      """),
    Case(
      "a variable that is not declared",
      """
      query A($genre: String) { movies(where: { title: { eq: $gerne } }) { id } }
      """,
      """
      1:56: error: The variable $gerne is not declared: add $gerne: String to the operation. Did you mean $genre?
      """),
    Case(
      "a variable that is declared twice",
      """
      query A($id: UUID!, $id: UUID!) { movie(id: $id) { id } }
      """,
      """
      1:21: error: The variable $id is declared twice: keep one.
      """),
    Case(
      "a variable that is not used",
      """
      query A($id: UUID!) { movies { id } }
      """,
      """
      1:9: warning: The variable $id is not used: remove it.
      """),
    Case(
      "a variable of an unknown type",
      """
      query A($id: UUDI!) { movie(id: $id) { id } }
      """,
      """
      1:14: error: There is no type UUDI. Did you mean "UUID"?
      """),
    Case(
      "a table as the type of a variable",
      """
      query A($m: Movie!) { movie(key: $m) { id } }
      """,
      """
      1:13: error: Movie is a table, not the type of a variable: use Movie_Key or Movie_Data.
      """),
    Case(
      "an input that is no type of a variable",
      """
      query A($h: Movie_Having) { movies(having: $h) { id } }
      """,
      """
      1:13: error: Movie_Having is not possible as the type of a variable: write the object in the operation, with variables for its values.
      """),
    Case(
      "a variable of another type",
      """
      query A($id: String!) { movie(id: $id) { id } }
      """,
      """
      1:35: error: id is of type UUID, but $id is of type String: declare $id: UUID!.
      """),
    Case(
      "a variable that can be null",
      """
      query A($q: String) { users_search(query: $q) { uid } }
      """,
      """
      1:43: error: query cannot be null, but $q can: declare $q: String!, or give it a default value.
      """),
    Case(
      "a single variable for a list",
      """
      query A($t: String!) { movies(where: { title: { in: $t } }) { id } }
      """,
      """
      1:53: error: in is a list: write [$t].
      """),
    Case(
      "a list with null elements",
      """
      query A($t: [String]) { movies(where: { title: { in: $t } }) { id } }
      """,
      """
      1:54: error: in is of type [String!], but $t is of type [String]: declare $t: [String!].
      """),
    Case(
      "a default of another type",
      """
      query A($limit: Int = "10") { movies(limit: $limit) { id } }
      """,
      """
      1:23: error: $limit is of type Int: write a whole number from -2147483648 to 2147483647.
      """),
    Case(
      "a variable in a default",
      """
      query A($a: Int, $b: Int = $a) { movies(limit: $b, offset: $a) { id } }
      """,
      """
      1:28: error: Variables are not possible here: write a value instead of $a.
      """),
    Case(
      "an expression in a default",
      """
      query A($k: Movie_Key = { id_expr: "x" }) { movie(key: $k) { id } }
      """,
      """
      1:27: error: id_expr is not possible in the value of a variable: write it in the operation.
      """),
    Case(
      "a variable for an expression",
      """
      query A($x: String) { movies(where: { title: { eq_expr: $x } }) { id } }
      """,
      """
      1:57: error: eq_expr is an expression in CEL: write "vars.x" as a string.
      """),
    Case(
      "a variable for true",
      """
      query A($x: Boolean!) { movies(where: { released: { eq_date: { today: $x } } }) { id } }
      """,
      """
      1:71: error: today takes no variable: write true.
      """),
    Case(
      "data without a limit",
      """
      mutation A($d: Movie_Data!) { movie_insert(data: $d) }
      """,
      """
      1:12: warning: A client can set every column with $d: add @allow(fields: "…").
      """),
    Case(
      "an unknown directive",
      """
      query A @atuh(level: PUBLIC) { movies { id } }
      """,
      """
      1:9: error: There is no directive @atuh. Did you mean "@auth"?
      """),
    Case(
      "a directive in the wrong place",
      """
      query A @transaction { movies { id } }
      """,
      """
      1:9: error: @transaction is not possible on a query: put it on a mutation.
      """),
    Case(
      "a directive that is given twice",
      """
      query A @auth(level: USER) @auth(level: PUBLIC) { movies { id } }
      """,
      """
      1:28: error: @auth is given twice: keep one.
      """),
    Case(
      "an unknown level",
      """
      query A @auth(level: PUBLIK) { movies { id } }
      """,
      """
      1:22: error: AuthLevel has no value PUBLIK. Did you mean PUBLIC?
      """),
    Case(
      "a level and an expression",
      """
      query A @auth(level: USER, expr: "true") { movies { id } }
      """,
      """
      1:28: error: level and expr exclude each other: keep one.
      """),
    Case(
      "neither a level nor an expression",
      """
      query A @auth(insecureReason: "x") { movies { id } }
      """,
      """
      1:9: error: @auth needs one of level, expr.
      """),
    Case(
      "a variable in a level",
      """
      query A($l: String) @auth(expr: $l) { movies(where: { title: { eq: $l } }) { id } }
      """,
      """
      1:33: error: Variables are not possible here: write a value instead of $l.
      """),
    Case(
      "a refresh without a reason",
      """
      query A @refresh { movies { id } }
      """,
      """
      1:9: error: @refresh needs every or onMutationExecuted: add one.
      """),
    Case(
      "a refresh at no time",
      """
      query A @refresh(every: { seconds: 0 }) { movies { id } }
      """,
      """
      1:25: error: The time of every is not positive: write it like { seconds: 30 }.
      """),
    Case(
      "a refresh in an unknown unit",
      """
      query A @refresh(every: { second: 1 }) { movies { id } }
      """,
      """
      1:27: error: Timestamp_Duration has no field "second". Did you mean "seconds"?
      """),
    Case(
      "a refresh after no mutation",
      """
      query A @refresh(onMutationExecuted: { condition: "true" }) { movies { id } }
      """,
      """
      1:38: error: Refresh_OnMutationExecuted needs operation: add operation: … of type String!.
      """),
    Case(
      "a refresh after an unknown mutation",
      """
      query A @refresh(onMutationExecuted: { operation: "addMovi" }) { movies { id } }
      mutation AddMovie { movie_insert(data: { title: "x" }) }
      """,
      """
      1:51: warning: There is no mutation addMovi in this connector. Did you mean "AddMovie"?
      """),
    Case(
      "a refresh after a query",
      """
      query A @refresh(onMutationExecuted: { operation: "A" }) { movies { id } }
      """,
      """
      1:51: warning: A is a query, so that it triggers nothing: name a mutation.
      """),
    Case(
      "a refresh of a mutation",
      """
      mutation A @refresh(every: { seconds: 1 }) { movie_delete(id_expr: "uuidV4()") }
      """,
      """
      1:12: error: @refresh is not possible on a mutation: put it on a query.
      """),
    Case(
      "skip without a condition",
      """
      query A { movies { id @skip } }
      """,
      """
      1:23: error: @skip needs if: add if: … of type Boolean!.
      """),
    Case(
      "two conditions",
      """
      query A($a: Boolean!, $b: Boolean!) { movies { ... @include(if: $a) { id @include(if: $b) } } }
      """,
      """
      1:74: error: A field has one condition of this kind, also with those of the fragments around it: use one variable.
      """),
    Case(
      "an unknown field that is allowed",
      """
      mutation A($d: Movie_Data! @allow(fields: "title yaer")) { movie_insert(data: $d) }
      """,
      """
      1:43: error: Movie has no field "yaer". Did you mean "year"?
      """),
    Case(
      "allow of a scalar",
      """
      query A($id: UUID! @allow(fields: "title")) { movie(id: $id) { id } }
      """,
      """
      1:35: error: fields is for variables of a type like Movie_Data: remove it.
      """),
    Case(
      "a maximum of no list",
      """
      mutation A($d: Movie_Data! @allow(fields: "title", maxCount: 1)) { movie_insert(data: $d) }
      """,
      """
      1:62: error: maxCount is for lists, and $d is none: remove it.
      """),
    Case(
      "names that are like no other name",
      """
      query A @zzzzzz @refresh(onMutationExecuted: { operation: "zzzzzz" }) {
        zzzzzz { id }
        movies(zzzzzz: 1) { zzzzzz ...zzzzzz ... on zzzzzz { id } }
      }
      """,
      """
      1:9: error: There is no directive @zzzzzz. Remove it.
      1:59: warning: There is no mutation zzzzzz in this connector. Add it, or write connector/zzzzzz for one of another connector.
      2:3: error: There is no query field "zzzzzz". Remove it, or add a table for it.
      3:10: error: movies has no argument "zzzzzz". It has where, orderBy, offset, limit, distinct, having.
      3:23: error: Movie has no field "zzzzzz". Remove it, or add it to the type.
      3:33: error: There is no fragment zzzzzz. Define it.
      3:47: error: There is no type zzzzzz. Name a table.
      """),
    Case(
      "a fragment that is not used",
      """
      query A { movies { id } }
      fragment F on Movie { id }
      """,
      """
      2:10: warning: The fragment F is not used: remove it.
      """),
    Case(
      "a misspelled column of a new row",
      """
      mutation A { movie_insert(data: { titel: "x" }) }
      """,
      """
      1:35: error: Movie_Data has no field "titel". Did you mean "title"?
      """),
  ]
}
