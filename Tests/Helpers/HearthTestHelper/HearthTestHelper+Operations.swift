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
}
