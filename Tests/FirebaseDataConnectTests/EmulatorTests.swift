import DataConnectModel
import FirebaseCore
import Foundation
import Hearth
import HearthDataConnect
import HearthTesting
import Synchronization
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// Clients and the server of an emulator, in one process, over the loopback.
@Suite struct EmulatorTests {
  private static let schema = """
    type Movie @table(key: "id") {
      id: Int!
      title: String!
      rating: Float
      seen: Timestamp
      extra: Any
    }
    """

  private static let operations = """
    mutation Add($id: Int!, $title: String!, $rating: Float, $seen: Timestamp, $extra: Any) {
      movie_insert(data: {id: $id, title: $title, rating: $rating, seen: $seen, extra: $extra})
    }
    mutation Rename($id: Int!, $title: String!) { movie_update(key: {id: $id}, data: {title: $title}) }
    mutation AddTwo($id: Int!) {
      one: movie_insert(data: {id: $id, title: "one"})
      two: movie_insert(data: {id: $id, title: "two"})
    }
    query Get($id: Int!) { movie(key: {id: $id}) { id title rating seen extra } }
    query List @refresh(onMutationExecuted: { operation: "Rename" }) {
      movies(orderBy: [{id: ASC}]) { id title }
    }
    query Mine @auth(level: USER) { movies(where: {title: {eq_expr: "auth.uid"}}) { id } }
    """

  fileprivate let connector: TestConnector
  fileprivate let server: EmulatorServer

  init() throws {
    connector = try TestConnector(schema: Self.schema, operations: Self.operations)
    server = try EmulatorServer(connector.firestore, host: "127.0.0.1", port: 0)
    try server.serve([connector.connector])
  }

  /// A program with the connector, on a database of its own until it uses the emulator.
  fileprivate func client(cache: CacheSettings? = nil) throws -> TestConnector {
    let client = try TestConnector(
      connector.connector, TemporaryDatabase(), DataConnectSettings(cacheSettings: cache))
    try client.useEmulator(port: server.port)
    return client
  }

  fileprivate func mutate(
    _ client: TestConnector, _ name: String, _ variables: [String: DataValue]
  ) async throws -> DataValue {
    try await client.dataConnect.mutation(
      name: name, variables: variables, resultsDataType: DataValue.self
    ).execute().data
  }

  @Test func `an operation returns through an emulator what it returns in the process`()
    async throws
  {
    defer { server.stop() }
    let client = try client()
    let variables: [String: DataValue] = [
      "id": 1, "title": "Quote \" and\nline", "rating": 4, "seen": "2026-02-28T12:00:00.000001Z",
      "extra": ["@timestamp": [1, 2.0, nil, true], "@@a": "é", "n": .double(1)],
    ]
    #expect(try await mutate(client, "Add", variables) == ["movie_insert": ["id": 1]])
    let remote = try await client.reference("Get", ["id": 1]).execute().data
    let local = try await connector.reference("Get", ["id": 1]).execute().data
    #expect(remote == local)
    #expect(
      remote?["movie"]?["seen"] == .timestamp(Timestamp(seconds: 1_772_280_000, nanoseconds: 1000)))
  }

  @Test func `errors have their codes, paths and partial data`() async throws {
    defer { server.stop() }
    let client = try client()
    for connector in [client, connector] {
      let number = DataValue.int(connector.database.path == client.database.path ? 1 : 2)
      let error = await #expect(throws: DataConnectOperationError.self) {
        _ = try await mutate(connector, "AddTwo", ["id": number])
      }
      #expect(error?.response?.errors.map(\.path) == [[.field("two")]])
      #expect(error?.response?.data(asType: DataValue.self)?["one"]?["id"] == number)
      #expect(error?.response?.data(asType: DataValue.self)?["two"] == DataValue.null)
      #expect(error?.message.contains("There is already a row of Movie") == true)
      let unknown = await #expect(throws: DataConnectOperationError.self) {
        _ = try await mutate(connector, "Nothing", [:])
      }
      #expect(unknown?.message == "The connector movies has no mutation Nothing.")
    }
  }

  @Test func `an error of the database has its code`() throws {
    var response = OperationResponse(fields: ["a": nil])
    response.errors = [.init(message: "full", path: [.field("a"), .listIndex(2)])]
    response.cause = Status(.resourceExhausted, "The disk is full.").nsError
    guard
      case .answer(7, .success(let read))? = EmulatorMessage(
        line: Array(EmulatorMessage.answer(7, .success(response)).line.utf8))
    else {
      Issue.record("This is no answer.")
      return
    }
    #expect(read.fields == response.fields && read.errors == response.errors)
    let cause = try #require(read.cause)
    #expect(FirestoreErrorCode.resourceExhausted ~= cause)
    #expect((cause as NSError).localizedDescription == "The disk is full.")
    for error: any DataConnectError in [
      DataConnectInitError(.invalidConnector, "a"), DataConnectOperationError("b"),
      DataConnectInternalError(.internalError, "c", Status(.unavailable, "d").nsError),
    ] {
      guard
        case .answer(1, .failure(let read))? = EmulatorMessage(
          line: Array(EmulatorMessage.answer(1, .failure(error)).line.utf8))
      else {
        Issue.record("This is no answer.")
        return
      }
      #expect(type(of: read) == type(of: error) && "\(read)" == "\(error)")
      let cause = (read as? any DataConnectError)?.underlyingError
      #expect((cause != nil) == (error.underlyingError != nil))
    }
  }

  @Test func `the user of a request is the user of the operation`() async throws {
    defer { server.stop() }
    let client = try client()
    _ = try await mutate(client, "Add", ["id": 1, "title": "ada"])
    let mine = client.reference("Mine")
    let ada = DataConnectAuth(uid: "ada", token: ["firebase": ["sign_in_provider": "password"]])
    let found = try await DataConnect.withAuth(ada) { try await mine.execute().data }
    #expect(found?["movies"] == [["id": 1]])
    let error = await #expect(throws: DataConnectOperationError.self) { try await mine.execute() }
    #expect(error?.message == "permission denied")
  }

  @Test(.timeLimit(patience))
  func `mutations of any client and of the server's process refresh subscriptions`() async throws {
    defer { server.stop() }
    let (first, second) = (try client(), try client())
    _ = try await mutate(first, "Add", ["id": 1, "title": "a"])
    let (get, list) = (first.reference("Get", ["id": 1]), first.reference("List"))
    let subscriptions = [
      try await get.subscribe().sink { _ in }, try await list.subscribe().sink { _ in },
    ]
    for (index, writer) in [first, second, connector].enumerated() {
      let title = DataValue.string("title \(index)")
      _ = try await mutate(writer, "Rename", ["id": 1, "title": title])
      try await eventually { get.data?["movie"]?["title"] == title }
      try await eventually { list.data?["movies"] == [["id": 1, "title": title]] }
    }
    for subscription in subscriptions { subscription.cancel() }
    let hub = SubscriptionHub.shared(for: connector.firestore)
    try await eventually { hub.count == 0 }
    #expect(get.lastError == nil && list.lastError == nil)
  }

  @Test(.timeLimit(patience))
  func `a cached result is too old when any client has written its rows`() async throws {
    defer { server.stop() }
    let cached = try client(cache: CacheSettings(storage: .memory, maxAge: 1000))
    let other = try client()
    _ = try await mutate(cached, "Add", ["id": 1, "title": "a"])
    let get = cached.reference("Get", ["id": 1])
    #expect(try await get.execute().source == .server)
    #expect(try await get.execute().source == .cache)
    // The connection brings the rows before the answer.
    _ = try await mutate(cached, "Rename", ["id": 1, "title": "b"])
    #expect(try await get.execute().data?["movie"]?["title"] == "b")
    #expect(try await get.execute().source == .cache)
    _ = try await mutate(other, "Rename", ["id": 1, "title": "c"])
    try await eventually { try await get.execute().data?["movie"]?["title"] == "c" }
    #expect(try await get.execute(fetchPolicy: .cacheOnly).data?["movie"]?["title"] == "c")
    // The emulator has missed mutations of another process. Its connections stay.
    try await connector.firestore.document("movie/1").updateData(["title": "d"])
    #expect(try await get.execute().source == .cache)
    await SubscriptionHub.shared(for: connector.firestore).receive(.missed)
    try await eventually { try await get.execute().data?["movie"]?["title"] == "d" }
    #expect(server.connectionCount == 2)
  }

  @Test(.timeLimit(patience))
  func `subscriptions go on after the emulator was started again`() async throws {
    let client = try client(cache: CacheSettings(storage: .memory, maxAge: 1000))
    _ = try await mutate(client, "Add", ["id": 1, "title": "a"])
    let get = client.reference("Get", ["id": 1])
    let subscription = try await get.subscribe().sink { _ in }
    try await eventually { get.data?["movie"]?["title"] == "a" }
    #expect(try await get.execute().source == .cache)

    server.stop()
    try await eventually { server.connectionCount == 0 }
    try await connector.mutate("Rename", ["id": 1, "title": "b"])
    let failed = await #expect(throws: DataConnectInternalError.self) {
      _ = try await mutate(client, "Rename", ["id": 1, "title": "c"])
    }
    #expect(failed?.code == .emulatorUnavailable)

    let again = try EmulatorServer(connector.firestore, host: "127.0.0.1", port: server.port)
    defer { again.stop() }
    try again.serve([connector.connector])
    try await eventually { get.data?["movie"]?["title"] == "b" }
    #expect(try await get.execute().data?["movie"]?["title"] == "b")
    _ = try await mutate(client, "Rename", ["id": 1, "title": "d"])
    try await eventually { get.data?["movie"]?["title"] == "d" }
    subscription.cancel()
  }

  @Test(.timeLimit(patience))
  func `a mutation whose connection breaks has an unknown outcome, and is sent once`() async throws
  {
    server.stop()
    let silent = try SilentServer()
    let client = try TestConnector(connector.connector, TemporaryDatabase())
    try client.useEmulator(port: silent.port)
    let failure = Task { [connector = client] in
      await #expect(throws: DataConnectInternalError.self) {
        _ = try await mutate(connector, "Add", ["id": 1, "title": "a"])
      }
    }
    try await eventually { silent.lineCount == 1 }
    silent.stop()
    #expect(await failure.value?.code == .unknownOutcome)
    #expect(silent.lineCount == 1)
  }

  @Test(.timeLimit(patience))
  func `a cancelled task does not wait for its answer`() async throws {
    server.stop()
    let silent = try SilentServer()
    defer { silent.stop() }
    let client = try TestConnector(connector.connector, TemporaryDatabase())
    try client.useEmulator(port: silent.port)
    let task = Task { try await mutate(client, "Add", ["id": 1, "title": "a"]) }
    try await eventually { silent.lineCount == 1 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `without an emulator the connector has a database in memory`() async throws {
    server.stop()
    let client = try TestConnector(connector.connector, TemporaryDatabase())
    client.dataConnect.useEmulator(port: server.port)
    #expect(try client.dataConnect.executor() is ConnectorService)
    _ = try await mutate(client, "Add", ["id": 1, "title": "a"])
    #expect(try await client.firestore.collection("movie").getDocuments().isEmpty)
    // Another server listens there, which does not greet.
    let listening = try LoopbackSocket.listening(host: "127.0.0.1", port: 0)
    defer { listening.socket.close() }
    let start = ContinuousClock.now
    client.dataConnect.useEmulator(port: listening.port)
    #expect(start.duration(to: .now) >= .milliseconds(250))
    #expect(try client.dataConnect.executor() is ConnectorService)
  }

  @Test func `without a database in memory operations fail, and change nothing`() async throws {
    server.stop()
    let client = try TestConnector(connector.connector, TemporaryDatabase())
    let get = client.reference("Get", ["id": 1])
    #expect(try await get.execute().data?["movie"] == .null)
    client.dataConnect.useEmulator(host: "127.0.0.1", port: server.port) {
      throw Status(.resourceExhausted, "There is no memory.").nsError
    }
    let error = await #expect(throws: DataConnectInternalError.self) {
      try await mutate(client, "Add", ["id": 1, "title": "a"])
    }
    #expect(error?.code == .internalError)
    #expect(error?.underlyingError.map { FirestoreErrorCode.resourceExhausted ~= $0 } == true)
    let query = client.reference("Get", ["id": 1])
    await #expect(throws: DataConnectInternalError.self) { try await query.execute() }
    await #expect(throws: DataConnectInternalError.self) { _ = try await query.subscribe() }
    #expect(try await client.firestore.collection("movie").getDocuments().isEmpty)
    // Another call may succeed.
    client.dataConnect.useEmulator(port: server.port)
    _ = try await mutate(client, "Add", ["id": 1, "title": "a"])
  }

  @Test(.timeLimit(patience))
  func `results that were cached before a connection ended are too old after the next one`()
    async throws
  {
    let client = try client(cache: CacheSettings(storage: .memory, maxAge: 1000))
    _ = try await mutate(client, "Add", ["id": 1, "title": "a"])
    let get = client.reference("Get", ["id": 1])
    try await get.execute()
    #expect(try await get.execute().source == .cache)
    server.stop()
    try await eventually { server.connectionCount == 0 }
    // No connection brings the row of this mutation.
    try await connector.mutate("Rename", ["id": 1, "title": "b"])
    let again = try EmulatorServer(connector.firestore, host: "127.0.0.1", port: server.port)
    defer { again.stop() }
    try again.serve([connector.connector])
    try await eventually { (try? await client.reference("List").execute()) != nil }
    let fresh = try await get.execute()
    #expect(fresh.source == .server && fresh.data?["movie"]?["title"] == "b")
  }

  @Test func `other machines cannot connect`() {
    for host in ["0.0.0.0", "192.0.2.1", "::"] {
      #expect(throws: LoopbackSocket.AddressError.self) {
        try EmulatorServer(connector.firestore, host: host, port: 0)
      }
    }
    // The port is taken.
    #expect(throws: LoopbackSocket.AddressError.self) {
      try EmulatorServer(connector.firestore, host: "127.0.0.1", port: server.port)
    }
    server.stop()
  }

  // MARK: Changes of the connector

  @Test(.timeLimit(patience))
  func `rows get the form of a newer schema when it is loaded, and lose no value`() async throws {
    defer { server.stop() }
    let client = try client()
    for id in 1...3 { _ = try await mutate(client, "Add", ["id": .int(Int64(id)), "title": "a"]) }
    func load(
      _ old: String, as new: String, _ get: String = "title"
    ) async throws -> [EmulatorServer.Migration] {
      let newer = try TestConnector(
        schema: Self.schema.replacing(old, with: new),
        operations: "query Get($id: Int!) { movie(key: {id: $id}) { id \(get) } }"
      ).connector
      // Two connectors of one service have one schema.
      let migrations = try await server.migrate([newer, newer])
      try server.serve([newer])
      return migrations
    }
    let stars = "rating: Float  stars: Int! @default(value: 4)"
    let added = try await load("rating: Float", as: stars, "stars")
    #expect(added.map { $0.changes.map(\.subject) } == [["Movie.stars"]])
    #expect(added.allSatisfy { $0.refusal == nil })
    let documents = try await connector.firestore.collection("movie").getDocuments().documents
    #expect(documents.map { $0["stars"] as? Int } == [4, 4, 4])
    let get = client.reference("Get", ["id": 2])
    #expect(try await get.execute().data?["movie"]?["stars"] == 4)
    #expect(try await load("rating: Float", as: stars, "stars").isEmpty, "It is the same.")

    // Rows without a value, and columns that would be lost: the rows stay.
    for (new, reason) in [
      (stars + "  genre: String!", "must have a value"), ("", "would remove values"),
    ] {
      let refused = try await load("rating: Float", as: new)
      #expect(refused.count == 1)
      #expect(refused.first?.refusal.map { "\($0)".contains(reason) } == true)
    }
    let after = try await connector.firestore.collection("movie").getDocuments().documents
    #expect(after.count == 3 && after.allSatisfy { $0["title"] as? String == "a" })
  }

  @Test(.timeLimit(patience))
  func `an emulator is as strict as the program asks for, or as it is itself`() async throws {
    defer { server.stop() }
    let settings = DataConnectSettings(isStrict: true)
    let strict = try TestConnector(connector.connector, TemporaryDatabase(), settings)
    try strict.useEmulator(port: server.port)
    let error = await #expect(throws: DataConnectOperationError.self) {
      try await strict.reference("Get", ["id": 1]).execute()
    }
    #expect(error?.message.contains("@auth") == true, "\(String(describing: error))")
    await #expect(throws: DataConnectOperationError.self) {
      try await mutate(strict, "Add", ["id": 1, "title": "a"])
    }
    let ada = DataConnectAuth(uid: "ada", token: ["firebase": ["sign_in_provider": "password"]])
    try await DataConnect.withAuth(ada) { _ = try await strict.reference("Mine").execute() }
    // Another program is not concerned.
    _ = try await mutate(client(), "Add", ["id": 1, "title": "a"])

    let closed = try EmulatorServer(connector.firestore, host: "127.0.0.1", port: 0, isStrict: true)
    defer { closed.stop() }
    try closed.serve([connector.connector])
    let plain = try TestConnector(connector.connector, TemporaryDatabase())
    try plain.useEmulator(port: closed.port)
    await #expect(throws: DataConnectOperationError.self) {
      try await plain.reference("Get", ["id": 1]).execute()
    }
  }

  @Test(.timeLimit(patience))
  func `an emulator refreshes on changes for the programs that ask for it`() async throws {
    defer { server.stop() }
    let settings = DataConnectSettings(refreshesOnChange: true)
    let following = try TestConnector(connector.connector, TemporaryDatabase(), settings)
    try following.useEmulator(port: server.port)
    let client = try client()
    _ = try await mutate(client, "Add", ["id": 1, "title": "a"])
    let (list, other) = (following.reference("List"), client.reference("List"))
    let subscriptions = [
      try await list.subscribe().sink { _ in }, try await other.subscribe().sink { _ in },
    ]
    try await eventually { list.data != nil && other.data != nil }
    // No mutation, and no @refresh.
    try await connector.firestore.document("movie/1").updateData(["title": "b"])
    try await eventually { list.data?["movies"] == [["id": 1, "title": "b"]] }
    #expect(other.data?["movies"] == [["id": 1, "title": "a"]])
    for subscription in subscriptions { subscription.cancel() }
  }

  @Test(.timeLimit(patience))
  func `an older client works after a column was added, and subscriptions are refreshed`()
    async throws
  {
    defer { server.stop() }
    let client = try client()
    _ = try await mutate(client, "Add", ["id": 1, "title": "a"])
    let get = client.reference("Get", ["id": 1])
    let delivered = Mutex(0)
    let subscription = try await get.subscribe().sink { _ in delivered.withLock { $0 += 1 } }
    try await eventually { delivered.withLock(\.self) == 1 }

    let newer = try TestConnector(
      schema: Self.schema.replacing("rating: Float", with: "rating: Float\n  genre: String"),
      operations: Self.operations.replacing("id title rating", with: "id genre title rating"))
    try server.serve([newer.connector])
    try await eventually { get.data?["movie"]?["genre"] == DataValue.null }
    _ = try await mutate(client, "Rename", ["id": 1, "title": "b"])
    try await eventually { get.data?["movie"]?["title"] == "b" }

    // A query that there is no more is an error, and is there again later.
    try server.serve([])
    try await eventually { get.lastError != nil }
    #expect(get.lastError?.dataConnectError is DataConnectInitError)
    try server.serve([newer.connector])
    try await eventually { get.lastError == nil }
    _ = try await mutate(client, "Rename", ["id": 1, "title": "c"])
    try await eventually { get.data?["movie"]?["title"] == "c" }
    subscription.cancel()
  }
}

extension EmulatorTests {
  @Test(.timeLimit(patience))
  func `a subscription that connects again waits for connectors that are not there yet`()
    async throws
  {
    let client = try client()
    _ = try await mutate(client, "Add", ["id": 1, "title": "a"])
    let get = client.reference("Get", ["id": 1])
    let subscription = try await get.subscribe().sink { _ in }
    try await eventually { get.data?["movie"]?["title"] == "a" }
    server.stop()
    var again: EmulatorServer?
    try await eventually {
      again = try? EmulatorServer(connector.firestore, host: "127.0.0.1", port: server.port)
      return again != nil
    }
    let second = try #require(again)
    defer { second.stop() }
    try second.serve([])
    try await eventually { get.lastError?.dataConnectError is DataConnectInitError }
    try second.serve([connector.connector])
    try await eventually { get.lastError == nil }
    _ = try await mutate(client, "Rename", ["id": 1, "title": "b"])
    try await eventually { get.data?["movie"]?["title"] == "b" }
    subscription.cancel()
  }
}

/// Greets one client, reads its lines, and does not answer.
private final class SilentServer: Sendable {
  let port: Int
  private let socket: LoopbackSocket
  private let connection = Mutex<LineConnection?>(nil)
  private let lines = Mutex(0)

  init() throws {
    (socket, port) = try LoopbackSocket.listening(host: "127.0.0.1", port: 0)
    Thread { [self] in
      while let accepted = socket.accepted() {
        let connection = LineConnection(accepted)
        self.connection.withLock { $0 = connection }
        connection.send(EmulatorMessage.greeting.line)
        connection.start { [self] _ in
          lines.withLock { $0 += 1 }
          return .reads
        } onEnd: {
        }
      }
      socket.close()
    }.start()
  }

  var lineCount: Int { lines.withLock(\.self) }

  func stop() {
    socket.end()
    connection.withLock(\.self)?.end()
  }
}
