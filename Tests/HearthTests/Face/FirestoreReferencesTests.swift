import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct FirestoreReferencesTests {
  private let database: TemporaryDatabase
  private let db: Firestore
  private let books: CollectionReference
  private let authors: CollectionReference

  init() throws {
    database = try TemporaryDatabase()
    db = database.firestore
    books = db.collection("books")
    authors = db.collection("authors")
  }

  private func fill() async throws {
    for name in ["herbert", "austen"] { try await authors.document(name).setData(["n": name]) }
    try await books.document("dune").setData(["author": authors.document("herbert")])
    try await books.document("heretics").setData(["author": authors.document("herbert")])
    try await books.document("emma").setData(["author": authors.document("austen")])
    try await db.document("shelves/s/books/persuasion").setData([
      "author": authors.document("austen")
    ])
  }

  private func rule(_ action: FirestoreReferenceRule.Action) -> FirestoreReferenceRule {
    FirestoreReferenceRule("books", field: "author", to: "authors", onDelete: action)
  }

  @Test(arguments: [false, true])
  func `restrict refuses to delete what is referred to`(isBuilt: Bool) async throws {
    if isBuilt { try await db.references.declare(rule(.restrict)) }
    try await fill()
    if !isBuilt { try await db.references.declare(rule(.restrict)) }
    let sentence = await expectRefused(.failedPrecondition) {
      try await authors.document("austen").delete()
    }
    let rest =
      "refers to it in author, which the rule all books: author ↑ → authors, on delete restrict forbids. "
      + "Delete or change that document before or in the same commit."
    #expect(
      [
        "authors/austen cannot be deleted: books/emma \(rest)",
        "authors/austen cannot be deleted: shelves/s/books/persuasion \(rest)",
      ].contains(sentence))
    try await books.document("emma").delete()
    await expectRefused(.failedPrecondition) { try await authors.document("austen").delete() }
    // With the last reference, in one commit and in any order.
    try await db.batch().deleteDocument(authors.document("austen"))
      .updateData(["author": NSNull()], forDocument: db.document("shelves/s/books/persuasion"))
      .commit()
    #expect(try await authors.getDocuments().documents.map(\.documentID) == ["herbert"])
    // Replacing is not deleting.
    try await db.batch().deleteDocument(authors.document("herbert"))
      .setData(["n": 2], forDocument: authors.document("herbert")).commit()
  }

  /// In each form of a write: of a server, some are decided by its statement, others in the process.
  @Test func `a refusal has its reason, and other errors with its code have none`() async throws {
    func reasons(_ body: () async throws -> Void) async -> [Bool] {
      let error = await #expect(throws: FirestoreErrorCode.self) { try await body() }
      #expect(error?.code == .failedPrecondition, "\(error as Any)")
      return [error?.isUpdateTimeMismatch == true, error?.isReferenced == true]
    }
    try await fill()
    try await db.references.declare(rule(.restrict))
    let (herbert, dune) = (authors.document("herbert"), books.document("dune"))
    let referenced: [() async throws -> Void] = [
      { try await herbert.delete() },
      { try await self.db.batch().deleteDocument(herbert).commit() },
      { try await self.db.write { try $0.deleteDocument(herbert) } },
      { _ = try await self.authors.deleteAll(limit: 10) },
    ]
    for body in referenced { #expect(await reasons(body) == [false, true]) }
    let time = try #require(try await dune.getDocument().updateTime)
    try await dune.updateData(["pages": 412])
    for document in [dune, books.document("missing")] {
      let changed: [() async throws -> Void] = [
        { try await document.updateData(["pages": 1], precondition: .lastUpdateTime(time)) },
        { try await document.setData(["pages": 1], precondition: .lastUpdateTime(time)) },
        { try await document.delete(precondition: .lastUpdateTime(time)) },
        {
          try await self.db.batch().setData(["n": 1], forDocument: herbert)
            .deleteDocument(document, precondition: .lastUpdateTime(time)).commit()
        },
        {
          try await self.db.write {
            try $0.deleteDocument(document, precondition: .lastUpdateTime(time))
          }
        },
      ]
      for body in changed { #expect(await reasons(body) == [true, false]) }
    }
    try await db.terminate()
    #expect(await reasons { try await herbert.delete() } == [false, false])
  }

  @Test func `new documents go with what they refer to, and so do those that refer to them`()
    async throws
  {
    let parent = FirestoreReferenceRule("books", field: "parent", to: "books", onDelete: .nullify)
    let reviews = FirestoreReferenceRule("reviews", field: "book", to: "books", onDelete: .cascade)
    try await db.references.declare(rule(.cascade), parent, reviews)
    try await fill()
    let (herbert, dune) = (authors.document("herbert"), books.document("dune"))
    let children = books.document("children")
    try await db.batch()
      .setData(["author": herbert, "parent": dune], forDocument: children)
      .setData(["author": herbert, "parent": dune], forDocument: dune)
      .setData(["book": children], forDocument: db.document("reviews/1"))
      .deleteDocument(herbert).commit()
    #expect(try await books.getDocuments().documents.map(\.documentID) == ["emma"])
    #expect(try await db.collection("reviews").getDocuments().isEmpty)
  }

  @Test(arguments: [false, true])
  func `cascade deletes what refers to it, and so on`(isBuilt: Bool) async throws {
    let rules = [
      rule(.cascade),
      FirestoreReferenceRule("reviews", field: "of.book", to: "books", onDelete: .cascade),
    ]
    if isBuilt { try await db.references.declare(rules) }
    try await fill()
    for n in 0..<5 {
      try await db.document("reviews/\(n)").setData([
        "of": ["book": books.document(n < 3 ? "dune" : "emma")]
      ])
    }
    if !isBuilt { try await db.references.declare(rules) }
    let recorder = SnapshotRecorder(db.collection("reviews"))
    _ = try await recorder.next()
    try await authors.document("herbert").delete()
    let event = try await recorder.next()
    #expect(event.documentChanges.map(\.type) == [.removed, .removed, .removed])
    #expect(try await books.getDocuments().documents.map(\.documentID) == ["emma"])
    #expect(try await db.collection("reviews").getDocuments().count == 2)
    recorder.stop()
  }

  @Test func `nullify clears the field, or removes the element`() async throws {
    try await db.references.declare(
      rule(.nullify),
      FirestoreReferenceRule("books", arrayField: "genres", to: "genres", onDelete: .nullify))
    try await fill()
    let (sand, spice) = (db.document("genres/sand"), db.document("genres/spice"))
    for genre in [sand, spice] { try await genre.setData([:]) }
    try await books.document("dune").updateData(["genres": [sand, spice, sand, "other"]])
    try await db.batch().deleteDocument(sand).deleteDocument(authors.document("herbert")).commit()
    let dune = try await books.document("dune").getDocument()
    #expect(dune["author"] is NSNull)
    #expect((dune["genres"] as? [Any])?.count == 2)
    #expect((dune["genres"] as? [Any])?.first as? DocumentReference == spice)
    #expect(try await books.document("emma").getDocument()["author"] is DocumentReference)
  }

  @Test func `a write that nobody awaits is read with all that it deletes`() async throws {
    try await db.references.declare(rule(.cascade))
    for round in 0..<50 {
      let author = authors.document("\(round)")
      let book = books.document("\(round)")
      try await author.setData(["n": 1])
      try await book.setData(["author": author])
      author.delete(completion: nil)
      #expect(try await !book.getDocument().exists)
      #expect(try await books.getDocuments().isEmpty)
    }
  }

  @Test func `a delete that nobody awaits follows a rule that was declared just before it`()
    async throws
  {
    for _ in 0..<30 {
      // Their commits read the catalogue, without the rule.
      try await fill()
      try await db.references.declare(rule(.cascade))
      authors.document("herbert").delete(completion: nil)
      #expect(try await !books.document("dune").getDocument().exists)
      #expect(try await books.getDocuments().documents.map(\.documentID) == ["emma"])
      try await db.references.drop(rule(.cascade))
    }
  }

  @Test func `what a commit deletes by other rules restricts nothing, in any order`() async throws {
    try await db.references.declare(
      FirestoreReferenceRule("reviews", field: "book", to: "books", onDelete: .cascade),
      FirestoreReferenceRule("reviews", field: "author", to: "authors", onDelete: .restrict))
    for isBookFirst in [true, false] {
      try await fill()
      let (author, book) = (authors.document("herbert"), books.document("dune"))
      try await db.document("reviews/1").setData(["book": book, "author": author])
      await expectRefused(.failedPrecondition) { try await author.delete() }
      let both = isBookFirst ? [book, author] : [author, book]
      let batch = db.batch()
      for document in both { batch.deleteDocument(document) }
      try await batch.commit()
      #expect(try await db.collection("reviews").getDocuments().isEmpty)
    }
  }

  @Test(.embedded("TTL is the file's.")) func `expired documents are deleted as the rules say`()
    async throws
  {
    try await db.references.declare(
      FirestoreReferenceRule("notes", field: "session", to: "sessions", onDelete: .cascade),
      FirestoreReferenceRule("orders", field: "session", to: "sessions", onDelete: .restrict))
    let past = Timestamp(seconds: 1_000, nanoseconds: 0)
    for name in ["a", "b", "c"] {
      try await db.document("sessions/\(name)").setData(["until": past])
      try await db.document("notes/\(name)").setData(["session": db.document("sessions/\(name)")])
    }
    try await db.document("orders/1").setData(["session": db.document("sessions/b")])
    try await db.ttl.setPolicy(collectionGroup: "sessions", field: "until")
    try await eventually {
      _ = try await db.ttl.deleteExpired()
      return try await db.collection("sessions").getDocuments().count == 1
    }
    #expect(try await db.collection("notes").getDocuments().documents.map(\.documentID) == ["b"])
    try await db.document("orders/1").delete()
    // By this call, or by the sweep in the background.
    try await eventually {
      _ = try await db.ttl.deleteExpired()
      return try await db.collection("sessions").getDocuments().isEmpty
    }
    #expect(try await db.collection("notes").getDocuments().isEmpty)
  }

  private func addBooks(_ count: Int, of author: DocumentReference) async throws {
    for start in stride(from: 0, to: count, by: 1000) {
      let batch = db.batch()
      for n in start..<min(count, start + 1000) {
        batch.setData(["author": author], forDocument: books.document("\(n)"))
      }
      try await batch.commit()
    }
  }

  @Test(.embedded("TTL is the file's."))
  func `an expired document whose cascade is too large keeps no other`() async throws {
    try await db.references.declare(rule(.cascade))
    let batch = db.batch()
    let long = Date(timeIntervalSinceNow: -100)
    batch.setData(["until": Timestamp(date: long)], forDocument: authors.document("herbert"))
    for n in 0..<300 {
      batch.setData(
        ["until": Timestamp(date: Date(timeIntervalSinceNow: -50))],
        forDocument: authors.document("other \(n)"))
    }
    try await batch.commit()
    let herbert = authors.document("herbert")
    let count = Limits.cascadedDocuments + 1
    try await addBooks(count, of: herbert)
    try await db.ttl.setPolicy(collectionGroup: "authors", field: "until")
    // One sweep goes through all batches, and reports the one that stays at its end.
    await expectRefused(.resourceExhausted) { _ = try await db.ttl.deleteExpired() }
    let left = try await authors.getDocuments().documents.map(\.documentID)
    #expect(left == ["herbert"])
  }

  @Test func `a cascade is bounded`() async throws {
    try await db.references.declare(rule(.cascade))
    let herbert = authors.document("herbert")
    try await herbert.setData([:])
    let count = Limits.cascadedDocuments + 1
    try await addBooks(count, of: herbert)
    await expectRefused(.resourceExhausted) { try await herbert.delete() }
    #expect(try await herbert.getDocument().exists)
    #expect(try await books.count.getAggregation(source: .server).count == NSNumber(value: count))
    try await books.document("0").delete()
    try await herbert.delete()
    #expect(try await books.getDocuments().isEmpty)
  }

  @Test func `a cascade of few large documents is bounded, too`() async throws {
    try await db.references.declare(rule(.cascade))
    let herbert = authors.document("herbert")
    try await herbert.setData([:])
    let text = String(repeating: "x", count: 1_000_000)
    for n in 0..<70 {
      try await books.document("\(n)").setData(["author": herbert, "text": text])
    }
    await expectRefused(.resourceExhausted) { try await herbert.delete() }
    #expect(try await books.count.getAggregation(source: .server).count == 70)
    for n in 0..<10 { try await books.document("\(n)").delete() }
    try await herbert.delete()
    #expect(try await books.count.getAggregation(source: .server).count == 0)
  }

  @Test func `a rule replaces another one for its field, and can be dropped`() async throws {
    try await db.references.declare(rule(.restrict))
    try await fill()
    try await db.references.declare(rule(.nullify))
    #expect(try await db.indexes.list().count == 1)
    try await authors.document("herbert").delete()
    #expect(try await books.document("dune").getDocument()["author"] is NSNull)
    try await db.references.drop(rule(.nullify))
    try await authors.document("austen").delete()
    #expect(try await books.document("emma").getDocument()["author"] is DocumentReference)
  }

  @Test(arguments: [false, true])
  func `a field may refer to several collections, with a rule for each`(isBuilt: Bool) async throws
  {
    let editors = db.collection("editors")
    let rules = [
      rule(.cascade),
      FirestoreReferenceRule("books", field: "author", to: "editors", onDelete: .restrict),
      FirestoreReferenceRule("books", field: "author", to: "robots", onDelete: .nullify),
    ]
    if isBuilt { try await db.references.declare(rules) }
    try await fill()
    try await editors.document("ann").setData([:])
    try await db.document("robots/r2").setData([:])
    try await books.document("edited").setData(["author": editors.document("ann")])
    try await books.document("made").setData(["author": db.document("robots/r2")])
    if !isBuilt { try await db.references.declare(rules) }
    #expect(
      try await db.indexes.list().map(\.description).sorted() == rules.map(\.description).sorted())
    try await authors.document("herbert").delete()
    await expectRefused(.failedPrecondition) { try await editors.document("ann").delete() }
    try await db.document("robots/r2").delete()
    #expect(
      try await books.getDocuments().documents.map(\.documentID) == ["edited", "emma", "made"])
    #expect(try await books.document("made").getDocument()["author"] is NSNull)
    // Another action for one target leaves the others as they are.
    let edited = FirestoreReferenceRule("books", field: "author", to: "editors", onDelete: .cascade)
    try await db.references.declare(edited)
    #expect(
      try await Set(db.indexes.list().map(\.description))
        == Set([rules[0], edited, rules[2]].map(\.description)))
    try await db.references.drop(rules[0])
    try await editors.document("ann").delete()
    try await authors.document("austen").delete()
    #expect(try await books.getDocuments().documents.map(\.documentID) == ["emma", "made"])
  }

  @Test func `two rules for the same references are refused, whatever they do`() async throws {
    for action in [FirestoreReferenceRule.Action.restrict, .cascade, .nullify] {
      let sentence = await expectRefused(.invalidArgument) {
        try await db.references.declare(
          rule(action),
          FirestoreReferenceRule("books", field: "author", to: "editors", onDelete: .cascade),
          rule(.cascade))
      }
      #expect(sentence?.hasPrefix("all books: author ↑ → authors, on delete cascade: ") == true)
    }
    #expect(try await db.indexes.list().isEmpty)
    // Other fields, other targets, and an array of references, are other references.
    try await db.references.declare(
      rule(.cascade),
      FirestoreReferenceRule("books", arrayField: "author", to: "authors", onDelete: .nullify),
      FirestoreReferenceRule("books", field: "editor", to: "authors", onDelete: .restrict),
      FirestoreReferenceRule("essays", field: "author", to: "authors", onDelete: .restrict))
    #expect(try await db.indexes.list().count == 4)
  }

  @Test(.embedded("The configuration is the file's."))
  func `the configuration has a rule for each target, and refuses two for one`() async throws {
    let rules = ["authors", "editors"].map {
      FirestoreReferenceRule("books", field: "author", to: $0, onDelete: .cascade)
    }
    try await db.references.declare(rules)
    let json = try await db.indexes.configurationJSON()
    try await db.references.drop(rules[0], rules[1])
    #expect(try await db.indexes.list().allSatisfy { $0.state == .dropping })
    try await db.indexes.setConfigurationJSON(json)
    let declared = try await db.indexes.list().filter { $0.state != .dropping }
    #expect(Set(declared.map(\.description)) == Set(rules.map(\.description)))
    #expect(try await db.indexes.configurationJSON() == json)
    let twice = json.replacingOccurrences(of: "editors", with: "authors")
      .replacingOccurrences(of: "\"CASCADE\"", with: "\"RESTRICT\"")
    let sentence = await expectRefused(.invalidArgument) {
      try await db.indexes.setConfigurationJSON(twice)
    }
    #expect(sentence?.hasPrefix("indexes[1]: there is another rule for this field: ") == true)
  }

  // MARK: Within a commit

  @Test func `a write closure sees what its deletions do by rules`() async throws {
    try await db.references.declare(
      rule(.cascade),
      FirestoreReferenceRule("books", arrayField: "genres", to: "genres", onDelete: .nullify))
    try await fill()
    let (herbert, dune, emma) = (
      authors.document("herbert"), books.document("dune"), books.document("emma")
    )
    let genre = db.document("genres/wit")
    try await genre.setData([:])
    try await emma.updateData(["genres": [genre, "irony"]])
    let books = books
    let seen = try await db.write { tx in
      try tx.deleteDocument(herbert)
      try tx.deleteDocument(genre)
      do {
        try tx.updateData(["pages": 412], forDocument: dune)
        Issue.record("A document that is deleted was updated.")
      } catch FirestoreErrorCode.notFound {}
      try tx.setData(["pages": 3], forDocument: books.document("heretics"))
      return (
        try tx.getDocument(dune).exists, try tx.getDocuments(books).documents.map(\.documentID),
        try tx.getDocument(emma)["genres"] as? [String],
        try tx.getAggregation(books.count).count
      )
    }
    #expect(seen.0 == false && seen.1 == ["emma", "heretics"] && seen.2 == ["irony"])
    #expect(seen.3 == 2)
    // What it has seen is what is there.
    #expect(try await books.getDocuments().documents.map(\.documentID) == seen.1)
    #expect(try await books.document("heretics").getDocument().data()?.count == 1)
  }

  @Test func `an update after the deletion that deletes its document fails, and so does the batch`()
    async throws
  {
    try await db.references.declare(rule(.cascade))
    try await fill()
    let (herbert, dune) = (authors.document("herbert"), books.document("dune"))
    await expectRefused(.notFound) {
      try await db.batch().deleteDocument(herbert).updateData(["pages": 1], forDocument: dune)
        .commit()
    }
    await expectRefused(.notFound) {
      try await db.write { tx in
        try tx.deleteDocument(herbert)
        try tx.updateData(["pages": 1], forDocument: dune)
      }
    }
    await expectRefused(.notFound) {
      _ = try await db.runTransaction { transaction, _ in
        transaction.deleteDocument(herbert)
        transaction.updateData(["pages": 1], forDocument: dune)
        return nil
      }
    }
    #expect(try await dune.getDocument()["author"] as? DocumentReference == herbert)
    // Written before, it no longer refers to what is deleted; set after, it is a new document.
    let heretics = books.document("heretics")
    try await db.batch().updateData(["author": NSNull()], forDocument: dune)
      .deleteDocument(herbert).setData(["author": NSNull()], forDocument: heretics).commit()
    let (kept, made) = (try await dune.getDocument(), try await heretics.getDocument())
    #expect(kept.createTime != kept.updateTime && made.createTime == kept.updateTime)
  }

  @Test func `of several deletions the order does not matter, nor do their preconditions`()
    async throws
  {
    try await db.references.declare(
      FirestoreReferenceRule("notes", field: "of", to: "notes", onDelete: .cascade))
    let notes = ["a", "b", "c"].map { db.document("notes/\($0)") }
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
      try await notes[0].setData([:])
      try await notes[1].setData(["of": notes[0]])
      try await notes[2].setData(["of": notes[1]])
      let batch = db.batch()
      for note in order {
        let time = try #require(try await notes[note].getDocument().updateTime)
        batch.deleteDocument(
          notes[note], precondition: note == 1 ? .exists(true) : .lastUpdateTime(time))
      }
      try await batch.commit()
      #expect(try await db.collection("notes").getDocuments().isEmpty)
    }
    // All results of a query, some of which refer to others.
    try await notes[0].setData(["n": 1])
    try await notes[1].setData(["of": notes[0], "n": 1])
    #expect(try await db.collection("notes").whereField("n", isEqualTo: 1).deleteAll() == 2)
  }

  @Test func `a closure whose deletion changes too many documents fails as a whole`() async throws {
    try await db.references.declare(rule(.cascade))
    let herbert = authors.document("herbert")
    try await herbert.setData([:])
    try await addBooks(Limits.cascadedDocuments + 1, of: herbert)
    let other = db.document("others/1")
    await expectRefused(.resourceExhausted) {
      try await db.write { tx in
        try tx.setData([:], forDocument: other)
        #expect(throws: (any Error).self) { try tx.deleteDocument(herbert) }
      }
    }
    #expect(try await !other.getDocument().exists)
    #expect(try await herbert.getDocument().exists)
  }

  @Test func `dangling references are found and repaired`() async throws {
    try await fill()
    for n in 0..<600 {
      try await books.document("b\(n)").setData(["author": authors.document("herbert")])
    }
    try await authors.document("austen").delete()
    let found = try await db.references.danglingReferences(of: rule(.nullify))
    #expect(
      found.map(\.document.path) == ["books/emma", "shelves/s/books/persuasion"])
    #expect(found.map(\.target.path) == ["authors/austen", "authors/austen"])
    #expect(try await db.references.danglingReferences(of: rule(.nullify), limit: 1).count == 1)
    await expectRefused(.invalidArgument) { try await db.references.repair(rule(.restrict)) }
    #expect(try await db.references.repair(rule(.nullify)) == 2)
    #expect(try await books.document("emma").getDocument()["author"] is NSNull)
    #expect(try await db.references.danglingReferences(of: rule(.nullify)).isEmpty)

    let array = FirestoreReferenceRule(
      "books", arrayField: "genres", to: "genres", onDelete: .nullify)
    let genres = ["a", "b", "c"].map { db.document("genres/\($0)") }
    try await genres[1].setData([:])
    try await books.document("emma").updateData(["genres": genres])
    #expect(try await db.references.danglingReferences(of: array).count == 2)
    #expect(try await db.references.repair(array) == 1)
    let left = try await books.document("emma").getDocument()["genres"] as? [DocumentReference]
    #expect(left == [genres[1]])

    try await authors.document("herbert").delete()
    #expect(try await db.references.repair(rule(.cascade)) == 602)
    #expect(try await books.getDocuments().documents.map(\.documentID) == ["emma"])
  }

  @Test func `nothing is repaired that was written meanwhile`() async throws {
    let dune = books.document("dune")
    let herbert = authors.document("herbert")
    try await dune.setData(["author": herbert])
    let definition = try rule(.nullify).definition()
    let backend = try db.database().backend
    func stored() async throws -> StoredDocument {
      try #require(
        try await backend.read(.results(EffectiveQuery(definition.everyDocument))).results.first)
    }
    let old = try await stored()
    try await dune.updateData(["n": 1])
    func repair(_ document: StoredDocument) async throws {
      try await reporting {
        _ = try await backend.commit(
          definition.repair(of: document, without: [herbert.resourcePath]))
      }
    }
    await expectRefused(.failedPrecondition) { try await repair(old) }
    let new = try await stored()
    try await herbert.setData([:])
    #expect(await code { try await repair(new) } != nil)
    #expect(try await dune.getDocument()["author"] as? DocumentReference == herbert)
    try await herbert.delete()
    try await repair(new)
    #expect(try await dune.getDocument()["author"] is NSNull)
  }

  @Test func `what is no rule is refused with a sentence`() async throws {
    for wrong in [
      FirestoreReferenceRule("a/b", field: "author", to: "authors", onDelete: .cascade),
      FirestoreReferenceRule("books", field: "a..b", to: "authors", onDelete: .cascade),
      FirestoreReferenceRule("books", field: "author", to: "", onDelete: .cascade),
    ] {
      await expectRefused(.invalidArgument) { try await db.references.declare(wrong) }
      await expectRefused(.invalidArgument) {
        _ = try await db.references.danglingReferences(of: wrong)
      }
    }
    #expect(
      rule(.cascade).description == "all books: author ↑ → authors, on delete cascade")
  }

  @Test(.embedded("Counts what the engine reads."))
  func `a deletion reads the references to it, and nothing else`() async throws {
    try await db.references.declare(rule(.restrict))
    try await fill()
    for n in 0..<500 {
      try await books.document("b\(n)").setData(["author": authors.document("\(n)")])
    }
    let found = try await db.collectionGroup("books")
      .whereField("author", isEqualTo: authors.document("austen")).explain(analyze: true)
    #expect(found.execution?.indexEntriesRead == 2)
    #expect(found.execution?.documentsRead == 2)
  }
}
