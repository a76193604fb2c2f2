import Foundation
import Hearth
import HearthTesting
import Testing

@testable import FirebaseDataConnect

/// `@check`, `@redact` and `response`: permissions that are rows.
@Suite struct CheckTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        type Permission @table(key: "user") { user: String!  role: String! }
        type Todo @table { text: String!  list: TodoList }
        type TodoList @table { name: String! }
        """,
      operations: """
        mutation Grant($user: String!, $role: String!) {
          permission_upsert(data: {user: $user, role: $role})
        }
        mutation Add($text: String!) @transaction {
          query @redact {
            permission(key: {user_expr: "auth.uid"}) {
              role @check(expr: "this == 'admin'", message: "Only an admin adds.")
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddOptionally($text: String!) @transaction {
          query @redact {
            permission(key: {user_expr: "auth.uid"}) {
              role @check(expr: "this == 'admin'", message: "Only an admin adds.", optional: true)
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddIfFound($text: String!) {
          query {
            permission(key: {user_expr: "auth.uid"}) @check(expr: "this != null", message: "Nobody.") {
              role
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddToList($name: String!, $text: String!) @transaction {
          todoList_insert(data: {name: $name})
          todo_insert(data: {text: $text, listId_expr: "response.todoList_insert.id"})
        }
        mutation AddBoth($text: String!)
          @check(expr: "this.one.id != this.two.id && auth.uid == 'ada'", message: "Ada adds.") {
          one: todo_insert(data: {text: $text})
          two: todo_insert(data: {text: $text})
        }
        mutation AddOne($text: String!) @check(expr: "auth.uid == 'ada'", message: "Ada adds.") {
          todo_insert(data: {text: $text})
        }
        query Secret { todos { text } permissions @redact { role } }
        query Checked @check(expr: "this.todos.size() > 0", message: "Nothing to do.") {
          todos { text @check(expr: "this.startsWith('a')", message: "Not an a.", optional: true) }
        }
        query ListNames { todos { text list { name } } }
        """)
  }

  private func count() async throws -> Int {
    try await connector.firestore.collection("todo").getDocuments().count
  }

  @Test(arguments: ["AddBoth", "AddOne"])
  func `a check of a mutation decides before anything is committed`(name: String) async throws {
    for user in [nil, DataConnectAuth(uid: "bob")] {
      let denied = await message { try await connector.mutate(name, ["text": "x"], auth: user) }
      #expect(denied.contains("Ada adds."), "\(denied)")
      #expect(try await count() == 0)
    }
    try await connector.mutate(name, ["text": "x"], auth: DataConnectAuth(uid: "ada"))
    #expect(try await count() == (name == "AddBoth" ? 2 : 1))
  }

  @Test func `a check of a row that is not there fails, unless it is optional`() async throws {
    let ada = DataConnectAuth(uid: "ada")
    let missing = await message {
      try await connector.mutate("Add", ["text": "x"], auth: ada)
    }
    #expect(missing.contains("Only an admin adds."), "\(missing)")
    #expect(try await count() == 0)
    try await connector.mutate("AddOptionally", ["text": "x"], auth: ada)
    #expect(try await count() == 1)
    try await connector.mutate("Grant", ["user": "ada", "role": "reader"])
    for operation in ["Add", "AddOptionally"] {
      let denied = await message {
        try await connector.mutate(operation, ["text": "x"], auth: ada)
      }
      #expect(denied.contains("Only an admin adds."), "\(denied)")
    }
    try await connector.mutate("Grant", ["user": "ada", "role": "admin"])
    let added = try await connector.mutate("Add", ["text": "x"], auth: ada)
    #expect(added.fields?.names == ["todo_insert"])
    #expect(try await count() == 2)
  }

  @Test func `a failed check ends a mutation: later fields are not executed`() async throws {
    let response = try await connector.dataConnect.service()
      .mutate("AddIfFound", ["text": "x"], DataConnectAuth(uid: "ada"))
    #expect(response.fields["todo_insert"] == .null)
    #expect(response.errors.map(\.message) == ["Nobody.", "(aborted)"])
    #expect(try await count() == 0)
  }

  @Test func `later fields read the responses of earlier ones`() async throws {
    try await connector.mutate("AddToList", ["name": "home", "text": "a"])
    #expect(
      try await connector.query("ListNames") == [
        "todos": [["text": "a", "list": ["name": "home"]]]
      ])
  }

  @Test func `a redacted field is not in the result, and checks are of the whole`() async throws {
    let empty = await message { _ = try await connector.query("Checked") }
    #expect(empty.contains("Nothing to do."), "\(empty)")
    try await connector.mutate("AddToList", ["name": "home", "text": "abc"])
    #expect(try await connector.query("Secret") == ["todos": [["text": "abc"]]])
    #expect(try await connector.query("Checked") == ["todos": [["text": "abc"]]])
    try await connector.mutate("AddToList", ["name": "home", "text": "xyz"])
    #expect(
      await message { _ = try await connector.query("Checked") }.contains("Not an a."))
  }

  @Test func `a reference keeps its database, also when a signal refreshes it`() async throws {
    let other = try TemporaryDatabase()
    let shared = DataConnect.dataConnect(
      connectorConfig: ConnectorConfig(
        serviceId: "check", location: "local", connector: "\(UUID())"),
      compiled: String(
        decoding: try JSONEncoder().encode(connector.connector), as: UTF8.self))
    func names(_ firestore: Firestore) async throws -> QueryRefObservation<
      DataValue, [String: DataValue]
    > {
      try await DataConnect.withFirestore(firestore) {
        let reference = shared.query(
          name: "ListNames", variables: [String: DataValue](), resultsDataType: DataValue.self)
        try await shared.mutation(
          name: "AddToList",
          variables: ["name": DataValue.string("l"), "text": .string(firestore.path)],
          resultsDataType: DataValue.self
        ).execute()
        return reference
      }
    }
    let one = try await names(connector.firestore)
    let two = try await names(other.firestore)
    #expect(one !== two)
    for (reference, firestore) in [(one, connector.firestore), (two, other.firestore)] {
      let todos = try await reference.execute().data["todos"]?.elements
      #expect(todos?.compactMap { $0["text"] } == [.string(firestore.path)])
    }
  }
}
