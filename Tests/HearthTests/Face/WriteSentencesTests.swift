import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// What cannot be written, by whatever form of write: refused with Firestore's sentence, nothing applied.
@Suite struct WriteSentencesTests {
  private let folder = TemporaryFolder()
  private let db: Firestore
  private let other: Firestore

  init() throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    db = try Firestore.open(at: folder.path + "/sentences.hearth", settings: settings)
    other = try Firestore.open(at: folder.path + "/other.hearth", settings: settings)
  }

  /// A way to write: one that is refused tells its sentence.
  private enum Form: CaseIterable {
    case reference, calledBack, batch, transaction, closure, bulk
  }

  private enum Kind {
    case set, merge, update, create
  }

  private func sentence(
    _ form: Form, _ kind: Kind, _ data: [String: Any], _ document: DocumentReference
  ) async -> String? {
    nonisolated(unsafe) let data = data
    do {
      switch form {
      case .reference:
        switch kind {
        case .set: try await document.setData(data)
        case .merge: try await document.setData(data, merge: true)
        case .update: try await document.updateData(data)
        case .create: try await document.create(data)
        }
      case .calledBack:
        try await withCheckedThrowingContinuation {
          (continuation: CheckedContinuation<Void, any Error>) in
          let told = { (error: (any Error)?) in
            if let error { continuation.resume(throwing: error) } else { continuation.resume() }
          }
          switch kind {
          case .set: document.setData(data, completion: told)
          case .merge: document.setData(data, merge: true, completion: told)
          case .update: document.updateData(data, completion: told)
          case .create: document.create(data, completion: told)
          }
        }
      case .batch:
        let batch = db.batch().setData(["ok": 1], forDocument: db.document("beside/a"))
        switch kind {
        case .set: batch.setData(data, forDocument: document)
        case .merge: batch.setData(data, forDocument: document, merge: true)
        case .update: batch.updateData(data, forDocument: document)
        case .create: batch.create(data, forDocument: document)
        }
        try await batch.commit()
      case .transaction:
        try await db.runTransaction { transaction, _ in
          transaction.setData(["ok": 1], forDocument: self.db.document("beside/a"))
          switch kind {
          case .set: transaction.setData(data, forDocument: document)
          case .merge: transaction.setData(data, forDocument: document, merge: true)
          case .update: transaction.updateData(data, forDocument: document)
          case .create: transaction.create(data, forDocument: document)
          }
          return nil
        }
      case .closure:
        try await db.write { tx in
          try tx.setData(["ok": 1], forDocument: self.db.document("beside/a"))
          switch kind {
          case .set: try tx.setData(data, forDocument: document)
          case .merge: try tx.setData(data, forDocument: document, merge: true)
          case .update: try tx.updateData(data, forDocument: document)
          case .create: try tx.create(data, forDocument: document)
          }
        }
      case .bulk:
        let told = Guarded<NSError?>(nil)
        let bulk = db.bulkWriter { failure in told.withLock { $0 = failure.error } }
        switch kind {
        case .set: await bulk.enqueueSet(data, forDocument: document)
        case .merge: await bulk.enqueueSet(data, forDocument: document, merge: true)
        case .update: await bulk.enqueueUpdate(data, forDocument: document)
        case .create: await bulk.enqueueCreate(data, forDocument: document)
        }
        await bulk.finish()
        if let error = told.withLock(\.self) { throw error }
      }
      return nil
    } catch {
      #expect(FirestoreErrorCode.invalidArgument ~= error, "\(form), \(kind): \(error)")
      return error.localizedDescription
    }
  }

  private func expectSentence(
    _ sentence: String, _ data: [String: Any], kinds: [Kind] = [.set, .merge, .update, .create],
    on document: DocumentReference? = nil, forms: [Form] = Form.allCases,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let existing = db.document("things/existing")
    try await existing.setData(["here": 1])
    for form in forms {
      for kind in kinds {
        let target =
          document ?? (kind == .update ? existing : db.collection("things").document("new"))
        let told = await self.sentence(form, kind, data, target)
        #expect(told == sentence, "\(form), \(kind)", sourceLocation: sourceLocation)
      }
    }
    let things = try await db.collection("things").getDocuments().documents
    #expect(things.map(\.documentID) == ["existing"], sourceLocation: sourceLocation)
    #expect(things.first?.data() as? [String: Int] == ["here": 1], sourceLocation: sourceLocation)
    #expect(
      try await !db.document("beside/a").getDocument().exists, sourceLocation: sourceLocation)
  }

  @Test func `data that cannot be stored is refused by every form of write`() async throws {
    try await expectSentence("Nested arrays are not supported", ["a": [[1]]])
    try await expectSentence(
      "Nested arrays are not supported", ["a": FieldValue.arrayUnion([[1]])])
    try await expectSentence(
      "Unsupported type: TemporaryFolder (found in field foo.bar)", ["foo": ["bar": folder]])
    try await expectSentence(
      "NSNumber (9223372036854775808) is too large (found in field num)",
      ["num": UInt64(Int64.max) + 1])
    try await expectSentence(
      "Invalid data. Document fields cannot begin and end with \"__\" (found in field foo.__baz__)",
      ["foo": ["__baz__": 1]])
    try await expectSentence(
      "Invalid data. Document fields must not be empty (found in field a.``)", ["a": ["": 1]])
    let sentinels: [(String, FieldValue)] = [
      ("serverTimestamp", .serverTimestamp()), ("increment", .increment(Int64(1))),
      ("minimum", .minimum(Int64(1))), ("maximum", .maximum(1.0)),
      ("arrayUnion", .arrayUnion([1])), ("arrayRemove", .arrayRemove([1])),
      ("delete", .delete()),
    ]
    for (name, sentinel) in sentinels {
      try await expectSentence(
        "FieldValue.\(name)() is not currently supported inside arrays",
        ["a": [1, sentinel] as [Any]])
    }
    try await expectSentence(
      "FieldValue.delete() can only be used with updateData() and setData() with merge:true "
        + "(found in field foo)", ["foo": FieldValue.delete()], kinds: [.set, .create])
    try await expectSentence(
      "FieldValue.delete() can only appear at the top level of your update data "
        + "(found in field foo.bar)", ["foo": ["bar": FieldValue.delete()]], kinds: [.update])
    try await expectSentence(
      "Document Reference is for database \(other.path) but should be for database "
        + "\(db.path) (found in field foo)", ["foo": other.document("a/b")])
    var deep: Any = 1
    for _ in 0..<21 { deep = ["m": deep] }
    try await expectSentence(
      "Property deep contains an invalid nested entity. Maps and arrays may be nested 20 levels "
        + "deep.", ["deep": deep])
  }

  /// The client's own look at the data lets these pass.
  @Test func `what only the server refuses is refused by every form of write`() async throws {
    try await expectSentence("Cannot have a zero length vector.", ["v": VectorValue([])])
    try await expectSentence("Vector cannot contain NaN values.", ["v": VectorValue([.nan])])
    try await expectSentence(
      "Cannot convert a vector value in an array value.", ["a": [VectorValue([1])]])
    try await expectSentence(
      "The property.name is longer than 1500 bytes.", [String(repeating: "x", count: 1501): 1])

    struct Model: Codable { var v = VectorValue([]) }
    let batch = try db.batch().setData(["ok": 1], forDocument: db.document("beside/a"))
      .setData(from: Model(), forDocument: db.document("things/new"))
    let sentence = await expectRefused(.invalidArgument) { try await batch.commit() }
    #expect(sentence == "Cannot have a zero length vector.")
    #expect(try await !db.document("beside/a").getDocument().exists)
  }

  @Test func `names that cannot be are refused by every form of write`() async throws {
    try await expectSentence(
      "Resource id \"__bad__\" is invalid because it is reserved.", ["a": 1],
      on: db.document("things/__bad__"))
    try await expectSentence(
      "Collection id \".\" is invalid because it is reserved.", ["a": 1],
      on: db.document("./a"))
    try await expectSentence(
      "Invalid document reference. Document references must have an even number of segments, but "
        + "foo/bar/baz has 3", ["a": 1], on: db.document("foo/bar/baz"))
    try await expectSentence(
      "Resource id is longer than 1500 bytes.", ["a": 1],
      on: db.document("things/" + String(repeating: "x", count: 1501)))
    try await expectSentence(
      "Provided document reference is from a different Cloud Firestore instance.", ["a": 1],
      on: other.document("a/b"), forms: [.batch, .transaction, .closure, .bulk])
  }

  @Test func `a batch is used once`() async throws {
    let batch = db.batch().setData([:], forDocument: db.document("a/b"))
    try await batch.commit()
    let sentence = await expectRefused(.failedPrecondition) {
      try await batch.setData([:], forDocument: db.document("a/c")).commit()
    }
    #expect(sentence == "A write batch can no longer be used after commit has been called.")
    #expect(try await db.collection("a").getDocuments().count == 1)
  }

  @Test func `preconditions that do not hold are told with the server's sentences`() async throws {
    let (document, missing) = (db.document("a/b"), db.document("a/c"))
    try await document.setData(["n": 1])
    let time = try #require(try await document.getDocument().updateTime)
    let stale = Timestamp(seconds: time.seconds - 1, nanoseconds: time.nanoseconds)
    let version = Instant(time).microseconds
    #expect(
      await expectRefused(.alreadyExists) { try await document.create([:]) }
        == "Document already exists: a/b")
    #expect(
      await expectRefused(.notFound) { try await missing.updateData(["n": 1]) }
        == "No document to update: a/c")
    #expect(
      await expectRefused(.failedPrecondition) {
        try await document.delete(precondition: .lastUpdateTime(stale))
      }
        == "the stored version (\(version)) does not match the required base version "
        + "(\(version - 1_000_000))")
    #expect(
      await expectRefused(.failedPrecondition) {
        try await missing.delete(precondition: .lastUpdateTime(stale))
      } == "No document to update: a/c")
    #expect(
      await expectRefused(.invalidArgument) {
        try await document.delete(
          precondition: .lastUpdateTime(Timestamp(seconds: time.seconds, nanoseconds: 1)))
      } == "A precondition's update time must be in whole microseconds.")
    #expect(
      await expectRefused(.invalidArgument) {
        try await document.delete(
          precondition: .lastUpdateTime(Timestamp(seconds: time.seconds + 86_400, nanoseconds: 0)))
      } == "The update time of the precondition is in the future.")
  }

  @Test func `what ended is told so`() async throws {
    let db = try Firestore.open(at: folder.path + "/ended.hearth")
    let document = db.document("a/b")
    try await document.setData([:])
    #expect(
      await expectRefused(.failedPrecondition) { try await db.clearPersistence() }
        == "Persistence cannot be cleared while the client is running.")
    try await db.terminate()
    for form in 0..<5 {
      let sentence = await expectRefused(.failedPrecondition) {
        switch form {
        case 0: try await document.setData([:])
        case 1: _ = try await document.getDocument()
        case 2: try await db.batch().deleteDocument(document).commit()
        case 3: _ = try await db.write { try $0.getDocument(document) }
        default: _ = try await db.read { try $0.getDocument(document) }
        }
      }
      #expect(sentence == "The client has already been terminated.")
    }
  }

  // MARK: Limits, each at its edge

  private func isTaken(_ mutations: Mutation...) -> Bool { isTaken(mutations) }

  private func isTaken(_ mutations: [Mutation]) -> Bool {
    do {
      return try refusal(of: mutations) == nil
    } catch {
      Issue.record(error)
      return false
    }
  }

  /// The sentence with which the writer refuses a request.
  private func refusal(of mutations: [Mutation]) throws -> String? {
    let done = DispatchSemaphore(value: 0)
    let told = Guarded<Writer.Outcome?>(nil)
    try db.database().writer.submit(mutations) { outcome in
      told.withLock { $0 = outcome }
      done.signal()
    }
    done.wait()
    guard case .failure(let status) = told.withLock(\.self) else { return nil }
    #expect(status.code == .invalidArgument, "\(status)")
    return status.message
  }

  private func set(_ path: ResourcePath, _ fields: (String, Value)...) throws -> Mutation {
    Mutation(
      path: path,
      operation: .set(try DocumentBody(encoding: MapValue(fields))))
  }

  private func text(_ count: Int) -> Value { .string(String(repeating: "x", count: count)) }

  @Test(.embedded("It hands mutations to the writer."))
  func `every limit holds at its edge and not beyond`() throws {
    let path = ResourcePath(["a", "b"])
    // A document: name 1+1+1+1+16, "t"+1, text+1, 32.
    let rest = Limits.size(ofName: path) + 2 + 1 + 32
    #expect(try isTaken(set(path, ("t", text(500_000)), ("u", text(1_048_576 - rest - 500_003)))))
    #expect(try !isTaken(set(path, ("t", text(500_000)), ("u", text(1_048_576 - rest - 500_002)))))
    // A value.
    #expect(try isTaken(set(path, ("t", text(1_048_487)))))
    #expect(try !isTaken(set(path, ("t", text(1_048_488)))))
    #expect(try !isTaken(set(path, ("t", .bytes([UInt8](repeating: 0, count: 1_048_488))))))
    // Depth.
    func deep(_ depth: Int) -> Value {
      (0..<depth).reduce(.integer(1)) { value, _ in .map(MapValue([("m", value)])) }
    }
    #expect(try isTaken(set(path, ("d", deep(20)))))
    #expect(try !isTaken(set(path, ("d", deep(21)))))
    // Ids and names.
    let id = String(repeating: "i", count: 1500)
    #expect(try isTaken(set(ResourcePath([id, id]), ("n", .null))))
    #expect(try !isTaken(set(ResourcePath(["a", id + "i"]), ("n", .null))))
    #expect(try !isTaken(set(ResourcePath([id + "i", "a"]), ("n", .null))))
    let long = String(repeating: "i", count: (6144 - 16) / 6 - 1)
    let name = [String](repeating: long, count: 6)
    let more = 6144 - Limits.size(ofName: ResourcePath(name))
    let fullName = name.dropLast() + [long + String(repeating: "i", count: more)]
    #expect(try isTaken(set(ResourcePath(Array(fullName)), ("n", .null))))
    #expect(
      try !isTaken(set(ResourcePath(name.dropLast() + [fullName[5] + "i"]), ("n", .null))))
    #expect(try isTaken(set(ResourcePath([String](repeating: "a", count: 200)), ("n", .null))))
    #expect(try !isTaken(set(ResourcePath([String](repeating: "a", count: 202)), ("n", .null))))
    for accepted in ["____", "__foo_", "_bar__", ".a.", "a..", "`", "\\", "é", " ", "__id7__"] {
      #expect(try isTaken(set(ResourcePath(["a", accepted]), ("n", .null))), "\(accepted)")
    }
    for reserved in ["_____", "__foo__", ".", "..", ""] {
      #expect(try !isTaken(set(ResourcePath(["a", reserved]), ("n", .null))), "\(reserved)")
    }
    // Fields.
    let field = String(repeating: "f", count: 1500)
    #expect(try isTaken(set(path, (field, .null))))
    #expect(try !isTaken(set(path, (field + "f", .null))))
    let half = String(repeating: "f", count: 750)
    #expect(
      try isTaken(
        set(path, (half, .map(MapValue([(String(repeating: "f", count: 749), .null)]))))))
    #expect(try !isTaken(set(path, (half, .map(MapValue([(half, .null)]))))))
    #expect(try !isTaken(set(path, ("", .null))))
    #expect(try !isTaken(set(path, ("m", .map(MapValue([("", .null)]))))))
    // A request, and the transforms of a document.
    let tenth = try (0..<10).map {
      try set(ResourcePath(["big", "\($0)"]), ("t", text(1_048_000)))
    }
    #expect(isTaken(tenth))
    #expect(try !isTaken(tenth + [set(path, ("t", text(6_000)))]))
    var many = try set(path, ("n", .null))
    many.transforms = (0..<500).map { _ in (FieldSegments(["n"]), .increment(.integer(1))) }
    #expect(isTaken(many))
    var one = try set(path, ("n", .null))
    one.transforms = [(FieldSegments(["n"]), .increment(.integer(1)))]
    #expect(!isTaken(many, one))
    var elsewhere = one
    elsewhere.path = ResourcePath(["a", "c"])
    #expect(isTaken(many, elsewhere))
    // Vectors.
    #expect(try isTaken(set(path, ("v", .vector([Double](repeating: 1, count: 2048))))))
    #expect(try !isTaken(set(path, ("v", .vector([Double](repeating: 1, count: 2049))))))
    #expect(try !isTaken(set(path, ("v", .vector([])))))
    #expect(try !isTaken(set(path, ("v", .vector([.nan])))))
    // Arrays in arrays, and what a reference names.
    #expect(try isTaken(set(path, ("a", .array([.map(MapValue([("a", .array([]))]))])))))
    #expect(try !isTaken(set(path, ("a", .array([.array([])])))))
    #expect(try !isTaken(set(path, ("a", .array([.vector([1])])))))
    #expect(try !isTaken(set(path, ("r", .reference(ResourcePath(["a"]))))))
    #expect(try !isTaken(set(path, ("r", .reference(ResourcePath(["a", "__b__"]))))))
    // Transforms inside one another, of what is no number, and of a document that goes.
    one.transforms = [
      (FieldSegments(["a"]), .serverTimestamp), (FieldSegments(["a", "b"]), .serverTimestamp),
    ]
    #expect(!isTaken(one))
    one.transforms = [(FieldSegments(["n"]), .increment(.string("1")))]
    #expect(!isTaken(one))
    one.transforms = [(FieldSegments(["n"]), .arrayUnion([.array([])]))]
    #expect(!isTaken(one))
    one.transforms = [(FieldSegments(["n"]), .serverTimestamp)]
    one.operation = .delete
    #expect(!isTaken(one))
    // A name too long to be written may be deleted: it is not there.
    #expect(
      isTaken(
        Mutation(
          path: ResourcePath(["a", id + "i"]), operation: .delete)))
  }

  @Test(.embedded("It hands mutations to the writer.")) func `every limit tells its sentence`()
    throws
  {
    let path = ResourcePath(["a", "b"])
    func set(_ fields: (String, Value)...) throws -> Mutation {
      Mutation(
        path: path,
        operation: .set(try DocumentBody(encoding: MapValue(fields))))
    }
    func transform(
      _ transforms: (FieldSegments, FieldTransform)..., of operation: Mutation.Operation? = nil
    ) throws -> Mutation {
      var mutation = try set(("n", .null))
      if let operation { mutation.operation = operation }
      mutation.transforms = transforms.map { (field: $0.0, transform: $0.1) }
      return mutation
    }
    let (n, a) = (FieldSegments(["n"]), FieldSegments(["a"]))
    let many = (0..<501).map { _ in (field: n, transform: FieldTransform.increment(.integer(1))) }
    var often = try set(("n", .null))
    often.transforms = many
    let field = String(repeating: "f", count: 800)
    let deep = (0..<21).reduce(Value.integer(1)) { value, _ in .map(MapValue([("m", value)])) }
    let nested = Mutation(
      path: path,
      operation: .patch(
        MapValue([("m", deep)]), mask: [FieldSegments(["m"])]))
    let long = Mutation(
      path: ResourcePath([String](repeating: "a", count: 202)),
      operation: .set(.empty))
    let table: [([Mutation], String)] = [
      (
        [try set(("t", text(600_000)), ("u", text(600_000)))],
        "Document 'a/b' cannot be written because its size (1200058 bytes) exceeds the maximum "
          + "allowed size of 1048576 bytes."
      ),
      ([try set(("t", text(1_048_488)))], "A value is longer than 1048487 bytes."),
      ([try set(("m", deep))], "Maps and arrays can be at most 20 levels deep."),
      ([nested], "Maps and arrays can be at most 20 levels deep."),
      (
        [try set((field, .map(MapValue([(field, .null)]))))],
        "The property path is longer than 1500 bytes."
      ),
      (
        [try set((field + field, .null))], "The property.name is longer than 1500 bytes."
      ),
      (
        [long],
        "The path is deeper than 100 collections: "
          + [String](repeating: "a", count: 202).joined(separator: "/")
      ),
      (
        try (0..<11).map { number in
          Mutation(
            path: ResourcePath(["a", "\(number)"]),
            operation: .set(try DocumentBody(encoding: MapValue([("t", text(1_000_000))]))))
        }, "A request of 11000132 bytes is larger than the maximum of 10485760 bytes."
      ),
      ([often], "A request has more than 500 transforms of one document: a/b"),
      (
        [try transform((a, .serverTimestamp), (FieldSegments(["a", "b"]), .serverTimestamp))],
        "Cannot transform property a and its nested property at the same time."
      ),
      (
        [try transform((n, .serverTimestamp), of: .delete)],
        "A delete must not specify an update transform."
      ),
      ([try transform((n, .increment(.string("1"))))], "Input must be int64 or double."),
      ([try transform((n, .minimum(.null)))], "Input must be int64 or double."),
      (
        [try transform((n, .arrayRemove([.array([])])))],
        "Cannot convert an array value in an array value."
      ),
      ([try set(("a", .array([.array([])])))], "Cannot convert an array value in an array value."),
      (
        [try set(("a", .array([.vector([1])])))],
        "Cannot convert a vector value in an array value."
      ),
      ([try set(("v", .vector([])))], "Cannot have a zero length vector."),
      (
        [try set(("v", .vector([Double](repeating: 1, count: 2049))))],
        "Vectors must be at most 2048 dimensions."
      ),
      ([try set(("v", .vector([.nan])))], "Vector cannot contain NaN values."),
      (
        [try set(("r", .reference(ResourcePath(["a"]))))],
        "A reference is not the name of a document: a"
      ),
    ]
    for (mutations, sentence) in table {
      let told = try refusal(of: mutations)
      #expect(told == sentence)
    }
  }

  // MARK: Times

  @Test func `times grow with every change, and stay where nothing changes`() async throws {
    let document = db.document("a/b")
    var last: Timestamp?
    for step in 0..<6 {
      try await document.setData(["n": step])
      let found = try await document.getDocument()
      let time = try #require(found.updateTime)
      if let last { #expect(time.compare(last) == .orderedDescending) }
      if step == 0 { #expect(found.createTime == found.updateTime) }
      last = time
    }
    try await document.setData(["n": 5])
    try await document.updateData(["n": 5])
    try await document.updateData([:])
    try await document.setData([:], merge: true)
    #expect(try await document.getDocument().updateTime == last)
    let created = try await document.getDocument().createTime
    try await document.delete()
    try await document.setData(["n": 5])
    let again = try await document.getDocument()
    let before = try #require(created)
    #expect(again.createTime == again.updateTime)
    #expect(try #require(again.createTime).compare(before) == .orderedDescending)
    // Deleted and made again in one batch is another document too.
    let batch = db.batch().deleteDocument(document).setData(["n": 5], forDocument: document)
    try await batch.commit()
    let twice = try await document.getDocument()
    #expect(twice.createTime == twice.updateTime && twice.createTime != again.createTime)
  }
}
