import Foundation

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

    /// The race of one way to read, each time at other places. Everybody finds the same.
    func race(
      _ count: Int, _ body: @escaping (any Engine, Int) async throws -> UInt64
    ) async throws -> [String: [Double]] {
      var race = Race()
      var places: [String: Int] = [:]
      var digests: [String: [Int: UInt64]] = [:]
      for engine in engines {
        let name = type(of: engine).name
        if engine is MemoryEngine, count < 100 { continue }
        race.add(name) {
          let place = places[name, default: 0]
          places[name] = place + 1
          var sum: UInt64 = 0
          let time = try await Race.nanoseconds(count) {
            for index in 0..<count { sum &+= try await body(engine, place * count + index) }
          }
          digests[name, default: [:]][place] = sum
          return time
        }
      }
      let results = try await race.run(rounds: rounds)
      precondition(Set(digests.values).count == 1, "Everybody reads the same.")
      return results
    }

    let total = books
    let gets = try await race(1000) { engine, index in
      Self.digest([try await engine.get(Book.id(index &* 7919 % total))])
    }
    let get = "get by id and decode"
    tell("get-vs-grdb", get, gets, against: GRDBEngine.name, aim: 25, unit: "ns")
    tell("get-vs-sqlite-json", get, gets, against: SQLiteJSONEngine.name, aim: 6, unit: "ns")
    if let own = gets[HearthEngine.name], let floor = gets[MemoryEngine.name] {
      note("get by id: \(text(median(own))) ns, from a dictionary \(text(median(floor))) ns")
    }

    let equalities = try await race(20) { engine, index in
      Self.digest(try await engine.books(by: Book.author(index &* 13 % (total / 100))))
    }
    let equality = "equality, 100 books decoded"
    tell("equality100-vs-grdb", equality, equalities, against: GRDBEngine.name, aim: 7, unit: "ns")
    tell(
      "equality100-vs-sqlite-json", equality, equalities, against: SQLiteJSONEngine.name, aim: 6,
      unit: "ns")

    let orders = try await race(20) { engine, _ in Self.digest(try await engine.bestRated(20)) }
    let order = "order + limit 20, decoded"
    tell("order20-vs-grdb", order, orders, against: GRDBEngine.name, aim: 8, unit: "ns")
    tell("order20-vs-sqlite-json", order, orders, against: SQLiteJSONEngine.name, aim: 6, unit: "ns")

    let scans = try await race(1) { engine, _ in
      var sum: UInt64 = 0
      try await engine.scan { sum &+= Self.digest([$0]) }
      return sum
    }
    tell("scan-vs-grdb", "full scan, decoded", scans, against: GRDBEngine.name, aim: 8, unit: "ns")
    tell(
      "scan-vs-sqlite-json", "full scan, decoded", scans, against: SQLiteJSONEngine.name, aim: 7,
      unit: "ns")

    let filters = try await race(2) { engine, _ in
      UInt64(try await engine.count(numberOfPages: 500))
    }
    let filter = "unindexed filter, counted"
    tell("filter-vs-grdb", filter, filters, against: GRDBEngine.name, aim: 2.5, unit: "ns")
    tell(
      "filter-vs-sqlite-json", filter, filters, against: SQLiteJSONEngine.name, aim: 20, unit: "ns")

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
