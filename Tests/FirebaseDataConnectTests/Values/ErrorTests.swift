import Foundation
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// The errors of the module, thrown and delivered.
@Suite struct ErrorTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        type Film @table(key: "name") { name: String!  ratio: Ratio }
        enum Ratio { WIDE ACADEMY }
        """,
      operations: """
        mutation Save($name: String!, $ratio: Ratio) { film_upsert(data: {name: $name, ratio: $ratio}) }
        query Get($name: String!) { film(key: {name: $name}) { name ratio } }
        query Secret @auth(level: NO_ACCESS) { films { name } }
        """)
  }

  private func instance(_ compiled: String) -> DataConnect {
    DataConnect(
      connectorConfig: ConnectorConfig(serviceId: "s", location: "l", connector: "c"),
      compiled: compiled, firestore: connector.firestore)
  }

  @Test func `every error can be caught as one of Data Connect`() async throws {
    var caught: [any DataConnectError] = []
    func run(_ body: () async throws -> Void) async throws {
      do {
        try await body()
        Issue.record("There is no error.")
      } catch let error as any DataConnectError {
        #expect(!error.message.isEmpty && error.debugDescription.hasPrefix(error.message))
        caught.append(error)
      }
    }
    try await run { _ = try LocalDate(year: 2024, month: 13, day: 1) }
    try await run { _ = try await connector.query("Secret") }
    try await run { _ = try await connector.reference("Missing").execute() }
    try await run { _ = try await connector.reference("Get").execute() }
    try await run { _ = try await connector.reference("Missing").subscribe() }
    try await run {
      let query = instance("{").query(
        name: "Get", variables: ["name": "x"], resultsDataType: DataValue.self)
      try await query.execute()
    }
    try await run {
      let query = connector.dataConnect.query(
        name: "Get", variables: ["name": "x"], resultsDataType: [Int].self)
      try await query.execute()
    }
    try await run {
      let query = connector.dataConnect.query(
        name: "Get", variables: ["name": UInt64.max], resultsDataType: DataValue.self)
      try await query.execute()
    }
    let codes = caught.compactMap { ($0 as? DataConnectCodecError)?.code }
    #expect(codes == [.invalidLocalDateFormat, .decodingFailed, .encodingFailed])
    #expect(caught.count { $0 is DataConnectOperationError } == 4)
    #expect(caught.count { $0 is DataConnectInitError } == 1)
  }

  @Test func `an error that a subscription delivers has its code`() async throws {
    let reference = connector.dataConnect.query(
      name: "Get", variables: ["name": "x"], resultsDataType: [Int].self)
    var results = try await reference.subscribe().makeAsyncIterator()
    guard case .failure(let error)? = await results.next() else {
      Issue.record("There is no error.")
      return
    }
    #expect((error.dataConnectError as? DataConnectCodecError)?.code == .decodingFailed)
    #expect(
      (reference.lastError?.dataConnectError as? DataConnectCodecError)?.code == .decodingFailed)
    #expect(error.description == error.dataConnectError.message)
    // It does not end the subscription.
    try await connector.mutate("Save", ["name": "x"])
    guard case .failure? = await results.next() else {
      Issue.record("There is no second error.")
      return
    }
  }

  @Test(.timeLimit(patience))
  func `a loop over a subscription ends with its task`() async throws {
    let reference = connector.reference("Get", ["name": "x"])
    let subscription = try await reference.subscribe()
    let (first, continuation) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      var count = 0
      for await result in subscription {
        if case .success = result { count += 1 }
        continuation.yield()
      }
      return count
    }
    for await _ in first { break }
    task.cancel()
    #expect(await task.value == 1)
  }

  @Test func `only an operation of the connector is executed, by its name`() async throws {
    for name in ["Missing", "get", "", "Save", "query { films { name } }"] {
      let text = await message { _ = try await connector.query(name) }
      #expect(text == "The connector movies has no query \(name).")
    }
    #expect(
      await message { try await connector.mutate("Get", ["name": "x"]) }
        == "The connector movies has no mutation Get.")
  }

  @Test func `a connector that is damaged, or of a newer version, is an error of initialisation`()
    async throws
  {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let compiled = String(decoding: try encoder.encode(connector.connector), as: UTF8.self)
    #expect(compiled.contains("\"version\":1"))
    for text in [
      "", "{}", "[]", String(compiled.dropLast()),
      compiled.replacing("\"version\":1", with: "\"version\":2"),
    ] {
      let error = #expect(throws: DataConnectInitError.self) { try instance(text).service() }
      #expect(error?.code == .invalidConnector, "\(text.prefix(20))")
    }
    _ = try instance(compiled).service()
  }

  @Test func `a variable with an unknown value of an enum is refused`() async throws {
    let text = await message {
      try await connector.mutate("Save", ["name": "x", "ratio": "FULLSCREEN"])
    }
    #expect(text.contains("$ratio must be one of WIDE, ACADEMY"), "\(text)")
    #expect(try await connector.query("Get", ["name": "x"]) == ["film": nil])
    try await connector.mutate("Save", ["name": "x", "ratio": "WIDE"])
    #expect(try await connector.query("Get", ["name": "x"])["film"]?["ratio"] == "WIDE")
  }
}
