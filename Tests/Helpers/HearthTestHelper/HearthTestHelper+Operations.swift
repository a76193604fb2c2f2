import DataConnectModel
import FirebaseDataConnect
import Foundation
import Hearth

extension HearthTestHelper {
  /// The connector whose compiled form is in the file that the first argument names.
  private func connector() throws -> DataConnect {
    DataConnect(
      connectorConfig: ConnectorConfig(serviceId: "films", location: "local", connector: "movies"),
      compiled: try String(contentsOfFile: arguments[0], encoding: .utf8), firestore: try open())
  }

  private func mutate(
    _ connector: DataConnect, _ name: String, _ variables: [String: DataValue]
  ) async throws {
    try await connector.mutation(
      name: name, variables: variables, resultsDataType: DataValue.self
    ).execute()
  }

  /// Creates films with three reviews each in one mutation, and deletes every third one.
  ///
  /// Says `created n` and `deleted n` for each that was acknowledged.
  func createFilmsUntilKilled() async throws {
    let connector = try connector()
    Self.say("ready")
    var number = number(1)
    while true {
      number += 1
      try await mutate(connector, "CreateFilm", ["number": .int(Int64(number))])
      Self.say("created \(number)")
      guard number % 3 == 0 else { continue }
      try await mutate(connector, "DeleteFilm", ["number": .int(Int64(number))])
      Self.say("deleted \(number)")
    }
  }

  /// Runs the mutations that its input names: `<mutation>TAB<variables>TAB<uid>TAB<claims>`, the last two
  /// may be missing. Says `done` after each.
  func runMutations() async throws {
    let connector = try connector()
    Self.say("ready")
    while let line = readLine() {
      let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      let variables = try DataValue(json: parts[1]).fields ?? [:]
      var auth: DataConnectAuth?
      if parts.count > 3 {
        auth = DataConnectAuth(uid: parts[2], token: try DataValue(json: parts[3]).fields ?? [:])
      }
      try await DataConnect.withAuth(auth) {
        try await mutate(
          connector, parts[0],
          Dictionary(variables.members.map { $0 }, uniquingKeysWith: { first, _ in first }))
      }
      Self.say("done")
    }
  }

  /// <compiled connector> <bytes that the file may have>: creates films until it fails, and reads them.
  func fillWithFilms() async throws {
    signal(SIGXFSZ, SIG_IGN)
    limitFiles(to: number(1))
    let connector = try connector()
    var created = 0
    do {
      while created < 10_000 {
        try await mutate(
          connector, "CreateLongFilm",
          ["number": .int(Int64(created)), "title": .string(String(repeating: "x", count: 20_000))])
        created += 1
      }
    } catch let error as DataConnectOperationError {
      let isFull = error.underlyingError.map { FirestoreErrorCode.resourceExhausted ~= $0 } ?? false
      Self.say("full \(isFull) \(error.message)")
    }
    let films = try await connector.query(
      name: "CountFilms", variables: [String: DataValue](), resultsDataType: DataValue.self
    ).execute().data["films"]?.elements?.first?["_count"]
    Self.say(
      "reads \(created > 10 && (films == .int(Int64(created)) || films == .int(Int64(created + 1))))"
    )
    limitFiles(to: 1 << 30)
    try await mutate(connector, "CreateLongFilm", ["number": -1, "title": "later"])
    Self.say("writes again")
  }

  /// <compiled connector>: executes its operations for another process as an emulator does, until the
  /// input ends. Says the port.
  func serveOperations() throws {
    let compiled = try JSONDecoder().decode(
      CompiledConnector.self, from: Data(contentsOf: URL(fileURLWithPath: arguments[0])))
    let server = try EmulatorServer(open(.unsafeWithoutFlushing), host: "127.0.0.1", port: 0)
    try server.serve([compiled])
    Self.say("\(server.port)")
    while readLine() != nil {}
    server.stop()
  }
}
