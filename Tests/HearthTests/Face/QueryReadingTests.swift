import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// The public side of reading: a small library, and what is asked of it.
@Suite struct QueryReadingTests {
  private let folder = TemporaryFolder()
  private let db: Firestore

  init() async throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    db = try Firestore.open(at: folder.path + "/library.hearth", settings: settings)
    let books: [(String, [String: Any])] = [
      ("dune", ["title": "Dune", "pages": 412, "tags": ["sand", "classic"], "year": 1965]),
      ("emma", ["title": "Emma", "pages": 474.5, "tags": ["classic"], "year": 1815]),
      ("it", ["title": "It", "pages": 1138, "tags": ["clown"], "year": NSNull()]),
      ("odd", ["title": "Odd", "pages": "many"]),
    ]
    for (id, data) in books { try await db.collection("books").document(id).setData(data) }
    try await db.document("books/dune/reviews/r1").setData(["stars": 5])
    try await db.document("books/emma/reviews/r2").setData(["stars": 4])
    try await db.document("books/lost/reviews/r3").setData(["stars": 1])
    try await db.document("films/dune").setData(["title": "Dune"])
    try await db.document("shelves/x/rows/y/books/z").setData(["title": "Deep"])
  }

  private func ids(_ query: Query) async throws -> [String] {
    try await query.getDocuments().documents.map(\.documentID)
  }

  @Test func `conditions, order, limit and cursors`() async throws {
    let books = db.collection("books")
    #expect(try await ids(books.whereField("pages", isGreaterThan: 412)) == ["emma", "it"])
    #expect(try await ids(books.whereField("pages", isEqualTo: 412.0)) == ["dune"])
    #expect(try await ids(books.whereField("tags", arrayContains: "classic")) == ["dune", "emma"])
    #expect(try await ids(books.whereField("year", isEqualTo: NSNull())) == ["it"])
    #expect(try await ids(books.whereField("year", isNotEqualTo: NSNull())) == ["emma", "dune"])
    #expect(
      try await ids(books.whereField(FieldPath.documentID(), in: ["emma", "none", "it"]))
        == ["emma", "it"])
    #expect(
      try await ids(
        books.whereFilter(
          .orFilter([
            .whereField("year", isGreaterOrEqualTo: 1900), .whereField("title", isEqualTo: "Emma"),
          ]))) == ["emma", "dune"])
    let byPages = books.order(by: "pages", descending: true)
    #expect(try await ids(byPages) == ["odd", "it", "emma", "dune"])
    #expect(try await ids(byPages.limit(to: 2)) == ["odd", "it"])
    #expect(try await ids(byPages.limit(toLast: 2)) == ["emma", "dune"])
    #expect(try await ids(byPages.offset(1).limit(to: 2)) == ["it", "emma"])
    #expect(try await ids(byPages.start(after: [1138]).end(at: [412])) == ["emma", "dune"])
    let emma = try await books.document("emma").getDocument()
    #expect(try await ids(byPages.start(atDocument: emma)) == ["emma", "dune"])
    #expect(try await ids(byPages.start(afterDocument: emma)) == ["dune"])
    #expect(try await ids(byPages.end(beforeDocument: emma)) == ["odd", "it"])
    #expect(try await ids(byPages.end(atDocument: emma)) == ["odd", "it", "emma"])
    let last = books.order(by: FieldPath.documentID(), descending: true).limit(to: 1)
    #expect(try await ids(last) == ["odd"])
    try await db.terminate()
  }

  @Test func `callbacks tell the same`() async throws {
    let query = db.collection("books").order(by: "title").limit(to: 2)
    let found: [String] = await withCheckedContinuation { continuation in
      query.getDocuments { snapshot, error in
        #expect(error == nil)
        continuation.resume(returning: snapshot?.documents.map(\.documentID) ?? [])
      }
    }
    #expect(found == ["dune", "emma"])
    let counted: NSNumber? = await withCheckedContinuation { continuation in
      query.count.getAggregation(source: .server) { snapshot, error in
        #expect(error == nil)
        continuation.resume(returning: snapshot?.count)
      }
    }
    #expect(counted == 2)
    try await db.terminate()
  }

  @Test func `groups, descendants and everything, in pre-order`() async throws {
    func paths(_ query: Query) async throws -> [String] {
      try await query.getDocuments().documents.map(\.reference.path)
    }
    #expect(
      try await paths(db.collectionGroup("reviews").whereField("stars", isGreaterThan: 1))
        == ["books/emma/reviews/r2", "books/dune/reviews/r1"])
    #expect(
      try await paths(db.collectionGroup("books").whereField("title", isEqualTo: "Deep"))
        == ["shelves/x/rows/y/books/z"])
    #expect(try await paths(db.document("books/dune").descendants()) == ["books/dune/reviews/r1"])
    #expect(
      try await paths(db.collection("books").recursive()) == [
        "books/dune", "books/dune/reviews/r1", "books/emma", "books/emma/reviews/r2", "books/it",
        "books/lost/reviews/r3", "books/odd",
      ])
    #expect(try await db.allDocuments().getDocuments().count == 9)
    #expect(
      try await paths(db.allDocuments().limit(to: 2)) == ["books/dune", "books/dune/reviews/r1"])
    #expect(try await db.allDocuments().count.getAggregation(source: .server).count == 9)
    try await db.terminate()
  }

  @Test func `aggregations`() async throws {
    let books = db.collection("books")
    let pages = AggregateField.sum("pages")
    let mean = AggregateField.average("pages")
    let snapshot = try await books.aggregate([.count(), pages, mean, pages]).getAggregation(
      source: .server)
    #expect(snapshot.count == 4)
    let total = 2024.5
    #expect(snapshot.get(pages) as? Double == total)
    #expect(snapshot.get(mean) as? Double == total / 3)
    #expect(snapshot.get(.sum("other")) is NSNull)
    let years = try await books.aggregate([.sum("year"), .count()]).getAggregation(source: .server)
    let sum = years.get(.sum("year")) as? Int64
    #expect(sum == 3780)
    #expect(years.count == 3)
    let none = try await db.collection("none").aggregate([.average("a"), .sum("a")])
      .getAggregation(source: .server)
    #expect(none.get(.average("a")) is NSNull)
    #expect(none.get(.sum("a")) as? Int == 0)
    let again = try await books.aggregate([.sum("year"), .count()]).getAggregation(source: .server)
    #expect(again == years)
    await #expect(throws: NSError.self) {
      try await books.aggregate([]).getAggregation(source: .server)
    }
    await #expect(throws: NSError.self) {
      try await books.aggregate((0..<6).map { .sum("f\($0)") }).getAggregation(source: .server)
    }
    await #expect(throws: NSError.self) {
      try await books.aggregate([.sum("a..b")]).getAggregation(source: .server)
    }
    try await db.terminate()
  }

  @Test func `a number that was not requested is no number, and value(of:) throws`() async throws {
    let books = db.collection("books")
    let totals = try await books.aggregate([.sum("pages"), .average("none")])
      .getAggregation(source: .server)
    #expect(totals.count.doubleValue.isNaN)
    #expect(totals.count != 0)
    #expect(totals.get(.sum("year")) is NSNull)
    #expect(try totals.value(of: .sum("pages")) == 0)
    #expect(try totals.value(of: .average("none")) == nil)
    let unasked: [(AggregateField, String)] = [
      (.count(), "count()"), (.sum("foo"), "sum(foo)"), (.sum(FieldPath(["a", "b"])), "sum(a.b)"),
      (.average("pages"), "avg(pages)"), (.average(FieldPath(["k"])), "avg(k)"),
    ]
    for (field, name) in unasked {
      let error = #expect(throws: NSError.self) { try totals.value(of: field) }
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
      #expect(
        error?.localizedDescription == "'\(name)' was not requested in the aggregation query")
    }
    try await db.terminate()
  }

  @Test func `a limit to the last without an order can be counted, and only that`() async throws {
    let last = db.collection("books").limit(toLast: 3)
    #expect(try await last.count.getAggregation(source: .server).count == 3)
    #expect(
      try await db.collection("books").limit(toLast: 9).count
        .getAggregation(source: .server).count == 4)
    let it = try await db.document("books/it").getDocument()
    #expect(
      try await db.collection("books").start(atDocument: it).limit(toLast: 3).count
        .getAggregation(source: .server).count == 2)
    let counted = try await withCheckedThrowingContinuation {
      (done: CheckedContinuation<Int, any Error>) in
      last.count.getAggregation(source: .server) { snapshot, error in
        done.resume(with: Result { try snapshot?.count.intValue ?? { throw error! }() })
      }
    }
    #expect(counted == 3)
    #expect(try await db.read { try $0.getAggregation(last.count).count } == 3)
    #expect(try await last.count.explain(analyze: true).execution != nil)
    let heard = Guarded<[Int]>([])
    let registration = last.count.addSnapshotListener(on: .global()) { snapshot, _ in
      heard.withLock { $0.append(snapshot?.count.intValue ?? -1) }
    }
    try await eventually { heard.withLock(\.self) == [3] }
    registration.remove()

    let sentence = "limit(toLast:) queries require specifying at least one OrderBy() clause."
    let error = await #expect(throws: NSError.self) {
      try await last.aggregate([.count(), .sum("pages")]).getAggregation(source: .server)
    }
    #expect(error?.localizedDescription == sentence)
    #expect(refusal { try last.checked() } == sentence)
    try await db.terminate()
  }

  @Test func `projections`() async throws {
    try await db.document("books/dune").updateData(["author.name": "Herbert", "author.born": 1920])
    let found = try await db.collection("books").whereField("title", isEqualTo: "Dune")
      .select(["author.name", "pages"]).getDocuments().documents
    #expect(found.map(\.documentID) == ["dune"])
    #expect(found.first?.data().keys.sorted() == ["author", "pages"])
    #expect((found.first?["author"] as? [String: Any])?.keys.sorted() == ["name"])
    let names = try await db.collection("books").select([FieldPath.documentID()]).getDocuments()
    #expect(names.documents.allSatisfy { $0.data().isEmpty })
    #expect(names.count == 4)
    try await db.terminate()
  }

  @Test(arguments: [1, 2, 3, 100])
  func `results page by page are the results`(pageSize: Int) async throws {
    let books = db.collection("books")
    let queries: [Query] = [
      books, books.order(by: "pages", descending: true), books.order(by: "pages").limit(to: 3),
      books.order(by: "tags").offset(1), books.whereField("pages", isLessThan: 2000),
      books.order(by: "pages").limit(toLast: 3), db.allDocuments(), db.collectionGroup("reviews"),
      books.order(by: "title").select(["year"]), books.order(by: "title").start(after: ["Dune"]),
      db.collection("books").recursive(), books.whereField("year", isEqualTo: 0),
    ]
    for query in queries {
      let all = try await query.getDocuments().documents
      var paged: [QueryDocumentSnapshot] = []
      for try await document in query.documents(pageSize: pageSize) { paged.append(document) }
      #expect(paged == all)
    }
    try await db.terminate()
  }

  @Test func `the nearest`() async throws {
    let shapes = db.collection("shapes")
    for (id, vector) in [("a", [1.0, 0]), ("b", [0.0, 2]), ("c", [3.0, 3]), ("d", [1.0, 1, 1])] {
      try await shapes.document(id).setData([
        "at": FieldValue.vector(vector), "kind": id < "c" ? 1 : 2,
      ])
    }
    let here = VectorValue([1, 0.5])
    func ids(_ query: Query) async throws -> [String] {
      try await query.getDocuments().documents.map(\.documentID)
    }
    #expect(
      try await ids(
        shapes.findNearest(
          vectorField: "at", queryVector: here, limit: 2, distanceMeasure: .euclidean)) == [
          "a", "b",
        ])
    #expect(
      try await ids(
        shapes.findNearest(
          vectorField: "at", queryVector: here, limit: 9, distanceMeasure: .dotProduct)) == [
          "c", "a", "b",
        ])
    let kind = shapes.whereField("kind", isEqualTo: 1)
    let found = try await kind.findNearest(
      vectorField: "at", queryVector: here, limit: 9, distanceMeasure: .euclidean,
      distanceResultField: "distance",
      distanceThreshold: 1
    ).getDocuments().documents
    #expect(found.map(\.documentID) == ["a"])
    #expect(found.first?["distance"] as? Double == 0.5)
    try await db.terminate()
  }

  @Test func `collections and documents, missing ones too`() async throws {
    #expect(try await db.listCollections().map(\.path) == ["books", "films", "shelves"])
    #expect(
      try await db.document("shelves/x").listCollections().map(\.path) == ["shelves/x/rows"])
    #expect(try await db.document("books/it").listCollections().isEmpty)
    #expect(
      try await db.collection("books").listDocuments().map(\.documentID)
        == ["dune", "emma", "it", "lost", "odd"])
    #expect(try await db.collection("shelves").listDocuments().map(\.path) == ["shelves/x"])
    #expect(try await db.collection("none").listDocuments().isEmpty)
    let references = ["books/it", "books/lost", "films/dune"].map(db.document)
    let all = try await db.getAll(references)
    #expect(all.map(\.exists) == [true, false, true])
    #expect(all.first?["title"] as? String == "It")
    try await db.terminate()
  }

  @Test func `a query sees what was handed over before it`() async throws {
    let books = db.collection("books")
    for index in 0..<50 { books.document("n\(index)").setData(["n": index], completion: nil) }
    #expect(try await books.whereField("n", isGreaterThanOrEqualTo: 10).getDocuments().count == 40)
    #expect(
      try await db.collectionGroup("books").order(by: "n").count.getAggregation(source: .server)
        .count == 50)
    try await db.terminate()
  }

  // MARK: Many results

  private struct Numbered: Codable, Equatable {
    enum CodingKeys: String, CodingKey { case id, number, name }

    @DocumentID var id: String?
    var number: Int
    var name: String
  }

  /// Says on which threads it was decoded.
  private struct Threaded: Decodable {
    static let threads = Guarded<Set<UInt64>>([])
    var number: Int

    init(from decoder: any Decoder) throws {
      number = try decoder.container(keyedBy: Numbered.CodingKeys.self).decode(
        Int.self, forKey: .number)
      let thread = UInt64(pthread_self())
      Self.threads.withLock { _ = $0.insert(thread) }
    }
  }

  @Test(.serialized, arguments: [1, 4]) func `many results come in order, whoever decodes them`(
    _ threads: Int
  ) async throws {
    let folder = TemporaryFolder()
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.maxQueryThreads = threads
    let db = try Firestore.open(at: folder.path + "/many.hearth", settings: settings)
    let books = db.collection("books")
    let all = (0..<1000).map { Numbered(id: String(10_000 + $0), number: $0, name: "n") }
    let batch = db.batch()
    for one in all {
      batch.setData(
        ["number": one.number, "name": "n"],
        forDocument: books.document(String(10_000 + one.number)))
    }
    try await batch.commit()

    #expect(try await books.getDocuments(as: Numbered.self) == all)
    let odd = books.whereField("number", in: [700, 1, 33]).order(by: "number", descending: true)
    #expect(try await odd.getDocuments(as: Numbered.self).map(\.number) == [700, 33, 1])
    let last = books.order(by: "number").limit(toLast: 300)
    #expect(try await last.getDocuments(as: Numbered.self) == Array(all[700...]))
    let read = try await db.read { try $0.getDocuments(last, as: Numbered.self) }
    #expect(read == Array(all[700...]))

    Threaded.threads.withLock { $0 = [] }
    #expect(try await books.getDocuments(as: Threaded.self).map(\.number) == Array(0..<1000))
    let used = Threaded.threads.withLock { $0.count }
    #expect((1...threads).contains(used))

    // What is the user's own is called by one thread at a time.
    let decoder = Firestore.Decoder()
    decoder.userInfo[try #require(CodingUserInfoKey(rawValue: "counter"))] = 1
    Threaded.threads.withLock { $0 = [] }
    _ = try await books.getDocuments(as: Threaded.self, decoder: decoder)
    #expect(Threaded.threads.withLock { $0.count } == 1)

    // Of several that do not fit, the first is told.
    try await books.document("10450").setData(["number": "four hundred and fifty", "name": "n"])
    try await books.document("10900").setData(["number": 900])
    await #expect {
      _ = try await books.getDocuments(as: Numbered.self)
    } throws: { error in
      guard case DecodingError.typeMismatch(_, let context) = error else { return false }
      return context.codingPath.map(\.stringValue) == ["number"]
    }
    try await db.terminate()
  }

  @Test func `the error of a document that cannot be decoded names its path and its field`()
    async throws
  {
    struct Book: Codable, DocumentModel {
      var title: String
      var pages: Double
      var tags: [String]?

      struct Fields: Sendable {
        var title: Field<String> { Field("title") }
      }
      static let fields = Fields()
    }
    let books = db.collection("books")
    let odd = db.document("books/odd")
    let typed = db.collection("books", of: Book.self)
    let reads: [(String, () async throws -> Void)] = [
      ("getDocuments", { _ = try await books.getDocuments(as: Book.self) }),
      ("getDocument", { _ = try await odd.getDocument(as: Book.self) }),
      ("snapshot", { _ = try await odd.getDocument().data(as: Book.self) }),
      (
        "transaction",
        { [db] in _ = try await db.read { try $0.getDocuments(books, as: Book.self) } }
      ),
      (
        "transaction, one",
        { [db] in _ = try await db.read { try $0.getDocument(odd, as: Book.self) } }
      ),
      ("typed", { _ = try await typed.getDocuments() }),
      ("typed listener", { for try await _ in typed.snapshots { break } }),
    ]
    for (name, read) in reads {
      let error = await #expect(throws: DecodingError.self, "\(name)") { try await read() }
      let text = sentence(error) ?? ""
      #expect(text.contains("the field pages of the document books/odd"), "\(name): \(text)")
    }
    // Of an element, and of a field that is missing.
    try await odd.setData(["title": "Odd", "pages": 1, "tags": ["a", 2]])
    let element = await #expect(throws: DecodingError.self) {
      _ = try await odd.getDocument(as: Book.self)
    }
    #expect(sentence(element)?.contains("the field tags.1 of the document books/odd") == true)
    try await odd.setData(["pages": 1])
    let missing = await #expect(throws: DecodingError.self) {
      _ = try await odd.getDocument(as: Book.self)
    }
    #expect(sentence(missing)?.contains("the field title of the document books/odd") == true)
  }
}
