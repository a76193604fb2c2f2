import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Many at once. Worth most under the thread sanitizer.
@Suite(.serialized, .ownThreads) struct LoadTests {
  let folder = TemporaryFolder()

  @Test func `very many reading and sixty-four writing tasks lose nothing`() async throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    let db = try Firestore.open(at: folder.path + "/load.hearth", settings: settings)
    let end = ContinuousClock.now + .seconds(Soak.isOn ? 10 : 2)
    let heard = Guarded(0)
    let registration = db.collection("counters").addSnapshotListener { snapshot, _ in
      let sum = snapshot?.documents.reduce(0) { $0 + ($1["n"] as? Int ?? 0) } ?? 0
      heard.withLock { last in
        // Counters only grow, and listeners hear of commits in order.
        #expect(sum >= last)
        last = sum
      }
    }
    let written = try await withThrowingTaskGroup(of: [Int: Int].self) { group in
      // On a slow machine thousands take minutes for a round.
      let readers = Soak.isOn || hasSanitizer ? 2000 : 200
      for reader in 0..<readers {
        group.addTask {
          var last = 0
          while ContinuousClock.now < end {
            let found = try await db.document("counters/\(reader % 64)").getDocument()
            let n = found["n"] as? Int ?? 0
            try #require(n >= last)
            last = n
            if reader % (readers / 10) == 0 {
              try #require(try await db.collection("counters").getDocuments().count <= 64)
            }
            await Task.yield()
          }
          return [:]
        }
      }
      for writer in 0..<64 {
        group.addTask {
          let counter = db.document("counters/\(writer)")
          var n = 0
          repeat {
            n += 1
            try await counter.setData(["n": n])
            let found = try await counter.getDocument()
            try #require(found["n"] as? Int == n)
          } while ContinuousClock.now < end
          return [writer: n]
        }
      }
      return try await group.reduce(into: [:]) { $0.merge($1) { $1 } }
    }
    #expect(written.count == 64)
    for (writer, n) in written {
      let found = try await db.document("counters/\(writer)").getDocument()
      #expect(found["n"] as? Int == n)
    }
    let sum = written.values.reduce(0, +)
    try await eventually { heard.withLock { $0 == sum } }
    registration.remove()
    try await db.terminate()
  }

  @Test func `the file does not grow while listeners are idle`() async throws {
    let alone = try await sizeAfterCommits("alone", listeners: 0)
    let heard = try await sizeAfterCommits("heard", listeners: 100)
    print("file after 1,500 commits: \(alone) bytes, with 100 listeners \(heard)")
    // A reader held up on a busy machine costs some pages; an idle one makes it many times as large.
    #expect(Double(heard) < Double(alone) * 4)
  }

  private func sizeAfterCommits(_ name: String, listeners: Int) async throws -> Int {
    let path = folder.path + "/\(name).hearth"
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    let db = try Firestore.open(at: path, settings: settings)
    let text = String(repeating: "x", count: 400)
    let registrations = (0..<listeners).map { index in
      index % 2 == 0
        ? db.collection("still").addSnapshotListener { _, _ in }
        : db.document("churn/\(index)").addSnapshotListener { _, _ in }
    }
    for commit in 0..<1500 {
      let batch = db.batch()
      for index in 0..<10 {
        batch.setData(
          ["n": commit, "text": text],
          forDocument: db.document("churn/\((commit * 7 + index * 31) % 1000)"))
      }
      try await batch.commit()
    }
    for registration in registrations { registration.remove() }
    try await db.terminate()
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.size] as? Int)
  }
}
