import Foundation
import Workloads

extension Bench {
  /// Books that are there, read in every way; and the size of the files.
  func reading() async throws {
    guard
      wants(
        "get-vs-grdb", "get-vs-sqlite-json", "equality100-vs-grdb", "equality100-vs-sqlite-json",
        "order20-vs-grdb", "order20-vs-sqlite-json", "scan-vs-grdb", "scan-vs-sqlite-json",
        "get-direct-vs-grdb", "get-in-read-direct-vs-grdb", "equality100-direct-vs-grdb",
        "order20-direct-vs-grdb", "scan-direct-vs-grdb",
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
    /// - Parameter direct: The same with a type that is coded without `Codable`; its aim is against
    ///   GRDB's records.
    func race(
      _ name: String, _ work: String, aims: (records: Double, documents: Double), count: Int,
      direct: (name: String, aim: Double, body: (Int) async throws -> UInt64)? = nil,
      _ body: @escaping (any Engine, Int) async throws -> UInt64
    ) async throws {
      guard wants("\(name)-vs-grdb", "\(name)-vs-sqlite-json", "\(name)-direct-vs-grdb") else {
        return
      }
      var race = Race()
      var places: [String: Int] = [:]
      var digests: [String: [Int: UInt64]] = [:]
      func add(_ name: String, _ body: @escaping (Int) async throws -> UInt64) {
        race.add(name) {
          let place = places[name, default: 0]
          places[name] = place + 1
          var sum: UInt64 = 0
          let time = try await Race.nanoseconds(count) {
            for index in 0..<count { sum &+= try await body(place * count + index) }
          }
          digests[name, default: [:]][place] = sum
          return time
        }
      }
      for engine in engines where !(engine is MemoryEngine && count < 100) {
        add(type(of: engine).name) { try await body(engine, $0) }
      }
      if let direct { add(direct.name, direct.body) }
      let results = try await race.run(rounds: rounds)
      precondition(Set(digests.values).count == 1, "Everybody reads the same.")
      tell(
        "\(name)-vs-grdb", work, results, against: GRDBEngine.name, aim: aims.records, unit: "ns")
      tell(
        "\(name)-vs-sqlite-json", work, results, against: SQLiteJSONEngine.name,
        aim: aims.documents, unit: "ns")
      if let direct {
        tell(
          "\(name)-direct-vs-grdb", "\(work), without Codable", results, own: direct.name,
          against: GRDBEngine.name, aim: direct.aim, unit: "ns")
      }
      if let own = results[HearthEngine.name], let floor = results[MemoryEngine.name] {
        note("\(work): \(text(median(own))) ns, from a dictionary \(text(median(floor))) ns")
      }
    }

    let total = books
    let own = hearth.engine
    let direct = HearthEngine.directName
    func id(_ index: Int) -> String { Book.id(index &* 7919 % total) }
    func author(_ index: Int) -> String { Book.author(index &* 13 % (total / 100)) }
    try await race(
      "get", "get by id and decode", aims: (25, 6), count: 1000,
      direct: (direct, 30, { Self.digest([try await own.getDirectly(id($0))]) })
    ) { Self.digest([try await $0.get(id($1))]) }
    try await race(
      "get-in-read", "get by id and decode, in a read", aims: (25, 6), count: 1000,
      direct: (direct, 45, { Self.digest([try own.readDirectly(id($0))]) })
    ) { engine, index in
      if let own = engine as? HearthEngine { return Self.digest([try own.read(id(index))]) }
      return Self.digest([try await engine.get(id(index))])
    }
    try await race(
      "equality100", "equality, 100 books decoded", aims: (7, 6), count: 20,
      direct: (direct, 12, { Self.digest(try await own.booksDirectly(by: author($0))) })
    ) { Self.digest(try await $0.books(by: author($1))) }
    try await race(
      "order20", "order + limit 20, decoded", aims: (8, 6), count: 20,
      direct: (direct, 9, { _ in Self.digest(try await own.bestRatedDirectly(20)) })
    ) { engine, _ in Self.digest(try await engine.bestRated(20)) }
    try await race(
      "scan", "full scan, decoded", aims: (8, 7), count: 1,
      direct: (
        direct, 18,
        { _ in
          var sum: UInt64 = 0
          try await own.scanDirectly { sum &+= Self.digest([$0]) }
          return sum
        }
      )
    ) { engine, _ in
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
  static func digest(_ books: [Book]) -> UInt64 { digest(books) { $0.add($1) } }

  static func digest(_ books: [DirectBook]) -> UInt64 { digest(books) { $0.add($1) } }

  private static func digest<Model>(
    _ books: [Model], _ add: (inout Digest, Model) -> Void
  ) -> UInt64 {
    books.reduce(0) { sum, book in
      var digest = Digest()
      add(&digest, book)
      return sum &+ digest.value
    }
  }
}
