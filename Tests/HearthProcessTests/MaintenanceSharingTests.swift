import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Maintenance of a file that another process writes to.
@Suite(.ownThreads) struct MaintenanceSharingTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path + "/shared.hearth" }

  @Test func `a file that another process writes to is checked and copied, and not replaced`()
    async throws
  {
    let helper = try Helper("follow-definitions", path)
    #expect(helper.line() == "ready")
    helper.say("go")
    #expect(helper.line() == "writing")
    for round in 0..<5 {
      let report = try await FirestoreFile(at: path).check()
      #expect(report.isIntact, "\(report.problems)")
      let db = try Firestore.open(at: path)
      let copy = folder.path + "/copy\(round).hearth"
      #expect(try await db.maintenance.backup(to: copy, compacting: round % 2 == 1).isIntact)
      try await db.terminate()
    }
    for body: () async throws -> Void in [
      { try await FirestoreFile(at: path).compact() },
      { _ = try await FirestoreFile(at: path).repair(to: folder.path + "/new.hearth") },
    ] {
      await #expect { try await body() } throws: {
        ($0 as NSError).code == FirestoreErrorCode.failedPrecondition.rawValue
      }
    }
    let first = try Firestore.open(at: folder.path + "/copy0.hearth")
    await #expect {
      try await first.maintenance.backup(to: path, replacing: true)
    } throws: { ($0 as NSError).code == FirestoreErrorCode.failedPrecondition.rawValue }
    try await first.terminate()
    helper.say("stop")
    #expect(helper.lines().count == 1)
    #expect(try await FirestoreFile(at: path).check().isIntact)
  }

  @Test func `definitions of one process hold in the next commits of the other`() async throws {
    let db = try Firestore.open(at: path)
    let helper = try Helper("follow-definitions", path)
    #expect(helper.line() == "ready")
    helper.say("go")
    #expect(helper.line() == "writing")
    let one = FirestoreIndex("items", .ascending("n"))
    let other = FirestoreIndex("items", .contains("tags"), .descending("n"))
    let pause = Duration.milliseconds(Soak.isOn ? 1000 : 150)
    for round in 0..<8 {
      let isEven = round % 2 == 0
      try await db.indexes.declare(isEven ? one : other)
      if round > 1 { try await db.indexes.drop(isEven ? other : one) }
      try await db.ttl.setPolicy(collectionGroup: "items", field: isEven ? "until" : "later")
      try await Task.sleep(for: pause)
      let report = try await db.maintenance.check()
      #expect(report.isIntact, "round \(round): \(report.problems)")
    }
    helper.say("stop")
    let written = try #require(helper.lines().last)
    try await db.indexes.waitUntilReady()
    let report = try await db.maintenance.check()
    #expect(report.isIntact, "\(report.problems)")
    #expect("wrote \(report.documents)" == written && report.expiringDocuments == report.documents)
    // Each document has two tags.
    #expect(report.indexEntries == 2 * report.documents && report.documents > 0)
    try await db.terminate()
  }

  @Test func `a sweep that is killed is done by another process, and nothing else is deleted`()
    async throws
  {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    let db = try Firestore.open(at: path, settings: settings)
    try await db.ttl.setPolicy(collectionGroup: "items", field: "until")
    let count = 3000
    for start in stride(from: 0, to: count, by: 500) {
      let batch = db.batch()
      for index in start..<(start + 500) {
        // One of three stays.
        let seconds: Int64 = index % 3 == 0 ? 4_000_000_000 : 1
        batch.setData(
          ["until": Timestamp(seconds: seconds, nanoseconds: 0)],
          forDocument: db.document("items/\(index)"))
      }
      try await batch.commit()
    }
    try await db.terminate()
    for _ in 0..<3 {
      let helpers = try (0..<2).map { _ in try Helper("sweep", path, 10) }
      for helper in helpers { #expect(helper.line() == "ready") }
      helpers[0].kill(after: .random(in: 1_000_000...1_200_000))
      helpers[1].kill(SIGKILL)
      for helper in helpers { #expect(helper.wasKilled) }
      #expect(try await FirestoreFile(at: path).check().isIntact)
    }
    settings.ttlSweepInterval = .milliseconds(50)
    let again = try Firestore.open(at: path, settings: settings)
    try await eventually {
      try await again.collection("items").count.getAggregation(source: .server).count as? Int
        == count / 3
    }
    #expect(try await again.ttl.deleteExpired() == 0)
    let report = try await again.maintenance.check()
    #expect(report.isIntact && report.documents == count / 3)
    try await again.terminate()
  }
}
