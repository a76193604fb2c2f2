import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// `kill -9` at any instant: all or nothing, acknowledged writes present.
@Suite(.ownThreads) struct CrashTests {
  @Test(arguments: [1, 2])
  func `every acknowledged write survives a kill, and no request is half applied`(
    processes: Int
  ) async throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    var folder = TemporaryFolder()
    var steps: [Int] = []
    var stepCount = 0
    for round in 0..<(Soak.isOn ? 250 : 12 / processes) {
      // Four crashes for each file: each meets what those before it have left.
      if round % 4 == 0 {
        folder = TemporaryFolder()
        steps = [Int](repeating: 0, count: 64)
      }
      let path = folder.path + "/crash.hearth"
      let tasks = steps.count / processes
      let helpers = try (0..<processes).map {
        try Helper("write-until-killed", path, tasks, $0 * tasks)
      }
      for helper in helpers { #expect(helper.line() == "ready") }
      // Now in the beginning, now in the midst of it.
      var lines = round % 3 == 0 ? [] : [try #require(helpers[0].line())]
      for helper in helpers {
        let delay = Int.random(in: 0...300_000, using: &random)
        Thread.detachNewThread { helper.kill(after: delay) }
      }
      lines += helpers.flatMap { $0.lines() }
      for line in lines {
        let numbers = line.split(separator: " ").compactMap { Int($0) }
        try #require(numbers.count == 2, "\(line)")
        steps[numbers[0]] = numbers[1]
        stepCount += 1
      }
      for helper in helpers { #expect(helper.wasKilled) }
      try await check(path, &steps, "seed \(seed), round \(round)")
      let store = try Store(path: path, configuration: StoreConfiguration())
      defer { store.close() }
      #expect(try store.check().problems == [], "seed \(seed), round \(round)")
    }
    #expect(stepCount > 0)
    print("kill -9 of \(processes) processes: \(stepCount) acknowledged writes are all there")
  }

  /// A task has one request in flight, so its counter is at what it acknowledged or one more.
  private func check(_ path: String, _ steps: inout [Int], _ note: Comment) async throws {
    let db = try Firestore.open(at: path)
    for task in steps.indices {
      let counter = try await db.document("counters/\(task)").getDocument()
      let step = counter["step"] as? Int ?? 0
      #expect(step == steps[task] || step == steps[task] + 1, note)
      steps[task] = step
      guard step > 0 else { continue }
      #expect(counter["text"] as? String == Story.text(task, step), note)
      guard task % 2 == 0 else { continue }
      let twin = try await db.document("twins/\(task)").getDocument()
      #expect(twin["step"] as? Int == step, note)
      #expect(twin["text"] as? String == Story.text(task, step), note)
      // Each request added one and deleted the one two steps before.
      let kept = try await db.collection("tasks/\(task)/steps").getDocuments()
      #expect(Set(kept.documents.map(\.documentID)) == names(step), note)
    }
    try await db.terminate()
  }

  private func names(_ step: Int) -> Set<String> {
    Set((max(1, step - 1)...step).map(String.init))
  }

  @Test(arguments: ["killed", "halfway", "afterwards"])
  func `a process that dies at any call to the storage leaves all or nothing to another`(
    fate: String
  ) async throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/shared.hearth"
    // Open all the time: the lock of the dead is taken over, nothing is reopened.
    let db = try Firestore.open(at: path)
    var last = 0
    var deaths = 0
    for call in 1...200 {
      let helper = try Helper("meet-fate", path, fate, call)
      let isAcknowledged = helper.lines().contains("acknowledged")
      #expect(helper.wasKilled != isAcknowledged)
      let seen = try await step(in: db)
      #expect(seen == last + 1 || seen == last && !isAcknowledged)
      try await db.document("after/death").setData(["call": call])
      // Whether the dead one got as far as its meta page, only the next writer looks. What was not
      // acknowledged may come into sight that late.
      let step = try await step(in: db)
      #expect(step == seen || step == last + 1)
      last = step
      if isAcknowledged { break }
      deaths += 1
    }
    // Data pages, their flush, the meta page.
    #expect((3..<200).contains(deaths))
    let after = try await db.document("after/death").getDocument()
    #expect(after["call"] as? Int == deaths + 1)
    try await db.terminate()
  }

  @Test(arguments: ["compact", "backup", "compactBackup"])
  func `a copy that dies at any call to the storage leaves the old file or the new one`(
    manner: String
  ) async throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/a.hearth"
    let target = manner == "compact" ? path : folder.path + "/b.hearth"
    let db = try Firestore.open(at: path)
    for index in 0..<40 {
      try await db.document("a/\(index)").setData(["t": String(repeating: "x", count: index * 200)])
    }
    for index in 0..<20 { try await db.document("a/\(index)").delete() }
    try await db.terminate()
    for fate in ["killed", "halfway", "afterwards"] {
      var deaths = 0
      for call in 1...400 {
        let isThere = FileManager.default.fileExists(atPath: target)
        let helper = try Helper("copy", path, manner, fate, call, target)
        let isDone = helper.lines() == ["done"]
        #expect(helper.wasKilled != isDone)
        if isThere || isDone || FileManager.default.fileExists(atPath: target) {
          let report = try await FirestoreFile(at: target).check()
          #expect(report.isIntact && report.documents == 20, "\(fate) \(call): \(report.problems)")
        }
        if isDone { break }
        deaths += 1
      }
      #expect((2..<400).contains(deaths), "\(fate)")
    }
  }

  /// The step that all documents of the ring agree on.
  private func step(in db: Firestore) async throws -> Int {
    let ring = try await db.collection("ring").getDocuments()
    let steps = Set(ring.documents.map { $0["step"] as? Int ?? -1 })
    #expect(ring.count == (steps.isEmpty ? 0 : 20))
    #expect(steps.count <= 1)
    let step = steps.first ?? 0
    for document in ring.documents {
      let index = Int(document.documentID) ?? -1
      #expect(document["text"] as? String == Story.text(index, step))
    }
    return step
  }
}
