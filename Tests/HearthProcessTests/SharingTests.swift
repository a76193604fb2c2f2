import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Several processes, one file.
@Suite(.serialized, .ownThreads) struct SharingTests {
  @Test(arguments: [1, 64])
  func `processes that write without pause share the file fairly`(tasks: Int) throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/shared.hearth"
    let milliseconds = Soak.isOn ? 10_000 : 3_000
    let helpers = [
      try Helper("write-for", path, "a", "b", milliseconds, tasks),
      try Helper("write-for", path, "b", "a", milliseconds, tasks),
    ]
    for helper in helpers { #expect(helper.line() == "ready") }
    for helper in helpers { helper.say("go") }
    let reports = try helpers.map { try numbers(after: "committed", $0.line()) }
    for helper in helpers { helper.say("look") }
    let seen = try helpers.map { try numbers(after: "sees", $0.line())[0] }
    #expect(seen == [reports[1][1], reports[0][1]])
    expectFair(reports.map { $0[0] }, "\(tasks) tasks in each process")
  }

  @Test func `processes that begin the next transaction at once share the file fairly`() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/shared.lmdb"
    let milliseconds = Soak.isOn ? 10_000 : 3_000
    let helpers = try (0..<3).map { try Helper("commit-for", path, $0, milliseconds) }
    for helper in helpers { #expect(helper.line() == "ready") }
    for helper in helpers { helper.say("go") }
    let reports = try helpers.map { try numbers(after: "committed", $0.line()) }
    expectFair(reports.map { $0[0] }, "bare transactions")
    // Without a turnstile about half of the commits follow one of the same process. On a busy machine one may be alone
    // for a while, at the beginning or at the end.
    for report in reports where report[0] >= Self.leastCommits {
      #expect(report[1] > (report[0] - report[2]) * 3 / 4, "\(reports)")
    }
    print("bare transactions: commits, turns, longest turn \(reports)")
  }

  /// Of fewer, as on a slow disk, shares say nothing.
  private static let leastCommits = 200

  /// Three tenths of an equal share.
  private func expectFair(_ commits: [Int], _ name: String) {
    let sum = commits.reduce(0, +)
    let share = Double(commits.min() ?? 0) / Double(max(1, sum))
    if sum >= Self.leastCommits {
      #expect(share >= 0.3 / Double(commits.count), "\(name): \(commits)")
    }
    print("\(name): commits \(commits), least share \(share)")
  }

  private func numbers(after word: String, _ line: String?) throws -> [Int] {
    let words = try #require(line).split(separator: " ")
    try #require(words.first.map(String.init) == word, "\(line ?? "")")
    let numbers = words.dropFirst().compactMap { Int($0) }
    try #require(!numbers.isEmpty)
    return numbers
  }

  @Test func `a process that is stopped in a commit holds up writes, not reads, until it goes on`()
    async throws
  {
    let folder = TemporaryFolder()
    let path = folder.path + "/shared.hearth"
    let db = try Firestore.open(at: path)
    try await db.document("ring/0").setData(["step": 7])
    let helper = try Helper("meet-fate", path, "stopped", 2)
    #expect(helper.line() == "ready")
    try await eventually { helper.state == "T" }
    let ours = db.document("ours/1")
    let isWritten = Guarded(false)
    ours.setData(["n": 1], completion: { _ in isWritten.withLock { $0 = true } })
    let old = try await db.document("ring/0").getDocument()
    #expect(old["step"] as? Int == 7)
    try await quietTime(.milliseconds(300))
    #expect(!isWritten.withLock { $0 })
    // The watchdog's log names it.
    #expect(try db.database().embedded.store.environment.writingProcess == helper.processID)
    helper.kill(SIGCONT)
    #expect(helper.line() == "acknowledged")
    try await eventually { isWritten.withLock { $0 } }
    let new = try await db.document("ring/0").getDocument()
    #expect(new["step"] as? Int == 8)
    let read = try await ours.getDocument()
    #expect(read["n"] as? Int == 1)
    try await db.terminate()
  }

  @Test func `a process that waits its turn and dies lets the next one in`() async throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/shared.hearth"
    let db = try Firestore.open(at: path)
    // One has LMDB's mutex and stands still; the second waits in the turnstile for it.
    let stopped = try Helper("meet-fate", path, "stopped", 1)
    #expect(stopped.line() == "ready")
    try await eventually { stopped.state == "T" }
    let waiting = try Helper("meet-fate", path, "killed", 1)
    #expect(waiting.line() == "ready")
    try await Task.sleep(for: .milliseconds(200))
    waiting.kill(SIGKILL)
    #expect(waiting.wasKilled)
    stopped.kill(SIGKILL)
    #expect(stopped.wasKilled)
    try await db.document("ours/1").setData(["n": 1])
    #expect(try await db.collection("ring").getDocuments().isEmpty)
    try await db.terminate()
  }
}
