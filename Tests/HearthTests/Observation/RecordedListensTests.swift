import Foundation
import HearthText
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// What Firestore's listeners were told, told again.
@Suite struct RecordedListensTests {
  private struct Mismatch: Error, CustomStringConvertible { var description: String }

  @Test(arguments: [ListeningFixture.Kind.store, .memory, .late])
  func `recorded listens tell the same results and the same changes`(
    _ kind: ListeningFixture.Kind
  ) throws {
    let scenarios = try #require(JSON(resource: "vectors/listens.json")["scenarios"]?.array)
    var counts = (passed: 0, failed: 0, notRequired: 0, steps: 0)
    for scenario in scenarios {
      if scenario["emulatorOnly"]?.boolean == true {
        counts.notRequired += 1
        continue
      }
      do {
        counts.steps += try replay(scenario, kind)
        counts.passed += 1
      } catch {
        counts.failed += 1
        Issue.record("\(scenario["id"]?.string ?? ""): \(error)")
      }
    }
    print("recorded listens over \(kind): \(counts)")
    #expect(counts.passed == 80 && counts.failed == 0)
  }

  private func replay(_ scenario: JSON, _ kind: ListeningFixture.Kind) throws -> Int {
    let query = try RecordedQuery.read(scenario)
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    defer { registry.close() }
    let documents = try (scenario["documents"]?.array ?? []).map {
      try ProtoJSON.mutation(.object([.init("update", $0)])) { _ in .earliest }
    }
    for outcome in fixture.commitTogether([documents]) { _ = try outcome.get() }
    let asker = Asker(.query(EffectiveQuery(query)), registry)
    registry.settle()
    guard let initial = try asker.take() else { throw Mismatch(description: "nothing told") }
    try expect(initial.names == scenario["initial"]?.names, "initial \(initial.names)")
    try expect(initial.changes == nil, "a first result is all new")
    let steps = scenario["steps"]?.array ?? []
    for (index, step) in steps.enumerated() {
      fixture.clock.advance(by: 1_000_000)
      let writes = try (step["writes"]?.array ?? []).map {
        try ProtoJSON.mutation($0) { _ in .earliest }
      }
      for outcome in fixture.commitTogether([writes]) { _ = try outcome.get() }
      registry.settle()
      let event = try asker.take()
      let changes = (event?.allChanges ?? []).map { change in
        [
          "\(change.kind)", change.document.path.text, "\(change.oldIndex ?? -1)",
          "\(change.newIndex ?? -1)",
        ]
      }
      let recorded = (step["changes"]?.array ?? []).map { change in
        [
          change["type"]?.string ?? "", change["name"]?.string ?? "",
          "\(Int(change["oldIndex"]?.number ?? 0))", "\(Int(change["newIndex"]?.number ?? 0))",
        ]
      }
      try expect(changes == recorded, "step \(index): \(changes), not \(recorded)")
      // Without a change nothing is told.
      if let event { try expect(event.names == step["expected"]?.names, "step \(index)") }
      try expect((event == nil) == recorded.isEmpty, "step \(index): told")
    }
    return steps.count
  }

  @Test func `recorded listens are told so through the public interface`() async throws {
    let scenarios = try #require(JSON(resource: "vectors/listens.json")["scenarios"]?.array)
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    var counts = (passed: 0, failed: 0, notRequired: 0, steps: 0)
    for scenario in scenarios {
      if scenario["emulatorOnly"]?.boolean == true {
        counts.notRequired += 1
        continue
      }
      let folder = TemporaryFolder()
      let db = try Firestore.open(at: folder.path + "/listens.hearth", settings: settings)
      do {
        counts.steps += try await replay(scenario, db)
        counts.passed += 1
      } catch {
        counts.failed += 1
        Issue.record("\(scenario["id"]?.string ?? ""): \(error)")
      }
      try await db.terminate()
    }
    print("recorded listens, public interface: \(counts)")
    #expect(counts.passed == 80 && counts.failed == 0)
  }

  private func replay(_ scenario: JSON, _ db: Firestore) async throws -> Int {
    let backend = try db.database().backend
    func commit(_ mutations: [Mutation]) async throws {
      let status = await withCheckedContinuation { continuation in
        backend.submit(mutations, completesAfterListeners: false) {
          continuation.resume(returning: $0)
        }
      }
      if let status { throw status }
    }
    try await commit(
      (scenario["documents"]?.array ?? []).map {
        try ProtoJSON.mutation(.object([.init("update", $0)])) { _ in .earliest }
      })
    let query = Query(db, try RecordedQuery.read(scenario))
    let told = Guarded<[QuerySnapshot]>([])
    let queue = DispatchQueue(label: "told")
    let registration = query.addSnapshotListener(on: queue) { snapshot, _ in
      if let snapshot { told.withLock { $0.append(snapshot) } }
    }
    defer { registration.remove() }
    /// More than that are found before the next step.
    func take(_ count: Int) async throws -> [QuerySnapshot] {
      _ = try await becomesTrue { told.withLock { $0.count >= count } }
      return told.withLock { told in
        defer { told = [] }
        return told
      }
    }
    let first = try await take(1)
    try expect(first.count == 1, "told \(first.count) times at first")
    try expect(
      first[0].names == scenario["initial"]?.names
        && first[0].documentChanges.allSatisfy { $0.type == .added }, "initial \(first[0].names)")
    let steps = scenario["steps"]?.array ?? []
    for (index, step) in steps.enumerated() {
      try await commit(
        (step["writes"]?.array ?? []).map { try ProtoJSON.mutation($0) { _ in .earliest } })
      let recorded = (step["changes"]?.array ?? []).map { change in
        [
          change["type"]?.string ?? "", change["name"]?.string ?? "",
          "\(Int(change["oldIndex"]?.number ?? 0))", "\(Int(change["newIndex"]?.number ?? 0))",
        ]
      }
      let snapshots = try await take(recorded.isEmpty ? 0 : 1)
      // One commit, one snapshot; without a change nothing is told.
      try expect(
        snapshots.count == (recorded.isEmpty ? 0 : 1),
        "step \(index): told \(snapshots.count) times")
      guard let snapshot = snapshots.first else { continue }
      let changes = snapshot.documentChanges.map { change in
        [
          "\(change.type)", change.document.reference.path,
          change.oldIndex == NSNotFound ? "-1" : "\(change.oldIndex)",
          change.newIndex == NSNotFound ? "-1" : "\(change.newIndex)",
        ]
      }
      try expect(changes == recorded, "step \(index): \(changes), not \(recorded)")
      try expect(snapshot.names == step["expected"]?.names, "step \(index): \(snapshot.names)")
      try expect(
        !snapshot.metadata.isFromCache && !snapshot.metadata.hasPendingWrites, "metadata")
    }
    return steps.count
  }

  private func expect(_ isTrue: Bool, _ description: String) throws {
    if !isTrue { throw Mismatch(description: description) }
  }
}

extension ResultEvent {
  fileprivate var names: [String] { list.documents.map(\.path.text) }
}

extension QuerySnapshot {
  fileprivate var names: [String] { documents.map(\.reference.path) }
}

extension JSON {
  fileprivate var names: [String] { (array ?? []).compactMap(\.string) }
}
