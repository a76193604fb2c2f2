import Workloads

extension Bench {
  /// A database is opened, one book read from it, and closed.
  func opening() async throws {
    guard wants("open-vs-grdb") else { return }
    var race = Race()
    func open<Peer: Engine>(_ peer: Peer.Type) async throws -> () async throws -> Double {
      let (engine, path) = try await loaded(peer)
      try await engine.close()
      return {
        let engine = Box<Peer>()
        let time = try await Race.nanoseconds(1) {
          engine.value = try await Peer(path: path)
          _ = try await engine.value?.get(Book.id(7))
        }
        try await engine.value?.close()
        return time
      }
    }
    race.add(HearthEngine.name, try await open(HearthEngine.self))
    race.add(GRDBEngine.name, try await open(GRDBEngine.self))
    tell(
      "open-vs-grdb", "open + first read", try await race.run(rounds: rounds * 4),
      against: GRDBEngine.name, aim: 4, unit: "ns")
  }
}

/// What is made inside a timed section and lives on after it.
private final class Box<Value> { var value: Value? }
