import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Transactions that want the same documents are all done, in turns.
@Suite(.serialized, .timeLimit(patience)) struct TransactionContentionTests {
  private let folder = TemporaryFolder()

  private func open() throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: "\(folder.path)/a.hearth", settings: settings)
  }

  private static func increment(_ document: DocumentReference) async throws {
    try await patiently {
      _ = try await document.firestore.runTransaction { transaction, errorPointer in
        do {
          let count = try transaction.getDocument(document)["n"] as? Int ?? 0
          transaction.setData(["n": count + 1], forDocument: document)
        } catch {
          errorPointer?.pointee = error as NSError
        }
        return nil
      }
    }
  }

  /// Runs a transaction again that was given up after a second: on a busy machine the fifth attempt may hold the write
  /// lock for longer than it may.
  private static func patiently(_ body: () async throws -> Void) async throws {
    while true {
      let began = ContinuousClock.now
      do {
        return try await body()
      } catch FirestoreErrorCode.aborted where ContinuousClock.now - began >= .seconds(1) {
        continue
      }
    }
  }

  @Test(.embedded("It looks at the lines."))
  func `a transaction that is cancelled after a conflict leaves nothing behind`() async throws {
    let db = try open()
    let document = db.document("a/1")
    try await document.setData(["n": 0])
    let runs = Guarded(0)
    let task = Guarded<Task<Void, any Error>?>(nil)
    let isStored = DispatchSemaphore(value: 0)
    let running = Task {
      try await onBlockingThread { isStored.wait() }
      _ = try await db.runTransaction { transaction, errorPointer in
        _ = try? transaction.getDocument(document)
        let run = runs.withLock { runs in
          runs += 1
          return runs
        }
        if run == 2 {
          task.withLock(\.self)?.cancel()
        }
        errorPointer?.pointee = Status(.aborted, "Something has changed.").nsError
        return nil
      }
    }
    task.withLock { $0 = running }
    isStored.signal()
    await #expect(throws: CancellationError.self) { try await running.value }
    #expect(runs.withLock(\.self) == 2)
    let transactions = try db.database().embedded.transactions
    #expect(transactions.count == 0 && transactions.queues.count == 0)
    try await db.terminate()
  }

  @Test(.embedded("It looks at the lines."))
  func `who is cancelled while it waits for its turn does not run its block again`() async throws {
    let db = try open()
    let document = db.document("a/1")
    try await document.setData(["n": 0])
    let lines = try db.database().lines
    let path = ResourcePath(["a", "1"])
    let turn = Guarded<DocumentQueues.Turn?>(nil)
    let runs = Guarded(0)
    let ended = Guarded(ContinuousClock.now)
    let task = Task {
      _ = try await db.runTransaction { transaction, errorPointer in
        _ = try? transaction.getDocument(document)
        let run = runs.withLock { runs in
          runs += 1
          return runs
        }
        if run == 1 {
          // Somebody else has the next turn.
          lines.whenTurn(at: [path]) { came in turn.withLock { $0 = came } }
          ended.withLock { $0 = .now }
        }
        errorPointer?.pointee = Status(.aborted, "Something has changed.").nsError
        return nil
      }
    }
    try await eventually {
      let count = runs.withLock(\.self)
      return count > 1 || lines.waitingCount(at: path) == 1
    }
    task.cancel()
    let waited = ContinuousClock.now - ended.withLock(\.self)
    let result = await task.result
    // Nobody waits for longer: on a busy machine the task may be cancelled too late.
    if waited < lines.patience {
      #expect(throws: CancellationError.self) { try result.get() }
      #expect(runs.withLock(\.self) == 1)
    }
    if let turn = turn.withLock(\.self) { lines.end(turn) }
    #expect(lines.count == 0)
    try await db.terminate()
  }

  @Test(.embedded("It holds the writer."))
  func `a transaction that has nothing to do waits for no writer`() async throws {
    let db = try open()
    let go = DispatchSemaphore(value: 0)
    let isHeld = Guarded(false)
    async let held: Void = db.write { _ in
      isHeld.withLock { $0 = true }
      go.wait()
    }
    try await eventually { isHeld.withLock(\.self) }
    let value = try await db.runTransaction { _, _ in 7 }
    #expect(value as? Int == 7)
    go.signal()
    try await held
    try await db.terminate()
  }

  @Test(
    .embedded("It is about the order of turns."),
    arguments: Soak.isOn ? [2, 4, 8, 16, 32, 64] : [2, 16, 64])
  func `increments of one document by many tasks are all done`(tasks: Int) async throws {
    let db = try open()
    let document = db.document("counters/a")
    let each = Soak.isOn ? 100 : 20
    let clock = ContinuousClock()
    let began = clock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<tasks {
        group.addTask { for _ in 0..<each { try await Self.increment(document) } }
      }
      try await group.waitForAll()
    }
    let transactions = clock.now - began
    #expect(try await document.getDocument()["n"] as? Int == tasks * each)
    #expect(try db.database().lines.count == 0)
    let again = clock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<tasks {
        group.addTask {
          for _ in 0..<each {
            try await db.write { session in
              let count = try session.getDocument(document)["n"] as? Int ?? 0
              try session.setData(["n": count + 1], forDocument: document)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let closures = clock.now - again
    func rate(_ duration: Duration) -> Int { Int(Double(tasks * each) / (duration / .seconds(1))) }
    print(
      "\(tasks) tasks: \(rate(transactions)) transactions a second, \(rate(closures)) write closures"
    )
    #expect(try await document.getDocument()["n"] as? Int == 2 * tasks * each)
    try await db.terminate()
  }

  @Test func `transfers between a few accounts, read in any order, are all done`() async throws {
    let db = try open()
    let accounts = (0..<4).map { db.document("accounts/\($0)") }
    for account in accounts { try await account.setData(["n": 100]) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for seed in 0..<16 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(seed))
          for _ in 0..<15 {
            let pair = accounts.shuffled(using: &random).prefix(2)
            let (from, to) = (pair[0], pair[1])
            try await Self.patiently {
              _ = try await db.runTransaction { transaction, errorPointer in
                do {
                  let left = try transaction.getDocument(from)["n"] as? Int ?? 0
                  let right = try transaction.getDocument(to)["n"] as? Int ?? 0
                  transaction.setData(["n": left - 1], forDocument: from)
                  transaction.setData(["n": right + 1], forDocument: to)
                } catch {
                  errorPointer?.pointee = error as NSError
                }
                return nil
              }
            }
          }
        }
      }
      try await group.waitForAll()
    }
    var sum = 0
    for account in accounts { sum += try await account.getDocument()["n"] as? Int ?? 0 }
    #expect(sum == 400)
    try await db.terminate()
  }

  /// A block that others get ahead of, until the file is locked for it.
  ///
  /// - Parameter last: What the fifth run does.
  /// - Returns: How often the block ran, what came of it, and the time since nobody got ahead of it any more.
  private func disturbed(
    attempts: Int?, last: @escaping @Sendable (Firestore) -> Void = { _ in }
  ) async throws -> (runs: Int, error: NSError?, time: Duration) {
    let db = try open()
    let document = db.document("counters/a")
    let runs = Guarded(0)
    let since = Guarded(ContinuousClock.now)
    let options = TransactionOptions()
    if let attempts { options.maxAttempts = attempts }
    let error: NSError? = await withCheckedContinuation { continuation in
      db.runTransaction(
        with: options,
        block: { transaction, errorPointer in
          let run = runs.withLock { runs in
            runs += 1
            return runs
          }
          do {
            _ = try transaction.getDocument(document)
          } catch {
            errorPointer?.pointee = error as NSError
            return nil
          }
          if run < 5 {
            let done = DispatchSemaphore(value: 0)
            Task {
              try await document.setData(["n": run])
              done.signal()
            }
            done.wait()
            since.withLock { $0 = .now }
          } else {
            last(db)
          }
          transaction.setData(["n": 100], forDocument: document)
          return nil
        },
        completion: { _, error in continuation.resume(returning: error as NSError?) })
    }
    let time = ContinuousClock.now - since.withLock(\.self)
    try await db.terminate()
    return (runs.withLock(\.self), error, time)
  }

  @Test func `the fifth attempt holds the write lock`() async throws {
    let (runs, error, time) = try await disturbed(attempts: nil)
    #expect(runs == 5)
    // It holds it for a second at most, which a busy machine may exceed.
    if time < .seconds(1) { #expect(error == nil) }
  }

  @Test func `fewer attempts end with what was in their way`() async throws {
    let (runs, error, _) = try await disturbed(attempts: 3)
    #expect(runs == 3)
    #expect(error?.domain == FirestoreErrorDomain)
    #expect(error?.code == FirestoreErrorCode.aborted.rawValue)
    let sentence = error?.localizedDescription ?? ""
    #expect(sentence.contains("contention"))
    #expect(sentence.contains("3 attempts"))
  }

  @Test func `who holds the write lock finds all earlier writes committed`() async throws {
    let fixture = try StoreFixture()
    let (isHeld, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    fixture.writer.submit([]) { _ in
      isHeld.signal()
      gate.wait()
    }
    try await onBlockingThread { isHeld.wait() }
    let done = DispatchGroup()
    func submit(_ n: Int) throws {
      done.enter()
      let mutation = try fixture.set("counters/\(n)", ("n", .integer(1)))
      fixture.writer.submit([mutation]) { _ in done.leave() }
    }
    for n in 0..<5 { try submit(n) }
    let found = Guarded<[Bool]>([])
    done.enter()
    let alone = WriteClosure(isAlone: true) { _ in
      let documents = try (0..<6).map { try fixture.document("counters/\($0)") != nil }
      found.withLock { $0 = documents }
    }
    fixture.writer.perform(alone) { _ in done.leave() }
    try submit(5)
    gate.signal()
    try await onBlockingThread { done.wait() }
    #expect(found.withLock(\.self) == [true, true, true, true, true, false])
    #expect(try fixture.document("counters/5") != nil)
  }

  @Test func `the write lock is held for a second at most`() async throws {
    let isWritten = Guarded(false)
    let (runs, error, _) = try await disturbed(attempts: nil) { db in
      // The block waits for a write that is committed once the lock is let go. The timeout is for one that never is.
      let done = DispatchSemaphore(value: 0)
      Task {
        try await db.document("counters/b").setData(["n": 1])
        done.signal()
      }
      let isInTime = done.wait(timeout: .now() + 110) == .success
      isWritten.withLock { $0 = isInTime }
    }
    #expect(isWritten.withLock(\.self) == true, "The block kept the write lock.")
    #expect(runs == 5)
    #expect(error?.code == FirestoreErrorCode.aborted.rawValue)
    let sentence = error?.localizedDescription ?? ""
    #expect(sentence.contains("contention"))
    #expect(sentence.contains("5 attempts"))
  }

  @Test func `a block that waits for another transaction of its document is done`() async throws {
    let db = try open()
    let document = db.document("counters/a")
    let runs = Guarded(0)
    _ = try await db.runTransaction { transaction, errorPointer in
      let isFirst = runs.withLock { runs in
        runs += 1
        return runs <= 2
      }
      do {
        let count = try transaction.getDocument(document)["n"] as? Int ?? 0
        if isFirst {
          let done = DispatchSemaphore(value: 0)
          Task {
            try await Self.increment(document)
            done.signal()
          }
          done.wait()
        }
        transaction.setData(["n": count + 1], forDocument: document)
      } catch {
        errorPointer?.pointee = error as NSError
      }
      return nil
    }
    #expect(try await document.getDocument()["n"] as? Int == 3)
    try await db.terminate()
  }

  // MARK: The lines

  @Test func `turns come in the order of the waiting`() async throws {
    let lines = DocumentQueues(patience: .seconds(600))
    let path = ResourcePath(["a", "b"])
    let first = await lines.turn(at: [path])
    let order = Guarded<[Int]>([])
    var waiting: [Task<Void, Never>] = []
    for number in 0..<10 {
      waiting.append(
        Task { @Sendable in
          let turn = await lines.turn(at: [path])
          order.withLock { $0.append(number) }
          lines.end(turn)
        })
      try await eventually { lines.waitingCount(at: path) == number + 1 }
    }
    #expect(order.withLock(\.self).isEmpty)
    lines.end(first)
    for task in waiting { await task.value }
    #expect(order.withLock(\.self) == Array(0..<10))
    #expect(lines.count == 0)
  }

  @Test func `those who want the same documents in another order wait in no circle`() async throws {
    let lines = DocumentQueues(patience: .seconds(600))
    let paths = [ResourcePath(["a", "b"]), ResourcePath(["a", "c"])]
    let first = await lines.turn(at: paths)
    let done = Guarded(0)
    let others = [paths, paths.reversed()].map { wanted in
      Task { @Sendable in
        lines.end(await lines.turn(at: wanted))
        done.withLock { $0 += 1 }
      }
    }
    try await eventually {
      let waiting = paths.map { lines.waitingCount(at: $0) }.reduce(0, +)
      return waiting + done.withLock(\.self) == 2
    }
    #expect(done.withLock(\.self) == 0)
    let began = ContinuousClock.now
    lines.end(first)
    for other in others { await other.value }
    #expect(ContinuousClock.now - began < lines.patience / 2)
    #expect(lines.count == 0)
  }

  @Test func `who gave up at one document does not wait for the next`() async throws {
    let lines = DocumentQueues()
    // So many that waiting for each is longer than a busy machine makes it.
    let paths = (0..<30).map { ResourcePath(["a", "\($0)"]) }
    let first = await lines.turn(at: paths)
    let began = ContinuousClock.now
    let late = await lines.turn(at: paths)
    // Nor at a read.
    try await onBlockingThread { for path in paths { lines.waitBlocking(for: path, late) } }
    #expect(ContinuousClock.now - began < lines.patience * paths.count)
    lines.end(late)
    #expect(lines.count == paths.count)
    lines.end(first)
    #expect(lines.count == 0)
  }

  @Test func `however many first attempts have waited, the next one waits`() async throws {
    let lines = DocumentQueues(patience: .seconds(600))
    let path = ResourcePath(["a", "b"])
    // More than may wait at one time.
    for _ in 0..<100 {
      let first = await lines.turn(at: [path])
      let turn = DocumentQueues.Turn()
      let hasTurn = Guarded(false)
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        lines.waitBlocking(for: path, turn)
        hasTurn.withLock { $0 = true }
        done.signal()
      }
      try await eventually {
        let wasLetIn = hasTurn.withLock(\.self)
        return wasLetIn || lines.waitingCount(at: path) == 1
      }
      #expect(hasTurn.withLock(\.self) == false)
      lines.end(first)
      try await onBlockingThread { done.wait() }
      lines.end(turn)
    }
    #expect(lines.count == 0)
  }

  @Test(.embedded("It looks at the lines."))
  func `a first attempt waits at its first read, and for no more than that`() async throws {
    let db = try open()
    // So many that waiting for each is longer than a busy machine makes it.
    let ids = (0..<30).map { "\($0)" }
    let lines = try db.database().lines
    let turn = await lines.turn(at: ids.map { ResourcePath(["a", $0]) })
    let read = Guarded<[ContinuousClock.Instant]>([])
    let began = ContinuousClock.now
    _ = try await db.runTransaction { transaction, _ in
      for id in ids {
        _ = try? transaction.getDocument(db.document("a/\(id)"))
        read.withLock { $0.append(.now) }
      }
      return nil
    }
    let times = read.withLock { $0.map { $0 - began } }
    #expect(times[0] >= DocumentQueues.patience)
    // All others together.
    #expect(times[29] - times[0] < DocumentQueues.patience * 29)
    lines.end(turn)
    #expect(lines.count == 0)
    try await db.terminate()
  }

  @Test func `who has read more than thirty-two documents waits for none of them`() async throws {
    let lines = DocumentQueues(patience: .seconds(600))
    let paths = (0...DocumentQueues.pathLimit).map { ResourcePath(["a", "\($0)"]) }
    let turn = await lines.turn(at: Array(paths.dropLast()))
    #expect(lines.count == DocumentQueues.pathLimit)
    let began = ContinuousClock.now
    lines.end(await lines.turn(at: paths))
    #expect(ContinuousClock.now - began < lines.patience)
    lines.end(turn)
  }

  @Test func `nobody waits in a line that does not move, nor after cancellation`() async throws {
    let lines = DocumentQueues()
    let paths = [ResourcePath(["a", "b"]), ResourcePath(["a", "c"])]
    let first = await lines.turn(at: paths)
    let began = ContinuousClock.now
    let late = await lines.turn(at: [paths[0]])
    #expect(ContinuousClock.now - began >= DocumentQueues.patience)
    let cancelled = Task { await lines.turn(at: paths.reversed()) }
    cancelled.cancel()
    lines.end(await cancelled.value)
    lines.end(late)
    #expect(lines.count == 2)
    lines.end(first)
    #expect(lines.count == 0)
  }
}
