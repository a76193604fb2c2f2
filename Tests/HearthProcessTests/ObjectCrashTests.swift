import Foundation
import Hearth
import TestSupport
import Testing

/// Graphs of objects, saved by a process that is killed.
@Suite(.ownThreads) struct ObjectCrashTests {
  private let folder = TemporaryFolder()

  @Test func `a graph of objects is saved whole or not at all, and acknowledged ones are there`()
    async throws
  {
    let path = folder.path + "/objects.hearth"
    var first = 0
    var saved = 0
    for round in 0..<(Soak.isOn ? 200 : 12) {
      let helper = try Helper("save-graphs-until-killed", path, first)
      #expect(helper.line() == "ready")
      // Now in the beginning, now in the midst of it.
      let begun = round % 3 == 0 ? [] : [try #require(helper.line())]
      helper.kill(after: .random(in: 0...120_000))
      let lines = begun + helper.lines()
      #expect(helper.wasKilled)
      let db = try Firestore.open(at: path)
      func documents(_ collection: String) async throws -> [QueryDocumentSnapshot] {
        try await db.collection(collection).getDocuments().documents
      }
      let (books, authors) = (try await documents("Book"), try await documents("Author"))
      let (agents, edges) = (
        try await documents("Agent"), try await documents("_Join:precursors:Book")
      )
      #expect(authors.count == books.count * 4 && agents.count == authors.count, "round \(round)")
      let paths = Set((authors + agents + books).map(\.reference.path))
      for document in books + authors {
        let references = [document["main"], document["agent"]].compactMap {
          $0 as? DocumentReference
        }
        let all = references + (document["authors"] as? [DocumentReference] ?? [])
        #expect(!all.isEmpty && all.allSatisfy { paths.contains($0.path) }, "round \(round)")
      }
      for edge in edges {
        let ends = [edge["owner"], edge["related"]].compactMap { ($0 as? DocumentReference)?.path }
        #expect(ends.count == 2 && ends.allSatisfy(paths.contains), "round \(round)")
      }
      let numbers = Set(books.compactMap { $0["number"] as? Int })
      let acknowledged = lines.filter { $0.hasPrefix("saved") }
        .compactMap { Int($0.dropFirst("saved ".count)) }
      #expect(acknowledged.allSatisfy(numbers.contains), "round \(round)")
      #expect(edges.count >= lines.count { $0.hasPrefix("related") }, "round \(round)")
      saved += acknowledged.count
      first = numbers.max() ?? first
      // Edges end with their books.
      _ = try await db.collection("Book").deleteAll()
      #expect(try await documents("_Join:precursors:Book").isEmpty)
      for collection in ["Author", "Agent"] { _ = try await db.collection(collection).deleteAll() }
      try await db.terminate()
    }
    #expect(saved > 0)
  }
}
