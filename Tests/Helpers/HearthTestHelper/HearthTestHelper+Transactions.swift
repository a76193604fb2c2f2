import Foundation
import Hearth

/// One transaction as it saw the world: what a test replays.
struct Episode: Codable, Sendable {
  struct Cell: Codable, Hashable, Sendable {
    var id: String
    /// The transaction that wrote it; nil if it was not there.
    var by: String?
  }

  struct Question: Codable, Sendable {
    /// Cells with this key; nil asks for the two with the lowest keys.
    var key: Int?
    var found: [Cell] = []
  }

  struct Write: Codable, Sendable {
    var id: String
    /// Nil deletes.
    var key: Int?
  }

  var id: String
  var reads: [Cell] = []
  var questions: [Question] = []
  var writes: [Write] = []
}

extension HearthTestHelper {
  /// <name> <tasks> <transactions of each>: random transactions and write closures over six cells. Says
  /// what each that was committed saw and wrote.
  func transact() async throws {
    let db = try open(.unsafeWithoutFlushing)
    let (name, tasks, count) = (arguments[0], number(1), number(2))
    Self.say("ready")
    _ = readLine()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for index in 0..<count {
            let episode = try await Self.episode("\(name)-\(task)-\(index)", in: db)
            let line = try JSONEncoder().encode(episode)
            Self.say(String(decoding: line, as: UTF8.self))
          }
        }
      }
      try await group.waitForAll()
    }
    try await db.terminate()
  }

  private static func episode(_ id: String, in db: Firestore) async throws -> Episode {
    let cells = db.collection("cells")
    var plan = Episode(id: id)
    let ids = (0..<6).map { "c\($0)" }.shuffled()
    plan.reads = ids.prefix(.random(in: 0...2)).map { Episode.Cell(id: $0) }
    plan.questions = (0..<Int.random(in: 0...2)).map { _ in
      Episode.Question(key: Bool.random() ? Int.random(in: 0..<3) : nil)
    }
    plan.writes = ids.reversed().prefix(.random(in: 0...2)).map {
      Episode.Write(id: $0, key: Int.random(in: 0..<4) == 0 ? nil : Int.random(in: 0..<3))
    }
    let steps = plan
    @Sendable func query(_ question: Episode.Question) -> Query {
      question.key.map { cells.whereField("k", isEqualTo: $0) } ?? cells.order(by: "k").limit(to: 2)
    }
    /// Reads and asks, then writes, by whatever means.
    @Sendable func run(
      get: (DocumentReference) throws -> DocumentSnapshot, ask: (Query) throws -> QuerySnapshot
    ) throws -> Episode {
      var seen = steps
      for index in seen.reads.indices {
        let found = try get(db.document("cells/\(seen.reads[index].id)"))
        seen.reads[index].by = found["by"] as? String
      }
      for index in seen.questions.indices {
        let found = try ask(query(steps.questions[index]))
        seen.questions[index].found = found.documents.map {
          Episode.Cell(id: $0.documentID, by: $0["by"] as? String)
        }
      }
      return seen
    }
    let mark = db.document("episodes/\(id)")
    if Int.random(in: 0..<4) == 0 {
      return try await db.write { tx in
        let seen = try run(get: tx.getDocument, ask: { try tx.getDocuments($0) })
        for write in steps.writes {
          let cell = db.document("cells/\(write.id)")
          if let key = write.key {
            try tx.setData(["k": key, "by": id], forDocument: cell)
          } else {
            try tx.deleteDocument(cell)
          }
        }
        try tx.setData(["n": 1], forDocument: mark)
        return seen
      }
    }
    let options = TransactionOptions()
    options.maxAttempts = 10_000
    return try await withCheckedThrowingContinuation { continuation in
      db.runTransaction(with: options) { transaction, errorPointer in
        do {
          let seen = try run(
            get: transaction.getDocument, ask: { try transaction.getDocuments($0) })
          for write in steps.writes {
            let cell = db.document("cells/\(write.id)")
            if let key = write.key {
              transaction.setData(["k": key, "by": id], forDocument: cell)
            } else {
              transaction.deleteDocument(cell)
            }
          }
          transaction.setData(["n": 1], forDocument: mark)
          return seen
        } catch {
          errorPointer?.pointee = error as NSError
          return nil
        }
      } completion: { result, error in
        if let seen = result as? Episode {
          continuation.resume(returning: seen)
        } else {
          continuation.resume(throwing: error ?? CancellationError())
        }
      }
    }
  }

  /// On a busy machine the fifth attempt of a transaction may hold the write lock for longer than it may: nothing was
  /// applied then, and it begins again.
  static func runTransaction(
    in db: Firestore, _ block: @escaping @Sendable (Transaction) throws -> Void
  ) async throws {
    while true {
      let began = ContinuousClock.now
      do {
        return try await db.runTransaction { try block($0) }
      } catch FirestoreErrorCode.aborted where ContinuousClock.now - began >= .seconds(1) {}
    }
  }

  /// <tasks> <transactions of each>: adds one to the same document, and says how many failed, and how long all took.
  func increment() async throws {
    let db = try open(.unsafeWithoutFlushing)
    let (tasks, count) = (number(0), number(1))
    let counter = db.document("counters/a")
    Self.say("ready")
    _ = readLine()
    let began = ContinuousClock.now
    let failures = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<tasks {
        group.addTask {
          var failures = 0
          for _ in 0..<count {
            do {
              try await Self.runTransaction(in: db) { transaction in
                let sum = try transaction.getDocument(counter)["n"] as? Int ?? 0
                transaction.setData(["n": sum + 1], forDocument: counter)
              }
            } catch {
              failures += 1
            }
          }
          return failures
        }
      }
      return await group.reduce(0, +)
    }
    Self.say("\(failures) failed in \((ContinuousClock.now - began) / .seconds(1)) s")
    try await db.terminate()
  }

  /// <tasks> <transfers of each>: moves money between ten accounts, and looks at the sum.
  func bank() async throws {
    let db = try open(.unsafeWithoutFlushing)
    let (tasks, count) = (number(0), number(1))
    Self.say("ready")
    _ = readLine()
    let wrongSums = try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<tasks {
        group.addTask {
          var wrong = 0
          for index in 0..<count {
            let (from, to) = (Int.random(in: 0..<10), Int.random(in: 0..<10))
            try await Self.transfer(from, to, in: db, byClosure: (task + index) % 2 == 0)
            guard index % 5 == 0 else { continue }
            let sum = try await db.read { snapshot in
              try snapshot.getDocuments(db.collection("accounts")).documents.reduce(0) {
                $0 + ($1["amount"] as? Int ?? 0)
              }
            }
            if sum != 1000 { wrong += 1 }
          }
          return wrong
        }
      }
      return try await group.reduce(0, +)
    }
    Self.say("wrong sums \(wrongSums)")
    try await db.terminate()
  }

  private static func transfer(
    _ from: Int, _ to: Int, in db: Firestore, byClosure: Bool
  ) async throws {
    let (source, target) = (db.document("accounts/\(from)"), db.document("accounts/\(to)"))
    let amount = Int.random(in: 1...20)
    if byClosure {
      try await db.write { tx in
        let left = try tx.getDocument(source)["amount"] as? Int ?? 0
        guard left >= amount else { return }
        try tx.updateData(["amount": left - amount], forDocument: source)
        // Reads its own write where both are one account.
        let there = try tx.getDocument(target)["amount"] as? Int ?? 0
        try tx.updateData(["amount": there + amount], forDocument: target)
      }
      return
    }
    let options = TransactionOptions()
    options.maxAttempts = 10_000
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      db.runTransaction(with: options) { transaction, errorPointer in
        do {
          let left = try transaction.getDocument(source)["amount"] as? Int ?? 0
          let there = try transaction.getDocument(target)["amount"] as? Int ?? 0
          guard left >= amount, from != to else { return nil }
          transaction.updateData(["amount": left - amount], forDocument: source)
          transaction.updateData(["amount": there + amount], forDocument: target)
        } catch {
          errorPointer?.pointee = error as NSError
        }
        return nil
      } completion: { _, error in
        if let error { continuation.resume(throwing: error) } else { continuation.resume() }
      }
    }
  }
}
