import FirebaseFirestore
import Foundation
import HearthTesting
import Testing

/// The snippets of the page on conditions and groups, word for word.
@Suite struct QueriesGuideTests {
  struct Book: Codable, Equatable, DocumentModel {
    var title: String
    var pages: Int
    var tags: [String]

    struct Fields: Sendable {
      var title: Field<String> { Field("title") }
      var pages: Field<Int> { Field("pages") }
      var tags: Field<[String]> { Field("tags") }
    }
    static let fields = Fields()
  }

  private final class Output: Sendable {
    let lines = Guarded<[String]>([])
  }

  private let output = Output()

  private func print(_ items: Any...) {
    output.lines.withLock { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
  }

  @Test func `documents are found by conditions, and grouped`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let books = db.collection("books")
    let typed = db.collection("books", of: Book.self)
    for (title, author, pages, year) in [
      ("Dune", "Herbert", 412, 1965), ("Dune Messiah", "Herbert", 256, 1969),
      ("Emma", "Austen", 474, 1815), ("Persuasion", "Austen", 249, 1817),
      ("Ubik", "Dick", 202, 1969),
    ] {
      try await books.document(title).setData([
        "title": title, "author": author, "pages": pages, "year": year,
        "tags": title.hasPrefix("Du") ? ["spice", "sand"] : ["tea"], "language": "EN",
      ])
    }
    try await books.document("Duna").setData([
      "title": "Duna", "pages": 600, "tags": ["sand", "spice"], "language": "pl",
    ])
    let sandy = try await books.whereFilter(
      .andFilter([
        .whereField("title", hasPrefix: "Du"),
        .whereField("tags", arrayContainsAll: ["sand", "spice"]),
        .notFilter(.whereField("language", equalsIgnoringCase: "en")),
      ])
    ).getDocuments()
    #expect(sandy.documents.map(\.documentID) == ["Duna"])
    let found =
      try await typed
      .where {
        $0.title.hasPrefix("Du") && $0.tags.contains(allOf: ["sand", "spice"]) && !($0.pages > 500)
      }
      .getDocuments()
    #expect(found.map(\.title) == ["Dune", "Dune Messiah"])
    let pages = AggregateField.sum("pages")
    let groups =
      try await books
      .group(by: ["author"], aggregating: [.count(), pages, .maximum("year")])
      .having(.count(), isGreaterThan: 1)
      .order(by: pages, descending: true)
      .limit(to: 3)
      .getGroups()
    for group in groups { print(group["author"] ?? "-", group.count, group.get(pages)) }
    let newest = AggregateField.maximum("year")
    print(try await books.aggregate([newest]).getAggregation(source: .server).get(newest))
    #expect(output.lines.withLock(\.self) == ["Austen 2 723", "Herbert 2 668", "1969"])
  }
}
