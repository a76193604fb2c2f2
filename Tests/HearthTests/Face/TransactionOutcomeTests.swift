import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// The outcomes of Firestore's own transaction tests (FSTTransactionTests), and of queries besides.
@Suite struct TransactionOutcomeTests {
  private let folder = TemporaryFolder()
  private let db: Firestore

  init() throws { db = try Firestore.open(at: folder.path + "/outcomes.hearth") }

  enum Step: String, CaseIterable { case delete, update, set }
  enum Start: CaseIterable { case existing, missing, deleted }
  enum Form: CaseIterable { case awaited, calledBack, withOptions }

  /// What became of it: the field `foo`, or nil for no document, or the error.
  private enum Outcome: Equatable, CustomStringConvertible {
    case value(String?)
    case error(FirestoreErrorCode.Code)

    var description: String {
      switch self {
      case .value(let value): value ?? "no document"
      case .error(let code): "\(code)"
      }
    }
  }

  private static func expected(_ start: Start, _ gets: Bool, _ steps: [Step]) -> Outcome {
    switch steps[0] {
    case .update where start != .existing: return .error(gets ? .invalidArgument : .notFound)
    case .delete where steps[1] == .update: return .error(.invalidArgument)
    default: return .value(steps[1] == .delete ? nil : "bar2")
    }
  }

  @Test(arguments: Start.allCases, [true, false])
  func `every pair of writes, after a read or without, comes out as in Firestore`(
    _ start: Start, _ gets: Bool
  ) async throws {
    for form in Form.allCases {
      for steps in Step.allCases.flatMap({ one in Step.allCases.map { [one, $0] } }) {
        let document = db.collection("pairs").document()
        if start != .missing { try await document.setData(["foo": "bar0"]) }
        if start == .deleted { try await document.delete() }
        let error = await run(form) { transaction, errorPointer in
          do {
            if gets {
              let found = try transaction.getDocument(document)
              #expect(found.exists == (start == .existing))
            }
          } catch {
            errorPointer?.pointee = error as NSError
          }
          for (index, step) in steps.enumerated() {
            let data = ["foo": "bar\(index + 1)"]
            switch step {
            case .delete: transaction.deleteDocument(document)
            case .update: transaction.updateData(data, forDocument: document)
            case .set: transaction.setData(data, forDocument: document)
            }
          }
          return nil
        }
        let expected = Self.expected(start, gets, steps)
        if let error {
          #expect(expected == .error(error), "\(start), read \(gets): \(steps)")
        } else {
          let found = try await document.getDocument()
          #expect(
            expected == .value(found["foo"] as? String), "\(start), read \(gets): \(steps)")
        }
      }
    }
  }

  /// Runs a transaction in one of its forms. Its completion is called once.
  private func run(
    _ form: Form, maxAttempts: Int? = nil,
    _ block: @escaping @Sendable (Transaction, NSErrorPointer) -> Any?
  ) async -> FirestoreErrorCode.Code? {
    let calls = Guarded(0)
    defer { #expect(calls.withLock(\.self) == (form == .awaited ? 0 : 1)) }
    let error: NSError?
    switch form {
    case .awaited:
      do {
        _ = try await db.runTransaction { transaction, pointer in
          _ = block(transaction, pointer)
          return nil
        }
        error = nil
      } catch let thrown {
        error = thrown as NSError
      }
    case .calledBack:
      error = await withCheckedContinuation { continuation in
        db.runTransaction(block) { _, error in
          calls.withLock { $0 += 1 }
          continuation.resume(returning: error as NSError?)
        }
      }
    case .withOptions:
      let options = TransactionOptions()
      if let maxAttempts { options.maxAttempts = maxAttempts }
      error = await withCheckedContinuation { continuation in
        db.runTransaction(with: options, block: block) { _, error in
          calls.withLock { $0 += 1 }
          continuation.resume(returning: error as NSError?)
        }
      }
    }
    #expect(error == nil || error?.domain == FirestoreErrorDomain)
    return error.flatMap { FirestoreErrorCode.Code(rawValue: $0.code) }
  }

  // MARK: Retries

  /// Runs a block that counts its attempts and may write beside the transaction.
  private func attempts(
    maxAttempts: Int? = nil,
    _ block: @escaping @Sendable (Int, Transaction) throws -> Void
  ) async -> (count: Int, error: FirestoreErrorCode.Code?) {
    let count = Guarded(0)
    let error = await run(.withOptions, maxAttempts: maxAttempts) { transaction, pointer in
      let attempt = count.withLock { count in
        count += 1
        return count
      }
      do { try block(attempt, transaction) } catch { pointer?.pointee = error as NSError }
      return nil
    }
    return (count.withLock(\.self), error)
  }

  /// Beside the transaction, and so on another thread than its block's.
  private func write(_ data: [String: any Sendable], _ document: DocumentReference) throws {
    try write { try $0.setData(data, forDocument: document) }
  }

  private func write(_ body: @escaping @Sendable (WriteTransaction) throws -> Void) throws {
    let done = DispatchSemaphore(value: 0)
    let failure = Guarded<NSError?>(nil)
    Thread.detachNewThread { [db] in
      do { try db.write(body) } catch let error as NSError { failure.withLock { $0 = error } }
      done.signal()
    }
    done.wait()
    if let error = failure.withLock({ $0 }) { throw error }
  }

  @Test func `it runs again when what was only read has changed`() async throws {
    let (read, written) = (db.document("a/read"), db.document("a/written"))
    try await read.setData(["n": 15])
    let (count, error) = await attempts { attempt, transaction in
      let n = try transaction.getDocument(read)["n"] as? Int ?? 0
      if attempt == 1 { try self.write(["n": 1000], read) }
      transaction.setData(["n": n + 1], forDocument: written)
    }
    #expect(count == 2 && error == nil)
    #expect(try await written.getDocument()["n"] as? Int == 1001)
  }

  @Test func `it runs again when what was not there has come`() async throws {
    let document = db.document("a/new")
    let (count, error) = await attempts { attempt, transaction in
      let found = try transaction.getDocument(document)
      #expect(found.exists == (attempt > 1))
      if attempt == 1 { try self.write(["n": 1], document) }
      transaction.setData(["n": 2], forDocument: document)
    }
    #expect(count == 2 && error == nil)
    #expect(try await document.getDocument()["n"] as? Int == 2)
  }

  @Test func `a document that changes between two reads aborts each attempt`() async throws {
    let document = db.document("a/twice")
    try await document.setData(["n": 0])
    let (count, error) = await attempts { attempt, transaction in
      _ = try transaction.getDocument(document)
      try self.write(["n": attempt], document)
      let error = #expect(throws: NSError.self) { try transaction.getDocument(document) }
      #expect(error.map { FirestoreErrorCode.aborted ~= $0 } == true)
      #expect(error?.localizedDescription == "Document version changed between two reads.")
    }
    #expect(count == 5 && error == .aborted)
  }

  @Test func `an update of what was read as missing is permanent, whoever made it since`()
    async throws
  {
    let document = db.document("a/made")
    let (count, error) = await attempts { _, transaction in
      _ = try transaction.getDocument(document)
      try self.write(["n": 0], document)
      transaction.updateData(["n": 1], forDocument: document)
    }
    #expect(count == 1 && error == .invalidArgument)
    #expect(try await document.getDocument()["n"] as? Int == 0)
  }

  @Test func `a block that only reads what others change ends with failedPrecondition`()
    async throws
  {
    // Five attempts by default.
    for maxAttempts in [nil, 1, 2, 7] {
      let document = db.document("a/read")
      let (count, error) = await attempts(maxAttempts: maxAttempts) { attempt, transaction in
        _ = try transaction.getDocument(document)
        try self.write(["n": attempt, "of": maxAttempts ?? 0], document)
      }
      #expect(count == maxAttempts ?? 5 && error == .failedPrecondition)
    }
  }

  @Test func `a query whose result others change ends like a document that they change`()
    async throws
  {
    let collection = db.collection("only-read")
    let (count, error) = await attempts(maxAttempts: 3) { attempt, transaction in
      _ = try transaction.getDocuments(collection)
      try self.write(["n": attempt], collection.document("\(attempt)"))
    }
    #expect(count == 3 && error == .failedPrecondition)
  }

  @Test func `the error of a block that only reads names the way without conflicts`() async throws {
    let document = db.document("a/told")
    let runs = Guarded(0)
    let options = TransactionOptions()
    options.maxAttempts = 2
    let error: NSError? = await withCheckedContinuation { continuation in
      db.runTransaction(
        with: options,
        block: { transaction, _ in
          _ = try? transaction.getDocument(document)
          let run = runs.withLock { runs in
            runs += 1
            return runs
          }
          try? self.write(["n": run], document)
          return nil
        }, completion: { _, error in continuation.resume(returning: error as NSError?) })
    }
    let sentence = error?.localizedDescription ?? ""
    #expect(sentence.contains("contention") && sentence.contains("2 attempts"), "\(sentence)")
    #expect(sentence.contains("use read"), "\(sentence)")
  }

  @Test func `it is tried as often as its options say`() async throws {
    for maxAttempts in [1, 2, 7] {
      let document = db.document("a/never")
      let (count, error) = await attempts(maxAttempts: maxAttempts) { attempt, transaction in
        _ = try transaction.getDocument(document)
        try self.write(["n": attempt, "of": maxAttempts], document)
        transaction.setData(["n": -1], forDocument: document)
      }
      #expect(count == maxAttempts)
      #expect(error == .aborted)
    }
    for maxAttempts in [0, -1] {
      let (count, error) = await attempts(maxAttempts: maxAttempts) { _, _ in }
      #expect(count == 0 && error == .invalidArgument)
    }
  }

  @Test func `errors of the block are retried as Firestore retries them`() async throws {
    let permanent: [FirestoreErrorCode.Code] = [
      .invalidArgument, .notFound, .permissionDenied, .outOfRange, .unimplemented, .dataLoss,
    ]
    let passing: [FirestoreErrorCode.Code] = [
      .aborted, .alreadyExists, .failedPrecondition, .unavailable, .cancelled, .unknown,
      .deadlineExceeded, .resourceExhausted, .internal, .unauthenticated,
    ]
    for code in permanent + passing {
      let (count, error) = await attempts(maxAttempts: 2) { _, _ in
        throw NSError(domain: FirestoreErrorDomain, code: code.rawValue)
      }
      #expect(count == (permanent.contains(code) ? 1 : 2) && error == code, "\(code)")
    }
  }

  @Test func `reads alone, nothing at all, and a nil result are fine`() async throws {
    try await db.document("a/b").setData(["n": 7])
    let found = try await db.runTransaction { transaction, _ in
      try? transaction.getDocument(self.db.document("a/b"))["n"] as? Int
    }
    #expect(found as? Int == 7)
    let nothing = try await db.runTransaction { _, _ in nil }
    #expect(nothing == nil)
    let (count, error) = await attempts { _, _ in }
    #expect(count == 1 && error == nil)
  }

  @Test func `merges, dotted names and server values work in transactions`() async throws {
    let document = db.document("a/merged")
    try await document.setData(["a": ["b": 1, "c": 2], "n": 1])
    let error = await run(.calledBack) { transaction, _ in
      transaction.setData(["a": ["b": 5]], forDocument: document, merge: true)
        .updateData(["a.d": 3, FieldPath(["x.y"]): 4], forDocument: document)
        .setData(["z": 1, "n": 9], forDocument: document, mergeFields: ["z"])
        .updateData(["n": FieldValue.increment(Int64(2))], forDocument: document)
      return nil
    }
    #expect(error == nil)
    let found = try await document.getDocument()
    #expect(found["a.b"] as? Int == 5 && found["a.c"] as? Int == 2 && found["a.d"] as? Int == 3)
    #expect(found.get(FieldPath(["x.y"])) as? Int == 4 && found["z"] as? Int == 1)
    #expect(found["n"] as? Int == 3)
  }

  @Test func `creating and preconditions are part of a transaction`() async throws {
    let (old, new) = (db.document("a/old"), db.document("a/new"))
    try await old.setData(["n": 1])
    let first = await attempts { _, transaction in
      transaction.create(["n": 1], forDocument: new).setData(["n": 2], forDocument: old)
    }
    #expect(first.count == 1 && first.error == nil)
    // Not read, so another attempt may find it gone.
    let second = await attempts(maxAttempts: 3) { _, transaction in
      transaction.setData(["n": 3], forDocument: old).create(["n": 1], forDocument: new)
    }
    #expect(second.count == 3 && second.error == .alreadyExists)
    let stale = await attempts(maxAttempts: 1) { _, transaction in
      _ = try transaction.getDocument(old)
      transaction.updateData(
        ["n": 4], forDocument: old,
        precondition: .lastUpdateTime(Timestamp(seconds: 5, nanoseconds: 1000)))
    }
    #expect(stale.error == .failedPrecondition)
    #expect(try await old.getDocument()["n"] as? Int == 2)
  }

  // MARK: Queries

  @Test func `a query in a transaction meets no phantoms`() async throws {
    let open = db.collection("seats").whereField("taken", isEqualTo: false)
    let first = open.order(by: "row").limit(to: 2)
    for row in 0..<4 {
      try await db.document("seats/\(row)").setData(["row": row, "taken": false])
    }
    /// Whether a write beside it makes a transaction run again.
    func conflicts(
      _ query: Query, _ beside: @escaping @Sendable (WriteTransaction) throws -> Void
    ) async throws -> Bool {
      let (count, error) = await attempts { attempt, transaction in
        _ = try transaction.getDocuments(query)
        if attempt == 1 { try self.write(beside) }
        transaction.setData(["n": attempt], forDocument: self.db.document("log/a"))
      }
      #expect(error == nil && count <= 2)
      return count == 2
    }
    let db = self.db
    @Sendable func seat(_ row: Int) -> DocumentReference { db.document("seats/\(row)") }
    #expect(try await conflicts(open) { try $0.setData(["taken": false], forDocument: seat(9)) })
    #expect(try await conflicts(open) { try $0.deleteDocument(seat(9)) })
    #expect(try await conflicts(open) { try $0.updateData(["note": 1], forDocument: seat(3)) })
    #expect(try await conflicts(open) { try $0.updateData(["taken": true], forDocument: seat(3)) })
    // Outside of what it found, or of where it looked.
    #expect(
      try await !conflicts(open) { try $0.setData(["taken": true], forDocument: seat(8)) })
    #expect(
      try await !conflicts(open) {
        try $0.setData(["taken": false], forDocument: db.document("x/y"))
      })
    #expect(
      try await !conflicts(first) { try $0.updateData(["note": 2], forDocument: seat(2)) })
    #expect(
      try await conflicts(first) {
        try $0.setData(["row": -1, "taken": false], forDocument: seat(7))
      })
    #expect(
      try await conflicts(db.collectionGroup("seats")) {
        try $0.setData(["n": 1], forDocument: db.document("hall/a/seats/1"))
      })
    #expect(
      try await conflicts(open.select(["row"])) {
        try $0.updateData(["note": 5], forDocument: seat(0))
      })
  }

  @Test func `a document that a query found stands as if it had been read`() async throws {
    let document = db.document("a/one")
    try await document.setData(["n": 0])
    let (count, error) = await attempts { attempt, transaction in
      let found = try transaction.getDocuments(self.db.collection("a"))
      if attempt == 1 {
        try self.write(["n": 10], document)
        _ = try transaction.getDocument(document)
      }
      let n = found.documents.first?["n"] as? Int ?? 0
      transaction.updateData(["n": n + 1], forDocument: document)
    }
    #expect(count == 2 && error == nil)
    #expect(try await document.getDocument()["n"] as? Int == 11)
    let after = await attempts { _, transaction in
      transaction.setData([:], forDocument: document)
      _ = try transaction.getDocuments(self.db.collection("a"))
    }
    #expect(after.count == 1 && after.error == .invalidArgument)
  }

  @Test func `a transaction used after its block, or its database's end, is refused`() async throws
  {
    let kept = Kept()
    _ = try await db.runTransaction { transaction, _ in
      kept.transaction = transaction
      return nil
    }
    let transaction = try #require(kept.transaction)
    #expect(
      FirestoreErrorCode.failedPrecondition.isThrown {
        _ = try transaction.getDocument(db.document("a/b"))
      })
    #expect(
      FirestoreErrorCode.failedPrecondition.isThrown {
        _ = try transaction.getDocuments(db.collection("a"))
      })
    try await db.terminate()
    let (_, error) = await attempts { _, transaction in
      _ = try transaction.getDocument(self.db.document("a/b"))
    }
    #expect(error == .failedPrecondition)
  }

  private final class Kept: @unchecked Sendable {
    // Unchecked: set while the test waits, and read after.
    var transaction: Transaction?
  }
}
