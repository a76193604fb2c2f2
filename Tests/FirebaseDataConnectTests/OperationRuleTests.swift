import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// Rules that `OperationModelTests` found broken, each in its smallest form.
@Suite struct OperationRuleTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        type Author @table(key: "name") { name: String! }
        type Shelf @table(key: "number") { number: Int! }
        type Place @table(key: ["code", "number"]) { code: String! number: Int! }
        type Book @table(key: "code") {
          code: Int! @default(value: 1)
          title: String @unique
          tags: [Any!]
          mark: String @col(dataType: "varchar(3)")
          pages: Int
          price: Float
          cover: Vector @col(size: 2)
          extra: Any
          day: Timestamp
          author: Author
          shelf: Shelf
          place: Place
        }
        type Note @table(key: "id") {
          id: String!
          book: Book!
          parent: Note
        }
        """,
      operations: """
        mutation AddAuthor($name: String!) { author_insert(data: {name: $name}) }
        mutation AddShelf($number: Int!) { shelf_insert(data: {number: $number}) }
        mutation AddPlace($code: String!, $number: Int!) {
          place_insert(data: {code: $code, number: $number})
        }
        mutation Add($data: Book_Data!) { book_insert(data: $data) }
        mutation Upsert($data: Book_Data!) { book_upsert(data: $data) }
        mutation Update($code: Int!, $data: Book_Data!) { book_update(code: $code, data: $data) }
        mutation UpdateFirst($pages: Int!, $cover: Vector) {
          book_update(first: {where: {pages: {eq: $pages}}}, data: {cover: $cover})
        }
        mutation Renumber($code: Int!) { book_update(code: $code, data: {code_update: {inc: 1}}) }
        mutation DeleteShelf($number: Int!) { shelf_delete(number: $number) }
        mutation DeletePlaces { place_deleteMany(all: true) }
        mutation DeleteBook($code: Int!) { book_delete(code: $code) }
        mutation AddNotesOfGoneBook @transaction {
          a: note_insert(data: {id: "a", bookCode: 1})
          b: note_update(id: "old", data: {bookCode: 1, parentId: "old"})
          c: note_insert(data: {id: "c", bookCode: 1, parentId: "old"})
          d: book_delete(code: 1)
        }
        mutation MoveNote @transaction {
          note_update(id: "old", data: {bookCode: 2})
          book_delete(code: 2)
          gone: note_update(id: "old", data: {bookCode: 1})
        }
        mutation RenewShelfAndPlace @transaction {
          shelf_delete(number: 7)
          shelf_insert(data: {number: 7})
          place_deleteMany(all: true)
          place_upsert(data: {code: "x", number: 1})
        }
        mutation AddNote { note_insert(data: {id: "old", bookCode: 2}) }

        query All { books { code pages } }
        query Book($code: Int!) { book(code: $code) { code pages } }
        query Find($where: Book_Filter) { books(where: $where, orderBy: [{code: ASC}]) { code } }
        query Ordered($first: OrderDirection, $then: OrderDirection) {
          books(orderBy: [{pages: $first}, {pages: $then}, {code: ASC}]) { code }
        }
        query Get($code: Int!) { book(code: $code) { shelfNumber placeCode placeNumber } }
        query Mixed { groups: books { _count } books { code } }
        query ByAggregates($least: Int) {
          books(having: {pages_max: {ge: $least}}, orderBy: [{pages_min: DESC}]) { authorName }
        }
        query Extremes { books { price_min price_max authorName extra cover day_max } }
        query OfNone($least: Int!) {
          books(where: {code: {eq: 99}}, having: {_count: {ge: $least}}) { _count pages_max }
        }
        query CheapGroups($most: Int) {
          books(having: {pages_sum: {le: $most}}, orderBy: [{code: ASC}]) { code pages_sum }
        }
        query GroupsOfDay($day: Timestamp) { books(having: {day_max: {eq: $day}}) { code } }
        query Page($limit: Int, $offset: Int) {
          books(limit: $limit, offset: $offset) { pages _count }
        }
        query Notes { notes { id } }
        """)
  }

  private func add(_ books: DataObject...) async throws {
    for book in books { try await connector.mutate("Add", ["data": .object(book)]) }
  }

  private func codes(_ filter: DataValue) async throws -> [DataValue] {
    try await connector.query("Find", ["where": filter])["books"]?.elements?
      .compactMap { $0["code"] } ?? []
  }

  // MARK: Filters and orders

  @Test func `an order may name a column again, which has no effect`() async throws {
    try await add(["code": 1, "pages": 5], ["code": 2, "pages": 7])
    let found = try await connector.query("Ordered", ["first": "DESC", "then": "ASC"])
    #expect(found["books"] == [["code": 2], ["code": 1]])
  }

  @Test func `no value is one of an empty list, and every list has all of its elements`()
    async throws
  {
    try await add(
      ["code": 1, "title": "a", "tags": []], ["code": 2, "title": nil, "tags": nil],
      ["code": 3, "title": "b", "tags": ["x"]])
    #expect(try await codes(["title": ["in": []]]) == [])
    #expect(try await codes(["title": ["nin": []]]) == [1, 3])
    #expect(try await codes(["tags": ["includesAll": []]]) == [1, 3])
    #expect(try await codes(["tags": ["excludesAll": []]]) == [1, 3])
    #expect(try await codes(["tags": ["excludes": "x"]]) == [1])
    #expect(try await codes(["pages": ["gt": nil]]) == [])
    #expect(try await codes(["_not": [:]]) == [])
  }

  @Test func `a document without its key has it in its id, whatever the default is`() async throws {
    try await add(["code": 1, "pages": 3])
    try await connector.firestore.document("book/42").setData(["pages": 5])
    let written: DataValue = ["code": 42, "pages": 5]
    #expect(try await connector.query("All")["books"] == [["code": 1, "pages": 3], written])
    #expect(try await connector.query("Book", ["code": 42])["book"] == written)
  }

  @Test func `the length of a text is that of its code points`() async throws {
    try await add(["code": 1, "mark": "äöü"], ["code": 2, "mark": "日本語"])
    await #expect(throws: DataConnectOperationError.self) {
      try await add(["code": 3, "mark": "äöüß"])
    }
    // Two characters, each of two code points.
    await #expect(throws: DataConnectOperationError.self) {
      try await add(["code": 3, "mark": "e\u{301}e\u{301}"])
    }
    #expect(try await codes(["mark": ["ne": "x"]]) == [1, 2])
  }

  @Test func `a filter demands several elements, also elements that are lists`() async throws {
    try await add(["code": 1, "tags": ["x", [1, 2], 3]], ["code": 2, "tags": ["x"]])
    #expect(
      try await codes(["_and": [["tags": ["includes": "x"]], ["tags": ["includes": 3]]]]) == [1])
    #expect(try await codes(["tags": ["includes": [1, 2]]]) == [1])
    #expect(try await codes(["tags": ["includesAll": [[1, 2], "x"]]]) == [1])
    #expect(try await codes(["tags": ["excludes": [1, 2]]]) == [2])
  }

  @Test func `the text of a reference compares as the text that it is`() async throws {
    for name in ["a-b", "a/b", "b"] {
      try await connector.mutate("AddAuthor", ["name": .string(name)])
    }
    try await add(
      ["code": 1, "authorName": "a-b"], ["code": 2, "authorName": "a/b"],
      ["code": 3, "authorName": "b"], ["code": 4])
    #expect(try await codes(["authorName": ["startsWith": "a/"]]) == [2])
    #expect(try await codes(["authorName": ["contains": "b"]]) == [1, 2, 3])
    #expect(try await codes(["authorName": ["pattern": ["like": "a_b"]]]) == [1, 2])
    #expect(try await codes(["authorName": ["gt": "a-b"]]) == [2, 3])
    #expect(try await codes(["authorName": ["le": "a-b"]]) == [1])
    #expect(try await codes(["_not": ["authorName": ["gt": "a-b"]]]) == [1, 4])
  }

  // MARK: Results

  @Test func `the fields of a result have the order of the query`() async throws {
    let found = try await connector.query("Mixed")
    #expect(found.fields?.names == ["groups", "books"])
  }

  @Test func `a value that occurs twice is the failure of its field`() async throws {
    try await add(["code": 1, "title": "a"])
    let response = try await connector.dataConnect.service().mutate(
      "Add", ["data": ["code": 2, "title": "a"]], nil)
    #expect(response.errors.map(\.path) == [[.field("book_insert")]])
  }

  // MARK: Groups

  @Test func `orders and conditions have aggregates that are not selected`() async throws {
    for name in ["a", "b"] { try await connector.mutate("AddAuthor", ["name": .string(name)]) }
    try await add(
      ["code": 1, "authorName": "a", "pages": 3], ["code": 2, "authorName": "b", "pages": 5],
      ["code": 3, "pages": 1])
    let found = try await connector.query("ByAggregates", ["least": 2])
    #expect(found["books"] == [["authorName": "b"], ["authorName": "a"]])
  }

  @Test func `values of groups have the types of their columns`() async throws {
    let extra: DataValue = ["a": 1, "b": [1, [2]]]
    try await add(["code": 1, "price": 2.0, "cover": [1.0, 0.5], "extra": extra])
    let found = try await connector.query("Extremes")
    #expect(
      found["books"] == [
        [
          "price_min": 2.0, "price_max": 2.0, "authorName": nil, "extra": extra,
          "cover": [1.0, 0.5], "day_max": nil,
        ]
      ])
  }

  @Test func `the group of no rows meets the conditions of groups, or is left out`() async throws {
    #expect(
      try await connector.query("OfNone", ["least": 0])["books"] == [
        ["_count": 0, "pages_max": nil]
      ])
    #expect(try await connector.query("OfNone", ["least": 1])["books"] == [])
  }

  @Test func `a sum of no values is compared as null, and a time as a time`() async throws {
    try await add(
      ["code": 1, "pages": 3, "day": "2024-01-01T00:00:00Z"], ["code": 2], ["code": 3, "pages": 9])
    let cheap = try await connector.query("CheapGroups", ["most": 5])
    #expect(cheap["books"] == [["code": 1, "pages_sum": 3]])
    let found = try await connector.query("GroupsOfDay", ["day": "2024-01-01T01:00:00+01:00"])
    #expect(found["books"] == [["code": 1]])
  }

  @Test func `a page of groups is not of a negative number`() async throws {
    for variables: DataObject in [["limit": -1], ["offset": -1], ["limit": 0, "offset": -1]] {
      let text = await message { _ = try await connector.query("Page", variables) }
      #expect(text.contains("not negative"), "\(text)")
    }
  }

  // MARK: Mutations

  @Test func `columns of a reference become null with it`() async throws {
    try await connector.mutate("AddShelf", ["number": 7])
    try await connector.mutate("AddPlace", ["code": "x", "number": 1])
    try await add(["code": 1, "shelfNumber": 7, "placeCode": "x", "placeNumber": 1])
    try await connector.mutate("DeleteShelf", ["number": 7])
    #expect(
      try await connector.query("Get", ["code": 1])["book"] == [
        "shelfNumber": nil, "placeCode": "x", "placeNumber": 1,
      ])
    try await connector.mutate("DeletePlaces")
    #expect(
      try await connector.query("Get", ["code": 1])["book"] == [
        "shelfNumber": nil, "placeCode": nil, "placeNumber": nil,
      ])
    #expect(
      try await codes(["shelfNumber": ["isNull": true], "placeCode": ["isNull": true]]) == [1])
  }

  @Test func `one of the columns of a reference changes alone`() async throws {
    for number in 1...2 {
      try await connector.mutate("AddPlace", ["code": "x", "number": .int(Int64(number))])
    }
    try await add(["code": 1, "placeCode": "x", "placeNumber": 1])
    try await connector.mutate("Update", ["code": 1, "data": ["placeNumber": 2]])
    #expect(try await codes(["place": ["number": ["eq": 2]]]) == [1])
    let missing = await message {
      try await connector.mutate("Update", ["code": 1, "data": ["placeNumber": 3]])
    }
    #expect(missing.contains("does not exist"), "\(missing)")
  }

  @Test func `an upsert without a key that has a default is of the default's row`() async throws {
    for pages in 1...2 {
      #expect(
        try await connector.mutate("Upsert", ["data": ["pages": .int(Int64(pages))]]) == [
          "book_upsert": ["code": 1]
        ])
    }
    #expect(try await codes(["pages": ["eq": 2]]) == [1])
  }

  @Test func `a key is not increased`() async throws {
    try await add(["code": 1])
    let text = await message { try await connector.mutate("Renumber", ["code": 1]) }
    #expect(text.contains("part of the key"), "\(text)")
    #expect(try await codes([:]) == [1])
  }

  @Test func `values are checked also if there is no row to update`() async throws {
    let variables: DataObject = ["pages": 1, "cover": [1.0]]
    let text = await message { try await connector.mutate("UpdateFirst", variables) }
    #expect(text.contains("must have 2 numbers"), "\(text)")
  }

  @Test func `a later field of a transaction sees the rows that a deletion has left`()
    async throws
  {
    try await connector.mutate("AddShelf", ["number": 7])
    try await connector.mutate("AddPlace", ["code": "x", "number": 1])
    try await add(
      ["code": 1, "shelfNumber": 7, "placeCode": "x", "placeNumber": 1], ["code": 2])
    try await connector.mutate("AddNote")
    #expect(
      try await connector.mutate("MoveNote") == [
        "note_update": ["id": "old"], "book_delete": ["code": 2], "gone": nil,
      ])
    // A row that comes again is another one.
    try await connector.mutate("RenewShelfAndPlace")
    #expect(
      try await connector.query("Get", ["code": 1])["book"] == [
        "shelfNumber": nil, "placeCode": nil, "placeNumber": nil,
      ])
  }

  @Test func `rows of a transaction that refer to a row that it deletes go with it`() async throws {
    try await add(["code": 1], ["code": 2])
    try await connector.mutate("AddNote")
    try await connector.mutate("AddNotesOfGoneBook")
    #expect(try await connector.query("Notes")["notes"] == [])
  }

  @Test func `a date or time beyond the years 1 to 9999 is refused, and one before 1970 is not`()
    async throws
  {
    let connector = try TestConnector(
      schema: "type Event @table(key: \"id\") { id: Int!  day: Date  time: Timestamp }",
      operations: """
        mutation Add { event_insert(data: {id: 1, day: "2026-03-01", time: "2026-03-01T00:00:00Z"}) }
        mutation Later($years: Int!) { event_update(key: {id: 1}, data: {day_update: {inc: {years: $years}}}) }
        mutation Earlier($years: Int!) { event_update(key: {id: 1}, data: {day_update: {dec: {years: $years}}}) }
        mutation LaterTime($years: Int!) { event_update(key: {id: 1}, data: {time_update: {inc: {years: $years}}}) }
        query Get { event(key: {id: 1}) { day } }
        """)
    try await connector.mutate("Add")
    for (name, years) in [("Later", 8000), ("Earlier", 3000), ("LaterTime", 8000)] {
      await #expect(throws: DataConnectOperationError.self, "\(name)") {
        try await connector.mutate(name, ["years": .int(Int64(years))])
      }
      #expect(try await connector.query("Get") == ["event": ["day": "2026-03-01"]])
    }
    try await connector.mutate("Earlier", ["years": 100])
    #expect(try await connector.query("Get") == ["event": ["day": "1926-03-01"]])
    try await connector.mutate("Later", ["years": 8073])
    #expect(try await connector.query("Get") == ["event": ["day": "9999-03-01"]])
  }
}
