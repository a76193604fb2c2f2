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
        type Note @table { text: String @searchable  place: Vector @col(size: 2) }
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
        mutation DeleteByRole($id: UUID!, $log: Boolean!) @transaction {
          query @redact {
            permission(key: {user_expr: "auth.uid"}) @include(if: $log) {
              role @check(expr: "this == 'admin'", message: "Only an admin deletes.")
            }
          }
          todo_delete(id: $id)
        }
        mutation DeleteByRoleOneByOne($id: UUID!, $log: Boolean!) {
          query @include(if: $log) {
            permission(key: {user_expr: "auth.uid"}) {
              role @check(expr: "this == 'admin'", message: "Only an admin deletes.")
            }
          }
          todo_delete(id: $id)
        }
        mutation DeleteByColumn($id: UUID!, $log: Boolean!) @transaction {
          query @redact {
            permission(key: {user_expr: "auth.uid"}) {
              user
              role @include(if: $log)
                @check(expr: "this == 'admin'", message: "Only an admin deletes.")
            }
          }
          todo_delete(id: $id)
        }
        mutation DeleteByGroup($id: UUID!, $log: Boolean!) @transaction {
          query @redact {
            permissions(where: {user: {eq_expr: "auth.uid"}, role: {eq: "admin"}}) {
              user
              _count @include(if: $log)
                @check(expr: "this == 1", message: "Only an admin deletes.")
            }
          }
          todo_delete(id: $id)
        }
        mutation DeleteByResult($id: UUID!, $log: Boolean!) @transaction {
          todo_delete(id: $id) {
            id
            text @include(if: $log)
              @check(expr: "auth.uid == 'ada'", message: "Only an admin deletes.")
          }
        }
        mutation DeleteOptionally($id: UUID!, $log: Boolean!) @transaction {
          query @redact {
            permission(key: {user_expr: "auth.uid"}) @include(if: $log) {
              role @check(expr: "this == 'admin'", message: "Only an admin deletes.", optional: true)
            }
            permissions {
              role @skip(if: true) @check(expr: "false", optional: true)
              _count @skip(if: true) @check(expr: "false", optional: true)
              user
            }
          }
          todo_delete(id: $id)
        }
        query Secret { todos { text } permissions @redact { role } }
        query Checked @check(expr: "this.todos.size() > 0", message: "Nothing to do.") {
          todos { text @check(expr: "this.startsWith('a')", message: "Not an a.", optional: true) }
        }
        query ListNames { todos { text list { name } } }
        mutation AddAsDistinct($text: String!) @transaction {
          query @redact {
            permissions(where: {user: {eq_expr: "auth.uid"}}, distinct: true) {
              role @check(expr: "this == 'admin'", message: "Only an admin adds.")
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddAsGroup($text: String!, $limit: Int) @transaction {
          query @redact {
            permissions(where: {user: {eq_expr: "auth.uid"}}, limit: $limit) {
              role _count @check(expr: "this == 1", message: "Only an admin adds.")
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddAsGroupOptionally($text: String!) @transaction {
          query @redact {
            permissions(where: {user: {eq_expr: "auth.uid"}}) {
              role @check(expr: "this == 'admin'", message: "Only an admin adds.", optional: true)
              _count
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddAsDistinctOptionally($text: String!) @transaction {
          query @redact {
            permissions(where: {user: {eq_expr: "auth.uid"}}, distinct: true) {
              role @check(expr: "this == 'admin'", message: "Only an admin adds.", optional: true)
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddToListQuietly($name: String!, $text: String!) {
          query @redact { permissions { role } }
          todoList_insert(data: {name: $name}) @redact
          todo_insert(data: {text: $text, listId_expr: "response.todoList_insert.id"})
        }
        mutation AddIfListed($text: String!, $limit: Int) @transaction {
          query @redact {
            todoLists {
              name
              todos_on_list(limit: $limit) {
                text @check(expr: "this == 'key'", message: "Only an admin adds.")
              }
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddIfGrouped($text: String!) @transaction {
          query @redact {
            todoLists {
              todos_on_list(where: {text: {eq: "key"}}) {
                text _count @check(expr: "this == 1", message: "Only an admin adds.")
              }
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddIfFoundByWords($text: String!, $words: String!, $limit: Int) @transaction {
          query @redact {
            notes_search(query: $words, limit: $limit, orderBy: [{text: ASC}]) {
              text @check(expr: "this == 'key'", message: "Only an admin adds.")
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddIfRelevant($text: String!, $words: String!, $limit: Int) @transaction {
          query @redact {
            notes_search(query: $words, limit: $limit) {
              text @check(expr: "this == 'key'", message: "Only an admin adds.")
              _metadata { relevance }
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddIfBest($text: String!, $words: String!, $limit: Int) @transaction {
          query @redact {
            notes_search(query: $words, limit: $limit) {
              text @check(expr: "this == 'key'", message: "Only an admin adds.")
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddIfNear($text: String!, $limit: Int) @transaction {
          query @redact {
            notes_place_similarity(compare: [0, 0], limit: $limit) {
              text @check(expr: "this == 'key'", message: "Only an admin adds.")
            }
          }
          todo_insert(data: {text: $text})
        }
        mutation AddIfUpdated($text: String!) @transaction {
          permission_update(key: {user_expr: "auth.uid"}, data: {role: "admin"}) {
            role @check(expr: "this == 'admin'", message: "Only an admin adds.")
          }
          todo_insert(data: {text: $text})
        }
        mutation AddIfDeleted($text: String!) @transaction {
          permission_delete(key: {user_expr: "auth.uid"}) {
            role @check(expr: "this == 'admin'", message: "Only an admin adds.")
          }
          todo_insert(data: {text: $text})
        }
        mutation AddMany($todos: [Todo_Data!]!) @transaction {
          todo_insertMany(data: $todos) {
            text @check(expr: "this == 'key'", message: "Only an admin adds.")
          }
          todo_insert(data: {text: "x"})
        }
        mutation AddByRole($text: String!) @transaction {
          query {
            permission(key: {user_expr: "auth.uid"})
              @check(expr: "this != null && this.role == 'admin'", message: "Only an admin adds.") {
              user role @redact
            }
            permissions { role @redact }
          }
          todo_insert(data: {text_expr: "vars.text + response.query.permission.role"})
        }
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

  @Test(arguments: ["AddAsGroupOptionally", "AddAsDistinctOptionally"])
  func `an optional check passes where no row forms a group`(name: String) async throws {
    let ada = DataConnectAuth(uid: "ada")
    try await connector.mutate("Grant", ["user": "bob", "role": "reader"])
    try await connector.mutate(name, ["text": "x"], auth: ada)
    #expect(try await count() == 1)
    try await connector.mutate("Grant", ["user": "ada", "role": "reader"])
    let denied = await message { try await connector.mutate(name, ["text": "x"], auth: ada) }
    #expect(denied.contains("Only an admin adds."), "\(denied)")
    #expect(try await count() == 1)
    try await connector.mutate("Grant", ["user": "ada", "role": "admin"])
    try await connector.mutate(name, ["text": "x"], auth: ada)
    #expect(try await count() == 2)
  }

  @Test func `a check that nothing reaches fails, whatever the form of the field`() async throws {
    try await connector.mutate("AddToList", ["name": "home", "text": "key"])
    _ = try await connector.firestore.collection("note").addDocument(data: [
      "text": "key", "place": VectorValue([0, 0]),
    ])
    let count = try await count()
    let cases: [(name: String, variables: DataObject)] = [
      ("AddAsDistinct", [:]), ("AddAsGroup", [:]), ("AddAsGroup", ["limit": 0]),
      ("AddIfListed", ["limit": 0]), ("AddIfFoundByWords", ["words": "nothing"]),
      ("AddIfFoundByWords", ["words": "key", "limit": 0]),
      ("AddIfFoundByWords", ["words": "nothing"]), ("AddIfRelevant", ["words": "nothing"]),
      ("AddIfRelevant", ["words": "key", "limit": 0]), ("AddIfBest", ["words": "nothing"]),
      ("AddIfBest", ["words": "key", "limit": 0]), ("AddIfNear", ["limit": 0]),
      ("AddIfUpdated", [:]), ("AddIfDeleted", [:]),
    ]
    let ada = DataConnectAuth(uid: "ada")
    for (name, variables) in cases {
      var variables = variables
      variables["text"] = "x"
      let denied = await message { try await connector.mutate(name, variables, auth: ada) }
      #expect(denied.contains("Only an admin adds."), "\(name) \(variables): \(denied)")
    }
    let empty = await message { try await connector.mutate("AddMany", ["todos": []]) }
    #expect(empty.contains("Only an admin adds."), "\(empty)")
    #expect(try await self.count() == count)
    // The same fields, where their checks are reached.
    let reached: [(name: String, variables: DataObject)] = [
      ("AddIfListed", [:]), ("AddIfGrouped", [:]), ("AddIfFoundByWords", ["words": "key"]),
      ("AddIfRelevant", ["words": "key"]), ("AddIfBest", ["words": "key"]), ("AddIfNear", [:]),
    ]
    for (name, variables) in reached {
      var variables = variables
      variables["text"] = "x"
      try await connector.mutate(name, variables, auth: ada)
    }
    #expect(try await self.count() == count + reached.count)
    try await connector.firestore.collection("todo").whereField("text", isEqualTo: "key")
      .getDocuments().documents[0].reference.delete()
    let grouped = await message { try await connector.mutate("AddIfGrouped", ["text": "x"]) }
    #expect(grouped.contains("Only an admin adds."), "\(grouped)")
  }

  @Test(arguments: [
    "DeleteByRole", "DeleteByRoleOneByOne", "DeleteByColumn", "DeleteByGroup", "DeleteByResult",
  ])
  func `a check of a field that directives leave out fails`(name: String) async throws {
    let ada = DataConnectAuth(uid: "ada")
    func delete(_ log: DataValue, by user: DataConnectAuth) async throws -> String {
      let todo = try await connector.firestore.collection("todo").getDocuments().documents[0]
      return await message {
        try await connector.mutate(name, ["id": .string(todo.documentID), "log": log], auth: user)
      }
    }
    try await connector.mutate("AddToList", ["name": "home", "text": "a"])
    try await connector.mutate("Grant", ["user": "ada", "role": "admin"])
    try await connector.mutate("Grant", ["user": "bob", "role": "reader"])
    for (log, uid) in [(DataValue.bool(false), "bob"), (true, "bob"), (false, "ada")] {
      let denied = try await delete(log, by: DataConnectAuth(uid: uid))
      #expect(denied.contains("Only an admin deletes."), "\(uid) \(log): \(denied)")
      #expect(try await count() == 1)
    }
    #expect(try await delete(true, by: ada) == "no error")
    #expect(try await count() == 0)
  }

  @Test func `an optional check of a field that directives leave out passes`() async throws {
    try await connector.mutate("AddToList", ["name": "home", "text": "a"])
    try await connector.mutate("Grant", ["user": "bob", "role": "reader"])
    let todo = try await connector.firestore.collection("todo").getDocuments().documents[0]
    try await connector.mutate(
      "DeleteOptionally", ["id": .string(todo.documentID), "log": false],
      auth: DataConnectAuth(uid: "bob"))
    #expect(try await count() == 0)
  }

  @Test func `checks and later fields read nested fields that are redacted, results lack them`()
    async throws
  {
    let ada = DataConnectAuth(uid: "ada")
    try await connector.mutate("Grant", ["user": "ada", "role": "reader"])
    let denied = await message { try await connector.mutate("AddByRole", ["text": "x"], auth: ada) }
    #expect(denied.contains("Only an admin adds."), "\(denied)")
    try await connector.mutate("Grant", ["user": "ada", "role": "admin"])
    let added = try await connector.mutate("AddByRole", ["text": "as "], auth: ada)
    #expect(added["query"] == ["permission": ["user": "ada"], "permissions": [[:]]])
    #expect(
      try await connector.query("ListNames") == ["todos": [["text": "as admin", "list": nil]]])
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

  @Test func `fields that a mutation commits one by one are redacted, and read by later ones`()
    async throws
  {
    let added = try await connector.mutate("AddToListQuietly", ["name": "home", "text": "a"])
    #expect(added.fields?.names == ["todo_insert"])
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
