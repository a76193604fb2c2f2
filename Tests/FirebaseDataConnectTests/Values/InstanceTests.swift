import Foundation
import HearthTesting
import Testing

@testable import FirebaseDataConnect

/// Instances of connectors, and references of their operations: the same for the same request.
@Suite struct InstanceTests {
  private static let config = ConnectorConfig(
    serviceId: "instances", location: "us-central1", connector: "kitchensink")

  private let dataConnect = DataConnect.dataConnect(connectorConfig: config, compiled: "{}")
  private let database: TemporaryDatabase
  /// Other tests change the database of all others meanwhile.
  private let own: DataConnect

  init() throws {
    database = try TemporaryDatabase()
    own = DataConnect(
      connectorConfig: Self.config, compiled: "{}", firestore: database.firestore)
  }

  private struct Person: OperationVariable {
    var email: String
    var handle: String
    var number: Int
  }

  private struct Thing: OperationVariable {
    var size: Double
    var name: String
    var number: Int
    var id: UUID
  }

  private let person = Person(email: "aa@g.com", handle: "aa@", number: 12345)
  private let equal = Person(email: "aa@g.com", handle: "aa@", number: 12345)
  private let other = Person(email: "bb@g.com", handle: "aa@", number: 12345)
  private let thing = Thing(size: 1.5, name: "aa", number: 7, id: UUID())

  private func query(_ name: String, _ variables: Person) -> QueryRefObservation<Int, Person> {
    own.query(name: name, variables: variables, resultsDataType: Int.self)
  }

  private func mutation(_ name: String, _ variables: Person) -> MutationRef<Int, Person> {
    own.mutation(name: name, variables: variables, resultsDataType: Int.self)
  }

  // MARK: Instances

  @Test func `a connector has one instance`() {
    #expect(
      dataConnect === DataConnect.dataConnect(connectorConfig: Self.config, compiled: "{}"))
    let settings = DataConnectSettings(cacheSettings: CacheSettings(storage: .memory))
    #expect(
      dataConnect
        === DataConnect.dataConnect(
          connectorConfig: Self.config, compiled: "{}", settings: settings))
  }

  @Test func `another connector, service, location or database has another instance`() throws {
    for path in [\ConnectorConfig.connector, \.serviceId, \.location] {
      var config = Self.config
      config[keyPath: path] = "other"
      let other = DataConnect.dataConnect(connectorConfig: config, compiled: "{}")
      #expect(other !== dataConnect)
      #expect(other === DataConnect.dataConnect(connectorConfig: config, compiled: "{}"))
    }
    let (one, two) = (
      try TestConnector(schema: MovieTests.schema, operations: MovieTests.operations),
      try TestConnector(schema: MovieTests.schema, operations: MovieTests.operations)
    )
    #expect(one.dataConnect !== two.dataConnect)
  }

  // MARK: Queries

  @Test func `a query with equal variables is the same object`() {
    let reference = query("Q", person)
    #expect(reference === query("Q", equal))
    #expect(reference == query("Q", equal) && Set([reference, query("Q", equal)]).count == 1)
    // The order of members does not matter.
    func values(_ variables: DataObject) -> QueryRefObservation<Int, DataValue> {
      own.query(
        name: "Q", variables: DataValue.object(variables), resultsDataType: Int.self)
    }
    let ordered = values(["a": 1, "b": 2])
    #expect(ordered === values(["b": 2, "a": 1]))
  }

  @Test func `a query with other variables is another object`() {
    let reference = query("Q", person)
    #expect(reference !== query("Q", other) && reference != query("Q", other))
  }

  @Test func `a query of another name is another object`() {
    let reference = query("Q", person)
    #expect(reference !== query("R", person))
  }

  @Test func `a query with variables or a result of another type is another object`() {
    let reference = query("Q", person)
    let things = own.query(name: "Q", variables: thing, resultsDataType: Int.self)
    #expect(ObjectIdentifier(reference) != ObjectIdentifier(things))
    let texts = own.query(name: "Q", variables: person, resultsDataType: String.self)
    #expect(ObjectIdentifier(reference) != ObjectIdentifier(texts))
  }

  @Test func `a query is kept only as long as somebody has it`() {
    weak var released: QueryRefObservation<Int, Person>?
    do {
      let reference = query("Kept", person)
      released = reference
      #expect(released === query("Kept", equal))
    }
    #expect(released == nil)
  }

  // MARK: Mutations

  @Test func `mutations with equal variables are equal`() {
    #expect(mutation("M", person) == mutation("M", equal))
    #expect(Set([mutation("M", person), mutation("M", equal)]).count == 1)
  }

  @Test func `mutations with other variables are not equal`() {
    #expect(mutation("M", person) != mutation("M", other))
  }

  @Test func `mutations of other names are not equal`() {
    #expect(mutation("M", person) != mutation("N", person))
  }

  @Test func `mutations with variables of other types are other objects`() {
    let things = own.mutation(name: "M", variables: thing, resultsDataType: Int.self)
    #expect(AnyHashable(mutation("M", person)) != AnyHashable(things))
  }

  // MARK: The cache, and other versions

  @Test func `references have the cache of the settings, without an emulator`() async throws {
    let connector = try TestConnector(
      schema: MovieTests.schema, operations: MovieTests.operations,
      settings: DataConnectSettings(cacheSettings: CacheSettings(storage: .memory, maxAge: 1000)))
    #expect(try connector.dataConnect.cache(connector.dataConnect.service()) != nil)
    #expect(
      try connector.dataConnect.cache(connector.dataConnect.service())
        === connector.dataConnect.cache(connector.dataConnect.service()))
    let reference = connector.reference("ListByYear")
    #expect(try await reference.execute().source == .server)
    #expect(try await reference.execute().source == .cache)
  }

  @Test func `a program and a newer one with more columns share rows`() async throws {
    let operations = """
      mutation Save($name: String!) { film_upsert(data: {name: $name}) }
      query List { films(orderBy: [{name: ASC}]) { name } }
      """
    let old = try TestConnector(
      schema: "type Film @table(key: \"name\") { name: String! }", operations: operations)
    let compiled = try TestConnector(
      schema: "type Film @table(key: \"name\") { name: String!  year: Int  tags: [String!] }",
      operations: operations + """

        mutation SaveMore($name: String!, $year: Int) { film_upsert(data: {name: $name, year: $year}) }
        query Years { films(orderBy: [{name: ASC}]) { name year tags } }
        """)
    let new = try TestConnector(compiled.connector, old.database)
    try await old.mutate("Save", ["name": "Alien"])
    try await new.mutate("SaveMore", ["name": "Brazil", "year": 1985])
    #expect(try await old.query("List") == ["films": [["name": "Alien"], ["name": "Brazil"]]])
    // The older one keeps the column that it does not know.
    try await old.mutate("Save", ["name": "Brazil"])
    #expect(
      try await new.query("Years") == [
        "films": [
          ["name": "Alien", "year": nil, "tags": nil],
          ["name": "Brazil", "year": 1985, "tags": nil],
        ]
      ])
  }
}
