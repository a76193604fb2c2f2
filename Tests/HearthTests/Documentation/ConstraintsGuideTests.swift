import FirebaseFirestore
import Foundation
import HearthTesting
import TestSupport
import Testing

/// The snippets of the page on constraints, word for word.
@Suite struct ConstraintsGuideTests {
  private final class Output: Sendable {
    let lines = Guarded<[String]>([])
  }

  private let output = Output()

  private func print(_ items: Any...) {
    output.lines.withLock { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
  }

  @Test func `values are unique, and duplicates are listed`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let users = db.collection("users")
    try await users.document("ann").setData(["email": "ann@example.com"])
    try await db.indexes.declare(
      FirestoreIndex(unique: "users", .ascending("email")),
      FirestoreIndex(
        unique: "seats", scope: .collectionGroup, .ascending("row"), .ascending("number")))
    try await db.indexes.waitUntilReady()
    do {
      try await users.document("bob").setData(["email": "ann@example.com"])
    } catch FirestoreErrorCode.alreadyExists {
      print("This address is taken.")
    }
    try await db.indexes.drop(FirestoreIndex(unique: "users", .ascending("email")))
    try await users.document("bob").setData(["email": "ann@example.com"])
    try await db.indexes.declare(FirestoreIndex(unique: "users", .ascending("email")))
    try? await db.indexes.waitUntilReady()
    for index in try await db.indexes.list() {
      if case .invalid(let duplicates) = index.state { print(index, duplicates.examples) }
    }
    #expect(
      output.lines.withLock(\.self) == [
        "This address is taken.", #"unique users: email ↑ [["users/ann", "users/bob"]]"#,
      ])
  }

  @Test func `deletions follow references`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let dune = db.document("books/dune")
    try await db.document("reviews/1").setData(["book": dune])
    try await db.references.declare(
      FirestoreReferenceRule("books", field: "author", to: "authors", onDelete: .restrict),
      FirestoreReferenceRule("books", arrayField: "genres", to: "genres", onDelete: .nullify),
      FirestoreReferenceRule("reviews", field: "book", to: "books", onDelete: .cascade))
    let rule = FirestoreReferenceRule("reviews", field: "book", to: "books", onDelete: .cascade)
    for found in try await db.references.danglingReferences(of: rule) {
      print(found.document.path, "refers to", found.target.path)
    }
    try await db.references.repair(rule)
    #expect(output.lines.withLock(\.self) == ["reviews/1 refers to books/dune"])
    #expect(try await db.collection("reviews").getDocuments().isEmpty)
  }

  @Test func `documents that others refer to exist`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    try await db.references.declare(
      FirestoreReferenceRule(
        "loans", field: "book", to: "books", onDelete: .restrict, mustExist: true))
    do {
      try await db.document("loans/1").setData(["book": db.document("books/none")])
    } catch let error as FirestoreErrorCode where error.isDanglingReference {
      print("There is no such book.")
    }
    #expect(output.lines.withLock(\.self) == ["There is no such book."])
    #expect(try await db.collection("loans").getDocuments().isEmpty)
  }

  @Test func `all results are written`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    for n in 0..<4 {
      try await db.document("books/\(n)").setData(["publisher": n < 3 ? "Chilton" : "Egmont"])
      try await db.document("sessions/\(n)").setData(["user": n < 2 ? "ann" : "bob"])
    }
    let count = try await db.collection("books")
      .whereField("publisher", isEqualTo: "Chilton")
      .updateAll(["inPrint": false, "checked": FieldValue.serverTimestamp()])
    try await db.collection("sessions").whereField("user", isEqualTo: "ann").deleteAll()
    #expect(count == 3)
    #expect(try await db.collection("sessions").getDocuments().count == 2)
  }

  @Test(.embedded("The configuration is the file's.")) func `the configuration is read`()
    async throws
  {
    let database = try TemporaryDatabase()
    let db = database.firestore
    try await db.indexes.setConfigurationJSON(
      """
      {
        "indexes": [
          {
            "collectionGroup": "users", "queryScope": "COLLECTION", "unique": true,
            "fields": [{ "fieldPath": "email", "order": "ASCENDING" }]
          },
          {
            "collectionGroup": "books", "queryScope": "COLLECTION_GROUP", "references": "authors",
            "onDelete": "RESTRICT", "mustExist": true,
            "fields": [{ "fieldPath": "author", "order": "ASCENDING" }]
          }
        ]
      }
      """)
    #expect(
      try await db.indexes.list().map(\.description) == [
        "unique users: email ↑", "all books: author ↑ → authors, on delete restrict, must exist",
      ])
    for wrong in [
      #""unique": 5"#, #""unique": true, "references": "a", "onDelete": "CASCADE""#,
      #""references": "a""#, #""references": "a", "onDelete": "SET NULL""#, #""mustExist": true"#,
      #""references": "a", "onDelete": "CASCADE", "mustExist": "yes""#,
    ] {
      let json =
        #"{"indexes": [{"collectionGroup": "b", "queryScope": "COLLECTION_GROUP", "#
        + #""fields": [{"fieldPath": "c", "order": "ASCENDING"}], \#(wrong)}]}"#
      await #expect(throws: NSError.self, "\(wrong)") {
        try await db.indexes.setConfigurationJSON(json)
      }
    }
  }
}
