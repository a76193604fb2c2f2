import Foundation
import HearthTesting
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct UniqueIndexTests {
  private let folder = TemporaryFolder()
  private let db: Firestore
  private let users: CollectionReference
  private let email = FirestoreIndex(unique: "users", .ascending("email"))

  init() throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    db = try Firestore.open(at: folder.path + "/unique.hearth", settings: settings)
    users = db.collection("users")
  }

  @Test func `the second writer of a value is refused, with the index and the document`()
    async throws
  {
    try await db.indexes.declare(email)
    try await users.document("ann").setData(["email": "ann@example.com"])
    let sentence = await expectRefused(.alreadyExists) {
      try await users.document("bob").setData(["email": "ann@example.com"])
    }
    #expect(
      sentence
        == "users/bob cannot be written: users/ann has the same values, which the index unique users: email ↑ "
        + "allows only once.")
    #expect(try await !users.document("bob").getDocument().exists)
    // Every form of a write.
    await expectRefused(.alreadyExists) {
      _ = try await users.addDocument(data: ["email": "ann@example.com"])
    }
    await expectRefused(.alreadyExists) {
      try await db.batch().setData(["email": "ann@example.com"], forDocument: users.document("c"))
        .commit()
    }
    await expectRefused(.alreadyExists) {
      _ = try await db.runTransaction { transaction, _ in
        transaction.setData(["email": "ann@example.com"], forDocument: self.users.document("c"))
        return nil
      }
    }
    try await users.document("bob").setData(["email": "bob@example.com"])
    await expectRefused(.alreadyExists) {
      try await users.document("bob").updateData(["email": "ann@example.com"])
    }
    #expect(try await users.document("bob").getDocument()["email"] as? String == "bob@example.com")
    #expect(try await users.getDocuments().count == 2)
  }

  @Test func `an index that is declared twice in one call is one`() async throws {
    try await db.indexes.declare(email, FirestoreIndex("users", .ascending("age")), email)
    #expect(try await db.indexes.list().count == 2)
    try await db.indexes.drop(email)
    #expect(try await db.indexes.list().filter { $0.state != .dropping }.count == 1)
  }

  @Test func `a precondition is checked before the values are compared`() async throws {
    try await db.indexes.declare(email)
    try await users.document("ann").setData(["email": "a"])
    let bob = users.document("bob")
    try await bob.setData(["email": "b"])
    let seen = try #require(try await bob.getDocument().updateTime)
    try await bob.updateData(["name": "Bob"])
    await #expect {
      try await bob.updateData(["email": "a"], precondition: .lastUpdateTime(seen))
    } throws: {
      ($0 as? FirestoreErrorCode)?.isUpdateTimeMismatch == true
    }
    await expectRefused(.notFound) {
      try await users.document("cid").setData(["email": "a"], precondition: .exists(true))
    }
    // Also if the value is taken by the write before.
    await expectRefused(.notFound) {
      try await db.batch().setData(["email": "a"], forDocument: bob)
        .updateData(["name": "C"], forDocument: users.document("cid")).commit()
    }
    // Each of them alone is refused as well.
    await expectRefused(.alreadyExists) { try await bob.updateData(["email": "a"]) }
  }

  @Test func `a document may be written again, and a free value taken`() async throws {
    try await db.indexes.declare(email)
    let ann = users.document("ann")
    let bob = users.document("bob")
    try await ann.setData(["email": "a"])
    try await ann.setData(["email": "a", "name": "Ann"])
    try await ann.updateData(["name": "Anna"])
    try await ann.updateData(["email": "b"])
    try await bob.setData(["email": "a"])
    // In one commit, values may change hands.
    try await db.batch().updateData(["email": "a"], forDocument: ann)
      .updateData(["email": "b"], forDocument: bob).commit()
    #expect(try await ann.getDocument()["email"] as? String == "a")
    try await db.batch().deleteDocument(ann).setData(["email": "a"], forDocument: bob).commit()
    try await db.batch().setData(["email": "c"], forDocument: ann)
      .setData(["email": "c"], forDocument: bob).deleteDocument(ann).commit()
    await expectRefused(.alreadyExists) {
      try await db.batch().setData(["email": "d"], forDocument: ann)
        .setData(["email": "d"], forDocument: bob).commit()
    }
    #expect(try await bob.getDocument()["email"] as? String == "c")
    #expect(try await !ann.getDocument().exists)
  }

  @Test func `documents without the field, or with null, are not compared`() async throws {
    try await db.indexes.declare(
      email, FirestoreIndex(unique: "pairs", .ascending("a"), .descending("b")))
    for name in ["a", "b"] {
      try await users.document(name).setData(["name": "x"])
      try await users.document(name + "0").setData(["email": NSNull()])
    }
    let pairs = db.collection("pairs")
    try await pairs.document("1").setData(["a": 1, "b": NSNull()])
    try await pairs.document("2").setData(["a": 1, "b": NSNull()])
    try await pairs.document("3").setData(["a": 1])
    try await pairs.document("4").setData(["a": 1, "b": 2])
    try await pairs.document("5").setData(["a": 1, "b": 3])
    // Values are equal as in queries.
    await expectRefused(.alreadyExists) {
      try await pairs.document("6").setData(["a": 1.0, "b": 2])
    }
    await expectRefused(.alreadyExists) { try await pairs.document("3").updateData(["b": 3.0]) }
  }

  @Test func `elements of arrays are compared one by one`() async throws {
    try await db.indexes.declare(FirestoreIndex(unique: "users", .contains("phones")))
    try await users.document("a").setData(["phones": ["1", "2", "2"]])
    try await users.document("b").setData(["phones": ["3"]])
    await expectRefused(.alreadyExists) {
      try await users.document("b").updateData(["phones": FieldValue.arrayUnion(["2"])])
    }
    try await users.document("a").updateData(["phones": FieldValue.arrayRemove(["2"])])
    try await users.document("b").updateData(["phones": FieldValue.arrayUnion(["2"])])
  }

  @Test func `the scope says which documents are compared`() async throws {
    try await db.indexes.declare(
      FirestoreIndex(unique: "rooms", .ascending("n")),
      FirestoreIndex(unique: "keys", scope: .collectionGroup, .ascending("n")))
    for house in ["a", "b"] { try await db.document("houses/\(house)/rooms/r").setData(["n": 1]) }
    await expectRefused(.alreadyExists) {
      try await db.document("houses/a/rooms/s").setData(["n": 1])
    }
    try await db.document("houses/a/keys/k").setData(["n": 1])
    await expectRefused(.alreadyExists) {
      try await db.document("houses/b/keys/k").setData(["n": 1])
    }
  }

  @Test(.embedded("Write closures are the embedded backend's."))
  func `a closure is compared at its end`() async throws {
    try await db.indexes.declare(email)
    try await users.document("ann").setData(["email": "a"])
    try await db.write { [users] tx in
      try tx.setData(["email": "a"], forDocument: users.document("bob"))
      try tx.deleteDocument(users.document("ann"))
    }
    await expectRefused(.alreadyExists) {
      try await db.write { [users] tx in
        try tx.setData(["n": 1], forDocument: users.document("carl"))
        try tx.setData(["email": "a"], forDocument: users.document("ann"))
      }
    }
    #expect(try await users.getDocuments().documents.map(\.documentID) == ["bob"])
  }

  @Test func `one of many writers at once wins`() async throws {
    try await db.indexes.declare(email)
    for round in 0..<20 {
      let wins = await withTaskGroup(of: Int.self) { group in
        for task in 0..<32 {
          group.addTask { [users] in
            let value = ["email": "\(round)@example.com"]
            return await code { try await users.document("\(task)").setData(value) } == nil ? 1 : 0
          }
        }
        return await group.reduce(0, +)
      }
      #expect(wins == 1)
    }
  }

  @Test func `values that are there twice keep an index from being valid, until it is mended`()
    async throws
  {
    for name in ["a", "b", "c", "d"] {
      try await users.document(name).setData(["email": name == "d" ? "d" : "same", "n": 1])
    }
    try await db.indexes.declare(email)
    let sentence = await expectRefused(.failedPrecondition) {
      try await db.indexes.waitUntilReady()
    }
    #expect(
      sentence
        == "The index unique users: email ↑ is invalid: some documents have the same values, such as "
        + "users/a and users/b. Change these documents, and declare the index again.")
    let states = try await db.indexes.list().map(\.state)
    #expect(states == [.invalid(.init(count: 1, examples: [["users/a", "users/b"]]))])
    // They may change otherwise, and nobody may join them.
    try await users.document("a").updateData(["n": 2])
    await expectRefused(.alreadyExists) {
      try await users.document("e").setData(["email": "same"])
    }
    try await users.document("a").updateData(["email": "a"])
    try await users.document("b").updateData(["email": "b"])
    try await db.indexes.declare(email)
    try await db.indexes.waitUntilReady()
    #expect(try await db.indexes.list().map(\.state) == [.ready])
  }

  @Test(.embedded("Opens the file again."))
  func `it is there after opening, and in the configuration`()
    async throws
  {
    try await db.indexes.declare(email)
    try await users.document("ann").setData(["email": "a"])
    let json = try await db.indexes.configurationJSON()
    #expect(json.contains("\"unique\" : true"))
    try await db.terminate()
    let again = try Firestore.open(at: folder.path + "/unique.hearth")
    await expectRefused(.alreadyExists) {
      try await again.document("users/bob").setData(["email": "a"])
    }
    #expect(try await again.indexes.configurationJSON() == json)
    try await again.indexes.drop(email)
    try await again.document("users/bob").setData(["email": "a"])
    try await again.setIndexConfiguration(json)
    await expectRefused(.failedPrecondition) { try await again.indexes.waitUntilReady() }
    try await again.terminate()
  }

  @Test(.embedded("Only the engine builds indexes."))
  func `an index over many documents is built while others write`() async throws {
    for start in stride(from: 0, to: 6000, by: 500) {
      let batch = db.batch()
      for n in start..<(start + 500) {
        batch.setData(["email": "\(n)"], forDocument: users.document("\(n)"))
      }
      try await batch.commit()
    }
    try await db.indexes.declare(email)
    for n in 0..<200 {
      _ = await code { try await users.document("new\(n)").setData(["email": "new\(n % 50)"]) }
    }
    try await db.indexes.waitUntilReady()
    #expect(try await users.getDocuments().count == 6050)
    let found = try await users.whereField("email", isEqualTo: "4711").explain(analyze: true)
    #expect(found.execution?.documentsRead == 1)
    #expect(try await db.maintenance.check().isIntact)
  }

  @Test(.embedded("Maintenance is the file's.")) func `an import and a repair keep to it`()
    async throws
  {
    try await db.indexes.declare(email)
    try await users.document("ann").setData(["email": "a"])
    let lines = folder.path + "/lines.jsonl"
    try #"{"name": "users/bob", "fields": {"email": {"stringValue": "a"}}}"#.write(
      toFile: lines, atomically: true, encoding: .utf8)
    await expectRefused(.alreadyExists) { try await db.maintenance.import(from: lines) }
    #expect(try await users.getDocuments().count == 1)
    let copy = folder.path + "/copy.hearth"
    try await db.maintenance.backup(to: copy, compacting: true)
    let restored = try Firestore.open(at: copy)
    await expectRefused(.alreadyExists) {
      try await restored.document("users/bob").setData(["email": "a"])
    }
    try await restored.terminate()
  }
}
