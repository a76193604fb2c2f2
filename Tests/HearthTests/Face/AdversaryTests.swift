import Foundation
import LMDB
import Synchronization
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// What a service does in its worst hour: odd inputs, closing while others work, callbacks that call.
@Suite struct AdversaryTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path + "/adversary.hearth" }

  // MARK: Odd inputs

  @Test func `a date at the edge of what numbers hold is refused`() async throws {
    let db = try Firestore.open(at: path)
    let edges: [TimeInterval] = [
      -0x1p63, 0x1p63, -0x1p62, .infinity, -.infinity, .nan, .greatestFiniteMagnitude,
      -.greatestFiniteMagnitude, -0x1p63 - 978_307_200, 1e15, -1e15,
    ]
    for edge in edges {
      let date = Date(timeIntervalSinceReferenceDate: edge)
      for value in [date, Timestamp(date: date), ["deep": date]] as [Any] {
        await expectRefused(.invalidArgument) { try await db.document("a/b").setData(["d": value]) }
      }
      await expectRefused(.invalidArgument) {
        _ = try await db.collection("a").whereField("d", isEqualTo: date).getDocuments()
      }
    }
    try await db.terminate()
  }

  @Test(.embedded("It is about paths of files."))
  func `a path with a zero byte is not the path before it`() async throws {
    let db = try Firestore.open(at: path)
    await expectRefused(.unavailable) { _ = try Firestore.open(at: path + "\0.old") }
    try await db.terminate()
  }

  @Test func `a deep dictionary in a field's place is no field`() async throws {
    let db = try Firestore.open(at: path)
    let deep = (0..<20_000).reduce("x" as Any) { inner, _ in ["m": inner] }
    try await db.document("a/b").setData(["n": 1])
    #expect(try await db.document("a/b").getDocument().get(deep) == nil)
    await expectRefused(.invalidArgument) {
      try await db.document("a/b").setData(["n": 2], mergeFields: [deep])
    }
    try await db.terminate()
  }

  /// Nothing here may end the process; what is refused is refused in the database's own words.
  @Test func `random calls with odd arguments are done or refused`() async throws {
    let seed = Soak.isOn ? UInt64.random(in: 0...UInt64.max) : 0xAD7E
    var random = SeededGenerator(seed: seed)
    let db = try Firestore.open(at: path, settings: Odd.settings)
    db.unobservedWriteFailureHandler = { #expect($0.domain == FirestoreErrorDomain, "\($0)") }
    var refused = 0
    for _ in 0..<(Soak.isOn ? 5000 : 400) {
      do {
        try await Odd.call(db, &random)
      } catch is EncodingError {
        refused += 1
      } catch is DecodingError {
        refused += 1
      } catch {
        refused += 1
        #expect((error as NSError).domain == FirestoreErrorDomain, "seed \(seed): \(error)")
      }
    }
    #expect(refused > 50 && (Soak.isOn || refused < 400), "seed \(seed)")
    try await db.terminate()
    try await Firestore.open(at: path).terminate()
  }

  // MARK: One's own writes

  @Test func `a transaction reads a write that was handed over before it and not awaited`()
    async throws
  {
    let db = try Firestore.open(at: path)
    for round in 0..<20 {
      let document = db.document("a/\(round)")
      for other in 0..<50 { handOver(["n": other], to: db.document("a/\(round)/b/\(other)")) }
      handOver(["n": round], to: document)
      let attempts = Guarded(0)
      let found = try await db.runTransaction { transaction, errorPointer in
        attempts.withLock { $0 += 1 }
        do {
          return try transaction.getDocument(document).exists
        } catch {
          errorPointer?.pointee = error as NSError
          return nil
        }
      }
      #expect(attempts.withLock { $0 } == 1)
      #expect(found as? Bool == true)
    }
    try await db.terminate()
  }

  // MARK: Closing

  @Test func `every terminate returns after the file is closed`() async throws {
    for round in 0..<5 {
      let db = try Firestore.open(at: path)
      for n in 0..<200 { handOver(["n": n, "round": round], to: db.document("a/\(n)")) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            try await db.terminate()
            // Refused if the file is still open.
            _ = try Firestore.open(at: path)
          }
        }
        try await group.waitForAll()
      }
      let again = try Firestore.open(at: path)
      #expect(try await again.document("a/199").getDocument()["round"] as? Int == round)
      try await again.terminate()
    }
  }

  @Test(.embedded("It is about a file.")) func `persistence is not cleared under another instance`()
    async throws
  {
    let first = try Firestore.open(at: path)
    try await first.terminate()
    let second = try Firestore.open(at: path)
    await expectRefused(.failedPrecondition) { try await first.clearPersistence() }
    try await second.document("a/b").setData(["n": 1])
    try await second.terminate()
    let third = try Firestore.open(at: path)
    #expect(try await third.document("a/b").getDocument().exists)
    try await third.terminate()
    try await onceAlone { try await first.clearPersistence() }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(.timeLimit(patience))
  func `a sequence that begins while the database closes ends`() async throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    for _ in 0..<20 {
      let db = try Firestore.open(at: path, settings: settings)
      try await db.document("a/b").setData(["n": 1])
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            do {
              for try await _ in db.collection("a").snapshots {}
            } catch {
              #expect(FirestoreErrorCode.failedPrecondition ~= error)
            }
          }
        }
        group.addTask { try? await db.terminate() }
      }
    }
  }

  @Test func `a listener that comes after the end ends`() throws {
    let fixture = try StoreFixture()
    let registry = ListenerRegistry(fixture.store, fixture.writer, logger: .silent)
    registry.close()
    let listener = Listener(.ask {}, callback: { _ in })
    registry.add(listener, watching: .collection(ResourcePath(["a"])))
    registry.settle()
    #expect(try listener.take()?.get() == nil)
    #expect(listener.isRemoved)
  }

  // MARK: Callbacks that call

  @Test(.timeLimit(patience))
  func `two callbacks may remove each other's listeners at once`() throws {
    let listeners = Guarded<[Listener]>([])
    let bothRun = DispatchGroup()
    let done = DispatchGroup()
    for index in 0..<2 {
      bothRun.enter()
      let listener = Listener(.ask {}) { _ in
        bothRun.leave()
        bothRun.wait()
        listeners.withLock { $0[1 - index] }.remove()
      }
      listeners.withLock { $0.append(listener) }
    }
    for listener in listeners.withLock({ $0 }) {
      listener.begin(ResultEvent())
      done.enter()
      Thread.detachNewThread {
        listener.deliver()
        done.leave()
      }
    }
    #expect(done.wait(timeout: .now() + 120) == .success)
  }

  @Test func `a listener added after the log could not be read is told later news`() throws {
    let isFailing = Atomic(false)
    let fixture = try StoreFixture {
      $0.faultInjector = { call in
        call == .cursor && isFailing.exchange(false, ordering: .relaxed) ? 5 : 0
      }
    }
    let registry = ListenerRegistry(fixture.store, fixture.writer, logger: .silent)
    let target = Listener.Target.document(ResourcePath(["a", "b"]))
    let told = DispatchSemaphore(value: 0)
    func listener() -> Listener {
      let listener = Listener(.ask { told.signal() }, callback: { _ in })
      registry.add(listener, watching: target)
      return listener
    }
    func commit(_ n: Int64) throws {
      for outcome in fixture.commitTogether([[try fixture.set("a/b", ("n", .integer(n)))]]) {
        _ = try outcome.get()
      }
    }
    let early = listener()
    registry.settle()
    #expect(try early.take()?.get().list.documents.count == 0)

    // The queue is held, so that the new listener comes before the news.
    let held = DispatchSemaphore(value: 0)
    let isHeld = DispatchSemaphore(value: 0)
    registry.afterEvents {
      isHeld.signal()
      held.wait()
    }
    isHeld.wait()
    let late = listener()
    try commit(1)
    isFailing.store(true, ordering: .relaxed)
    held.signal()
    registry.settle()
    #expect(throws: Status.self) { try early.take()?.get() }
    #expect(try late.take()?.get().list.documents.count == 1)
    #expect(try late.take()?.get() == nil)
    while told.wait(timeout: .now()) == .success {}
    try commit(2)
    #expect(told.wait(timeout: .now() + 120) == .success)
    #expect(try late.take()?.get().allChanges.map(\.kind) == [.modified])
    registry.remove(late, watching: target)
  }

  @Test(.timeLimit(patience))
  func `a decoder that writes, reads and terminates does not hold the database up`() async throws {
    let db = try Firestore.open(at: path)
    try await db.document("a/b").setData(["n": 1])
    Meddler.database.withLock { $0 = db }
    _ = try await db.document("a/b").getDocument(as: Meddler.self)
    Meddler.database.withLock { $0 = nil }
    try await db.terminate()
    let again = try Firestore.open(at: path)
    #expect(try await again.document("a/written").getDocument().exists)
    try await again.terminate()
  }
}

/// The form that returns before the commit, also where there is an async one.
private func handOver(_ data: [String: Any], to document: DocumentReference) {
  document.setData(data)
}

/// Uses the database while it is decoded, in the read transaction.
private struct Meddler: Decodable {
  static let database = Guarded<Firestore?>(nil)

  init(from decoder: any Decoder) throws {
    guard let db = Meddler.database.withLock({ $0 }) else { return }
    db.document("a/written").setData(["n": 2])
    let registration = db.collection("a").addSnapshotListener { _, _ in }
    db.document("a/b").getDocument { _, _ in }
    registration.remove()
    db.terminate()
  }
}

/// Arguments that nobody should hand over.
private enum Odd {
  static var settings: FirestoreSettings {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.mapSizeBytes = 1
    settings.queueLimitBytes = .max
    settings.changeLogRetention = .seconds(Int64.max)
    settings.changeLogLimitBytes = .max
    return settings
  }

  static let texts = [
    "", "/", "//", "a", "a/b", "a/b/c", "a/b/c/d", ".", "..", "a/..", "__x__", "____", "a/__id7__",
    "__id-9223372036854775808__", "\0", "a/\0", "é", "e\u{301}", "a//b", "a.b", "a..b", ".a",
    "`", "\\", "__name__", "a/\u{301}b", "\u{FFFF}", "a/\u{10FFFF}",
    String(repeating: "x", count: 1501),
    "a/" + String(repeating: "x", count: 6200),
    String(repeating: "a/", count: 300) + "a", String(repeating: "a/", count: 20_001) + "b",
    String(repeating: "a.", count: 700) + "a", String(repeating: "a.", count: 50_000) + "a", "[*]",
    String(decoding: [0xFF, 0xC0, 0x80], as: UTF8.self),
  ]
  static let numbers = [Int.min, -1, 0, 1, 2, 1000, Int(Int32.max), .max - 1, .max]

  static func text(_ random: inout SeededGenerator) -> String {
    Bool.random(using: &random)
      ? texts.randomElement(using: &random) ?? ""
      : ["a", "b", "a/b"].randomElement(using: &random) ?? ""
  }

  static func number(_ random: inout SeededGenerator) -> Int {
    numbers.randomElement(using: &random) ?? 0
  }

  static func value(_ db: Firestore, _ random: inout SeededGenerator, depth: Int = 0) -> Any {
    let text = text(&random)
    switch Int.random(in: 0..<24, using: &random) {
    case 0: return text
    case 1: return number(&random)
    case 2:
      return [Double.nan, .infinity, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude][
        depth % 5]
    case 3: return GeoPoint(latitude: .nan, longitude: 1e300)
    case 4: return Timestamp(seconds: .min, nanoseconds: .min)
    case 5: return Timestamp(seconds: .max, nanoseconds: .max)
    case 6: return VectorValue([])
    case 7: return VectorValue([Double](repeating: .infinity, count: 2049))
    case 8: return UInt64.max
    case 9: return NSNull()
    case 10: return FieldValue.increment(Int64.min)
    case 11: return FieldValue.arrayUnion([value(db, &random, depth: depth + 1)])
    case 12: return FieldValue.delete()
    case 13: return db.document(text)
    case 14: return Data(repeating: 0, count: 2_000_000)
    case 15: return [1: "a", "b": 2] as [AnyHashable: Any]
    case 16: return db
    case 17: return Decimal.nan
    case 18: return FieldPath([text, text])
    case 19: return (0..<30).reduce("x" as Any) { inner, _ in [inner] }
    case 20: return (0..<5000).reduce("x" as Any) { inner, _ in ["m": inner] }
    case 21: return VectorValue([1, 2])
    default:
      if depth > 30 { return depth }
      return depth % 2 == 0
        ? [value(db, &random, depth: depth + 1)]
        : [text: value(db, &random, depth: depth + 1)]
    }
  }

  static func query(_ db: Firestore, _ random: inout SeededGenerator) -> Query {
    var query: Query =
      switch Int.random(in: 0..<5, using: &random) {
      case 0: db.collectionGroup(text(&random))
      case 1: db.allDocuments()
      case 2: db.collection(text(&random)).recursive()
      case 3: db.document(text(&random)).descendants()
      default: db.collection(text(&random))
      }
    for _ in 0..<Int.random(in: 0..<4, using: &random) {
      let field = text(&random)
      let path = [FieldPath([field]), FieldPath([]), .documentID()].randomElement(using: &random)
      let operand = value(db, &random)
      query =
        switch Int.random(in: 0..<14, using: &random) {
        case 0: query.whereField(field, isEqualTo: operand)
        case 1: query.whereField(path ?? .documentID(), isGreaterThan: operand)
        case 2: query.whereField(path ?? .documentID(), in: [operand, operand])
        case 3: query.order(by: field)
        case 4: query.order(by: path ?? .documentID(), descending: true)
        case 5: query.limit(to: number(&random))
        case 6: query.limit(toLast: number(&random))
        case 7: query.offset(number(&random))
        case 8: query.start(at: [operand])
        case 9: query.end(before: [operand, operand])
        case 10: query.select([field])
        case 11:
          query.findNearest(
            vectorField: "v", queryVector: VectorValue([1, .infinity]), limit: number(&random),
            distanceMeasure: .cosine,
            distanceResultField: field, distanceThreshold: .nan)
        case 12:
          query.whereFilter(
            (0..<200).reduce(.whereField(field, isEqualTo: operand)) { inner, _ in
              .orFilter([inner, inner])
            })
        default:
          query.whereFilter(
            .andFilter((0..<12).map { n in .whereField("f\(n)", in: Array(0..<30)) }))
        }
    }
    return query
  }

  static func call(_ db: Firestore, _ random: inout SeededGenerator) async throws {
    let document = db.document(text(&random))
    let data = [text(&random): value(db, &random)]
    switch Int.random(in: 0..<12, using: &random) {
    case 0: try await document.setData(data)
    case 1: try await document.setData(data, merge: true)
    case 2: try await document.setData(data, mergeFields: [text(&random), value(db, &random)])
    case 3: try await document.updateData([FieldPath([text(&random)]): value(db, &random)])
    case 4: try await document.updateData(data)
    case 5:
      handOver(["v": VectorValue([1, 2]), "n": 1], to: document)
      let snapshot = try await document.getDocument()
      _ = (snapshot.data(), snapshot.get(value(db, &random)), snapshot[text(&random)])
    case 6: _ = try await query(db, &random).count.getAggregation(source: .server)
    case 7:
      let pages = query(db, &random).documents(pageSize: number(&random))
      for try await _ in pages {}
    case 8:
      let batch = db.batch()
      batch.setData(data, forDocument: document).deleteDocument(db.document(text(&random)))
      try await batch.commit()
    case 9:
      query(db, &random).addSnapshotListener { _, _ in }.remove()
      _ = try await db.collection(text(&random)).listDocuments()
    case 10: _ = try Firestore.Decoder().decode([String: Int].self, from: value(db, &random))
    default:
      for found in try await query(db, &random).getDocuments().documents { _ = found.data() }
    }
  }
}
