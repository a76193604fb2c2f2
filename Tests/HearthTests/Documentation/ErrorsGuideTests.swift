import FirebaseFirestore
import Foundation
import HearthTesting
import TestSupport
import Testing

/// The snippets of the page on errors, word for word.
@Suite struct ErrorsGuideTests {
  private struct Book: Codable {
    var title: String
    var pages: Int
  }

  private final class Output: Sendable {
    private let printed = Guarded<[String]>([])

    var lines: [String] { printed.withLock(\.self) }

    func add(_ line: String) { printed.withLock { $0.append(line) } }
  }

  private let output = Output()

  private func print(_ items: Any...) {
    output.add(items.map { "\($0)" }.joined(separator: " "))
  }

  @Test func `one code is caught`() async throws {
    let database = try TemporaryDatabase()
    let users = database.firestore.collection("users")
    try await users.document("ann").setData([:])
    do {
      try await users.document("ann").create(["email": "ann@example.com"])
    } catch FirestoreErrorCode.alreadyExists {
      print("This name or this address is taken.")
    }
    #expect(output.lines == ["This name or this address is taken."])
  }

  @Test func `several codes are handled by a switch`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    try await dune.setData(["pages": 412])
    let seen = try #require(try await dune.getDocument().updateTime)
    try await dune.setData(["pages": 413])
    do {
      try await dune.updateData(["pages": 418], precondition: .lastUpdateTime(seen))
    } catch let error as FirestoreErrorCode {
      switch error.code {
      case .failedPrecondition where error.isUpdateTimeMismatch:
        print("Somebody else has changed the book. Read it again.")
      case .resourceExhausted: print("The disk is full.")
      default: throw error
      }
    }
    #expect(output.lines == ["Somebody else has changed the book. Read it again."])
    #expect(try await dune.getDocument()["pages"] as? Int == 413)
  }

  @Test func `a missing document is an optional`() async throws {
    let database = try TemporaryDatabase()
    let dune = database.firestore.document("books/dune")
    try await readMissing(dune)
    #expect(output.lines == ["There is no such book."])
    await #expect(throws: DecodingError.self) { try await dune.getDocument(as: Book.self) }
    try await dune.setData(committing: Book(title: "Dune", pages: 412))
    try await readMissing(dune)
    #expect(output.lines == ["There is no such book.", "Dune"])
  }

  private func readMissing(_ dune: DocumentReference) async throws {
    guard let book = try await dune.getDocument(as: Book?.self) else {
      print("There is no such book.")
      return
    }
    print(book.title)
  }

  /// The status of a response to a request that failed with `error`.
  func httpStatus(for error: any Error) -> Int {
    guard let error = error as? FirestoreErrorCode else { return 500 }
    switch error.code {
    case .invalidArgument: return 400
    case .notFound: return 404
    case .alreadyExists: return 409
    case .outOfRange: return 410
    case .failedPrecondition where error.isUpdateTimeMismatch: return 412
    case .failedPrecondition where error.isReferenced || error.isDanglingReference: return 409
    case .cancelled: return 499
    case .unimplemented: return 501
    case .resourceExhausted, .aborted, .unavailable: return 503
    default: return 500
    }
  }

  /// A sentence for a client; nil for an error that is none of its own.
  func explanation(of error: FirestoreErrorCode) -> String? {
    guard let constraint = error.constraint else { return nil }
    let fields = constraint.fields.joined(separator: ", ")
    if error.isReferenced { return "It is in use: \(constraint.collectionID)." }
    if error.isDanglingReference { return "There is no such document: \(fields)." }
    return "This is taken: \(fields)."
  }

  @Test func `a constraint is explained without naming the other document`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    try await db.indexes.declare(
      FirestoreIndex(unique: "users", .ascending("email"), .ascending("team")))
    try await db.references.declare(
      FirestoreReferenceRule(
        "loans", field: "book", to: "books", onDelete: .restrict, mustExist: true))
    try await db.document("users/ann").setData(["email": "a@b", "team": 1])
    try await db.document("books/dune").setData([:])
    try await db.document("loans/1").setData(["book": db.document("books/dune")])
    let writes: [(String, () async throws -> Void)] = [
      (
        "This is taken: email, team.",
        { try await db.document("users/bob").setData(["email": "a@b", "team": 1]) }
      ),
      ("It is in use: loans.", { try await db.document("books/dune").delete() }),
      (
        "There is no such document: book.",
        { try await db.document("loans/2").setData(["book": db.document("books/emma")]) }
      ),
    ]
    for (sentence, write) in writes {
      do {
        try await write()
        Issue.record("The write was not refused.")
      } catch let error as FirestoreErrorCode {
        #expect(explanation(of: error) == sentence)
        #expect(error.description.contains("FirestoreConstraint="))
      }
    }
    let own = FirestoreErrorCode.Constraint(collectionID: "users", fields: ["email"])
    let thrown = FirestoreErrorCode(
      .alreadyExists, userInfo: [FirestoreConstraintKey: own])
    #expect(
      thrown.constraint == own
        && (thrown as NSError as Error as? FirestoreErrorCode)?.constraint == own)
    #expect(FirestoreErrorCode(.alreadyExists).constraint == nil)
  }

  @Test func `errors have a status`() async throws {
    struct Other: Error {}
    #expect(httpStatus(for: Other()) == 500)
    for (code, status) in [
      (FirestoreErrorCode.Code.aborted, 503), (.dataLoss, 500), (.outOfRange, 410),
      (.failedPrecondition, 500), (.cancelled, 499),
    ] {
      #expect(httpStatus(for: FirestoreErrorCode(code)) == status)
      #expect(httpStatus(for: FirestoreErrorCode(code) as NSError) == status)
    }
    for (refusal, status) in [("updateTime", 412), ("reference", 409), ("other", 500)] {
      let error = FirestoreErrorCode(
        .failedPrecondition, userInfo: [FirestoreRefusalKey: refusal])
      #expect(httpStatus(for: error) == status)
    }
    let database = try TemporaryDatabase()
    let db = database.firestore
    var statuses: [Int] = []
    do { try await db.document("books/dune").updateData(["pages": 1]) } catch {
      statuses.append(httpStatus(for: error))
    }
    do { try await db.document("books").setData([:]) } catch {
      statuses.append(httpStatus(for: error))
    }
    #expect(statuses == [404, 400])
  }

  @Test func `each code has a row with its cause, its remedy, its status and whether to retry`()
    throws
  {
    let page = try #require(SourceTree.text(of: "Sources/Hearth/Hearth.docc/Errors.md"))
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map {
      $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    for number in 0...16 {
      let code = try #require(FirestoreErrorCode.Code(rawValue: number))
      let row = try #require(rows.first { $0.first == "`\(code)`" && $0.count == 5 }, "\(code)")
      #expect(code == .OK || row.allSatisfy { !$0.isEmpty }, "\(code)")
      #expect((200..<600).contains(try #require(Int(row[3].prefix(3)))), "\(code)")
    }
    #expect(FirestoreErrorCode.Code(rawValue: 17) == nil)
  }

  struct BookIsLent: Error {}

  /// Throws `BookIsLent` if a loan refers to the book.
  func delete(_ book: DocumentReference) async throws {
    do {
      try await book.delete()
    } catch let error as FirestoreErrorCode where error.isReferenced {
      throw BookIsLent()
    }
  }

  @Test func `a deletion that a rule refuses is told from one in a closed database`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let dune = db.document("books/dune")
    let loans = db.collection("loans")
    try await db.references.declare(
      FirestoreReferenceRule("loans", field: "book", to: "books", onDelete: .restrict))
    try await dune.setData([:])
    try await loans.document("1").setData(["book": dune])
    await #expect(throws: BookIsLent.self) { try await delete(dune) }
    try await loans.document("1").delete()
    try await delete(dune)
    #expect(try await !dune.getDocument().exists)
    try await db.terminate()
    await #expect {
      try await delete(dune)
    } throws: {
      ($0 as? FirestoreErrorCode)?.code == .failedPrecondition
    }
  }

  /// Runs `body` up to `attempts` times while it changes nothing, and may succeed later.
  func retrying<Value: Sendable>(
    attempts: Int = 4, _ body: @Sendable () async throws -> Value
  ) async throws -> Value {
    var pause = Duration.milliseconds(50)
    for _ in 1..<attempts {
      do {
        return try await body()
      } catch let error as FirestoreErrorCode
        where [.aborted, .resourceExhausted].contains(error.code) && !error.isOutcomeUnknown
      {
        try await Task.sleep(for: pause)
        pause *= 2
      }
    }
    return try await body()
  }

  @Test func `a call is repeated while it may succeed`() async throws {
    let calls = Guarded(0)
    let found = try await retrying {
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      guard call == 3 else { throw FirestoreErrorCode(.aborted) }
      return call
    }
    #expect(found == 3)
    calls.withLock { $0 = 0 }
    await #expect(throws: FirestoreErrorCode.self) {
      try await retrying(attempts: 2) {
        calls.withLock { $0 += 1 }
        throw FirestoreErrorCode(.resourceExhausted)
      }
    }
    #expect(calls.withLock(\.self) == 2)
    let unknown = FirestoreErrorCode(
      .resourceExhausted, userInfo: [FirestoreOutcomeUnknownKey: true])
    for error in [FirestoreErrorCode(.notFound), unknown] {
      calls.withLock { $0 = 0 }
      await #expect(throws: FirestoreErrorCode.self) {
        try await retrying {
          calls.withLock { $0 += 1 }
          throw error
        }
      }
      #expect(calls.withLock(\.self) == 1)
    }
  }

  @Test func `a failure that is not awaited is reported`() async throws {
    let database = try TemporaryDatabase()
    let db = database.firestore
    let failures = Output()
    db.unobservedWriteFailureHandler = { error in
      failures.add("\(error.code): \(error.localizedDescription)")
    }
    db.document("books/dune").updateData(["pages": 1], completion: nil)
    try await db.waitForPendingWrites()
    try await eventually { failures.lines == ["5: No document to update: books/dune"] }
  }
}
