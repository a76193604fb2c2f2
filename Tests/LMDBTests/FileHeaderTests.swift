import Foundation
import Glibc
import TestSupport
import Testing

@testable import LMDB

/// What is believed of a file before it is mapped.
@Suite(.ownThreads) struct FileHeaderTests {
  @Test func `L-25: what is no database is refused as such`() throws {
    let file = try TestFile()
    let contents: [(Data, LMDBError)] = [
      (Data([1]), .notADatabase),
      (Data(repeating: 0, count: 8192), .notADatabase),
      (Data("SQLite format 3\0".utf8) + Data(repeating: 7, count: 20_000), .notADatabase),
      (Data(repeating: 0xFF, count: 100_000), .notADatabase),
    ]
    for (content, error) in contents {
      try content.write(to: URL(fileURLWithPath: file.path))
      #expect(throws: error) { _ = try file.open() }
      #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)) == content)
    }
    // An empty file is a new database.
    try Data().write(to: URL(fileURLWithPath: file.path))
    _ = try file.open()
  }

  @Test func `L-16, L-25: a truncated file is refused at any length`() throws {
    let file = try TestFile()
    let whole = try made(file)
    for length in [
      1, 16, 20, 100, 4096, 5000, 8191, 8192, 12_288, whole.count / 2, whole.count - 40960,
    ] {
      try whole.prefix(length).write(to: URL(fileURLWithPath: file.path))
      #expect(throws: length < 20 ? LMDBError.notADatabase : .truncated, "\(length)") {
        _ = try file.open()
      }
    }
    try whole.write(to: URL(fileURLWithPath: file.path))
    let environment = try file.open()
    #expect(try environment.text("t", "99") != nil)
  }

  /// Flips every bit of both meta pages. What the validation lets through must be harmless: the
  /// map's size and address, which nobody reads, sizes of statistics, and the number of the commit.
  @Test func `L-25: no flipped bit in the meta pages is believed where it matters`() throws {
    let file = try TestFile()
    let whole = try made(file)
    let pageSize = 4096
    let descriptor = Glibc.open(file.path, O_RDWR)
    defer { close(descriptor) }
    // magic, version, page size and flags, roots, last page.
    let vital = [16..<24, 40..<48, 80..<88, 92..<96, 128..<144]
    for page in 0...1 {
      for bit in 0..<(FileHeader.byteCount * 8) {
        let offset = bit / 8
        let place = off_t(page * pageSize + offset)
        var byte = whole[Int(place)]
        let original = byte
        byte ^= 1 << (bit % 8)
        pwrite(descriptor, &byte, 1, place)
        let result = validate(file.path)
        byte = original
        pwrite(descriptor, &byte, 1, place)
        if vital.contains(where: { $0.contains(offset) }), result == nil {
          // A root or last page that is another page of the file cannot be told here, nor the
          // flag that says how the path is made.
          let isRootOrLast = [80..<88, 128..<144].contains { $0.contains(offset) }
          let isPathFlag = offset == 45 && bit % 8 == 6
          let isKeyFlag = offset == 44 && bit % 8 == 3
          // Used by LMDB only to count; a deep walk meets its own bound.
          let isDepth = offset == 46 || offset == 94
          #expect(isRootOrLast || isPathFlag || isKeyFlag || isDepth, "page \(page), bit \(bit)")
        }
      }
    }
  }

  @Test func `L-25: garbage in the meta pages never traps`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let file = try TestFile()
    let whole = try made(file)
    for _ in 0..<500 {
      var damaged = whole
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let page = Int.random(in: 0...3, using: &random) * 4096
        let offset = 4 * Int.random(in: 0..<40, using: &random)
        let patterns: [UInt32] = [0, .max, 1, 0x7FFF_FFFF, 0x8000_0000, random.next()]
        let pattern = patterns[Int.random(in: 0..<patterns.count, using: &random)]
        withUnsafeBytes(of: pattern) { bytes in
          damaged.replaceSubrange((page + offset)..<(page + offset + 4), with: bytes)
        }
      }
      _ = validate(damaged.prefix(Int.random(in: 0...whole.count, using: &random)), file)
    }
  }

  @Test func `a file that ends in free pages never written is whole`() throws {
    let file = try TestFile()
    var shorter = 0
    let environment = try file.open()
    let table = environment.table("t")
    let value = String(repeating: "v", count: 900)
    for round in 0..<40 {
      // Overflow pages taken and given back in one commit, beside free ones taken up again.
      try environment.write { writing in
        for number in 0..<20 { try writing.put(table, "\(number)", value) }
        try writing.put(table, "large", String(repeating: "v", count: 10_000 * round))
        try writing.delete(table, "large")
      }
      let info = try environment.info
      if info.fileSizeBytes < (info.lastPage + 1) * info.pageSizeBytes { shorter += 1 }
      try FileHeader.validate(PageReader(path: file.path))
      try environment.reopen()
    }
    // Else this promises nothing.
    #expect(shorter > 0)
  }

  @Test func `a file that grows under another's writes is never refused`() throws {
    let file = try TestFile()
    let helper = try Helper(["write-forever", file.path])
    defer { helper.kill(SIGKILL) }
    for _ in 0..<30 { #expect(helper.line() != nil) }
    for _ in 0..<50 { try file.open().close() }
  }

  /// A database of some hundred pages, with free ones, and used ones at the end.
  private func made(_ file: TestFile) throws -> Data {
    let environment = try file.open()
    let table = environment.table("t")
    for round in 0..<4 {
      try environment.write { writing in
        for number in 0..<100 {
          let value = String(repeating: "\(round)", count: 1000)
          try writing.put(table, "\(number)", value)
        }
      }
    }
    try environment.write { writing in
      for number in 100..<500 {
        try writing.put(table, "\(number)", String(repeating: "v", count: 1000))
      }
    }
    environment.close()
    return try Data(contentsOf: URL(fileURLWithPath: file.path))
  }

  private func validate(_ content: Data, _ file: TestFile) -> LMDBError? {
    let path = file.directory + "/damaged"
    guard (try? content.write(to: URL(fileURLWithPath: path))) != nil else { return .inputOutput }
    return validate(path)
  }

  private func validate(_ path: String) -> LMDBError? {
    do throws(LMDBError) {
      try FileHeader.validate(PageReader(path: path))
      return nil
    } catch {
      return error
    }
  }
}
