import Foundation
import Glibc
import TestSupport
import Testing

@testable import LMDB

/// What leaf pages hold is what a cursor finds; a damaged page throws, or holds other bytes.
@Suite struct LeafReaderTests {
  /// Three levels, values of all sizes, some on pages of their own.
  private func environment(_ file: TestFile, _ random: inout SeededGenerator) throws -> Environment
  {
    let environment = try file.open(tables: ["t", "empty"], mapSizeBytes: 1 << 26)
    for _ in 0..<10 {
      try environment.write { writing in
        for _ in 0..<300 {
          let key =
            "\(Int.random(in: 0..<10_000, using: &random))"
            + String(repeating: "k", count: Int.random(in: 0...400, using: &random))
          let size = Int.random(in: 0..<20, using: &random) == 0 ? 5000 : 90
          try writing.put(environment.table("t"), key, String(repeating: "v", count: size))
        }
      }
    }
    return environment
  }

  private typealias Entry = (key: [UInt8], value: [UInt8])

  private func entries(
    _ leaves: LeafReader, from lowest: [UInt8] = [], below end: [UInt8]? = nil
  ) throws -> [Entry] {
    var entries: [Entry] = []
    func walk(_ end: UnsafeRawBufferPointer?) throws {
      try lowest.withUnsafeBytes { lowest in
        try leaves.forEachPage(from: lowest, below: end) { number, _ in
          leaves.prefetch(number)
          let page = try leaves.page(number)
          for index in 0..<page.count {
            let (key, value) = try page.entry(index)
            entries.append((Array(key), Array(value)))
          }
          return true
        }
      }
    }
    if let end { try end.withUnsafeBytes { try walk($0) } } else { try walk(nil) }
    return entries
  }

  @Test func `pages are read directly only if this LMDB lays them out as expected`() {
    #expect(PageLayout.isKnown)
    #expect(PageLayout.isKnown(major: 0, minor: 9))
    #expect(!PageLayout.isKnown(major: 0, minor: 10))
    #expect(!PageLayout.isKnown(major: 1, minor: 0))
  }

  @Test func `pages between two keys hold all entries between them, in order`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let file = try TestFile()
    let environment = try environment(file, &random)
    defer { environment.close() }
    try environment.read { snapshot in
      let empty = try snapshot.leaves(environment.table("empty"))
      #expect(empty == nil)
      let leaves = try #require(try snapshot.leaves(environment.table("t")))
      #expect(leaves.entriesPerPage > 1)
      var all: [Entry] = []
      var cursor = try snapshot.cursor(environment.table("t"))
      while try cursor.next() { all.append((Array(cursor.key), Array(cursor.value))) }
      for round in 0..<60 {
        let from = round == 0 ? [] : Array("\(Int.random(in: 0..<10_000, using: &random))".utf8)
        let end = round == 0 ? nil : Array("\(Int.random(in: 0..<10_000, using: &random))".utf8)
        func isInside(_ entry: Entry) -> Bool {
          !entry.key.lexicographicallyPrecedes(from)
            && end.map { entry.key.lexicographicallyPrecedes($0) } ?? true
        }
        let expected = all.filter(isInside)
        let found = try entries(leaves, from: from, below: end)
        #expect(found.filter(isInside).elementsEqual(expected, by: ==), "seed \(seed)")
        // No more than what shares a page with the ends.
        #expect(found.count <= expected.count + 4 * leaves.entriesPerPage + 200, "seed \(seed)")
        let bound = end ?? [0xFF]
        func count(_ limit: Int, _ size: Int) throws -> Int? {
          try from.withUnsafeBytes { from in
            try bound.withUnsafeBytes { bound in
              try leaves.count(from: from, below: bound, upTo: limit, withoutKeysOf: size) {}
            }
          }
        }
        for size in [0, 450, 511] {
          #expect(try count(.max, size) == expected.count, "seed \(seed)")
        }
        #expect(try count(expected.count / 2, 0) == expected.count / 2, "seed \(seed)")
        if let size = expected.randomElement(using: &random)?.key.count {
          #expect(try count(.max, size) == nil, "seed \(seed)")
        }
      }
    }
  }

  @Test func `a walk reads what a cursor reads, from any key`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let file = try TestFile()
    let environment = try environment(file, &random)
    defer { environment.close() }
    let table = environment.table("t")
    var ended: LeafWalk?
    try environment.read { snapshot in
      let none = try [UInt8(0xFF)].withUnsafeBytes {
        try snapshot.walk(environment.table("empty"), from: $0)
      }
      #expect(none == nil)
      var all: [Entry] = []
      var cursor = try snapshot.cursor(table)
      while try cursor.next() { all.append((Array(cursor.key), Array(cursor.value))) }
      for round in 0..<200 {
        let from =
          switch round % 4 {
          case 0: round == 0 ? [] : Array("\(Int.random(in: 0..<10_000, using: &random))".utf8)
          case 1: all[Int.random(in: 0..<all.count, using: &random)].key
          case 2: all[Int.random(in: 0..<all.count, using: &random)].key + [0]
          default: round == 3 ? [0xFF] : all[all.count - 1].key
          } as [UInt8]
        let walk = try #require(try from.withUnsafeBytes { try snapshot.walk(table, from: $0) })
        let expected = all.drop { $0.key.lexicographicallyPrecedes(from) }
        var found: [Entry] = []
        while found.count <= expected.count, let (key, value) = try walk.next() {
          found.append((Array(key), Array(value)))
        }
        #expect(found.elementsEqual(expected, by: ==), "seed \(seed)")
        #expect(try walk.next() == nil)
      }
      ended = try [UInt8]().withUnsafeBytes { try snapshot.walk(table, from: $0) }
    }
    let failure = #expect(throws: LMDBError.self) { _ = try ended?.next() }
    #expect(failure?.code == LMDBError.transactionEnded.code)
  }

  @Test func `a damaged page throws or holds other bytes, and never traps`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let file = try TestFile()
    let environment = try environment(file, &random)
    defer { environment.close() }
    let whole = Array(try Data(contentsOf: URL(fileURLWithPath: file.path)))
    let live = whole.load(144, as: UInt64.self) > whole.load(4096 + 144, as: UInt64.self) ? 0 : 4096
    // LMDB itself reads the table of tables, and takes it as it is.
    let tables = Int(whole.load(live + 128, as: UInt64.self))
    let descriptor = Glibc.open(file.path, O_RDWR)
    defer { close(descriptor) }
    var thrown = 0
    try environment.read { snapshot in
      let leaves = try #require(try snapshot.leaves(environment.table("t")))
      let count = try entries(leaves).count
      for round in 0..<(Soak.isOn ? 50_000 : 600) {
        let page = Int.random(in: 2..<(whole.count / 4096), using: &random)
        if page == tables { continue }
        // Heads and nodes more often than what is in them.
        let range = round % 2 == 0 ? 0..<64 : 0..<4096
        let offset = page * 4096 + Int.random(in: range, using: &random)
        var byte = UInt8.random(in: 0...255, using: &random)
        pwrite(descriptor, &byte, 1, off_t(offset))
        do {
          let found: Int
          if round % 2 == 0 {
            found = try entries(leaves).count
          } else {
            let walk = try #require(
              try [UInt8]().withUnsafeBytes { try snapshot.walk(environment.table("t"), from: $0) })
            var entries = 0
            while try walk.next() != nil { entries += 1 }
            found = entries
          }
          #expect(found <= 100 * count, "seed \(seed)")
        } catch is LMDBError {
          thrown += 1
        }
        byte = whole[offset]
        pwrite(descriptor, &byte, 1, off_t(offset))
      }
      #expect(try entries(leaves).count == count)
    }
    #expect(thrown > 20, "seed \(seed)")
  }
}
