import FirebaseFirestore
import Foundation
import HearthTesting
import Testing

/// The snippets of the page on changing the form of documents, word for word.
@Suite struct SchemaChangesGuideTests {
  struct Person: Codable {
    var fullName: String

    enum CodingKeys: String, CodingKey { case fullName, name }

    init(fullName: String) { self.fullName = fullName }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      fullName =
        try container.decodeIfPresent(String.self, forKey: .fullName)
        ?? container.decode(String.self, forKey: .name)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(fullName, forKey: .fullName)
    }
  }

  @Test func `both forms are read`() async throws {
    let database = try TemporaryDatabase()
    let people = database.firestore.collection("people")
    try await people.document("1").setData(["name": "Frank Herbert"])
    try await people.document("2").setData(committing: Person(fullName: "Jane Austen"))
    let found = try await people.getDocuments(as: Person.self)
    #expect(found.map(\.fullName) == ["Frank Herbert", "Jane Austen"])
    let stored = try await people.document("2").getDocument()
    #expect(stored.data()?.keys.sorted() == ["fullName"])
  }

  /// Gives every book a field that it did not have.
  func addStock(to books: CollectionReference) async throws {
    let left = books.whereFilter(.notFilter(.whereField("schema", isEqualTo: 2)))
      .limit(to: 1000)
    while try await left.updateAll(["stock": 0, "schema": 2]) > 0 {
      try Task.checkCancellation()
    }
  }

  @Test func `all documents get a field`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    let batch = database.firestore.batch()
    for number in 0..<1200 {
      batch.setData(
        number < 1100 ? ["n": number] : ["n": number, "schema": 2],
        forDocument: books.document("\(number)"))
    }
    try await batch.commit()
    try await addStock(to: books)
    #expect(try await books.whereField("schema", isEqualTo: 2).getDocuments().count == 1200)
    #expect(try await books.whereField("stock", isEqualTo: 0).getDocuments().count == 1100)
  }

  /// Splits `name` into `given` and `family`.
  func splitNames(in db: Firestore, batchSize: Int = 200) async throws {
    let progress = db.document("migrations/split-names")
    var isDone = false
    while !isDone {
      try Task.checkCancellation()
      isDone = try await db.write { tx in
        let state = try tx.getDocument(progress)
        if state["isDone"] as? Bool == true { return true }
        var page = db.collection("people").order(by: FieldPath.documentID()).limit(to: batchSize)
        if let last = state["last"] as? String { page = page.start(after: [last]) }
        let people = try tx.getDocuments(page).documents
        for person in people {
          guard let name = person["name"] as? String else { continue }
          let words = name.split(separator: " ")
          try tx.updateData(
            [
              "given": words.dropLast().joined(separator: " "),
              "family": words.last.map(String.init) ?? "",
              "name": FieldValue.delete(),
            ], forDocument: person.reference)
        }
        let isDone = people.count < batchSize
        try tx.setData(
          ["last": people.last?.documentID ?? state["last"] ?? "", "isDone": isDone],
          forDocument: progress)
        return isDone
      }
    }
  }

  @Test(arguments: [1, 3, 6, 7, 200])
  func `names are split in batches, once`(batchSize: Int) async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    for number in 0..<6 {
      try await db.document("people/\(number)").setData(["name": "Ann B. C\(number)"])
    }
    try await db.document("people/7").setData(["given": "Jane", "family": "Austen"])
    try await splitNames(in: db, batchSize: batchSize)
    let people = try await db.collection("people").getDocuments().documents
    #expect(people.allSatisfy { $0["name"] == nil })
    #expect(people.prefix(6).map { $0["family"] as? String } == (0..<6).map { "C\($0)" })
    #expect(people.first?["given"] as? String == "Ann B.")
    // A further call changes nothing, and neither does one that begins again.
    let before = people.map(\.updateTime)
    try await splitNames(in: db, batchSize: batchSize)
    try await db.document("migrations/split-names").delete()
    try await splitNames(in: db, batchSize: batchSize)
    let after = try await db.collection("people").getDocuments().documents.map(\.updateTime)
    #expect(after == before)
  }

  @Test func `a migration that was cancelled is resumed`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    for number in 0..<6 {
      try await db.document("people/\(number)").setData(["name": "Ann C\(number)"])
    }
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await splitNames(in: db, batchSize: 2)
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    try await splitNames(in: db, batchSize: 2)
    let people = try await db.collection("people").getDocuments().documents
    #expect(people.map { $0["family"] as? String } == (0..<6).map { "C\($0)" })
  }
}
