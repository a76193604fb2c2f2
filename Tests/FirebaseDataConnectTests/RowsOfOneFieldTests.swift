import Foundation
import HearthTesting
import Testing

@testable import FirebaseDataConnect

/// A root field is a statement, as in PostgreSQL: its references are checked at its end.
@Suite struct RowsOfOneFieldTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        type Person @table(key: "name") { name: String!  born: Int  boss: Person }
        type Friendship @table(key: ["person", "friend"]) { person: Person!  friend: Person! }
        """,
      operations: """
        mutation Add($data: Person_Data!) { person_insert(data: $data) }
        mutation Upsert($data: Person_Data!) { person_upsert(data: $data) }
        mutation AddMany($data: [Person_Data!]!) { person_insertMany(data: $data) }
        mutation UpsertMany($data: [Person_Data!]!) { person_upsertMany(data: $data) }
        mutation AddAndShow {
          person_insertMany(data: [{name: "b", bossName: "a"}, {name: "a", born: 1815}]) {
            name boss { name born }
          }
        }
        mutation AddWithOthers($friend: String!) {
          person_insertMany(data: [
            {name: "a"}
            {name: "b", friendships_on_person: [{friendName: "c"}, {friendName: $friend}]}
            {name: "c", people_on_boss: [{name: "d"}]}
          ])
        }
        mutation AddDeep {
          person_insert(data: {
            name: "a"
            people_on_boss: [{name: "b"}, {name: "c", people_on_boss: [{name: "d"}, {name: "b"}]}]
          })
        }
        mutation AddTwo @transaction {
          first: person_insert(data: {name: "first", bossName: "second"})
          second: person_insert(data: {name: "second"})
        }
        mutation Move($name: String!, $boss: String) {
          person_update(key: {name: $name}, data: {bossName: $boss})
        }
        mutation MoveAll($boss: String) { person_updateMany(all: true, data: {bossName: $boss}) }
        query All { people(orderBy: [{name: ASC}]) { name boss { name } } }
        query Friends { friendships(orderBy: [{personName: ASC}]) { personName friendName } }
        """)
  }

  private func people() async throws -> [DataValue] {
    try await connector.query("All")["people"]?.elements ?? []
  }

  /// The paths of the errors, as one text, and their messages.
  private func failure(
    _ name: String, _ variables: DataObject = [:]
  ) async throws -> (path: String, message: String) {
    let response = try await connector.dataConnect.service().mutate(name, variables, nil)
    let error = try #require(response.errors.first)
    return (error.path?.map(\.description).joined(separator: ".") ?? "-", error.message)
  }

  private static let refersToNothing = "Person.boss refers to a row of Person that does not exist."

  @Test(arguments: ["AddMany", "UpsertMany"])
  func `rows of one field refer to each other in any order`(name: String) async throws {
    let result = try await connector.mutate(
      name,
      [
        "data": [
          ["name": "c", "bossName": "a"], ["name": "b", "bossName": "c"],
          ["name": "a", "bossName": "b"],
        ]
      ])
    #expect(result.fields?.values == [[["name": "c"], ["name": "b"], ["name": "a"]]])
    #expect(
      try await people() == [
        ["name": "a", "boss": ["name": "b"]], ["name": "b", "boss": ["name": "c"]],
        ["name": "c", "boss": ["name": "a"]],
      ])
  }

  @Test(arguments: ["Add", "Upsert"])
  func `a row refers to itself`(name: String) async throws {
    try await connector.mutate(name, ["data": ["name": "own", "bossName": "own"]])
    #expect(try await people() == [["name": "own", "boss": ["name": "own"]]])
  }

  @Test func `a result has the rows that are written after it`() async throws {
    let result = try await connector.mutate("AddAndShow")
    #expect(
      result["person_insertMany"] == [
        ["name": "b", "boss": ["name": "a", "born": 1815]], ["name": "a", "boss": .null],
      ])
  }

  @Test func `nested rows refer to rows that are written later`() async throws {
    try await connector.mutate("AddWithOthers", ["friend": "b"])
    let friends = try await connector.query("Friends")["friendships"]?.elements
    #expect(
      friends?.count == 2
        && friends?.contains(["personName": "b", "friendName": "c"]) == true)
    #expect(try await people().last == ["name": "d", "boss": ["name": "c"]])
  }

  @Test func `a reference to nothing is refused with its place, and nothing is written`()
    async throws
  {
    for name in ["AddMany", "UpsertMany"] {
      let many = try await failure(
        name,
        ["data": [["name": "a"], ["name": "b", "bossName": "none"], ["name": "c"]]])
      #expect(many.path == (name == "AddMany" ? "person_insertMany.1" : "person_upsertMany.1"))
      #expect(many.message == Self.refersToNothing)
    }
    let one = try await failure("Add", ["data": ["name": "a", "bossName": "none"]])
    #expect(one.path == "person_insert" && one.message == Self.refersToNothing)
    #expect(try await people().isEmpty)
  }

  @Test func `the place of a nested row has the name of its list`() async throws {
    let unknown = try await failure("AddWithOthers", ["friend": "none"])
    #expect(unknown.path == "person_insertMany.1.friendships_on_person.1")
    #expect(
      unknown.message == "Friendship.friend refers to a row of Person that does not exist.")
    let taken = try await failure("AddDeep")
    #expect(taken.path == "person_insert.people_on_boss.1.people_on_boss.1")
    #expect(taken.message == "There is already a row of Person with this key (name).")
    #expect(try await people().isEmpty)
  }

  @Test func `fields of a transaction are statements of their own`() async throws {
    let first = try await failure("AddTwo")
    #expect(first.path == "first" && first.message == Self.refersToNothing)
    #expect(try await people().isEmpty)
  }

  @Test func `an update refers to rows that exist`() async throws {
    try await connector.mutate("AddMany", ["data": [["name": "a"], ["name": "b"]]])
    try await connector.mutate("Move", ["name": "a", "boss": "a"])
    try await connector.mutate("MoveAll", ["boss": "b"])
    for (name, variables) in [
      ("Move", ["name": "a", "boss": "none"]), ("MoveAll", ["boss": "none"]),
    ] as [(String, DataObject)] {
      #expect(try await failure(name, variables).message == Self.refersToNothing)
    }
    #expect(
      try await people() == [
        ["name": "a", "boss": ["name": "b"]], ["name": "b", "boss": ["name": "b"]],
      ])
  }
}
