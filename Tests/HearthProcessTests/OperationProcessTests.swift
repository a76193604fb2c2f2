import FirebaseDataConnect
import Foundation
import Hearth
import HearthDataConnect
import Synchronization
import TestSupport
import Testing

/// Typed operations of several processes on one database, and of one that is killed.
@Suite(.ownThreads) struct OperationProcessTests {
  private let folder = TemporaryFolder()

  private static let schema = """
    type Film @table(key: "number") { number: Int!  title: String  genre: String }
    type Critic @table(key: "name") { name: String! }
    type Opinion @table(key: ["film", "critic"]) { film: Film!  critic: Critic!  stars: Int }
    """

  private static let operations = """
    mutation AddCritic($name: String!) { critic_upsert(data: {name: $name}) }
    mutation CreateFilm($number: Int!) {
      film_insert(data: {
        number: $number, title: "film",
        opinions_on_film: [
          {criticName: "a", stars: 1}, {criticName: "b", stars: 2}, {criticName: "c", stars: 3}
        ]
      })
    }
    mutation DeleteFilm($number: Int!) { film_delete(key: {number: $number}) }
    mutation SetGenre($number: Int!, $genre: String!) {
      film_upsert(data: {number: $number, genre: $genre})
    }
    query GetFilm($number: Int!) { film(key: {number: $number}) { number genre } }
    query OfGenre($genre: String!)
      @refresh(onMutationExecuted: {
        operation: "SetGenre",
        condition: "request.variables.genre == mutation.variables.genre && mutation.auth.token.editor == true"
      }) { films(where: {genre: {eq: $genre}}) { number } }
    """

  /// The file with the compiled connector.
  private func connector() throws -> String {
    let result = DataConnectCompiler().compile(
      CompilerInput(
        serviceID: "films", location: "local", connectorID: "movies",
        schema: [SourceFile(path: "schema.gql", text: Self.schema)],
        connector: [SourceFile(path: "operations.gql", text: Self.operations)]))
    let connector = try #require(result.connector, "\(result.diagnostics)")
    let path = folder.path + "/connector.json"
    try JSONEncoder().encode(connector).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func dataConnect(_ compiled: String, _ firestore: Firestore) throws -> DataConnect {
    DataConnect(
      connectorConfig: ConnectorConfig(serviceId: "films", location: "local", connector: "movies"),
      compiled: try String(contentsOfFile: compiled, encoding: .utf8), firestore: firestore)
  }

  @Test
  func `a mutation of a killed process is whole or not at all, and acknowledged ones are there`()
    async throws
  {
    let compiled = try connector()
    let path = folder.path + "/films.hearth"
    var first = 0
    var acknowledged = 0
    do {
      let db = try Firestore.open(at: path)
      let dataConnect = try dataConnect(compiled, db)
      for name in ["a", "b", "c"] {
        try await dataConnect.mutation(
          name: "AddCritic", variables: ["name": name], resultsDataType: DataValue.self
        ).execute()
      }
      try await db.terminate()
    }
    for round in 0..<(Soak.isOn ? 200 : 12) {
      let helper = try Helper("create-films-until-killed", path, compiled, first)
      #expect(helper.line() == "ready")
      // Now in the beginning, now in the midst of it.
      let begun = round % 3 == 0 ? [] : [try #require(helper.line())]
      helper.kill(after: .random(in: 0...120_000))
      let lines = begun + helper.lines()
      #expect(helper.wasKilled)
      let db = try Firestore.open(at: path)
      let films = try await db.collection("film").getDocuments().documents
      let opinions = try await db.collection("opinion").getDocuments().documents
      #expect(opinions.count == films.count * 3, "round \(round)")
      let ids = Set(films.map(\.documentID))
      #expect(
        opinions.allSatisfy {
          ($0["film"] as? DocumentReference).map { ids.contains($0.documentID) } == true
        }, "round \(round)")
      func numbers(_ prefix: String) -> [String] {
        lines.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count + 1)) }
      }
      let deleted = Set(numbers("deleted"))
      // The last film may have been deleted without an acknowledgement.
      let created = numbers("created")
      for number in created.dropLast() where Int(number).map({ $0 % 3 != 0 }) == true {
        #expect(ids.contains(number), "round \(round)")
      }
      #expect(deleted.isDisjoint(with: ids), "round \(round)")
      acknowledged += created.count
      first = max(first, (created.compactMap(Int.init) + ids.compactMap(Int.init)).max() ?? 0)
      try await db.terminate()
    }
    #expect(acknowledged > 0)
  }

  @Test func `a mutation of another process refreshes the queries that wait for it, and no others`()
    async throws
  {
    let compiled = try connector()
    let path = folder.path + "/shared.hearth"
    let db = try Firestore.open(at: path)
    let dataConnect = try dataConnect(compiled, db)
    let helper = try Helper("run-mutations", path, compiled)
    #expect(helper.line() == "ready")
    func run(_ line: String) {
      helper.say(line)
      #expect(helper.line() == "done")
    }
    run("SetGenre\t{\"number\": 1, \"genre\": \"a\"}")
    let executions = db.collection("_DataConnectExecutions")
    #expect(try await executions.getDocuments().isEmpty, "Nobody waits.")

    let byKey = dataConnect.query(
      name: "GetFilm", variables: ["number": 1], resultsDataType: DataValue.self)
    let byName = dataConnect.query(
      name: "OfGenre", variables: ["genre": "b"], resultsDataType: DataValue.self)
    let (keyed, named) = (Count(), Count())
    let subscriptions = [
      try await byKey.subscribe().sink { _ in keyed.add() },
      try await byName.subscribe().sink { _ in named.add() },
    ]
    try await keyed.wait(for: 1)
    try await named.wait(for: 1)

    run("SetGenre\t{\"number\": 1, \"genre\": \"b\"}")
    try await keyed.wait(for: 2)
    #expect(byKey.data?["film"]?["genre"] == "b")
    run("SetGenre\t{\"number\": 2, \"genre\": \"b\"}\tada\t{\"editor\": false}")
    run("SetGenre\t{\"number\": 2, \"genre\": \"c\"}\tada\t{\"editor\": true}")
    #expect(named.number == 1, "Neither condition holds.")
    run("SetGenre\t{\"number\": 3, \"genre\": \"b\"}\tada\t{\"editor\": true, \"secret\": 7}")
    try await named.wait(for: 2)
    #expect(
      Set(byName.data?["films"]?.elements?.compactMap { $0["number"] } ?? []) == [1, 3])
    #expect(keyed.number == 2)
    let records = try await executions.getDocuments().documents
    #expect(records.count == 4)
    #expect(records.allSatisfy { !"\($0.data())".contains("secret") })
    for subscription in subscriptions { subscription.cancel() }
    try await db.terminate()
  }
}

private final class Count: Sendable {
  private let value = Mutex(0)

  var number: Int { value.withLock(\.self) }
  func add() { value.withLock { $0 += 1 } }

  func wait(for number: Int) async throws {
    _ = try await becomesTrue { self.number >= number }
    #expect(self.number == number)
  }
}
