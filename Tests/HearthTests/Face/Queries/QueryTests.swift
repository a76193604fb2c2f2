import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// The public builders: what a client refuses, with Firestore's own sentences, and what they find.
@Suite struct QueryTests {
  private let folder = TemporaryFolder()

  /// A database that is never opened: refusals need none.
  private var db: Firestore { Firestore(path: folder.path + "/none.hearth", app: .hearthDefault) }

  private func refused(_ query: Query, sourceLocation: SourceLocation = #_sourceLocation) -> String?
  {
    refusal({ try query.checked() }, sourceLocation: sourceLocation)
  }

  // MARK: What a client refuses

  @Test func `a limit that is not positive`() {
    let query = db.collection("books")
    #expect(
      refused(query.limit(to: 0))
        == "Invalid Query. Query limit (0) is invalid. Limit must be positive.")
    #expect(
      refused(query.limit(to: -1))
        == "Invalid Query. Query limit (-1) is invalid. Limit must be positive.")
    #expect(
      refused(query.order(by: "a").limit(toLast: 0))
        == "Invalid Query. Query limit (0) is invalid. Limit must be positive.")
  }

  @Test func `a limit to the last without an order, when it is asked`() {
    let query = db.collection("books").limit(toLast: 2)
    #expect(query.validationError == nil)
    #expect(
      refused(query) == "limit(toLast:) queries require specifying at least one OrderBy() clause.")
    #expect(throws: Never.self) { try query.order(by: "a").checked() }
  }

  @Test func `an order behind a start or an end`() {
    let query = db.collection("books").order(by: "a")
    #expect(
      refused(query.start(at: [1]).order(by: "b"))
        == "Invalid query. You must not specify a starting point before specifying the order by.")
    #expect(
      refused(query.end(at: [1]).order(by: "b"))
        == "Invalid query. You must not specify an ending point before specifying the order by.")
  }

  @Test func `more values than orders`() {
    let sentence =
      "Invalid query. You are trying to start or end a query using more values than were "
      + "specified in the order by."
    let query = db.collection("books")
    for query in [
      query.start(at: [1]), query.order(by: "a").start(after: [1, 2]),
      query.order(by: "a").end(at: [1, 2]), query.order(by: "a").end(before: [1, 2]),
    ] {
      #expect(refused(query) == sentence)
    }
  }

  @Test func `a document that is not there, or lacks an ordered field, as a start`() throws {
    let query = db.collection("books").order(by: "sort")
    let reference = db.document("books/a")
    let missing = DocumentSnapshot(reference, nil)
    let sentence =
      "Invalid query. You are trying to start or end a query using a document that doesn't exist."
    for query in [
      query.start(atDocument: missing), query.start(afterDocument: missing),
      query.end(beforeDocument: missing), query.end(atDocument: missing),
    ] {
      #expect(refused(query) == sentence)
    }
    let stored = StoredDocument(
      path: reference.resourcePath, sequence: 1, createTime: .earliest, updateTime: .earliest,
      body: DocumentBody(MapValue([("other", .integer(1))])))
    #expect(
      refused(query.start(atDocument: DocumentSnapshot(reference, stored)))
        == "Invalid query. You are trying to start or end a query using a document for which the "
        + "field 'sort' (used as the order by) does not exist.")
  }

  @Test func `a document of another collection or database, as a start or an end`() throws {
    func snapshot(_ reference: DocumentReference) -> DocumentSnapshot {
      let stored = StoredDocument(
        path: reference.resourcePath, sequence: 1, createTime: .earliest, updateTime: .earliest,
        body: DocumentBody(MapValue([("sort", .integer(1))])))
      return DocumentSnapshot(reference, stored)
    }
    func refusals(_ query: Query, _ document: DocumentReference) -> Set<String?> {
      let snapshot = snapshot(document)
      return Set(
        [
          query.start(atDocument: snapshot), query.start(afterDocument: snapshot),
          query.end(beforeDocument: snapshot), query.end(atDocument: snapshot),
        ].map { refused($0) })
    }
    func outside(_ path: String) -> Set<String?> {
      [
        "\"\(path)\" is not part of the query result set and cannot be used as a query boundary."
      ]
    }
    for query in [db.collection("books"), db.collection("books").order(by: "sort")] {
      #expect(refusals(query, db.document("films/dune")) == outside("films/dune"))
      #expect(refusals(query, db.document("books/a/books/b")) == outside("books/a/books/b"))
      let other = Firestore(path: folder.path + "/other.hearth", app: .hearthDefault)
      #expect(
        refusals(query, other.document("books/a")) == [
          "Provided document snapshot is from a different Cloud Firestore instance."
        ])
      // Another instance of the same file, as after a `terminate`.
      #expect(throws: Never.self) {
        try query.start(afterDocument: snapshot(db.document("books/a"))).checked()
      }
    }
    let group = db.collectionGroup("books")
    #expect(refusals(group, db.document("films/dune")) == outside("films/dune"))
    let descendants = db.document("books/a").descendants()
    #expect(refusals(descendants, db.document("films/dune")) == outside("films/dune"))
    for query in [group, descendants] {
      #expect(throws: Never.self) {
        try query.start(afterDocument: snapshot(db.document("books/a/books/b"))).checked()
      }
    }
  }

  @Test func `names as cursors`() {
    let collection = db.collection("books").order(by: FieldPath.documentID())
    let group = db.collectionGroup("books").order(by: FieldPath.documentID())
    #expect(
      refused(collection.start(at: [1]))
        == "Invalid query. Expected a string for the document ID.")
    #expect(
      refused(collection.start(at: ["foo/bar"]))
        == "Invalid query. When querying a collection and ordering by document ID, you must pass a "
        + "plain document ID, but 'foo/bar' contains a slash.")
    #expect(
      refused(group.start(at: ["foo"]))
        == "Invalid query. When querying a collection group and ordering by document ID, you must "
        + "pass a value that results in a valid document path, but 'foo' is not because it contains "
        + "an odd number of segments.")
    #expect(throws: Never.self) { try group.start(at: ["foo/bar"]).checked() }
  }

  @Test func `names in filters`() {
    let collection = db.collection("books")
    let group = db.collectionGroup("books")
    let id = FieldPath.documentID()
    #expect(
      refused(collection.whereField(id, isEqualTo: ""))
        == "Invalid query. When querying by document ID you must provide a valid document ID, but it "
        + "was an empty string.")
    #expect(
      refused(collection.whereField(id, isGreaterThan: "foo/bar/baz"))
        == "Invalid query. When querying a collection by document ID you must provide a plain "
        + "document ID, but 'foo/bar/baz' contains a '/' character.")
    #expect(
      refused(collection.whereField(id, isEqualTo: 1))
        == "Invalid query. When querying by document ID you must provide a valid string or "
        + "DocumentReference, but it was of type: Int")
    #expect(
      refused(collection.whereField(id, in: ["a", 1]))
        == "Invalid query. When querying by document ID you must provide a valid string or "
        + "DocumentReference, but it was of type: Int")
    #expect(
      refused(group.whereField(id, isGreaterThan: "foo"))
        == "Invalid query. When querying a collection group by document ID, the value provided must "
        + "result in a valid document path, but 'foo' is not because it has an odd number of "
        + "segments.")
    #expect(
      refused(collection.whereField(id, arrayContains: 1))
        == "Invalid query. You can't perform arrayContains queries on document ID since document IDs "
        + "are not arrays.")
    #expect(
      refused(collection.whereField(id, arrayContainsAny: [1]))
        == "Invalid query. You can't perform arrayContainsAny queries on document ID since document "
        + "IDs are not arrays.")
  }

  @Test func `empty lists`() {
    let query = db.collection("books")
    func sentence(_ name: String) -> String {
      "Invalid Query. A non-empty array is required for '\(name)' filters."
    }
    #expect(refused(query.whereField("a", in: [])) == sentence("in"))
    #expect(refused(query.whereField("a", notIn: [])) == sentence("notIn"))
    #expect(refused(query.whereField("a", arrayContainsAny: [])) == sentence("arrayContainsAny"))
  }

  @Test func `operators that do not go together`() {
    let query = db.collection("books")
    #expect(
      refused(query.whereField("a", notIn: [1]).whereField("b", notIn: [2]))
        == "Invalid Query. You cannot use more than one 'notIn' filter.")
    #expect(
      refused(query.whereField("a", isNotEqualTo: 1).whereField("b", isNotEqualTo: 2))
        == "Invalid Query. You cannot use more than one 'notEqual' filter.")
    #expect(
      refused(
        query.whereField("a", isNotEqualTo: NSNull()).whereField("b", isNotEqualTo: Double.nan))
        == "Invalid Query. You cannot use more than one 'notEqual' filter.")
    func conflict(_ new: String, _ old: String) -> String {
      "Invalid Query. You cannot use '\(new)' filters with '\(old)' filters."
    }
    let notIn = query.whereField("a", notIn: [1])
    #expect(refused(notIn.whereField("b", in: [2])) == conflict("in", "notIn"))
    #expect(
      refused(notIn.whereField("b", arrayContainsAny: [2])) == conflict("arrayContainsAny", "notIn")
    )
    #expect(refused(notIn.whereField("b", isNotEqualTo: 2)) == conflict("notEqual", "notIn"))
    #expect(
      refused(query.whereField("b", in: [2]).whereField("a", notIn: [1])) == conflict("notIn", "in")
    )
    #expect(
      refused(query.whereField("b", isNotEqualTo: 2).whereField("a", notIn: [1]))
        == conflict("notIn", "notEqual"))
    #expect(
      refused(
        query.whereFilter(
          .orFilter([.whereField("a", in: [1]), .whereField("b", notIn: [2])])))
        == conflict("notIn", "in"))
    #expect(throws: Never.self) {
      try query.whereField("a", arrayContains: 1).whereField("b", in: [1, 2])
        .whereField("c", isGreaterThan: 1).whereField("d", isLessThan: 2).checked()
    }
  }

  @Test func `field paths and values that cannot be`() {
    let query = db.collection("books")
    #expect(
      refused(query.whereField("a..b", isEqualTo: 1))
        == "Invalid field path (a..b). Paths must not be empty, begin with '.', end with '.', or "
        + "contain '..'")
    #expect(
      refused(query.order(by: "a~b"))
        == "Invalid field path (a~b). Paths must not contain '~', '*', '/', '[', or ']'")
    #expect(
      refused(query.whereField(FieldPath([]), isEqualTo: 1))
        == "Invalid field path. Provided names must not be empty.")
    #expect(
      refused(query.select(["", "a"])) != nil)
    #expect(
      refused(query.whereField("a", isEqualTo: FieldValue.arrayUnion([1])))
        == "FieldValue.arrayUnion() can only be used with updateData() and setData()")
    #expect(
      refused(query.whereField("a", arrayContainsAny: [[1]])) == "Nested arrays are not supported")
    #expect(refused(query.whereField("a", isEqualTo: self)) == "Unsupported type: QueryTests")
    #expect(throws: Never.self) { try query.whereField("a", in: [[1], [2]]).checked() }
  }

  @Test func `the first fault is the one that is told`() {
    let query = db.collection("books").limit(to: 0).order(by: "a..b").whereField("c", in: [])
    #expect(
      refused(query) == "Invalid Query. Query limit (0) is invalid. Limit must be positive.")
  }

  @Test func `filters nested without end`() {
    var filter = Filter.whereField("a", isEqualTo: 1)
    for index in 0..<50_000 {
      filter =
        index % 2 == 0
        ? .orFilter([filter, .whereField("b", isEqualTo: index)])
        : .andFilter([filter, .whereField("b", isEqualTo: index)])
    }
    #expect(
      refused(db.collection("books").whereFilter(filter))
        == "Invalid Query. Composite filters may be nested 100 levels deep.")
  }

  @Test func `every operation on a faulty query reports its fault`() async {
    let query = db.collection("books").limit(to: 0)
    func told(_ body: () async throws -> Void) async -> String? {
      do {
        try await body()
        return nil
      } catch {
        #expect((error as NSError).domain == FirestoreErrorDomain)
        #expect((error as NSError).code == 3)
        return error.localizedDescription
      }
    }
    let sentence = "Invalid Query. Query limit (0) is invalid. Limit must be positive."
    #expect(await told { try await query.getDocuments() } == sentence)
    #expect(await told { try await query.count.getAggregation(source: .server) } == sentence)
    #expect(await told { for try await _ in query.documents() {} } == sentence)
    #expect(await told { for try await _ in query.snapshots {} } == sentence)
    let callback: String? = await withCheckedContinuation { continuation in
      query.getDocuments { snapshot, error in
        #expect(snapshot == nil)
        continuation.resume(returning: error?.localizedDescription)
      }
    }
    #expect(callback == sentence)
    let aggregation: String? = await withCheckedContinuation { continuation in
      query.count.getAggregation(source: .server) { snapshot, error in
        #expect(snapshot == nil)
        continuation.resume(returning: error?.localizedDescription)
      }
    }
    #expect(aggregation == sentence)
  }

  @Test func `listening to what cannot be listened to`() async {
    func told(_ query: Query) async -> NSError? {
      do {
        for try await _ in query.snapshots {}
        return nil
      } catch {
        return error as NSError
      }
    }
    let nearest = await told(
      db.collection("books").findNearest(
        vectorField: "v", queryVector: VectorValue([1.0]), limit: 1, distanceMeasure: .euclidean))
    #expect(nearest?.code == FirestoreErrorCode.invalidArgument.rawValue)
    let all = await told(db.allDocuments())
    #expect(
      all?.localizedDescription == "All-collection queries are not supported by real-time queries.")
  }

  // MARK: Equality

  @Test func `queries are equal if they ask the same`() {
    let db = self.db
    let books = db.collection("books")
    let equal: [(Query, Query)] = [
      (books, db.collection("books")),
      (books.order(by: "a"), books.order(by: FieldPath(["a"])).order(by: FieldPath.documentID())),
      (
        books.whereField("a", isEqualTo: 1).whereField("b", isLessThan: 2),
        books.whereFilter(
          .andFilter([.whereField("a", isEqualTo: 1), .whereField("b", isLessThan: 2)]))
      ),
      (
        books.whereField("a", isEqualTo: 1),
        books.whereFilter(.orFilter([.andFilter([.whereField("a", isEqualTo: 1)])]))
      ),
      (books, books.whereFilter(.orFilter([]))),
      (
        books.whereField("a", isGreaterThan: 1),
        books.whereField("a", isGreaterThan: 1).order(by: "a")
      ),
      (books.whereField("a", isEqualTo: Double.nan), books.whereField("a", isEqualTo: Float.nan)),
    ]
    for (one, other) in equal {
      #expect(one == other)
      #expect(one.hash == other.hash)
    }
    let different: [Query] = [
      books, books.limit(to: 1), books.order(by: "a").limit(to: 1),
      books.order(by: "a").limit(toLast: 1), books.order(by: "a", descending: true).limit(to: 1),
      books.whereField("a", isEqualTo: 1), books.whereField("a", isEqualTo: 1.0),
      books.whereField("a", isLessThan: 1), books.order(by: "a").start(at: [1]),
      books.order(by: "a").start(after: [1]), books.order(by: "a").end(at: [1]), books.offset(1),
      books.select(["a"]), db.collectionGroup("books"), db.collection("books/a/books"),
    ]
    for (index, one) in different.enumerated() {
      for (other, query) in different.enumerated() { #expect((one == query) == (index == other)) }
    }
    #expect(self.db.collection("books") != books)
  }

  @Test func `aggregations are equal if they ask the same`() {
    let books = db.collection("books")
    #expect(AggregateField.sum("a") == AggregateField.sum(FieldPath(["a"])))
    #expect(AggregateField.sum("a").hash == AggregateField.sum(FieldPath(["a"])).hash)
    #expect(AggregateField.sum("a") != AggregateField.average("a"))
    #expect(AggregateField.count() == AggregateField.count())
    #expect(books.count == books.aggregate([.count()]))
    #expect(books.count.hash == books.aggregate([.count()]).hash)
    #expect(books.count != books.limit(to: 1).count)
    #expect(books.aggregate([.sum("a")]) != books.aggregate([.sum("b")]))
  }
}
