import Foundation
import Glibc
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Files with flipped bits and cut ends, judged by the check before anything opens them.
@Suite(.serialized, .ownThreads) struct FileDamageTests {
  let folder = TemporaryFolder()
  var path: String { folder.path + "/damaged.hearth" }

  /// Every flip of a bit that means something is reported; the others change nothing: what the file
  /// says, and what it says after being written to, is the same as without them.
  ///
  /// What means something is told by a reading of our own here, which shares no code with the check.
  @Test func `a turned bit is reported, or changes nothing`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let worlds = Soak.isOn ? 8 : 2
    let flips = Soak.isOn ? 1600 : 100
    var counts = Counts()
    for world in 0..<worlds {
      let whole = try DamageWorld.make(world, in: folder, &random)
      let meaning = try PageMap(whole)
      let expected = try contents(whole)
      for round in 0..<flips {
        let bit = try place(round, meaning, &random)
        var damaged = whole
        damaged[bit / 8] ^= 1 << UInt8(bit % 8)
        let note: Comment = "seed \(seed), world \(world), byte \(bit / 8), bit \(bit % 8)"
        let report = try check(damaged)
        let isMeant = meaning.means(bit / 8)
        counts.note(isMeant: isMeant, isReported: report.problemCount > 0)
        if isMeant { #expect(report.problemCount > 0, note) }
        guard report.problemCount == 0 else { continue }
        // Opening is safe now, and shows what was there.
        #expect(try contents(damaged) == expected, note)
      }
    }
    print("flips: \(counts)")
    #expect(counts.meantAndReported > counts.all / 4)
    #expect(counts.meantAndMissed == 0)
  }

  @Test func `a file cut short is reported, or lacks free pages only`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    var reported = 0
    let cuts = Soak.isOn ? 2000 : 100
    let whole = try DamageWorld.make(1, in: folder, &random)
    let expected = try contents(whole)
    for _ in 0..<cuts {
      let length = Int.random(in: 1..<whole.count, using: &random)
      let truncated = Data(whole.prefix(length))
      let report = try check(truncated)
      if report.problemCount > 0 {
        reported += 1
      } else {
        #expect(try contents(truncated) == expected, "seed \(seed), cut to \(length)")
      }
    }
    print("cuts: \(reported) of \(cuts) reported")
    #expect(reported > cuts / 2)
  }

  struct Counts: CustomStringConvertible {
    var meantAndReported = 0
    var meantAndMissed = 0
    var othersReported = 0
    var othersUnchanged = 0
    var all: Int { meantAndReported + meantAndMissed + othersReported + othersUnchanged }

    mutating func note(isMeant: Bool, isReported: Bool) {
      switch (isMeant, isReported) {
      case (true, true): meantAndReported += 1
      case (true, false): meantAndMissed += 1
      case (false, true): othersReported += 1
      case (false, false): othersUnchanged += 1
      }
    }

    var description: String {
      """
      \(all), of bits that mean something \(meantAndReported) reported and \(meantAndMissed) missed, of \
      others \(othersReported) reported and \(othersUnchanged) without effect
      """
    }
  }

  /// Every other flip anywhere; the rest where few bits mean much: headers, branches, tables' records,
  /// the free list.
  private func place(
    _ round: Int, _ meaning: PageMap, _ random: inout SeededGenerator
  ) throws -> Int {
    if round % 2 == 0 { return Int.random(in: 0..<(meaning.byteCount * 8), using: &random) }
    let page = try #require(meaning.vitalPages.randomElement(using: &random))
    let offset = Int.random(in: 0..<(page < 2 ? 152 : 4096), using: &random)
    return (page * 4096 + offset) * 8 + Int.random(in: 0..<8, using: &random)
  }

  private func check(_ bytes: Data) throws -> CheckReport {
    try bytes.write(to: URL(fileURLWithPath: path))
    defer { for suffix in ["-lock", "-presence"] { unlink(path + suffix) } }
    return try FileCheck.run(at: path, DamageWorld.configuration)
  }

  /// Everything in all tables; then, written to, everything but what the writing itself changes.
  private func contents(_ bytes: Data) throws -> [Int] {
    let path = folder.path + "/opened.hearth"
    try bytes.write(to: URL(fileURLWithPath: path))
    defer { for suffix in ["", "-lock", "-presence"] { unlink(path + suffix) } }
    let store = try Store(path: path, configuration: DamageWorld.configuration)
    defer { store.close() }
    var lines = try dump(store)
    let writer = Writer(store, logger: .silent)
    defer { writer.close() }
    for round in 0..<3 {
      let name = DocumentName(ResourcePath(relative: "later/\(round)"), limit: store.keyLimit)
      let body = try DocumentBody(
        encoding: MapValue([("t", .string(String(repeating: "x", count: 3000 * round)))]))
      let done = DispatchSemaphore(value: 0)
      writer.submit([Mutation(path: name.path, operation: .set(body))]) { _ in done.signal() }
      done.wait()
    }
    lines += try dump(store)
    lines.append(try store.check(includingPages: true).problemCount)
    return lines
  }

  /// For each table how many entries it has, and a hash of them.
  private func dump(_ store: Store) throws -> [Int] {
    try store.read { snapshot in
      try KeyLayout.Table.allCases.flatMap { table in
        var hasher = Hasher()
        var count = 0
        var cursor = try snapshot.lmdb.cursor(store.environment.table(table.rawValue))
        while try cursor.next() {
          let isCutEntry = table == .entries && store.keyLimit.isTruncated(cursor.key)
          hasher.combine(
            bytes: UnsafeRawBufferPointer(rebasing: cursor.key.dropLast(isCutEntry ? 1 : 0)))
          hasher.combine(bytes: cursor.value)
          count += 1
        }
        return [count, hasher.finalize()]
      }
    }
  }
}

/// Files with documents of all sizes, deep trees, free pages, long names, documents that expire, an index
/// that is ready and one that is half built.
enum DamageWorld {
  static let configuration: StoreConfiguration = {
    var configuration = StoreConfiguration()
    configuration.durability = .unsafeWithoutFlushing
    configuration.mapSizeBytes = 1 << 30
    // A clock that stands still: the same writes make the same bytes.
    configuration.now = { Instant(microseconds: 1_767_225_600_000_000) }
    return configuration
  }()

  static func make(
    _ kind: Int, in folder: TemporaryFolder, _ random: inout SeededGenerator
  ) throws -> Data {
    let path = folder.path + "/whole.hearth"
    defer { for suffix in ["", "-lock", "-presence"] { unlink(path + suffix) } }
    let store = try Store(path: path, configuration: configuration)
    let writer = Writer(store, logger: .silent)
    var rules = TTLPolicies()
    rules["sessions"] = TTLPolicies.Rule(
      collectionID: "sessions", field: FieldSegments(["until"]))
    var transaction = try store.environment.beginWrite()
    try transaction.put(store.tables.meta, TTLPolicies.key, rules.encoded())
    try transaction.commit()
    let keeper = IndexManager(store, policy: .declared, logger: .silent)
    try keeper.declare([
      IndexDefinition("books", [.init("n", .ascending), .init("text", .descending)])
    ])
    let work = IndexBuilder(
      store: store, lease: Lease(.indexes, now: configuration.now),
      limits: IndexBuilder.StepLimits(documents: 20))
    while try work.step() != .idle {}
    for _ in 0..<(kind % 2 == 0 ? 12 : 40) {
      var mutations: [Mutation] = []
      for _ in 0..<Int.random(in: 1...40, using: &random) {
        let id = Int.random(in: 0..<300, using: &random)
        let collection = ["books", "books/dune/pages", "sessions"][id % 3]
        let long = id % 17 == 0 ? String(repeating: "long", count: 200) : ""
        let name = DocumentName(
          ResourcePath(relative: "\(collection)/\(id)\(long)"), limit: store.keyLimit)
        if Int.random(in: 0..<4, using: &random) == 0 {
          mutations.append(Mutation(path: name.path, operation: .delete))
          continue
        }
        let sizes = [0, 20, 200, 1500, 2500, 12_000]
        let size = sizes[Int.random(in: 0..<sizes.count, using: &random)]
        let time = Instant(microseconds: Int64.random(in: 0..<(1 << 50), using: &random))
        let body = try DocumentBody(
          encoding: MapValue([
            ("n", .integer(Int64(id))), ("until", .timestamp(time)),
            ("text", .string(String(repeating: "t", count: size))),
          ]))
        mutations.append(Mutation(path: name.path, operation: .set(body)))
      }
      let done = DispatchSemaphore(value: 0)
      writer.submit(mutations) { _ in done.signal() }
      done.wait()
    }
    try keeper.declare([IndexDefinition("pages", scope: .group, [.init("until", .ascending)])])
    _ = try work.step()
    writer.close()
    store.close()
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }
}

/// Which bytes of a file mean something: what is reached from the newer header, less what LMDB neither
/// reads nor keeps.
struct PageMap {
  let byteCount: Int
  /// Headers, branches, the table of tables, the free list.
  private(set) var vitalPages: [Int] = [0, 1]
  private var meant: [Bool]
  private let bytes: [UInt8]

  init(_ data: Data) throws {
    bytes = Array(data)
    byteCount = bytes.count
    meant = [Bool](repeating: false, count: bytes.count)
    let live = number(144, 8) > number(4096 + 144, 8) ? 0 : 4096
    for header in [0, 4096] {
      // Number, flags, magic, version; and of the newer one the trees, last page and commit, and of the
      // older its commit alone. How large the map once was means nothing.
      mark(header, 8)
      mark(header + 10, 2)
      mark(header + 16, 8)
      mark(header + 144, 8)
    }
    mark(live + 40, 104)
    walk(number(live + 80, 8), depth: number(live + 46, 2), kind: .free)
    walk(number(live + 128, 8), depth: number(live + 94, 2), kind: .main)
  }

  func means(_ byte: Int) -> Bool { meant[byte] }

  private enum Kind { case free, main, table }

  private func number(_ offset: Int, _ count: Int) -> Int {
    (0..<count).reduce(0) { $0 | Int(truncatingIfNeeded: UInt64(bytes[offset + $1]) << (8 * $1)) }
  }

  private mutating func mark(_ offset: Int, _ count: Int) {
    for index in offset..<(offset + count) { meant[index] = true }
  }

  private mutating func walk(_ page: Int, depth: Int, kind: Kind, isEntries: Bool = false) {
    guard depth > 0 else { return }
    let base = page * 4096
    if depth > 1 || kind != .table { vitalPages.append(page) }
    mark(base, 8)
    mark(base + 10, 6)
    for index in 0..<((number(base + 12, 2) - 16) / 2) {
      mark(base + 16 + 2 * index, 2)
      let node = base + number(base + 16 + 2 * index, 2)
      let keyCount = number(node + 6, 2)
      mark(node, 8)
      if depth > 1 {
        // A key between two pages may be any that lies between them; see the dump.
        walk(
          number(node, 4) | number(node + 4, 2) << 32, depth: depth - 1, kind: kind,
          isEntries: isEntries)
        continue
      }
      // When the pages of the free list were freed matters to readers only, and there are none. Which ordinal
      // an entry of an index has is nobody's business: it is told by its path.
      if kind != .free { mark(node + 8, isEntries && keyCount == 511 ? 510 : keyCount) }
      let data = node + 8 + keyCount
      if number(node + 4, 2) & 1 != 0 {
        let overflow = number(data, 8) * 4096
        mark(data, 8)
        mark(overflow, 8)
        mark(overflow + 10, 6)
        mark(overflow + 16, number(node, 4))
      } else {
        mark(data, number(node, 4))
        if kind == .main {
          let name = bytes[(node + 8)..<data]
          walk(
            number(data + 40, 8), depth: number(data + 6, 2), kind: .table,
            isEntries: name.elementsEqual(KeyLayout.Table.entries.rawValue.utf8))
        }
      }
    }
  }
}
