import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Several processes, one file.
@Suite(.serialized, .ownThreads) struct SharingTests {
  @Test(arguments: [1, 64])
  func `processes that write without pause share the file fairly`(tasks: Int) throws {
    try expectFair { milliseconds in
      let folder = TemporaryFolder()
      let path = folder.path + "/shared.hearth"
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
      return hasFairShares(reports.map { $0[0] }, "\(tasks) tasks in each process")
    }
  }

  @Test func `processes that begin the next transaction at once share the file fairly`() throws {
    try expectFair { milliseconds in
      let folder = TemporaryFolder()
      let path = folder.path + "/shared.lmdb"
      let helpers = try (0..<3).map { try Helper("commit-for", path, $0, milliseconds) }
      for helper in helpers { #expect(helper.line() == "ready") }
      for helper in helpers { helper.say("go") }
      let reports = try helpers.map { try numbers(after: "committed", $0.line()) }
      print("bare transactions: commits, turns, longest turn \(reports)")
      // Without a turnstile about half of the commits follow one of the same process. On a busy machine one may be
      // alone for a while, at the beginning or at the end.
      return hasFairShares(reports.map { $0[0] }, "bare transactions")
        && reports.allSatisfy {
          $0[0] < Self.leastCommits || $0[1] > ($0[0] - $0[2]) * 3 / 4
        }
    }
  }

  /// Of fewer, as on a slow disk, shares say nothing.
  private static let leastCommits = 200

  /// Of some rounds one is fair: on a busy machine a process may have no processor for the most of its time.
  private func expectFair(_ isFair: (_ milliseconds: Int) throws -> Bool) throws {
    let wasFair = try (1...5).contains { _ in try isFair(Soak.isOn ? 10_000 : 3_000) }
    #expect(wasFair, "The rounds are printed.")
  }

  /// Three tenths of an equal share.
  private func hasFairShares(_ commits: [Int], _ name: String) -> Bool {
    let sum = commits.reduce(0, +)
    let share = Double(commits.min() ?? 0) / Double(max(1, sum))
    print("\(name): commits \(commits), least share \(share)")
    return sum < Self.leastCommits || share >= 0.3 / Double(commits.count)
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
