import Foundation
import Glibc
import TestSupport
import Testing

@testable import LMDB

/// Whole files are found whole, and every bit that means something is missed when it is turned.
struct PageWalkTests {
  @Test func `a new file, an empty table and a full one are whole`() throws {
    let file = try TestFile()
    try Data().write(to: URL(fileURLWithPath: file.path))
    #expect(try PageWalk.check(file.path).problems == [])
    let environment = try file.open(tables: ["t", "empty"])
    #expect(try PageWalk.check(file.path).problems == [])
    try environment.write { writing in
      for number in 0..<3000 { try writing.put(environment.table("t"), "\(number)", "v") }
    }
    environment.close()
    var met = 0
    let report = try PageWalk.check(
      file.path,
      visit: { name, key, value in
        #expect(name == "t" && !key.isEmpty && value.count == 1)
        met += 1
      })
    #expect(report.problems == [])
    #expect(report.entries == ["t": 3000, "empty": 0] && met == 3000)
    #expect(report.usedPages > 10 && report.pageSizeBytes == 4096)
  }

  @Test func `a file is whole after any churn`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let file = try TestFile()
    for round in 0..<(Soak.isOn ? 400 : 40) {
      let environment = try file.open(tables: ["t", "u"])
      for _ in 0..<6 {
        try environment.write { writing in
          for _ in 0..<Int.random(in: 1...120, using: &random) {
            let table = environment.table(Bool.random(using: &random) ? "t" : "u")
            let key =
              String(Int.random(in: 0..<400, using: &random))
              + String(repeating: "k", count: Int.random(in: 0...200, using: &random) / 8 * 8)
            if Int.random(in: 0..<3, using: &random) == 0 {
              try writing.delete(table, key)
            } else {
              let sizes = [3, 40, 700, 2000, 2100, 9000, 40_000]
              let size = sizes[Int.random(in: 0..<sizes.count, using: &random)]
              try writing.put(
                table, key, String(repeating: "v", count: Int.random(in: 0...size, using: &random)))
            }
          }
        }
      }
      environment.close()
      let report = try PageWalk.check(file.path)
      try #require(report.problems == [], "seed \(seed), round \(round)")
    }
  }

  @Test func `a page that is reached twice, used and free, or neither, is told as that`() throws {
    let file = try TestFile()
    let environment = try file.open(tables: ["t"])
    for round in 0..<6 {
      try environment.write { writing in
        for number in 0..<8 {
          try writing.put(
            environment.table("t"), "\(number)", String(repeating: "\(round)", count: 5000))
        }
      }
    }
    environment.close()
    let whole = Array(try Data(contentsOf: URL(fileURLWithPath: file.path)))
    func problems(_ bytes: [UInt8]) throws -> [String] {
      try Data(bytes).write(to: URL(fileURLWithPath: file.path))
      return try PageWalk.check(file.path).problems
    }
    func changed(_ changes: [Int: UInt64]) -> [UInt8] {
      var bytes = whole
      for (offset, number) in changes {
        for byte in 0..<8 { bytes[offset + byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
      }
      return bytes
    }
    #expect(try problems(whole) == [])
    let live = whole.load(144, as: UInt64.self) > whole.load(4096 + 144, as: UInt64.self) ? 0 : 4096
    // One page more than anybody knows of.
    let last = whole.load(live + 136, as: UInt64.self)
    var longer = changed([live + 136: last + 1])
    longer += [UInt8](repeating: 0, count: max(0, Int(last + 2) * 4096 - longer.count))
    let lost = try problems(Array(longer[..<(Int(last + 2) * 4096)]))
    #expect(lost == ["page \(last + 1): is neither used nor free"])
    // Two large values that name one page, two keys that change places, and used pages that are free: of
    // the tables, which are walked later, and of the free list itself.
    var told: [String] = []
    for page in 2..<(whole.count / 4096) where whole.load(page * 4096 + 10, as: UInt16.self) == 2 {
      let start = page * 4096
      let count = (Int(whole.load(start + 12, as: UInt16.self)) - 16) / 2
      let nodes = (0..<count).map { start + Int(whole.load(start + 16 + 2 * $0, as: UInt16.self)) }
      let values = nodes.map { $0 + 8 + Int(whole.load($0 + 6, as: UInt16.self)) }
      if count > 1, nodes.allSatisfy({ whole.load($0 + 4, as: UInt16.self) == 1 }) {
        told += try problems(changed([values[1]: whole.load(values[0], as: UInt64.self)]))
        var swapped = whole
        for byte in 0..<2 { swapped.swapAt(start + 16 + byte, start + 18 + byte) }
        told += try problems(swapped)
      } else if UInt64(page) == whole.load(live + 80, as: UInt64.self), let value = values.last {
        let freeCount = Int(whole.load(value, as: UInt64.self))
        let free = (0..<freeCount).map { whole.load(value + 8 + 8 * $0, as: UInt64.self) }
        #expect(!free.isEmpty)
        for used in [whole.load(live + 128, as: UInt64.self), UInt64(page)] {
          let places = (free.dropLast() + [used]).sorted(by: >).enumerated().map {
            (value + 8 + 8 * $0.offset, $0.element)
          }
          told += try problems(changed(Dictionary(uniqueKeysWithValues: places)))
        }
      }
    }
    #expect(told.contains { $0.hasSuffix("its keys are out of order") }, "\(told)")
    #expect(told.contains { $0.hasSuffix("is reached twice") }, "\(told)")
    #expect(told.contains { $0.hasSuffix("is free, too") }, "\(told)")
    #expect(told.contains { $0.hasSuffix("is used, or free twice") }, "\(told)")
  }

  /// As the power may leave it where headers are not flushed: one commit is lost, and pages of the next
  /// one are there.
  @Test func `pages of commits whose headers are lost are no damage`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let file = try TestFile()
    let environment = try file.open(tables: ["t", "u"])
    defer { environment.close() }
    let found = file.path + "-found"
    defer { unlink(found) }
    var headers: [Data] = []
    for round in 0..<(Soak.isOn ? 20_000 : 600) {
      try environment.write { writing in
        for _ in 0..<Int.random(in: 1...12, using: &random) {
          let table = environment.table(Bool.random(using: &random) ? "t" : "u")
          let key = String(Int.random(in: 0..<300, using: &random))
          if Int.random(in: 0..<3, using: &random) == 0 {
            try writing.delete(table, key)
          } else {
            let size = Int.random(in: 0...4, using: &random) * 900
            try writing.put(table, key, String(repeating: "v", count: size))
          }
        }
      }
      var image = try Data(contentsOf: URL(fileURLWithPath: file.path))
      headers.append(image.prefix(2 * 4096))
      guard headers.count > 2 else { continue }
      image.replaceSubrange(0..<(2 * 4096), with: headers.removeFirst())
      try image.write(to: URL(fileURLWithPath: found))
      let report = try PageWalk.check(found)
      try #require(report.problems == [], "seed \(seed), round \(round)")
    }
  }

  /// Bit after bit of both headers, of every branch, of the table of tables and of the free list.
  @Test func `a turned bit that leads to pages or tells the commit is missed`() throws {
    let file = try TestFile()
    let environment = try file.open(tables: ["t", "u"])
    for round in 0..<5 {
      try environment.write { writing in
        for number in 0..<150 {
          let key = "\(number % 100) \(String(repeating: "k", count: 100))"
          try writing.put(environment.table("t"), key, String(repeating: "\(round)", count: 40))
          if number % 60 == 0 {
            try writing.put(environment.table("u"), key, String(repeating: "v", count: 5000))
          }
        }
        for number in 0..<(round * 10) {
          try writing.delete(
            environment.table("t"), "\(number) \(String(repeating: "k", count: 100))")
        }
      }
    }
    environment.close()
    let whole = try Data(contentsOf: URL(fileURLWithPath: file.path))
    func load<T: FixedWidthInteger>(_ offset: Int, as type: T.Type) -> T {
      Array(whole[offset..<(offset + MemoryLayout<T>.size)]).load(0, as: type)
    }
    let live = load(144, as: UInt64.self) > load(4096 + 144, as: UInt64.self) ? 0 : 1
    let descriptor = Glibc.open(file.path, O_RDWR)
    defer { close(descriptor) }
    func isMissed(_ bit: Int) throws -> Bool {
      var byte = whole[bit / 8] ^ UInt8(1 << (bit % 8))
      pwrite(descriptor, &byte, 1, off_t(bit / 8))
      defer {
        byte = whole[bit / 8]
        pwrite(descriptor, &byte, 1, off_t(bit / 8))
      }
      return try PageWalk.check(file.path).problemCount > 0
    }
    #expect(try PageWalk.check(file.path).problems == [])
    for page in 0...1 {
      for offset in 0..<FileHeader.byteCount {
        // How large the map once was; and of the older header the trees, which nobody reads.
        if (32..<40).contains(offset) || page != live && (40..<144).contains(offset) { continue }
        for bit in 0..<8 {
          let place = (page * 4096 + offset) * 8 + bit
          #expect(try isMissed(place), "header \(page), byte \(offset), bit \(bit)")
        }
      }
    }
    // Branches and what they name.
    var branches = 0
    for page in 2..<(whole.count / 4096) where load(page * 4096 + 10, as: UInt16.self) == 1 {
      guard load(page * 4096, as: UInt64.self) == UInt64(page),
        try isMissed((page * 4096) * 8)  // else it is a free page
      else { continue }
      branches += 1
      let count = (Int(load(page * 4096 + 12, as: UInt16.self)) - 16) / 2
      var places = Array(0..<8) + Array(10..<(16 + 2 * count))
      for index in 0..<count {
        let node = Int(load(page * 4096 + 16 + 2 * index, as: UInt16.self))
        places += Array(node..<(node + 8))
      }
      for offset in places {
        for bit in 0..<8 {
          #expect(
            try isMissed((page * 4096 + offset) * 8 + bit), "page \(page), byte \(offset), \(bit)")
        }
      }
    }
    #expect(branches > 0)
  }
}
