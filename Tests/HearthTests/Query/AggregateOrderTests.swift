import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// The documents that a limit or an offset leaves to sums and averages.
@Suite struct AggregateOrderTests {
  private let database: TemporaryDatabase
  private let items: CollectionReference

  init() throws {
    database = try TemporaryDatabase()
    items = database.firestore.collection("items")
  }

  /// d00 to d19, in which the order of `a` is not that of the names.
  private func fill() async throws {
    let batch = database.firestore.batch()
    let items = items
    for n in 0..<20 {
      var fields: [String: Any] = ["a": n % 5 + 1, "b": 20 - n, "s": ["x": n / 4]]
      if n % 2 == 1 { fields["odd"] = n }
      batch.setData(fields, forDocument: items.document(n < 10 ? "d0\(n)" : "d\(n)"))
    }
    try await batch.commit()
  }

  private func values(_ query: Query, _ fields: AggregateField...) async throws -> [Double] {
    let found = try await query.aggregate(fields).getAggregation(source: .server)
    let own = items.document("own")
    let inClosure = try await database.firestore.write { tx in
      // A document of the closure's own, among the others.
      try tx.setData(["a": 3], forDocument: own)
      return try tx.getAggregation(query.aggregate(fields))
    }
    try await own.delete()
    return try fields.map { field in
      let value = try #require(found.get(field) as? NSNumber)
      #expect(inClosure.get(field) as? NSNumber == value)
      return value.doubleValue
    }
  }

  @Test(arguments: [false, true])
  func `without an order they are the first by the aggregated field`(isIndexed: Bool) async throws {
    if isIndexed {
      try await database.firestore.indexes.declare(
        FirestoreIndex("items", .ascending("a")),
        FirestoreIndex("items", .ascending("a"), .ascending("b")))
    }
    try await fill()
    try await database.firestore.indexes.waitUntilReady()
    let (sum, average) = (AggregateField.sum("a"), AggregateField.average("a"))
    #expect(try await values(items.limit(to: 3), sum) == [3])
    #expect(try await values(items.limit(to: 6), sum, average, .count()) == [8, 8.0 / 6, 6])
    // By names they would be 1, 2, 3.
    #expect(try await values(items.order(by: FieldPath.documentID()).limit(to: 3), sum) == [6])
    #expect(try await values(items.order(by: "a", descending: true).limit(to: 3), sum) == [15])
    // Several fields, in the order of the request: of equal a, the least b.
    let ofB = AggregateField.sum("b")
    #expect(try await values(items.limit(to: 2), sum, ofB) == [2, 5 + 10])
    #expect(try await values(items.limit(to: 2), ofB, sum) == [1 + 2, 5 + 4])
    // A document without the field is not among them, for the count either.
    #expect(try await values(items.limit(to: 2), .sum("odd"), .count()) == [1 + 3, 2])
    #expect(try await values(items.limit(to: 50), .sum("odd"), .count()) == [100, 10])
    // The field of an inequality comes first.
    let above = items.whereField("b", isGreaterThan: 10)
    #expect(try await values(above.limit(to: 3), sum) == [5 + 4 + 3])
    #expect(try await values(items.whereField("a", isEqualTo: 5).limit(to: 1), ofB) == [1])
  }

  @Test func `a listener has the same, also after changes`() async throws {
    try await fill()
    let sum = AggregateField.sum("a")
    let query = items.limit(to: 3).aggregate([sum])
    var seen: [Int] = []
    for try await snapshot in query.snapshots {
      seen.append(try #require(snapshot.get(sum) as? NSNumber).intValue)
      if seen.count == 1 { try await items.document("d19").updateData(["a": -10]) }
      if seen.count == 2 { try await items.document("d19").delete() }
      if seen.count == 3 { break }
    }
    #expect(seen == [3, -8, 3])
  }

  @Test(.embedded("Counts what the engine reads."))
  func `the plan reads the index of the field`() async throws {
    try await database.firestore.indexes.declare(FirestoreIndex("items", .ascending("a")))
    try await fill()
    try await database.firestore.indexes.waitUntilReady()
    let found = try await items.limit(to: 3).aggregate([.sum("a")]).explain(analyze: true)
    #expect(found.indexes == ["items: a ↑"])
    #expect((found.execution?.documentsRead ?? 20) <= 3)
  }
}
