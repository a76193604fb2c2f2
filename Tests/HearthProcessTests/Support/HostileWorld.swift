import Foundation
import Hearth
import Synchronization
import TestSupport
import Testing

/// A whole file, and every way of damaging it that comes to mind.
final class HostileWorld: Sendable {
  struct Kind: Sendable {
    let name: String
    let damage: @Sendable (inout [UInt8], Layout) -> Void
  }

  struct Outcome: CustomStringConvertible {
    let isSignal: Bool
    let status: Int32
    let output: String
    var description: String { "\(isSignal ? "signal" : "status") \(status) \(output.suffix(300))" }
  }

  private let folder = TemporaryFolder()
  private let whole: [UInt8]
  private let layout: Layout
  private let count = Mutex(0)

  init() async throws {
    let path = folder.path + "/whole.hearth"
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    let db = try Firestore.open(at: path, settings: settings)
    try await db.indexes.declare(FirestoreIndex("books", .ascending("n"), .descending("text")))
    try await db.indexes.waitUntilReady()
    try await db.ttl.setPolicy(collectionGroup: "sessions", field: "until")
    for number in 0..<400 {
      let text = String(repeating: "x", count: number % 40 == 0 ? 9000 : 20 + number % 7 * 50)
      try await db.document("books/\(number)").setData(["n": number, "text": text])
    }
    for number in 0..<400 where number % 3 == 1 {
      try await db.document("books/\(number)").delete()
    }
    let later = Timestamp(seconds: 4_000_000_000, nanoseconds: 0)
    try await db.document("sessions/a").setData(["until": later])
    try await db.terminate()
    whole = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    layout = try Layout(whole)
  }

  private func nextPath() -> String {
    let number = count.withLock { count in
      count += 1
      return count
    }
    return folder.path + "/\(number)"
  }

  /// What `body` returns for each kind and its number. Several run at once: each process waits for the disk.
  func forEachKind(
    _ body: @escaping @Sendable (Int, Kind) throws -> [String]
  ) async throws -> [String] {
    let lanes = 3
    return try await withThrowingTaskGroup(of: [String].self) { group in
      for lane in 0..<lanes {
        group.addTask {
          try self.kinds.enumerated().filter { $0.offset % lanes == lane }.flatMap(body)
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
  }

  /// A damaged copy, alone in its folder.
  func file(of kind: Kind) throws -> String {
    let place = nextPath()
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    var bytes = whole
    kind.damage(&bytes, layout)
    let path = place + "/x.hearth"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// False, and printed as skipped, where `hearth` was built without its commands: it then looks at no file at all.
  func hasCommands() throws -> Bool {
    let path = try file(of: Kind(name: "whole") { _, _ in })
    guard try hearth(["check", path]).status == 69 else { return true }
    print("skipped: the commands of hearth, which the trait Tools builds")
    return false
  }

  func safeCommands(_ path: String) -> [[String]] {
    [
      ["check", path], ["repair", path, path + ".repaired"], ["export", path, path + ".jsonl"],
    ]
  }

  var commands: [@Sendable (String) -> [String]] {
    [
      { ["get", $0, "books/0"] }, { ["list", $0, "books"] },
      { ["query", $0, "books where n > 100 order by n limit 5"] },
      { ["query", $0, "books count"] }, { ["stat", $0] },
      { ["set", $0, "books/new", #"{"n": 1, "text": "new"}"#] }, { ["delete", $0, "books/0"] },
      { ["watch", $0, "books", "--count", "1"] }, { ["backup", $0, $0 + ".backup"] },
      { ["compact", $0] }, { ["check", $0] }, { ["repair", $0, $0 + ".repaired"] },
      { ["export", $0, $0 + ".jsonl"] },
    ]
  }

  func run(_ command: String, _ path: String, _ arguments: [String]) throws -> Outcome {
    try start("hearth-test-helper", [command, path] + arguments)
  }

  func hearth(_ arguments: [String]) throws -> Outcome { try start("hearth", arguments) }

  private func start(_ name: String, _ arguments: [String]) throws -> Outcome {
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: own).deletingLastPathComponent()
      .appendingPathComponent(name)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let output = nextPath()
    try Data().write(to: URL(fileURLWithPath: output))
    let handle = try #require(FileHandle(forWritingAtPath: output))
    (process.standardOutput, process.standardError) = (handle, handle)
    process.standardInput = FileHandle.nullDevice
    try process.run()
    // The item is kept until its time, even cancelled, with what it captures: not the process and its files. With 1,360
    // of them open, Foundation reads past the end of a buffer when it starts the next process.
    let killer = DispatchWorkItem { [id = process.processIdentifier] in kill(id, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 300, execute: killer)
    process.waitUntilExit()
    killer.cancel()
    try handle.close()
    return Outcome(
      isSignal: process.terminationReason == .uncaughtSignal, status: process.terminationStatus,
      output: (try? String(contentsOfFile: output, encoding: .utf8)) ?? "")
  }

  // MARK: Kinds

  private typealias Place = @Sendable (Layout) -> Int

  let kinds: [Kind] = {
    func kind(
      _ name: String, _ damage: @escaping @Sendable (inout [UInt8], Layout) -> Void
    ) -> Kind {
      Kind(name: name, damage: damage)
    }
    func numbers(
      _ name: String, _ count: Int, _ values: [UInt64], _ place: @escaping Place
    ) -> [Kind] {
      values.map { value in
        kind("\(name) \(value)") { bytes, layout in bytes.put(value, at: place(layout), count) }
      }
    }
    let far: UInt64 = 0x7FFF_FFFF
    var kinds = [
      kind("one byte") { bytes, _ in bytes = [7] },
      kind("text") { bytes, _ in bytes = Array("{\"hello\": \"world\"}\n".utf8) },
      kind("zeros") { bytes, _ in bytes = [UInt8](repeating: 0, count: bytes.count) },
      kind("noise") { bytes, _ in
        var random = SeededGenerator(seed: 11)
        bytes = bytes.map { _ in UInt8(truncatingIfNeeded: random.next()) }
      },
      kind("headers alone") { bytes, _ in bytes = Array(bytes.prefix(8192)) },
      kind("half a header") { bytes, _ in bytes = Array(bytes.prefix(100)) },
      kind("cut in the middle") { bytes, _ in bytes = Array(bytes.prefix(bytes.count / 2)) },
      kind("cut by a page") { bytes, _ in bytes = Array(bytes.dropLast(4096)) },
      kind("cut within a page") { bytes, _ in bytes = Array(bytes.dropLast(1000)) },
      kind("headers exchanged") { bytes, _ in
        bytes = Array(bytes[4096..<8192] + bytes[..<4096] + bytes[8192...])
      },
      kind("headers the same") { bytes, _ in
        bytes.replaceSubrange(4096..<8192, with: bytes[..<4096])
      },
      kind("newer header zeroed") { bytes, layout in
        bytes.replaceSubrange(
          layout.header..<(layout.header + 4096), with: [UInt8](repeating: 0, count: 4096))
      },
      kind("pages zeroed") { bytes, _ in
        bytes.replaceSubrange(
          8192..<bytes.count, with: [UInt8](repeating: 0, count: bytes.count - 8192))
      },
      kind("pages full of ones") { bytes, _ in
        bytes.replaceSubrange(
          8192..<bytes.count, with: [UInt8](repeating: 0xFF, count: bytes.count - 8192))
      },
      kind("pages of noise") { bytes, _ in
        var random = SeededGenerator(seed: 12)
        for index in 8192..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
      },
      kind("pages turned round") { bytes, _ in
        let pages = stride(from: 8192, to: bytes.count - 4095, by: 4096).map {
          Array(bytes[$0..<($0 + 4096)])
        }
        bytes = Array(bytes[..<8192]) + pages.reversed().joined()
      },
      kind("every page flagged as overflow") { bytes, _ in
        for page in stride(from: 8192, to: bytes.count - 4095, by: 4096) {
          bytes.put(4, at: page + 10, 2)
        }
      },
    ]
    kinds += numbers("magic", 4, [0, 0xDEAD_BEEF]) { $0.header + 16 }
    kinds += numbers("version", 4, [0, 2, 999]) { $0.header + 20 }
    kinds += numbers("map address", 8, [0x1000]) { $0.header + 24 }
    kinds += numbers("map size", 8, [0, 1, UInt64.max]) { $0.header + 32 }
    kinds += numbers("page size", 4, [0, 1, 512, 8192, 0xFFFF_FFFF]) { $0.header + 40 }
    kinds += numbers("free flags", 2, [0, 0x0C, 0xFFFF]) { $0.header + 44 }
    kinds += numbers("free depth", 2, [0, 2, 9, 0xFFFF]) { $0.header + 46 }
    kinds += numbers("free root", 8, [0, 1, 2, far, UInt64.max]) { $0.header + 80 }
    kinds += numbers("main flags", 2, [4, 0xFFFF]) { $0.header + 92 }
    kinds += numbers("main depth", 2, [0, 2, 9, 0xFFFF]) { $0.header + 94 }
    kinds += numbers("main entries", 8, [0, UInt64.max]) { $0.header + 120 }
    kinds += numbers("main root", 8, [0, 1, 2, far, UInt64.max]) { $0.header + 128 }
    kinds += numbers("last page", 8, [0, 1, 5, far, UInt64.max]) { $0.header + 136 }
    kinds += numbers("commit", 8, [0, 1, UInt64.max]) { $0.header + 144 }
    for name in ["documents", "entries", "meta", "changes"] {
      let record: Place = { $0.tables[name] ?? 0 }
      kinds += numbers("\(name): flags", 2, [4, 0xFFFF]) { record($0) + 4 }
      kinds += numbers("\(name): depth", 2, [0, 1, 3, 33, 0xFFFF]) { record($0) + 6 }
      kinds += numbers("\(name): root", 8, [0, 1, 3, far, UInt64.max]) { record($0) + 40 }
      kinds += numbers("\(name): entries", 8, [0, UInt64.max]) { record($0) + 32 }
    }
    let pages: [(String, Place)] = [
      ("main", { $0.main }), ("branch", { $0.branch }), ("leaf", { $0.leaf }),
      ("free list", { $0.free }), ("last leaf", { $0.lastLeaf }),
    ]
    for (name, page) in pages {
      kinds += numbers("\(name): number", 8, [0, 1, UInt64.max]) { page($0) }
      kinds += numbers("\(name): flags", 2, [0, 1, 2, 4, 0x20, 0xFFFF]) { page($0) + 10 }
      kinds += numbers("\(name): lower", 2, [0, 16, 18, 17, 4096, 0xFFFF]) { page($0) + 12 }
      kinds += numbers("\(name): upper", 2, [0, 16, 4096, 0xFFFF]) { page($0) + 14 }
      kinds += numbers("\(name): first offset", 2, [0, 8, 4095, 0xFFFF]) { page($0) + 16 }
      kinds += numbers("\(name): key size", 2, [0, 512, 4096, 0xFFFF]) { $0.node(page($0)) + 6 }
      kinds += numbers("\(name): node flags", 2, [1, 2, 4, 0xFFFF]) { $0.node(page($0)) + 4 }
      kinds += numbers("\(name): value size", 4, [0, 4096, 0x7FFF_FFFF]) { $0.node(page($0)) }
    }
    kinds += numbers("branch: child", 4, [0, 1, 0x7FFF_FFFF]) { $0.node($0.branch) }
    kinds += [
      kind("branch: its own child") { bytes, layout in
        bytes.put(UInt64(layout.branch / 4096), at: layout.node(layout.branch), 4)
      },
      kind("branch: one child twice") { bytes, layout in
        bytes.put(
          UInt64(layout.number(layout.node(layout.branch, 1), 4)),
          at: layout.node(layout.branch), 4)
      },
    ]
    kinds += numbers("large value: page", 8, [0, 1, 3, far, UInt64.max]) { $0.largeNumber }
    kinds += numbers("large value: count", 4, [0, 1, 0xFFFF_FFFF]) { $0.large + 12 }
    kinds += numbers("large value: flags", 2, [0, 2]) { $0.large + 10 }
    kinds += numbers("large value: size", 4, [0x7FFF_FFFF, 0xFFFF_FFFF]) { $0.largeNode }
    kinds += numbers("free pages: count", 8, [0, 1, 100_000, UInt64.max]) { $0.freeValue }
    kinds += numbers("free pages: number", 8, [0, 1, 2, far, UInt64.max]) { $0.freeValue + 8 }
    return kinds
  }()
}

extension [UInt8] {
  fileprivate mutating func put(_ number: UInt64, at offset: Int, _ count: Int) {
    for index in 0..<count {
      self[offset + index] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))
    }
  }
}

/// Where in a whole file the things are that can be damaged.
struct Layout: Sendable {
  private let bytes: [UInt8]
  private(set) var header = 0
  private(set) var main = 0
  private(set) var free = 0
  private(set) var branch = 0
  private(set) var leaf = 0
  private(set) var lastLeaf = 0
  private(set) var tables: [String: Int] = [:]
  private(set) var large = 0
  private(set) var largeNode = 0
  private(set) var largeNumber = 0
  private(set) var freeValue = 0

  init(_ bytes: [UInt8]) throws {
    self.bytes = bytes
    header = number(144, 8) > number(4096 + 144, 8) ? 0 : 4096
    main = number(header + 128, 8) * 4096
    free = number(header + 80, 8) * 4096
    for index in 0..<count(main) {
      let node = node(main, index)
      let key = Array(bytes[(node + 8)..<(node + 8 + number(node + 6, 2))])
      tables[String(decoding: key, as: UTF8.self)] = node + 8 + key.count
    }
    let documents = try #require(tables["documents"])
    try #require(number(documents + 6, 2) == 2, "The table of documents has a branch.")
    branch = number(documents + 40, 8) * 4096
    leaf = child(branch, 0)
    lastLeaf = child(branch, count(branch) - 1)
    for index in 0..<count(branch) {
      let leaf = child(branch, index)
      for entry in 0..<count(leaf) where number(node(leaf, entry) + 4, 2) == 1 {
        largeNode = node(leaf, entry)
      }
    }
    largeNumber = largeNode + 8 + number(largeNode + 6, 2)
    large = number(largeNumber, 8) * 4096
    try #require(number(header + 46, 2) == 1 && large > 0)
    freeValue = node(free) + 8 + number(node(free) + 6, 2)
  }

  func number(_ offset: Int, _ count: Int) -> Int {
    (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
  }

  func count(_ page: Int) -> Int { (number(page + 12, 2) - 16) / 2 }

  func node(_ page: Int, _ index: Int = 0) -> Int { page + number(page + 16 + 2 * index, 2) }

  private func child(_ page: Int, _ index: Int) -> Int { number(node(page, index), 4) * 4096 }
}
