import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Large documents that come, grow and go, with readers and listeners. HEARTH_CHURN_SECONDS says for how
/// long.
@Suite(.serialized, .ownThreads) struct ChurnTests {
  private static let seconds =
    ProcessInfo.processInfo.environment["HEARTH_CHURN_SECONDS"].flatMap(Int.init) ?? 6
  private static let least = 10

  @Test func `a churn of large documents keeps the file as large as it was`() async throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/churn.hearth"
    let settings = FirestoreSettings()
    settings.changeLogLimitBytes = 8 << 20
    let db = try Firestore.open(at: path, settings: settings)
    let notes = Notes()
    let registrations = (0..<4).map { index in
      db.collection("large\(index)").addSnapshotListener { snapshot, _ in
        notes.hear(snapshot?.count ?? 0)
      }
    }
    // As much as there will ever be, and twice over.
    for round in 0..<2 {
      for document in 0..<40 {
        try await Self.write(document, bytes: 500_000 + round, in: db)
      }
    }
    let before = try size(path)
    // On a disk that others keep busy a commit takes seconds: then it goes on until there were enough.
    let began = ContinuousClock.now
    let goesOn: @Sendable () -> Bool = {
      let now = ContinuousClock.now
      return now < began + .seconds(Self.seconds)
        || notes.commits <= Self.least && now < began + .seconds(Self.seconds + 120)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(writer))
          while goesOn() {
            let document = writer * 10 + Int.random(in: 0..<10, using: &random)
            // From 1 KiB to 1 MiB, each power of two as often.
            let bytes = Int(pow(2, Double.random(in: 10...19.99, using: &random)))
            let began = ContinuousClock.now
            if Int.random(in: 0..<8, using: &random) == 0 {
              try await Self.document(document, in: db).delete()
            } else {
              try await Self.write(document, bytes: bytes, in: db)
            }
            let took = ContinuousClock.now - began
            notes.note(took)
          }
        }
      }
      for reader in 0..<4 {
        group.addTask {
          while goesOn() {
            for document in 0..<40 where document % 4 == reader {
              let found = try await Self.document(document, in: db).getDocument()
              guard let text = found["text"] as? String else { continue }
              #expect(text.utf8.count == found["bytes"] as? Int)
            }
            try await Task.sleep(for: .milliseconds(10))
          }
        }
      }
      group.addTask {
        while goesOn() {
          try await Task.sleep(for: .milliseconds(200))
          let now = try self.size(path)
          notes.note(size: now)
        }
      }
      try await group.waitForAll()
    }
    let took = ContinuousClock.now - began
    for registration in registrations { registration.remove() }
    try await db.terminate()
    let sorted = notes.durations.sorted()
    let largest = notes.largest
    try #require(sorted.count > Self.least)
    #expect(notes.heard > 0)
    print(
      """
      churn: \(sorted.count) commits in \(took.components.seconds) s, p50 \(sorted[sorted.count / 2]), p99 \
      \(sorted[sorted.count * 99 / 100]); file \(before) bytes before, \(largest) at most
      """)
    // What is live is some 20 MB and 8 MB of log; one reader that lingers would make it grow on and on.
    #expect(largest < before * 4)
    #expect(largest < 120 << 20)
    let store = try Store(path: path, configuration: StoreConfiguration())
    #expect(try store.check().problems == [])
    store.close()
  }

  private final class Notes: Sendable {
    private let state = Guarded((durations: [Duration](), largest: 0, heard: 0))
    var commits: Int { state.withLock { $0.durations.count } }
    var durations: [Duration] { state.withLock(\.durations) }
    var largest: Int { state.withLock(\.largest) }
    var heard: Int { state.withLock(\.heard) }

    func note(_ duration: Duration) { state.withLock { $0.durations.append(duration) } }
    func note(size: Int) { state.withLock { $0.largest = max($0.largest, size) } }
    func hear(_ count: Int) { state.withLock { $0.heard += count } }
  }

  private static func document(_ number: Int, in db: Firestore) -> DocumentReference {
    db.document("large\(number / 10)/\(number)")
  }

  private static func write(_ number: Int, bytes: Int, in db: Firestore) async throws {
    let text = String(repeating: "x", count: bytes)
    try await document(number, in: db).setData(["bytes": bytes, "text": text])
  }

  private func size(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.size] as? Int)
  }
}
