import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Pages that several threads go through hold what one cursor finds.
@Suite struct ParallelCollectionScanTests {
  private static let books = ResourcePath(["books"])

  /// Some close together, some far apart; some that are cut when keys are short.
  private static func id(_ number: Int, _ random: inout SeededGenerator) -> String {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: "__id\(number + 1)__"
    case 1: "a long name that is the same up to its end \(number)"
    case 2: "\(Int.random(in: 0..<9, using: &random))\(number)"
    case 3: String(repeating: "é", count: number % 5) + "\(number)"
    default: "book-\(String(repeating: "0", count: 7 - "\(number)".count))\(number)"
    }
  }

  private static func world(
    _ count: Int, keyLimit: Int, threads: Int = 4, _ random: inout SeededGenerator
  ) async throws -> QueryWorld {
    var documents: [(path: ResourcePath, fields: MapValue)] = []
    for number in 0..<count {
      let path = books.appending(id(number, &random))
      let blurb = String(repeating: "x", count: number % 97 == 0 ? 9000 : number % 300)
      let fields = MapValue([("n", .integer(Int64(number % 7))), ("blurb", .string(blurb))])
      documents.append((path, fields))
      if number % 5 == 0 {
        documents.append((path.appending("books").appending("\(number)"), fields))
      }
      if number % 11 == 0 {
        documents.append((ResourcePath(["book\(number)"]).appending("a"), fields))
      }
    }
    return try await QueryWorld(
      documents, keyLimit: KeyLimit(keyLimit), configure: { $0.scanThreads = threads })
  }

  private static func keys(_ scan: CollectionScan) throws -> [[UInt8]] {
    var keys: [[UInt8]] = []
    while let entry = try scan.nextEntry() { keys.append(Array(entry.key) + Array(entry.record)) }
    return keys
  }

  @Test(arguments: [511, 24, 12], [0, 1, 2, 255, 256, 257, 2000])
  func `stretches hold what a cursor finds, in its order`(
    keyLimit: Int, count: Int
  ) async throws {
    let seed = UInt64(keyLimit * 10_000 + count)
    var random = SeededGenerator(seed: seed)
    let world = try await Self.world(count, keyLimit: keyLimit, &random)
    let bounds: [String?] = [nil, "a long name that is the same up to its end 3", "book-0000100"]
    try world.database.store.read { snapshot in
      for collection in [Self.books, ResourcePath(["book0"]), ResourcePath(["none"])] {
        for lowest in bounds {
          for highest in bounds {
            let touched = ReadCounters()
            func scan() throws -> CollectionScan {
              try CollectionScan(
                collection, in: snapshot, from: lowest, to: highest, touched: touched)
            }
            guard let leaves = try scan().leaves() else {
              #expect(count == 0)
              continue
            }
            var partitions: [ParallelCollectionScan.Partition] = []
            try leaves.forEachPartition {
              partitions.append($0)
              return true
            }
            var told: [[UInt8]] = []
            var counted = 0
            // A few at a time, and each by itself.
            let size = Int.random(in: 1...9, using: &random)
            for start in stride(from: 0, to: partitions.count, by: size) {
              let some = Array(partitions[start...].prefix(size))
              try leaves.forEachEntry(of: some, &counted) {
                told.append(Array($0.key) + Array($0.record))
              }
            }
            // Not all their bytes when it fails.
            let isSame = try told == Self.keys(scan())
            #expect(isSame, "seed \(seed), \(lowest ?? "-") to \(highest ?? "-")")
            #expect(counted == touched.keys, "seed \(seed)")
            if keyLimit == 511, count == 2000, lowest == nil, highest == nil,
              collection == Self.books
            {
              #expect(partitions.count > 40)
            }
          }
        }
      }
    }
  }

  @Test(arguments: [511, 24]) func `one thread and many find the same, and count the same`(
    keyLimit: Int
  ) async throws {
    for count in [0, 1, 255, 256, 257, 3000] {
      var answers: [[String]] = []
      var costs: [[Int]] = []
      for threads in [1, 4] {
        var random = SeededGenerator(seed: UInt64(count))
        let world = try await Self.world(
          count, keyLimit: keyLimit, threads: threads, &random)
        let touched = ReadCounters()
        answers.append(try world.names(Self.query(3), touched: touched))
        costs.append([touched.keys, touched.documents])
      }
      #expect(answers[0] == answers[1] && costs[0] == costs[1], "\(count)")
      #expect(answers[0].isEmpty == (count < 2))
    }
  }

  private static func query(_ number: Int64) -> StructuredQuery {
    var query = StructuredQuery(.collection(books))
    query.filters = [
      .comparison(
        StructuredQuery.Comparison(
          field: FieldSegments(["n"]), operator: .equal, operand: .integer(number)))
    ]
    return query
  }

  @Test func `who has enough is told the first ones`() async throws {
    var random = SeededGenerator(seed: 5)
    let world = try await Self.world(5000, keyLimit: 511, &random)
    let all = try world.names(Self.query(3))
    try world.database.store.read { snapshot in
      for enough in [1, 2, 100, 700] {
        var told: [String] = []
        let run = try QueryExecutor(EffectiveQuery(Self.query(3)), in: snapshot)
        try run.forEachUnordered { entry, _ in
          told.append(try snapshot.path(of: entry).text)
          return told.count < enough
        }
        #expect(told == Array(all.prefix(enough)))
      }
    }
  }

  @Test func `a damaged record ends it with one error`() async throws {
    var random = SeededGenerator(seed: 6)
    let world = try await Self.world(5000, keyLimit: 511, &random)
    let store = world.database.store
    let path = try #require(try world.names(Self.query(3)).dropFirst(400).first)
    let name = world.database.store.name(ResourcePath(relative: path))
    let cutShort = try store.read { Array(try #require(try $0.record(of: name)).prefix(9)) }
    var transaction = try store.environment.beginWrite()
    _ = try name.key.bytes.withUnsafeBytes { key in
      try cutShort.withUnsafeBytes { try transaction.put(store.tables.documents, key, $0) }
    }
    try transaction.commit()
    for _ in 0..<20 {
      let error = #expect(throws: Status.self) { try world.names(Self.query(3)) }
      #expect(error?.code == .dataLoss)
    }
  }

  @Test func `answers are of one moment while somebody writes`() async throws {
    let paths = (0..<1000).map { Self.books.appending("book-\($0)") }
    func state(_ number: Int64) -> [(path: ResourcePath, fields: MapValue)] {
      paths.map { ($0, MapValue([("n", .integer(number))])) }
    }
    let world = try await QueryWorld(state(0), configure: { $0.scanThreads = 4 })
    var seen: Set<Int64> = []
    func read() throws {
      try world.database.store.read { snapshot in
        guard let first = try snapshot.document(world.database.store.name(paths[0])),
          case .integer(let number)? = try first.body.map()["n"]
        else {
          Issue.record("The first document is not there.")
          return
        }
        seen.insert(number)
        // Others commit now.
        usleep(2000)
        let found = try snapshot.documents(matching: EffectiveQuery(Self.query(number)))
        #expect(found.count == 1000)
      }
    }
    try read()
    let isWritten = Atomic(false)
    let writing = Task {
      defer { isWritten.store(true, ordering: .releasing) }
      for number in 1...20 { try await world.database.add(state(Int64(number))) }
    }
    while !isWritten.load(ordering: .acquiring) {
      try read()
      await Task.yield()
    }
    try await writing.value
    try read()
    #expect(seen.isSuperset(of: [0, 20]))
  }

  @Test func `only a cursor sees what is being written`() async throws {
    var random = SeededGenerator(seed: 8)
    let world = try await Self.world(300, keyLimit: 511, &random)
    let store = world.database.store
    try store.read { snapshot in
      let forwards = try CollectionScan(Self.books, in: snapshot).leaves()
      let backwards = try CollectionScan(Self.books, in: snapshot, isDescending: true).leaves()
      #expect(forwards != nil && backwards == nil)
    }
    let transaction = try store.environment.beginWrite()
    let leaves = try transaction.snapshot.leaves(store.tables.documents)
    #expect(leaves == nil)
    transaction.abort()
  }
}
