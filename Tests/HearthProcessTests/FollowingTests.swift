import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Another process listens, is killed at any instant, and goes on by its token: nothing missed, nothing
/// doubled.
@Suite(.ownThreads) struct FollowingTests {
  @Test func `who is killed while listening goes on where it was`() async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let folder = TemporaryFolder()
    let path = folder.path + "/follow.hearth"
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    let db = try Firestore.open(at: path, settings: settings)
    // Both begin with the first change.
    let begin = try await db.changeToken().bytes
    try await db.document("kept/changes").setData(["token": begin])
    var counts: [String: Int] = [:]
    var step = 0
    var killed = 0
    for _ in 0..<(Soak.isOn ? 200 : 8) {
      let helper = try Helper("follow-until-killed", path)
      #expect(helper.line() == "ready")
      let end = ContinuousClock.now + .milliseconds(Int.random(in: 1...250, using: &random))
      while ContinuousClock.now < end {
        try await write(&step, &counts, &random, db)
      }
      helper.kill(SIGKILL)
      #expect(helper.wasKilled)
      killed += 1
      // Some that nobody hears.
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        try await write(&step, &counts, &random, db)
      }
    }
    let helper = try Helper("follow-until-killed", path)
    #expect(helper.line() == "ready")
    let expected = counts
    try await eventually {
      let kept = try await db.document("kept/changes").getDocument()
      return kept["counts"] as? [String: Int] == expected
    }
    let found = try await db.collection("work").order(by: "step", descending: true).limit(to: 5)
      .getDocuments().documents.compactMap { $0["step"] as? Int }
    try await eventually {
      try await db.document("kept/result").getDocument()["steps"] as? [Int] == found
    }
    helper.kill(SIGKILL)
    #expect(helper.wasKilled)
    print("killed \(killed) times: each of \(counts.values.reduce(0, +)) changes is told once")
    try await db.terminate()
  }

  /// One commit of one or two changes.
  private func write(
    _ step: inout Int, _ counts: inout [String: Int], _ random: inout SeededGenerator,
    _ db: Firestore
  ) async throws {
    let batch = db.batch()
    let ids = Set((0..<2).map { _ in "\(Int.random(in: 0..<12, using: &random))" }).sorted()
    for id in ids {
      let document = db.document("work/\(id)")
      counts[id, default: 0] += 1
      if counts[id, default: 0] % 5 == 0 {
        batch.deleteDocument(document)
      } else {
        step += 1
        batch.setData(["step": step], forDocument: document)
      }
    }
    try await batch.commit()
  }
}
