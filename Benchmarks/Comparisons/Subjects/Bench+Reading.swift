import Foundation
import Workloads

extension Bench {
  /// Books that are there, read in every way; and the size of the files.
  func reading() async throws {
    guard
      wants(
        "get-vs-grdb", "get-vs-sqlite-json", "equality100-vs-grdb", "equality100-vs-sqlite-json",
        "order20-vs-grdb", "order20-vs-sqlite-json", "scan-vs-grdb", "scan-vs-sqlite-json",
        "filter-vs-grdb", "filter-vs-sqlite-json", "bytes-vs-grdb", "bytes-vs-sqlite-json")
    else { return }
    let hearth = try await loaded(HearthEngine.self)
    let records = try await loaded(GRDBEngine.self)
    let documents = try await loaded(SQLiteJSONEngine.self)
    let memory = try await loaded(MemoryEngine.self)
    tellSizes(hearth.path, records.path, documents.path)
    let engines: [any Engine] = [hearth.engine, records.engine, documents.engine, memory.engine]

    /// The race of one way to read, `count` times a round, each time at other places. Everybody finds
    /// the same.
    func race(
      _ name: String, _ work: String, aims: (records: Double, documents: Double), count: Int,
      _ body: @escaping (any Engine, Int) async throws -> UInt64
    ) async throws {
      guard wants("\(name)-vs-grdb", "\(name)-vs-sqlite-json") else { return }
      var race = Race()
      var places: [String: Int] = [:]
      var digests: [String: [Int: UInt64]] = [:]
      for engine in engines {
        let engineName = type(of: engine).name
        if engine is MemoryEngine, count < 100 { continue }
        race.add(engineName) {
          let place = places[engineName, default: 0]
          places[engineName] = place + 1
          var sum: UInt64 = 0
          let time = try await Race.nanoseconds(count) {
            for index in 0..<count { sum &+= try await body(engine, place * count + index) }
          }
          digests[engineName, default: [:]][place] = sum
          return time
        }
      }
      let results = try await race.run(rounds: rounds)
      precondition(Set(digests.values).count == 1, "Everybody reads the same.")
      tell(
        "\(name)-vs-grdb", work, results, against: GRDBEngine.name, aim: aims.records, unit: "ns")
      tell(
        "\(name)-vs-sqlite-json", work, results, against: SQLiteJSONEngine.name,
        aim: aims.documents, unit: "ns")
      if let own = results[HearthEngine.name], let floor = results[MemoryEngine.name] {
        note("\(work): \(text(median(own))) ns, from a dictionary \(text(median(floor))) ns")
      }
    }

    let total = books
    try await race("get", "get by id and decode", aims: (25, 6), count: 1000) { engine, index in
      Self.digest([try await engine.get(Book.id(index &* 7919 % total))])
    }
    try await race("equality100", "equality, 100 books decoded", aims: (7, 6), count: 20) {
      Self.digest(try await $0.books(by: Book.author($1 &* 13 % (total / 100))))
    }
    try await race("order20", "order + limit 20, decoded", aims: (8, 6), count: 20) { engine, _ in
      Self.digest(try await engine.bestRated(20))
    }
    try await race("scan", "full scan, decoded", aims: (8, 7), count: 1) { engine, _ in
      var sum: UInt64 = 0
      try await engine.scan { sum &+= Self.digest([$0]) }
      return sum
    }
    try await race("filter", "unindexed filter, counted", aims: (2.5, 20), count: 2) { engine, _ in
      UInt64(try await engine.count(numberOfPages: 500))
    }
    for engine in engines { try await engine.close() }
  }

  private func tellSizes(_ own: String, _ records: String, _ documents: String) {
    func tell(_ name: String, _ peer: String, _ path: String) {
      let ratio = Double(Self.bytes(of: path)) / Double(Self.bytes(of: own))
      self.tell(
        Figure(
          name: name, work: "file, bytes a document", against: peer, ratios: [ratio], aim: 1,
          own: Double(Self.bytes(of: own)) / Double(books),
          peer: Double(Self.bytes(of: path)) / Double(books), unit: "B"))
    }
    tell("bytes-vs-sqlite-json", SQLiteJSONEngine.name, documents)
    tell("bytes-vs-grdb", GRDBEngine.name, records)
  }

  /// A database with all books, closed once and opened again.
  func loaded<Peer: Engine>(_ peer: Peer.Type) async throws -> (engine: Peer, path: String) {
    let path = path("books")
    let engine = try await Peer(path: path)
    try await engine.load(0..<books, group: 1000)
    if Peer.self is MemoryEngine.Type { return (engine, path) }
    try await engine.close()
    return (try await Peer(path: path), path)
  }

  /// The same for the same books in any order.
  static func digest(_ books: [Book]) -> UInt64 {
    books.reduce(0) { sum, book in
      var digest = Digest()
      digest.add(book)
      return sum &+ digest.value
    }
  }
}
