import Foundation
import Hearth
import HearthTesting
import Testing

@testable import FirebaseDataConnect

/// Callers of operations are users of an app: no error names a row of another one.
@Suite struct RowErrorTests {
  private let connector: TestConnector
  private let server: EmulatorServer

  /// A part of the keys and values of other users' rows.
  private static let secret = "hidden"

  init() throws {
    connector = try TestConnector(
      schema: """
        type Person @table(key: "id") @unique(fields: ["name", "year"]) {
          id: String!  email: String @unique  name: String  year: Int
        }
        type Place @table(key: ["code", "number"]) { code: String!  number: Int! }
        type Card @table(key: "id") { id: String!  person: Person! @unique  place: Place }
        """,
      operations: """
        mutation Add($data: Person_Data!) @auth(level: PUBLIC) { person_insert(data: $data) }
        mutation Upsert($data: Person_Data!) @auth(level: PUBLIC) { person_upsert(data: $data) }
        mutation AddMany($data: [Person_Data!]!) @auth(level: PUBLIC) {
          person_insertMany(data: $data)
        }
        mutation Update($id: String!, $email: String) @auth(level: PUBLIC) {
          person_update(id: $id, data: {email: $email})
        }
        mutation AddTwo($email: String) @auth(level: PUBLIC) @transaction {
          one: person_insert(data: {id: "new", email: "new"})
          two: person_insert(data: {id: "newer", email: $email})
        }
        mutation AddEach($email: String) @auth(level: PUBLIC) {
          one: person_insert(data: {id: "each", email: "each"})
          two: person_insert(data: {id: "other", email: $email})
        }
        mutation AddCard($id: String!, $person: String!) @auth(level: PUBLIC) {
          card_insert(data: {id: $id, personId: $person})
        }
        mutation Place($data: Place_Data!) @auth(level: PUBLIC) { place_insert(data: $data) }
        mutation PlaceCard($id: String!, $person: String!, $code: String!, $number: Int!)
          @auth(level: PUBLIC) {
          card_insert(data: {id: $id, personId: $person, placeCode: $code, placeNumber: $number})
        }
        mutation MoveCard($id: String!, $number: Int!) @auth(level: PUBLIC) {
          card_update(id: $id, data: {placeNumber: $number})
        }
        mutation Delete($id: String!) @auth(level: PUBLIC) { person_delete(id: $id) }
        """)
    server = try EmulatorServer(connector.firestore, host: "127.0.0.1", port: 0)
    try server.serve([connector.connector])
  }

  /// The error's message, in the process and through an emulator: the same, and without the secret.
  private func refusal(_ name: String, _ variables: [String: DataValue]) async throws -> String {
    let client = try TestConnector(connector.connector, TemporaryDatabase())
    try client.useEmulator(port: server.port)
    var messages: [String] = []
    for connector in [connector, client] {
      let error = await #expect(throws: DataConnectOperationError.self) {
        _ = try await connector.dataConnect.mutation(
          name: name, variables: variables, resultsDataType: DataValue.self
        ).execute()
      }
      guard let error else { return "" }
      let texts = [
        error.message, error.description, error.debugDescription, String(reflecting: error),
        error.response?.rawJsonData ?? "", "\(error.response?.errors ?? [])",
        error.underlyingError.map { "\($0) \(($0 as NSError).userInfo)" } ?? "",
      ]
      for text in texts { #expect(!text.contains(Self.secret), "\(text)") }
      messages.append(error.message)
    }
    #expect(Set(messages).count == 1)
    return messages.first ?? ""
  }

  private func addHidden() async throws {
    try await connector.mutate(
      "Add",
      [
        "data": [
          "id": .string(Self.secret + "-1"), "email": "taken", "name": "Ada", "year": 1815,
        ]
      ])
  }

  @Test func `a violated unique index names its table and fields alone`() async throws {
    defer { server.stop() }
    try await addHidden()
    try await connector.mutate("Add", ["data": ["id": "own"]])
    let taken = "Person.email must be unique: another row has this value."
    let data: DataValue = ["id": "a", "email": "taken"]
    for (name, variables, path) in [
      ("Add", ["data": data], "person_insert: "), ("Upsert", ["data": data], "person_upsert: "),
      ("AddMany", ["data": [["id": "b"], data]], "person_insertMany: "),
      ("Update", ["id": "own", "email": "taken"], "person_update: "),
      ("AddTwo", ["email": "taken"], ""),
    ] as [(String, [String: DataValue], String)] {
      #expect(try await refusal(name, variables) == path + taken)
    }
    let both = try await refusal("Add", ["data": ["id": "c", "name": "Ada", "year": 1815]])
    #expect(
      both == "person_insert: Person.name and Person.year must be unique together: another row has "
        + "these values.")
    try await connector.mutate("AddCard", ["id": .string(Self.secret), "person": "own"])
    #expect(
      try await refusal("AddCard", ["id": "mine", "person": "own"])
        == "card_insert: Card.person must be unique: another row has this value.")
  }

  @Test func `the error of a unique index has its code and its constraint`() async throws {
    defer { server.stop() }
    try await addHidden()
    let inserts: [(String, [String: DataValue])] = [
      ("Add", ["data": ["id": "a", "email": "taken"]]), ("AddEach", ["email": "taken"]),
    ]
    for (name, variables) in inserts {
      let error = await #expect(throws: DataConnectOperationError.self) {
        _ = try await connector.dataConnect.mutation(
          name: name, variables: variables,
          resultsDataType: DataValue.self
        ).execute()
      }
      let cause = try #require(error?.underlyingError as? FirestoreErrorCode)
      #expect(cause.code == .alreadyExists)
      #expect(cause.constraint == .init(collectionID: "person", fields: ["email"]))
    }
  }

  @Test func `a deletion that a rule refuses names the table and the field alone`() async throws {
    defer { server.stop() }
    try await addHidden()
    try await connector.firestore.references.declare(
      FirestoreReferenceRule("note", field: "about", to: "person", onDelete: .restrict))
    let person = connector.firestore.document("person/\(Self.secret)-1")
    try await connector.firestore.document("note/\(Self.secret)-note").setData(["about": person])
    let client = try TestConnector(connector.connector, TemporaryDatabase())
    try client.useEmulator(port: server.port)
    for connector in [connector, client] {
      let error = await #expect(throws: DataConnectOperationError.self) {
        _ = try await connector.dataConnect.mutation(
          name: "Delete", variables: ["id": Self.secret + "-1"], resultsDataType: DataValue.self
        ).execute()
      }
      #expect(
        error?.message
          == "person_delete: A row cannot be deleted: a row of note refers to it in note.about.")
      #expect(error?.debugDescription.contains("\(Self.secret)") == false)
      #expect(error?.underlyingError.map { FirestoreErrorCode.failedPrecondition ~= $0 } == true)
    }
  }

  @Test func `a reference to a missing document names the table and the field alone`() throws {
    let plan = try connector.dataConnect.service().plan
    let error = FirestoreErrorCode(
      .failedPrecondition,
      userInfo: [
        NSLocalizedDescriptionKey: "card/a cannot be written: it refers to person/hidden …",
        FirestoreRefusalKey: "danglingReference",
        FirestoreConstraintKey: FirestoreErrorCode.Constraint(
          collectionID: "card", fields: ["person"]),
      ])
    let failure = OperationFailure(error as NSError, in: plan)
    #expect(failure.message == "Card.person refers to a row that does not exist.")
    #expect((failure.cause as? FirestoreErrorCode)?.isDanglingReference == true)
  }

  @Test func `a key that exists and a row that does not are named by their fields`() async throws {
    defer { server.stop() }
    try await addHidden()
    let exists = await message {
      try await connector.mutate("Add", ["data": ["id": .string(Self.secret + "-1")]])
    }
    #expect(exists == "person_insert: There is already a row of Person with this key (id).")
    // The other column of the reference is a value of the stored row.
    try await connector.mutate("Add", ["data": ["id": "own"]])
    let code = DataValue.string(Self.secret)
    try await connector.mutate("Place", ["data": ["code": code, "number": 1]])
    try await connector.mutate(
      "PlaceCard", ["id": "card", "person": "own", "code": code, "number": 1])
    #expect(
      try await refusal("MoveCard", ["id": "card", "number": 2])
        == "card_update: Card.place refers to a row of Place that does not exist.")
  }

  @Test(arguments: [
    (FirestoreErrorCode.Code.dataLoss, "The document person/hidden-1 is damaged."),
    (.resourceExhausted, "person/hidden-1 cannot be deleted: more than 10000 documents …"),
    (.notFound, "No document to update: card/hidden"),
  ])
  func `an error of the database that names a row keeps its code and not the name`(
    code: FirestoreErrorCode.Code, text: String
  ) throws {
    let plan = try connector.dataConnect.service().plan
    let error = FirestoreErrorCode(code, userInfo: [NSLocalizedDescriptionKey: text])
    let failure = OperationFailure(error as NSError, in: plan)
    #expect(!failure.message.contains(Self.secret) && failure.message.hasSuffix("."))
    let cause = try #require(failure.cause)
    #expect(code ~= cause && !"\(cause)".contains(Self.secret))
    let wrapping = FirestoreErrorCode(
      .unknown,
      userInfo: [
        NSLocalizedDescriptionKey: "A write failed.", NSUnderlyingErrorKey: error as NSError,
      ])
    let other = OperationFailure(wrapping as NSError, in: plan)
    #expect(!other.message.contains(Self.secret))
    #expect(try !"\(#require(other.cause))".contains(Self.secret))
  }

  @Test func `an error of the database that names no row stays as it is`() throws {
    let plan = try connector.dataConnect.service().plan
    let error = FirestoreErrorCode(
      .resourceExhausted, userInfo: [NSLocalizedDescriptionKey: "The disk is full."])
    #expect(OperationFailure(error as NSError, in: plan).message == "The disk is full.")
  }
}
