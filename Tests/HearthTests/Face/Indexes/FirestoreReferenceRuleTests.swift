import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Rules by which the documents exist that others refer to.
@Suite struct FirestoreReferenceRuleTests {
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

  private func rule(
    _ action: FirestoreReferenceRule.Action, mustExist: Bool = true
  ) -> FirestoreReferenceRule {
    FirestoreReferenceRule(
      "books", field: "author", to: "authors", onDelete: action, mustExist: mustExist)
  }

  /// Declares a rule, and returns its error after it was verified; nil if documents keep to it.
  private func verified(_ rule: FirestoreReferenceRule) async throws -> NSError? {
    try await db.references.declare(rule)
    do {
      try await db.indexes.waitUntilReady()
      return nil
    } catch let error as NSError {
      return error
    }
  }

  @Test
  func `a reference to a missing document is refused by every interface, with all its writes`()
    async throws
  {
    try await db.references.declare(rule(.restrict))
    try await authors.document("austen").setData([:])
    try await books.document("emma").setData(["author": authors.document("austen")])
    let missing = authors.document("none")
    let none: [String: Any] = ["author": missing]
    let (dune, emma) = (books.document("dune"), books.document("emma"))
    let model = db.collection("books", of: Book.self)
    let writes: [() async throws -> Void] = [
      { try await dune.setData(none) },
      { try await dune.setData(none, merge: true) },
      { try await dune.create(none) },
      { try await emma.updateData(none) },
      { try await db.document("shelves/s/books/dune").setData(none) },
      { _ = try await books.addDocument(data: none) },
      {
        try await db.batch().setData(["n": 1], forDocument: authors.document("new"))
          .setData(none, forDocument: dune).commit()
      },
      { try await db.write { try $0.setData(["author": missing], forDocument: dune) } },
      {
        _ = try await db.runTransaction { tx, _ in
          tx.setData(["author": missing], forDocument: dune)
        }
      },
      { try await model.document("dune").set(Book(author: authors.document("none"))) },
      { _ = try await books.updateAll(none) },
    ]
    for write in writes {
      let error = await #expect(throws: FirestoreErrorCode.self) { try await write() }
      #expect(error?.code == .failedPrecondition && error?.isDanglingReference == true)
      #expect(error?.isReferenced == false)
      #expect(error?.constraint?.fields == ["author"])
    }
    let sentence = await expectRefused(.failedPrecondition) { try await dune.setData(none) }
    #expect(
      sentence
        == "books/dune cannot be written: it refers to authors/none in author, which does not "
        + "exist. The rule all books: author ↑ → authors, on delete restrict, must exist demands that "
        + "it does. Create it before or in the same commit.")
    #expect(try await books.getDocuments().documents.map(\.documentID) == ["emma"])
    #expect(try await authors.getDocuments().documents.map(\.documentID) == ["austen"])
    #expect(
      try await emma.getDocument()["author"] as? DocumentReference == authors.document("austen"))
  }

  private struct Book: Codable, DocumentModel {
    var author: DocumentReference?

    struct Fields: Sendable {}
    static let fields = Fields()
  }

  @Test func `one commit may create both documents, in any order, and a closure as well`()
    async throws
  {
    try await db.references.declare(rule(.cascade))
    let (herbert, austen) = (authors.document("herbert"), authors.document("austen"))
    try await db.batch().setData(["author": herbert], forDocument: books.document("dune"))
      .setData([:], forDocument: herbert).commit()
    try await db.write { tx in
      try tx.setData(["author": austen], forDocument: books.document("emma"))
      try tx.setData([:], forDocument: austen)
    }
    #expect(try await books.getDocuments().count == 2)
    // A document of the commit that is gone at its end does not exist.
    await expectRefused(.failedPrecondition) {
      try await db.batch().setData([:], forDocument: authors.document("x"))
        .setData(["author": authors.document("x")], forDocument: books.document("x"))
        .deleteDocument(authors.document("x"))
        .setData(["author": authors.document("x")], forDocument: books.document("x")).commit()
    }
    // Nor may a reference come back that a deletion has just removed.
    await expectRefused(.failedPrecondition) {
      try await db.batch().deleteDocument(herbert)
        .setData(["author": herbert], forDocument: books.document("dune")).commit()
    }
    #expect(try await herbert.getDocument().exists)
    #expect(try await books.getDocuments().count == 2)
  }

  @Test(arguments: [FirestoreReferenceRule.Action.restrict, .cascade, .nullify])
  func `no order of the writes of a commit leaves a reference to a document that it deletes`(
    action: FirestoreReferenceRule.Action
  ) async throws {
    try await db.references.declare(rule(action))
    let (herbert, dune) = (authors.document("herbert"), books.document("dune"))
    let fields: [String: Any] = ["author": herbert]
    try await db.batch().setData([:], forDocument: herbert).setData(fields, forDocument: dune)
      .commit()
    // The document is the same as before at the end, so that the commit does not change it.
    await expectRefused(.failedPrecondition) {
      try await db.batch().deleteDocument(herbert).setData(fields, forDocument: dune).commit()
    }
    await expectRefused(.failedPrecondition) {
      try await db.write { tx in
        try tx.deleteDocument(herbert)
        try tx.setData(["author": herbert], forDocument: dune)
      }
    }
    await expectRefused(.failedPrecondition) {
      _ = try await db.runTransaction { tx, _ in
        tx.deleteDocument(herbert).setData(["author": herbert], forDocument: dune)
      }
    }
    #expect(try await dune.getDocument()["author"] as? DocumentReference == herbert)
    #expect(try await herbert.getDocument().exists)
    // Replaced, it exists.
    try await db.batch().deleteDocument(herbert).setData(fields, forDocument: dune)
      .setData([:], forDocument: herbert).commit()
    let last = db.batch().setData(fields, forDocument: dune).deleteDocument(herbert)
    if action == .restrict {
      await expectRefused(.failedPrecondition) { try await last.commit() }
    } else {
      try await last.commit()
      #expect(try await dune.getDocument().exists == (action == .nullify))
    }
    #expect(try await db.references.danglingReferences(of: rule(action)).isEmpty)
  }

  @Test func `a document may refer to itself, and to one that is deleted and made again`()
    async throws
  {
    try await db.references.declare(
      FirestoreReferenceRule(
        "books", field: "sequel", to: "books", onDelete: .restrict, mustExist: true))
    let (dune, emma) = (books.document("dune"), books.document("emma"))
    try await dune.setData(["sequel": dune])
    try await dune.updateData(["n": 1])
    // Each refers to the other.
    try await db.batch().setData(["sequel": dune], forDocument: emma)
      .setData(["sequel": emma], forDocument: dune).commit()
    await expectRefused(.failedPrecondition) { try await emma.delete() }
    try await db.batch().deleteDocument(dune).deleteDocument(emma).commit()
    await expectRefused(.failedPrecondition) { try await emma.setData(["sequel": dune]) }
    #expect(try await books.getDocuments().isEmpty)
  }

  @Test(arguments: [FirestoreReferenceRule.Action.restrict, .cascade, .nullify])
  func `no way to delete a document leaves a reference to it`(
    action: FirestoreReferenceRule.Action
  ) async throws {
    let past = Timestamp(seconds: 1, nanoseconds: 0)
    try await db.references.declare(rule(action))
    let author = authors.document("a")
    var deletions: [() async throws -> Void] = [
      { try await author.delete() },
      { try await db.batch().deleteDocument(author).commit() },
      { try await db.write { try $0.deleteDocument(author) } },
      { _ = try await db.runTransaction { tx, _ in tx.deleteDocument(author) } },
      { _ = try await authors.deleteAll() },
      { _ = try await db.recursiveDelete(author) },
    ]
    // The documents of the memory backend do not expire.
    if (try? await db.ttl.setPolicy(collectionGroup: "authors", field: "until")) != nil {
      deletions.append {
        try await author.setData(["until": past])
        _ = try await db.ttl.deleteExpired()
      }
    }
    for (number, deletion) in deletions.enumerated() {
      try await author.setData(["n": number])
      let book = books.document("\(number)")
      try await book.setData(["author": author])
      try? await deletion()
      #expect(try await author.getDocument().exists == (action == .restrict), "\(number)")
      let found = try await book.getDocument()
      #expect(found.exists == (action != .cascade), "\(number)")
      if action == .nullify { #expect(found["author"] is NSNull, "\(number)") }
    }
    #expect(try await db.references.danglingReferences(of: rule(action)).isEmpty)
    if action != .cascade { #expect(try await books.getDocuments().count == deletions.count) }
  }

  @Test(.embedded("exports and imports a file"))
  func `an import keeps to the rules, and a new file gets those of the export`() async throws {
    func rule(mustExist: Bool = true) -> FirestoreReferenceRule {
      FirestoreReferenceRule(
        "books", field: "author", to: "writers", onDelete: .restrict, mustExist: mustExist)
    }
    try await db.references.declare(rule())
    let long = String(repeating: "long ", count: 100_000)
    let author = db.document("writers/z")
    try await author.setData([:])
    for number in 0..<4 {
      try await books.document("\(number)").setData(["author": author, "text": long])
    }
    let folder = TemporaryFolder()
    let lines = folder.path + "/books.jsonl"
    try await db.maintenance.export(to: lines)
    let file = FirestoreFile(at: folder.path + "/new.hearth")
    try await file.import(from: lines)
    let copy = try Firestore.open(at: folder.path + "/new.hearth")
    #expect(try await copy.indexes.list().map(\.state) == [.ready])
    await expectRefused(.failedPrecondition) {
      try await copy.document("books/new").setData(["author": copy.document("writers/none")])
    }
    try await copy.terminate()
    // Into an open database: the author comes in a later batch than its first books.
    let opened = try TemporaryDatabase()
    let other = opened.firestore
    try await other.references.declare(rule())
    let error = await expectRefused(.failedPrecondition) {
      try await other.maintenance.import(from: lines)
    }
    #expect(error?.contains("refers to writers/z in author, which does not exist") == true)
    #expect(try await other.references.danglingReferences(of: rule()).isEmpty)
    try await other.references.declare(rule(mustExist: false))
    try await other.maintenance.import(from: lines)
    // The export has declared it again.
    try await other.indexes.waitUntilReady()
    #expect(try await other.indexes.list().map(\.description) == [rule().description])
    #expect(try await other.collection("books").getDocuments().count == 4)
  }

  @Test func `other values are not checked, and every element of an array is`() async throws {
    try await db.references.declare(
      rule(.nullify),
      FirestoreReferenceRule(
        "books", arrayField: "of.genres", to: "genres", onDelete: .nullify, mustExist: true))
    let sand = db.document("genres/sand")
    try await sand.setData([:])
    let free: [Any] = [
      NSNull(), "authors/none", db.document("people/none"), [authors.document("none")], 1,
    ]
    for (number, value) in free.enumerated() {
      try await books.document("\(number)").setData(["author": value])
    }
    try await books.document("none").setData(["n": 1])
    try await books.document("sandy").setData(["of": ["genres": [sand, "x", sand]]])
    await expectRefused(.failedPrecondition) {
      try await books.document("sandy").updateData([
        "of.genres": FieldValue.arrayUnion([db.document("genres/none")])
      ])
    }
    try await books.document("sandy").updateData([
      "of.genres": FieldValue.arrayUnion([db.document("other/none")])
    ])
    try await sand.delete()
    #expect(try await books.document("sandy").getDocument().get("of.genres") as? [Any] != nil)
    #expect(try await verified(rule(.nullify)) == nil)
  }

  @Test func `a rule that older documents violate is invalid until they are changed`() async throws
  {
    try await books.document("dune").setData(["author": authors.document("herbert"), "n": 1])
    try await books.document("emma").setData(["author": authors.document("austen")])
    try await authors.document("austen").setData([:])
    #expect(try await verified(rule(.cascade, mustExist: false)) == nil)
    let error = try #require(try await verified(rule(.cascade)))
    #expect(FirestoreErrorCode.failedPrecondition ~= error)
    #expect(
      error.localizedDescription.contains(
        "some documents refer to documents that do not exist, such as books/dune to authors/herbert"
      ))
    let listed = try await db.indexes.list().first { $0.description.contains("must exist") }
    #expect(
      listed?.state == .invalid(.init(count: 1, examples: [["books/dune", "authors/herbert"]])))
    // It holds for every new reference; the old one may stay.
    try await books.document("dune").updateData(["n": 2])
    await expectRefused(.failedPrecondition) {
      try await books.document("other").setData(["author": authors.document("herbert")])
    }
    // An invalid rule still does what its action says.
    try await authors.document("austen").delete()
    #expect(try await books.getDocuments().documents.map(\.documentID) == ["dune"])
    #expect(try await verified(rule(.cascade)) != nil)
    #expect(try await db.references.repair(rule(.cascade)) == 1)
    #expect(try await verified(rule(.cascade)) == nil)
    // Without the demand it is an ordinary rule again.
    #expect(try await verified(rule(.cascade, mustExist: false)) == nil)
    try await books.document("other").setData(["author": authors.document("herbert")])
  }

  @Test func `a declaration says everything that a rule has`() async throws {
    #expect(
      rule(.nullify).description
        == "all books: author ↑ → authors, on delete nullify, must exist")
    try await db.references.declare(rule(.restrict))
    let json = try #require(try await db.indexes.list().first?.json)
    #expect(json.contains("\"mustExist\":true"))
    #expect(rule(.restrict) != rule(.restrict, mustExist: false))
    // Both at once would contradict each other.
    await expectRefused(.invalidArgument) {
      try await db.references.declare(rule(.restrict), rule(.restrict, mustExist: false))
    }
    try await db.references.declare(rule(.restrict))
    #expect(try await db.indexes.list().count == 1)
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `random commits leave no reference behind, whatever the actions are`(seed: UInt64)
    async throws
  {
    var random = SeededGenerator(seed: seed)
    let actions: [FirestoreReferenceRule.Action] = [.cascade, .nullify]
    let rules = [
      rule(random.pick(actions)),
      FirestoreReferenceRule(
        "books", arrayField: "others", to: "authors", onDelete: random.pick(actions),
        mustExist: true),
      FirestoreReferenceRule(
        "books", field: "sequel", to: "books", onDelete: random.pick(actions), mustExist: true),
    ]
    try await db.references.declare(rules)
    var (taken, refused) = (0, 0)
    for round in 0..<100 {
      let batch = db.batch()
      for _ in 0..<(1 + random.below(5)) {
        let author = authors.document("\(random.below(3))")
        let book = books.document("\(random.below(3))")
        switch random.below(6) {
        case 0: batch.deleteDocument(author)
        case 1: batch.setData([:], forDocument: author)
        case 2: batch.deleteDocument(book)
        default:
          var fields: [String: Any] = [:]
          if random.one(in: 2) { fields["author"] = author }
          if random.one(in: 4) { fields["others"] = [author] }
          if random.one(in: 8) { fields["sequel"] = books.document("\(random.below(3))") }
          batch.setData(fields, forDocument: book)
        }
      }
      // At times a document becomes what it was, after what the rules have done.
      let same = books.document("\(random.below(3))")
      if random.one(in: 2), let fields = try await same.getDocument().data() {
        batch.setData(fields, forDocument: same)
      }
      do {
        try await batch.commit()
        taken += 1
      } catch FirestoreErrorCode.failedPrecondition {
        refused += 1
      }
      for rule in rules {
        let found = try await db.references.danglingReferences(of: rule)
        #expect(found.isEmpty, "seed \(seed), round \(round): \(rule) \(found)")
      }
    }
    #expect(taken > 5 && refused > 5, "seed \(seed): \(taken) \(refused)")
  }

  /// With `restrict`, a commit succeeds exactly if it leaves every reference with its document.
  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `random commits leave no reference without its document`(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    try await db.references.declare(
      rule(.restrict),
      FirestoreReferenceRule(
        "books", arrayField: "others", to: "authors", onDelete: .restrict, mustExist: true),
      FirestoreReferenceRule(
        "books", field: "sequel", to: "books", onDelete: .restrict, mustExist: true))
    var model: [String: [String]] = [:]
    var (taken, refused) = (0, 0)
    for round in 0..<60 {
      var next = model
      let batch = db.batch()
      for _ in 0..<(1 + random.below(4)) {
        let author = authors.document("\(random.below(4))")
        let book = books.document("\(random.below(4))")
        switch random.below(8) {
        case 0, 1:
          batch.deleteDocument(author)
          next[author.path] = nil
        case 2, 3:
          batch.setData(["n": random.below(9)], forDocument: author)
          next[author.path] = []
        case 4:
          batch.deleteDocument(book)
          next[book.path] = nil
        default:
          var fields: [String: Any] = ["n": random.below(9)]
          var references: [DocumentReference] = []
          if random.one(in: 2) { references.append(author) }
          fields["author"] = references.first
          let others = (0..<random.below(3)).map { _ in authors.document("\(random.below(4))") }
          fields["others"] = others
          references += others
          if random.one(in: 3) {
            let sequel = books.document("\(random.below(4))")
            fields["sequel"] = sequel
            references.append(sequel)
          }
          batch.setData(fields, forDocument: book)
          next[book.path] = references.map(\.path)
        }
      }
      let isWhole = next.values.allSatisfy { $0.allSatisfy { next[$0] != nil } }
      do {
        try await batch.commit()
        #expect(isWhole, "seed \(seed), round \(round)")
        model = next
        taken += 1
      } catch FirestoreErrorCode.failedPrecondition {
        #expect(!isWhole, "seed \(seed), round \(round)")
        refused += 1
      }
    }
    let stored = try await db.collection("books").getDocuments().documents.map(\.reference.path)
    #expect(Set(stored) == Set(model.keys.filter { $0.hasPrefix("books/") }))
    #expect(taken > 5 && refused > 5)
  }
}
