import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// The power goes at any moment: what a flush has promised is on the disk, everything else may be or not.
///
/// The method. A process writes with everything it hands to the system taken down: each write to the
/// database's file with its bytes, each flush, and each acknowledgement its callers got, in the order in
/// which they came (`CStorageSpy`). Here the tape is cut at a random place, and a disk is made that could
/// be found after such a cut:
///
/// - a write is on it for sure if a flush of the file that came after it had returned before the cut, or
///   if it went through a descriptor whose writes are on the disk when they return (LMDB's header);
/// - of every other write, the one under way among them, any part may be on it: each sector of 512 bytes
///   shows the last promised state or any later one, whatever its neighbours show. So writes are dropped,
///   torn and reordered;
/// - a sector is written whole or not at all. The file's name is there: its folder was flushed.
///
/// What is left is looked at by `check`, opened, and compared with the acknowledgements before the cut.
@Suite(.ownThreads) struct PowerLossTests {
  struct Tape {
    enum Event {
      case write(offset: Int, bytes: Range<Int>, isSynchronous: Bool)
      case flush
      case truncate(length: Int)
      case mark(task: Int, step: Int)
    }

    let data: [UInt8]
    var events: [Event] = []

    init(_ path: String) throws {
      data = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
      var position = 0
      func number() throws -> Int {
        try #require(position + 8 <= data.count)
        defer { position += 8 }
        return Int(
          truncatingIfNeeded: data.withUnsafeBytes {
            $0.loadUnaligned(fromByteOffset: position, as: UInt64.self)
          })
      }
      while position < data.count {
        let (kind, first, second) = (try number(), try number(), try number())
        switch kind {
        case 1, 2:
          try #require(position + second <= data.count)
          events.append(
            .write(
              offset: first, bytes: position..<(position + second), isSynchronous: kind == 2))
          position += second
        case 3: events.append(.flush)
        case 4: events.append(.truncate(length: first))
        case 5: events.append(.mark(task: first, step: second))
        default: Issue.record("The tape has an event of kind \(kind).")
        }
      }
    }
  }

  /// What the disk is known to hold, and what it may hold besides.
  struct Disk {
    private(set) var promised: [UInt8] = []
    private(set) var pending: [(offset: Int, bytes: ArraySlice<UInt8>)] = []

    mutating func take(_ event: Tape.Event, _ tape: Tape) {
      switch event {
      case .write(let offset, let bytes, let isSynchronous):
        if isSynchronous {
          Self.apply(offset, tape.data[bytes], to: &promised)
        } else {
          pending.append((offset, tape.data[bytes]))
        }
      case .flush:
        for (offset, bytes) in pending { Self.apply(offset, bytes, to: &promised) }
        pending = []
      case .truncate(let length): promised = Array(promised.prefix(length))
      case .mark: break
      }
    }

    /// The power goes while `next` is under way.
    func afterPowerLoss(
      during next: Tape.Event?, _ tape: Tape, _ random: inout SeededGenerator
    ) -> [UInt8] {
      var found = promised
      var unsure = pending
      if case .write(let offset, let bytes, _)? = next { unsure.append((offset, tape.data[bytes])) }
      let manner = Int.random(in: 0..<4, using: &random)
      var written: [Int: [ArraySlice<UInt8>]] = [:]
      for (offset, bytes) in unsure {
        // All of it dropped; or all there; or whole writes dropped; or each sector as it likes.
        if manner == 0 || manner == 2 && Bool.random(using: &random) { continue }
        for sector in (offset / 512)...((offset + bytes.count - 1) / 512) {
          let low = max(offset, sector * 512)
          let high = min(offset + bytes.count, (sector + 1) * 512)
          let start = bytes.startIndex - offset
          written[low, default: []].append(bytes[(low + start)..<(high + start)])
        }
      }
      for (offset, versions) in written.sorted(by: { $0.key < $1.key }) {
        var count = versions.count
        if manner == 3 { count = Int.random(in: 0...versions.count, using: &random) }
        for version in versions.prefix(count) { Self.apply(offset, version, to: &found) }
      }
      return found
    }

    private static func apply(_ offset: Int, _ bytes: ArraySlice<UInt8>, to image: inout [UInt8]) {
      let end = offset + bytes.count
      if image.count < end { image += [UInt8](repeating: 0, count: end - image.count) }
      image.replaceSubrange(offset..<end, with: bytes)
    }
  }

  struct Outcome {
    var cuts = 0
    /// Cuts after which an acknowledged request was not there, and all such requests.
    var losses = 0
    var lostRequests = 0
    /// The most acknowledged requests that one cut lost.
    var largestLoss = 0
    /// Cuts after which the file was damaged.
    var damages = 0
    /// Requests of which a part was there.
    var halves = 0
    var example = ""
  }

  private func outcome(_ durability: String, cuts: Int) throws -> Outcome {
    let folder = TemporaryFolder()
    let tasks = 8
    let helper = try Helper(
      "tape", folder.path + "/taped.hearth", durability, tasks, Soak.isOn ? 60 : 30,
      folder.path + "/tape")
    #expect(helper.lines() == ["taped"])
    let tape = try Tape(folder.path + "/tape")
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    // From the first acknowledgement on; before it there is nothing to lose.
    let first = try #require(
      tape.events.firstIndex { if case .mark = $0 { true } else { false } })
    let places = (0..<cuts).map { _ in
      Int.random(in: (first + 1)...tape.events.count, using: &random)
    }.sorted()
    var outcome = Outcome()
    var disk = Disk()
    var acknowledged = [Int](repeating: 0, count: tasks)
    var position = 0
    for place in places {
      while position < place {
        if case .mark(let task, let step) = tape.events[position] { acknowledged[task] = step }
        disk.take(tape.events[position], tape)
        position += 1
      }
      let next = position < tape.events.count ? tape.events[position] : nil
      let image = disk.afterPowerLoss(during: next, tape, &random)
      try look(at: image, acknowledged, folder, &outcome, "seed \(seed), cut at \(place)")
    }
    print("power loss, \(durability): \(outcome), \(tape.events.count) events")
    return outcome
  }

  private func look(
    at image: [UInt8], _ acknowledged: [Int], _ folder: TemporaryFolder, _ outcome: inout Outcome,
    _ note: String
  ) throws {
    let path = folder.path + "/found.hearth"
    try Data(image).write(to: URL(fileURLWithPath: path))
    defer { for suffix in ["", "-lock", "-presence"] { unlink(path + suffix) } }
    outcome.cuts += 1
    let report = try FileCheck.run(at: path, StoreConfiguration())
    guard report.problemCount == 0 else {
      outcome.damages += 1
      outcome.lostRequests += acknowledged.reduce(0, +)
      outcome.example = "\(note): \(report.problems)"
      return
    }
    let store = try Store(path: path, configuration: StoreConfiguration())
    defer { store.close() }
    func step(_ document: String) throws -> Int {
      let name = DocumentName(ResourcePath(relative: document), limit: store.keyLimit)
      guard let stored = try store.read({ try $0.document(name) }),
        case .integer(let step)? = try stored.body.map()["step"]
      else { return 0 }
      return Int(step)
    }
    var lost = 0
    for (task, promised) in acknowledged.enumerated() {
      let found = try step("counters/\(task)")
      lost += max(0, promised - found)
      if try step("twins/\(task)") != found { outcome.halves += 1 }
      // Every step adds one and deletes the third before it.
      let kept = try store.read {
        try $0.documentCount(
          inCollection: ResourcePath(relative: "tasks/\(task)/steps"))
      }
      if Int(kept) != min(found, 3) { outcome.halves += 1 }
    }
    if lost > 0 { outcome.losses += 1 }
    outcome.lostRequests += lost
    outcome.largestLoss = max(outcome.largestLoss, lost)
  }

  private var cuts: Int { Soak.isOn ? 1200 : 60 }

  @Test func `no acknowledged write is lost when the power goes`() throws {
    let outcome = try outcome("full", cuts: cuts)
    #expect(outcome.cuts == cuts && outcome.lostRequests == 0)
    #expect(outcome.damages == 0 && outcome.halves == 0)
  }

  @Test func `where the last commit may be lost, no more is, and the file stays whole`() throws {
    let outcome = try outcome("lastCommitMayBeLost", cuts: cuts)
    #expect(outcome.damages == 0 && outcome.halves == 0)
    // One commit has at most one request of each task.
    #expect(outcome.largestLoss <= 8)
  }

  /// That the test sees the difference.
  @Test func `without flushing, writes are lost when the power goes`() throws {
    let outcome = try outcome("unsafeWithoutFlushing", cuts: cuts / 3)
    #expect(outcome.lostRequests > 0)
  }
}
