import Foundation
import Recordings

extension Bench {
  /// Books put in durable transactions of 1,000 into a new database with two indexes.
  func bulk() async throws {
    guard wants("bulk-vs-grdb", "bulk-vs-lmdb") else { return }
    let count = min(books, 50_000)
    let group = 1000
    var race = Race()
    func load<Peer: Engine>(_ peer: Peer.Type) -> () async throws -> Double {
      {
        let path = self.path("bulk")
        let engine = try await Peer(path: path)
        let time = try await Race.nanoseconds(count) {
          try await engine.load(0..<count, group: group)
        }
        try await engine.close()
        return time
      }
    }
    race.add(HearthEngine.name, load(HearthEngine.self))
    race.add(GRDBEngine.name, load(GRDBEngine.self))
    race.add(SQLiteJSONEngine.name, load(SQLiteJSONEngine.self))
    // The very documents and index entries, each table in the order of its keys.
    let model = path("model")
    let engine = try await HearthEngine(path: model)
    try await engine.load(0..<count, group: group)
    try await engine.close()
    let recording = Recording(model, group: group)
    precondition(
      recording.documentCount == count && recording.entryCount == 2 * count,
      "Everything is where it is sought.")
    race.add("LMDB in C") {
      try await Race.nanoseconds(count) {
        try recording.put(at: self.path("raw"), flushes: true)
      }
    }
    let results = try await race.run(rounds: rounds)
    let work = "bulk load, \(count) books"
    tell("bulk-vs-grdb", work, results, against: GRDBEngine.name, aim: 7, unit: "ns")
    tell("bulk-vs-sqlite-json", work, results, against: SQLiteJSONEngine.name, aim: 1, unit: "ns")
    tell("bulk-vs-lmdb", work, results, against: "LMDB in C", aim: 0.5, unit: "ns")
  }

  /// Books of which one indexed field changes, and books that go, in durable transactions of 1,000.
  func changing() async throws {
    guard
      wants("update-vs-grdb", "update-vs-sqlite-json", "delete-vs-grdb", "delete-vs-sqlite-json")
    else { return }
    let count = min(books, 20_000)
    let portion = count / (rounds + 1)
    let engines: [any Engine] = [
      try await HearthEngine(path: path("changing")), try await GRDBEngine(path: path("changing")),
      try await SQLiteJSONEngine(path: path("changing")),
    ]
    for engine in engines { try await engine.load(0..<count, group: 1000) }
    var updating = Race()
    var deleting = Race()
    for engine in engines {
      var round = 0
      updating.add(type(of: engine).name) {
        round += 1
        return try await Race.nanoseconds(portion) {
          try await engine.rate(0..<portion, Double(round) / 100, group: 1000)
        }
      }
      var gone = 0
      deleting.add(type(of: engine).name) {
        defer { gone += portion }
        return try await Race.nanoseconds(portion) {
          try await engine.delete(gone..<(gone + portion), group: 1000)
        }
      }
    }
    for (name, race) in [("update", updating), ("delete", deleting)] {
      let results = try await race.run(rounds: rounds)
      let work = "\(name) in transactions of 1,000"
      tell("\(name)-vs-grdb", work, results, against: GRDBEngine.name, aim: 1, unit: "ns")
      tell(
        "\(name)-vs-sqlite-json", work, results, against: SQLiteJSONEngine.name, aim: 1, unit: "ns")
    }
    for engine in engines { try await engine.close() }
  }
}
