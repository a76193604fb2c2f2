import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Laws of a set of targets: what is told with a state is what every target's result is in that state.
@Suite(.timeLimit(patience)) struct TargetSetTests {
  private let folder = TemporaryFolder()

  private func open() throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: folder.path + "/set.hearth", settings: settings)
  }

  /// The field `n` of each document, by path.
  private typealias World = [String: Int]

  /// What a set has told, and what it showed in each state that it named.
  private final class Told: Sendable {
    struct State {
      var results: [Int: World] = [:]
      var shown: [(sequence: UInt64, results: [Int: World])] = []
      var failures: [Int: Status] = [:]
      var calls: [[Int]] = []
      /// A call that was under way when they were removed may still tell of them.
      var removed: Set<Int> = []
    }
    let state = Guarded(State())

    func take(_ events: [TargetSet.Event]) {
      state.withLock { state in
        var ids: [Int] = []
        for event in events {
          switch event {
          case .result(let id, let result):
            ids.append(id)
            if state.removed.contains(id) { continue }
            state.results[id] = Dictionary(
              uniqueKeysWithValues: result.list.documents.map { document in
                guard case .integer(let n)? = try? document.body.map().value(at: ["n"]) else {
                  return (document.path.text, -1)
                }
                return (document.path.text, Int(n))
              })
          case .failure(let id, let status):
            state.failures[id] = status
            state.results[id] = nil
          case .current(let sequence): state.shown.append((sequence, state.results))
          }
        }
        state.calls.append(ids)
      }
    }
  }

  private static let targets:
    [Int: (target: Listener.Target, admits: @Sendable (String, Int) -> Bool)] = [
      1: (.document(ResourcePath(["a", "1"])), { path, _ in path == "a/1" }),
      2: (
        .results(of: StructuredQuery(.collection(ResourcePath(["a"])))),
        { path, _ in path.hasPrefix("a/") }
      ),
      3: (
        .results(of: StructuredQuery(.collection(ResourcePath(["b"])))),
        { path, _ in path.hasPrefix("b/") }
      ),
      4: (.document(ResourcePath(["b", "2"])), { path, _ in path == "b/2" }),
      5: (
        .results(of: StructuredQuery(.group("b", below: .root))),
        { path, _ in path.hasPrefix("b/") }
      ),
    ]

  /// Until a call that is under way has returned: observers are called one after another.
  private func settle(_ backend: any Backend) async {
    let isCalled = Guarded(false)
    let observation = backend.observeSyncs { _ in isCalled.withLock { $0 = true } }
    while !isCalled.withLock(\.self) { await Task.yield() }
    observation.end()
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `every state that is named is that of all targets`(seed: UInt64) async throws {
    let db = try open()
    let backend = try db.database().backend.asChangeFeed()
    let told = Told()
    let set = TargetSet(on: backend) { told.take($0) }
    var random = SeededGenerator(seed: seed)
    var world: World = [:]
    var history: [(sequence: UInt64, world: World)] = [(0, [:])]
    var members: Set<Int> = []
    for _ in 0..<150 {
      if random.next() % 5 == 0 {
        let id = Int(random.next() % 5) + 1
        if members.contains(id) {
          told.state.withLock { state in
            state.results[id] = nil
            state.removed.insert(id)
          }
          set.remove(id)
          members.remove(id)
          await settle(backend)
        } else {
          told.state.withLock { _ = $0.removed.remove(id) }
          set.add(id, Self.targets[id]!.target)
          members.insert(id)
        }
      }
      let batch = db.batch()
      for _ in 0...(random.next() % 3) {
        let path = "\(random.next() % 2 == 0 ? "a" : "b")/\(random.next() % 4)"
        if random.next() % 4 == 0 {
          batch.deleteDocument(db.document(path))
          world[path] = nil
        } else {
          let n = Int(random.next() % 100)
          batch.setData(["n": n], forDocument: db.document(path))
          world[path] = n
        }
      }
      try await batch.commit()
      history.append((try backend.committedToken().sequence, world))
      if random.next() % 3 == 0 { await Task.yield() }
    }
    told.state.withLock { $0.removed = [] }
    for (id, target) in Self.targets where !members.contains(id) { set.add(id, target.target) }
    try await eventually {
      told.state.withLock {
        $0.shown.last?.results.count == 5 && $0.shown.last?.sequence == history.last?.sequence
      }
    }
    set.close()
    let shown = told.state.withLock(\.shown)
    #expect(shown.count > 20)
    for (sequence, results) in shown {
      let then = try #require(history.last { $0.sequence <= sequence }).world
      for (id, result) in results {
        let admits = try #require(Self.targets[id]).admits
        #expect(
          result == then.filter { admits($0.key, $0.value) },
          "seed \(seed), target \(id) at \(sequence)")
      }
    }
    let failures = told.state.withLock(\.failures.count)
    #expect(failures == 0)
    try await db.terminate()
  }

  @Test func `what one commit changes in several targets comes in one call`() async throws {
    let db = try open()
    let told = Told()
    let set = TargetSet(on: try db.database().backend) { told.take($0) }
    for id in [1, 2, 3] { set.add(id, Self.targets[id]!.target) }
    try await eventually { told.state.withLock { $0.shown.last?.results.count == 3 } }
    let batch = db.batch()
    batch.setData(["n": 1], forDocument: db.document("a/1"))
    batch.setData(["n": 2], forDocument: db.document("b/1"))
    try await batch.commit()
    try await eventually { told.state.withLock { $0.results[3] == ["b/1": 2] } }
    let last = told.state.withLock(\.calls.last)
    #expect(last == [1, 2, 3])
    // Of a target that is gone nothing is told.
    set.remove(3)
    let calls = told.state.withLock(\.calls.count)
    try await db.document("b/1").setData(["n": 3])
    try await db.document("a/1").setData(["n": 4])
    try await eventually { told.state.withLock { $0.results[1] == ["a/1": 4] } }
    let later = told.state.withLock { Array($0.calls[calls...]) }
    #expect(later.allSatisfy { !$0.contains(3) })
    set.close()
    try await db.terminate()
  }

  /// Also if listeners are called between the first target and the last one.
  @Test func `targets that are added together are current together`() async throws {
    let db = try open()
    let backend = try db.database().backend
    let isOver = Guarded(false)
    let writing = Task {
      var n = 0
      while !isOver.withLock(\.self) {
        n += 1
        try await db.document("a/\(n % 3)").setData(["n": n])
      }
    }
    var early = 0
    for _ in 0..<200 {
      let told = Told()
      let set = TargetSet(on: backend) { told.take($0) }
      set.add(Self.targets.map { (id: $0.key, target: $0.value.target) }, from: nil)
      try await eventually { told.state.withLock { !$0.shown.isEmpty } }
      if told.state.withLock({ $0.shown.first?.results.count }) != Self.targets.count { early += 1 }
      set.close()
    }
    #expect(early == 0)
    isOver.withLock { $0 = true }
    try await writing.value
    try await db.terminate()
  }

  @Test func `a target that cannot be listened to fails alone`() async throws {
    let db = try open()
    let backend = try db.database().backend
    let told = Told()
    let set = TargetSet(on: backend) { told.take($0) }
    set.add(1, Self.targets[1]!.target)
    set.add(
      2, Self.targets[2]!.target, from: ChangeToken(database: Instant(microseconds: 7), sequence: 1)
    )
    try await db.document("a/1").setData(["n": 1])
    try await eventually {
      told.state.withLock {
        $0.failures[2]?.code == .invalidArgument && $0.results[1] == ["a/1": 1]
      }
    }
    // The others are current without it.
    try await eventually { told.state.withLock { $0.shown.last?.results == [1: ["a/1": 1]] } }
    set.close()
    try await db.terminate()
  }
}

extension TargetSet {
  fileprivate func add(_ id: Int, _ target: Listener.Target, from token: ChangeToken? = nil) {
    add([(id, target)], from: token)
  }
}
