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
    var updated: Date?

    struct Fields: Sendable {
      var title: Field<String> { Field("title") }
      var pages: Field<Int> { Field("pages") }
      var tags: Field<[String]> { Field("tags") }
      var updated: Field<Date?> { Field("updated") }
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
        "updated": Date(),
      ])
    }
    try await books.document("Duna").setData([
      "title": "Duna", "pages": 600, "tags": ["sand", "spice"], "language": "pl",
    ])
    let sought = books.whereFilter(
      .orFilter([
        .whereField("author", isEqualTo: "Herbert"),
        .whereField("pages", isGreaterOrEqualTo: 400),
      ]))
    #expect(
      Set(try await sought.getDocuments().documents.map(\.documentID))
        == ["Dune", "Dune Messiah", "Emma", "Duna"])
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
          && $0.updated.isOnDays(-6...0, in: .gmt)
      }
      .getDocuments()
    #expect(found.map(\.title) == ["Dune", "Dune Messiah"])
    try await db.document("reviews/r").setData(["book": books.document("Emma"), "stars": 5])
    let praised = db.collection("reviews").whereField("stars", isGreaterThan: 4)
    let good = typed.where(Condition(.exists(in: praised, referringBy: "book")))
    #expect(try await good.getDocuments().map(\.title) == ["Emma"])
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
    let average = AggregateField.average("pages")
    let totals =
      try await books.aggregate([.count(), newest, average]).getAggregation(source: .server)
    print(totals.count, totals.get(newest), (totals.get(average) as? NSNumber)?.doubleValue ?? 0)
    #expect(output.lines.withLock(\.self) == ["Austen 2 723", "Herbert 2 668", "5 1969 318.6"])
  }

  @Test func `documents are found by places, times, other documents and words`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let books = db.collection("books")
    try await db.document("shops/a").setData([
      "place": GeoPoint(latitude: 59.915, longitude: 10.75)
    ])
    try await db.document("shops/b").setData(["place": GeoPoint(latitude: 60.4, longitude: 5.3)])
    try await db.document("tasks/a").setData(["due": Timestamp(date: Date())])
    try await db.document("tasks/b").setData([
      "due": Timestamp(date: Date(timeIntervalSinceNow: 900))
    ])
    try await db.document("authors/lem").setData(["name": "Lem", "country": "PL"])
    try await books.document("solaris").setData([
      "title": "Solaris", "by": db.document("authors/lem"), "about": "An ocean that thinks",
    ])
    try await books.document("dune").setData([
      "title": "Dune", "about": "A planet of sand and of worms",
    ])
    try await db.document("reviews/r").setData(["book": books.document("dune"), "stars": 5])
    try await db.indexes.declare(FirestoreIndex("shops", .cells("place")))
    let center = GeoPoint(latitude: 59.91, longitude: 10.75)
    let near = try await db.collection("shops")
      .whereFilter(.whereField("place", isWithin: 2000, metersOf: center))
      .getDocuments()
    #expect(near.documents.map(\.documentID) == ["a"])
    let due = db.collection("tasks")
      .whereFilter(.whereField("due", isBeforeNow: .seconds(300)))
    #expect(try await due.getDocuments().documents.map(\.documentID) == ["a"])
    try await db.document("tasks/c").setData([
      "due": Timestamp(date: Date(timeIntervalSince1970: 0))
    ])
    let today = db.collection("tasks").whereFilter(
      .whereField("due", isOnDays: 0...0, in: .current))
    let ofToday = try await today.getDocuments().documents.map(\.documentID)
    // At midnight, others.
    #expect(!ofToday.contains("c") && Set(ofToday).isSubset(of: ["a", "b"]))
    let recent = db.collection("reviews").order(by: "stars", descending: true).limit(to: 3)
    let page = books.order(by: "title").limit(to: 20).including(
      .reference("by", including: .reference("publisher")),
      .referring(recent, by: "book", as: "reviews"))
    for book in try await page.getDocuments().documents {
      print(book["title"] ?? "-", book.first("by")?["name"] ?? "-", book.included("reviews").count)
    }
    #expect(output.lines.withLock(\.self) == ["Dune - 1", "Solaris Lem 0"])
    let poles = db.collection("authors").whereField("country", isEqualTo: "PL")
    let byPoles = books.whereFilter(.whereField("by", isInResultsOf: poles))
    let praised = db.collection("reviews").whereField("stars", isGreaterThan: 4)
    let good = books.whereFilter(.exists(in: praised, referringBy: "book"))
    #expect(try await byPoles.getDocuments().documents.map(\.documentID) == ["solaris"])
    #expect(try await good.getDocuments().documents.map(\.documentID) == ["dune"])
    let texts = SearchFields(weights: ["title": 3, "about": 1], language: "en")
    try await db.indexes.declare(FirestoreIndex(words: "books", in: texts))
    let hits = try await books.search("sand worm*", in: texts).limit(to: 20).getDocuments()
    #expect(hits.documents.map(\.documentID) == ["dune"])
  }
}
