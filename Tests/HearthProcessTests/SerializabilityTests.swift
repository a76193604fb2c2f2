import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

#if Postgres
  import PostgresTestServer
#endif

/// Transactions of several processes, as if one came after the other.
@Suite(.serialized, .ownThreads) struct SerializabilityTests {
  /// What the processes have in common. A PostgreSQL server is one where `Scripts/postgres` has started
  /// it.
  enum Place: CaseIterable, CustomTestStringConvertible {
    case file, server

    static var all: [Place] {
      #if Postgres
        if PostgresServer.isRunning { return allCases }
        print("skipped: transactions of processes over PostgreSQL, as there is no server")
      #endif
      return [.file]
    }

    var testDescription: String { self == .file ? "a file" : "a PostgreSQL server" }

    /// A path or URL for the helpers.
    func name(_ name: String, in folder: TemporaryFolder) throws -> String {
      #if Postgres
        if self == .server { return try PostgresServer.newURL() }
      #endif
      return "\(folder.path)/\(name).hearth"
    }

    func open(_ name: String) throws -> Firestore {
      if self == .server { return try Firestore.open(name) }
      let settings = FirestoreSettings()
      settings.durability = .unsafeWithoutFlushing
      return try Firestore.open(at: name, settings: settings)
    }
  }

  /// As in the helper.
  private struct Episode: Codable {
    struct Cell: Codable, Hashable {
      var id: String
      var by: String?
    }
    struct Question: Codable {
      var key: Int?
      var found: [Cell]
    }
    struct Write: Codable {
      var id: String
      var key: Int?
    }
    var id: String
    var reads: [Cell]
    var questions: [Question]
    var writes: [Write]
  }

  /// The commits are an order, and each transaction saw exactly what those before it had made. So the
  /// history has no cycles.
  @Test(arguments: Place.all)
  func `what every transaction of three processes saw is what the commits before it made`(
    place: Place
  ) async throws {
    let folder = TemporaryFolder()
    let path = try place.name("serial", in: folder)
    let (tasks, count) = (8, Soak.isOn ? 1000 : 30)
    let db = try place.open(path)
    let token = try await db.changeToken()
    let helpers = try ["a", "b", "c"].map { try Helper("transact", path, $0, tasks, count) }
    try await replay(helpers, count: 3 * tasks * count, in: db, since: token)
    try await db.terminate()
    if place == .file {
      let store = try Store(path: path, configuration: StoreConfiguration())
      defer { store.close() }
      #expect(try store.check().problems == [])
    }
  }

  /// Lets the processes run, and follows their commits.
  private func replay(
    _ helpers: [Helper], count: Int, in db: Firestore, since token: ChangeToken
  ) async throws {
    for helper in helpers { #expect(helper.line() == "ready") }
    for helper in helpers { helper.say("go") }
    var episodes: [String: Episode] = [:]
    for line in helpers.flatMap({ $0.lines() }) {
      let episode = try JSONDecoder().decode(Episode.self, from: Data(line.utf8))
      episodes[episode.id] = episode
    }
    #expect(episodes.count == count)
    var token = token
    let last = try await db.changeToken()
    var commits: [String] = []
    for try await change in db.changes(since: token) {
      token = change.token
      if change.document.path.hasPrefix("episodes/") { commits.append(change.document.documentID) }
      if token == last { break }
    }
    #expect(Set(commits) == Set(episodes.keys) && commits.count == episodes.count)
    var world = World()
    var alternations = 0
    for (index, id) in commits.enumerated() {
      let episode = try #require(episodes[id])
      for read in episode.reads {
        #expect(read.by == world.cells[read.id]?.by, "\(id), the commit \(index)")
      }
      for question in episode.questions {
        #expect(question.found == world.answer(question.key), "\(id), the commit \(index)")
      }
      for write in episode.writes { world.cells[write.id] = write.key.map { (id, $0) } }
      if index > 0, commits[index - 1].first != id.first { alternations += 1 }
    }
    print(
      "\(helpers.count) processes: \(alternations) alternations in \(commits.count) commits")
    // The processes were at it together, which in a short run on a busy machine they need not be.
    if Soak.isOn { #expect(alternations > 20) }
  }

  #if Server && Tools
    /// The path that `Scripts/clients` prints; nil if it cannot install what is asked for.
    private static func installed(_ arguments: String...) -> String? {
      let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
      let installer = root.appending(path: "Scripts/clients").path()
      guard let run = try? Helper(arguments: arguments, program: installer) else { return nil }
      return run.lines().last.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Google's Python and Go clients over a server, and a process that has its file open.
    @Test func `transactions of clients beside an embedded process are an order, too`()
      async throws
    {
      guard let python = Self.installed("python"), let go = Self.installed("go", "histories")
      else {
        print("skipped: transactions of Google's clients, as they cannot be installed")
        return
      }
      let folder = TemporaryFolder()
      let path = "\(folder.path)/data/histories/(default).hearth"
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/data/histories", withIntermediateDirectories: true)
      let db = try Place.file.open(path)
      let token = try await db.changeToken()
      let server = try Helper(
        "serve", "\(folder.path)/data", "--create", "--port", 0, program: "hearth")
      let listening = try #require(server.line())
      let address = try #require(listening.split(separator: " ").last.map(String.init))
      let environment = ["FIRESTORE_EMULATOR_HOST": address]
      let script = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "HearthServerTests/Clients/histories.py")
        .path()
      let count = Soak.isOn ? 300 : 15
      let helpers = try [
        Helper("transact", path, "e", 4, count),
        Helper(script, "histories", "p", count, environment: environment, program: python),
        Helper(script, "histories", "q", count, environment: environment, program: python),
        Helper(address, "histories", "g", count, program: go),
        Helper(address, "histories", "h", count, program: go),
      ]
      try await replay(helpers, count: 8 * count, in: db, since: token)
      server.kill(SIGTERM)
      _ = server.lines()
      try await db.terminate()
      let store = try Store(path: path, configuration: StoreConfiguration())
      defer { store.close() }
      #expect(try store.check().problems == [])
    }
  #endif

  private struct World {
    var cells: [String: (by: String, key: Int)] = [:]

    func answer(_ key: Int?) -> [Episode.Cell] {
      let sorted = cells.sorted { $0.key < $1.key }.map { (id: $0.key, cell: $0.value) }
      let found =
        key.map { key in sorted.filter { $0.cell.key == key } }
        ?? Array(
          sorted.sorted { ($0.cell.key, $0.id) < ($1.cell.key, $1.id) }.prefix(2))
      return found.map { Episode.Cell(id: $0.id, by: $0.cell.by) }
    }
  }

  @Test(arguments: Place.all)
  func `transfers of sixty-four tasks in three processes keep the sum`(
    place: Place
  ) async throws {
    let folder = TemporaryFolder()
    let path = try place.name("bank", in: folder)
    let db = try place.open(path)
    for index in 0..<10 { try await db.document("accounts/\(index)").setData(["amount": 100]) }
    let helpers = try (0..<3).map { _ in try Helper("bank", path, 64, Soak.isOn ? 200 : 6) }
    for helper in helpers { #expect(helper.line() == "ready") }
    for helper in helpers { helper.say("go") }
    for helper in helpers { #expect(helper.lines() == ["wrong sums 0"]) }
    let amounts = try await db.collection("accounts").getDocuments().documents.map {
      $0["amount"] as? Int ?? 0
    }
    #expect(amounts.count == 10 && amounts.reduce(0, +) == 1000)
    #expect(amounts.allSatisfy { $0 >= 0 })
    try await db.terminate()
  }

  @Test(arguments: Soak.isOn ? [1, 2, 4, 8, 16, 32] : [1, 8], Place.all)
  func `increments of one document by two processes are all done`(
    tasks: Int, place: Place
  ) async throws {
    let folder = TemporaryFolder()
    let path = try place.name("counter", in: folder)
    let count = Soak.isOn ? 100 : 30
    let helpers = try (0..<2).map { _ in try Helper("increment", path, tasks, count) }
    for helper in helpers { #expect(helper.line() == "ready") }
    for helper in helpers { helper.say("go") }
    for helper in helpers {
      let line = try #require(helper.line())
      #expect(line.hasPrefix("0 failed"))
      print("two processes, \(tasks) tasks in each, \(count) transactions of each task: \(line)")
    }
    let db = try place.open(path)
    let sum = try await db.document("counters/a").getDocument()["n"] as? Int
    #expect(sum == 2 * tasks * count)
    try await db.terminate()
  }
}
