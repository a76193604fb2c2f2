import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Unique indexes and reference rules with other processes, and with processes that die.
@Suite(.ownThreads) struct ConstraintTests {
  private let folder = TemporaryFolder()

  @Test func `of 64 tasks in two processes one writes a unique value`() async throws {
    let path = folder.path + "/race.hearth"
    let db = try Firestore.open(at: path)
    try await db.indexes.declare(FirestoreIndex(unique: "users", .ascending("email")))
    let helpers = try ["a", "b"].map { try Helper("race-for-values", path, $0, 32) }
    for helper in helpers { #expect(helper.line() == "ready") }
    let rounds = Soak.isOn ? 10_000 : 100
    for round in 0..<rounds {
      for helper in helpers { helper.say("\(round)@example.com") }
      let wins = helpers.map { Int($0.line() ?? "") ?? -1 }
      try #require(wins.reduce(0, +) == 1, "round \(round): \(wins)")
    }
    let users = try await db.collection("users").getDocuments()
    #expect(users.count == rounds)
    #expect(Set(users.documents.compactMap { $0["email"] as? String }).count == rounds)
    for helper in helpers { helper.kill(SIGKILL) }
    try await db.terminate()
  }

  @Test func `of deletions and new references in two processes none leaves a reference behind`()
    async throws
  {
    let path = folder.path + "/references.hearth"
    let db = try Firestore.open(at: path)
    let rule = FirestoreReferenceRule(
      "books", field: "author", to: "authors", onDelete: .restrict, mustExist: true)
    try await db.references.declare(rule)
    let helpers = try ["a", "b"].map { try Helper("race-for-references", path, $0, 16) }
    for helper in helpers { #expect(helper.line() == "ready") }
    var kept = 0
    var gone = 0
    for round in 0..<(Soak.isOn ? 10_000 : 100) {
      let author = db.document("authors/\(round)")
      try await author.setData(["n": round])
      for helper in helpers { helper.say("\(round)") }
      let counts = helpers.map { helper in
        (helper.line() ?? "").split(separator: " ").map { Int($0) ?? -1 }
      }
      try #require(counts.allSatisfy { $0.count == 2 }, "round \(round): \(counts)")
      let books = try await db.collection("books").whereField("author", isEqualTo: author).count
        .getAggregation(source: .server).count.intValue
      // Every attempt but the deletions of the one or the books of the other.
      let exists = try await author.getDocument().exists
      try #require(books == counts.map { $0[0] }.reduce(0, +), "round \(round): \(counts)")
      try #require(exists ? books == 24 : books == 0, "round \(round): \(counts)")
      if exists { kept += 1 } else { gone += 1 }
    }
    #expect(kept > 0 && gone > 0, "\(kept) \(gone)")
    #expect(try await db.references.danglingReferences(of: rule).isEmpty)
    for helper in helpers { helper.kill(SIGKILL) }
    try await db.terminate()
  }

  @Test func `a killed process leaves each cascade and each change of values whole or undone`()
    async throws
  {
    var first = 0
    var whole = 0
    for round in 0..<(Soak.isOn ? 200 : 6) {
      // A file grows, and each round checks all of it.
      let path = folder.path + "/crash\(round / 20).hearth"
      let helper = try Helper("constrain-until-killed", path, first)
      #expect(helper.line() == "ready")
      // Now in the beginning, now in the midst of it.
      let begun = round % 3 == 0 ? [] : [try #require(helper.line())]
      helper.kill(after: .random(in: 0...150_000))
      let said = begun + helper.lines()
      #expect(helper.wasKilled)
      let db = try Firestore.open(at: path)
      let report = try await db.maintenance.check()
      #expect(report.isIntact, "round \(round): \(report.problems)")
      // No reference is left without its document, and the rules still hold.
      try await db.indexes.waitUntilReady()
      for index in try await db.indexes.list() where index.description.contains("must exist") {
        #expect(index.state == .ready, "round \(round): \(index)")
      }
      await #expect(throws: FirestoreErrorCode.self) {
        try await db.document("reviews/none").setData(["book": db.document("books/none")])
      }
      func ids(_ collection: String) async throws -> Set<String> {
        Set(try await db.collection(collection).getDocuments().documents.map(\.documentID))
      }
      let (authors, books, reviews) =
        (try await ids("authors"), try await ids("books"), try await ids("reviews"))
      let expected = Set(authors.flatMap { author in (0..<8).map { "\(author)-\($0)" } })
      #expect(books == expected && reviews == expected, "round \(round)")
      whole += authors.count
      let shelves = try await db.collection("shelves").getDocuments().documents
      for shelf in shelves {
        let count = (shelf["books"] as? [Any])?.count
        #expect(count == (authors.contains(shelf.documentID) ? 8 : 0), "\(shelf.documentID)")
      }
      for line in said {
        let number = String(line.split(separator: " ")[1])
        if line.hasPrefix("made") { #expect(shelves.contains { $0.documentID == number }) }
        if line.hasPrefix("deleted") { #expect(!authors.contains(number)) }
      }
      let codes = try await db.collection("books").getDocuments().documents.map {
        $0["code"] as? String
      }
      #expect(Set(codes).count == codes.count, "round \(round)")
      // The next round begins with an empty database but for the shelves.
      _ = try await db.collection("authors").deleteAll()
      #expect(try await ids("reviews").isEmpty)
      first = max(first, shelves.compactMap { Int($0.documentID) }.max() ?? 0)
      try await db.terminate()
    }
    #expect(whole > 0)
  }
}
