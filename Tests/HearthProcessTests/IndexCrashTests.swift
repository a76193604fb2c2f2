import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Indexes that are built while documents change, by processes that die.
@Suite(.ownThreads) struct IndexCrashTests {
  @Test func `building goes on where a killed process stopped, and what is ready is complete`()
    async throws
  {
    let folder = TemporaryFolder()
    let path = folder.path + "/crash.hearth"
    let count = Soak.isOn ? 100_000 : 4000
    try await fill(path, count)
    let definitions = [
      IndexDefinition("items", [.init(field: FieldSegments(["n"]), kind: .ascending)]),
      IndexDefinition(
        "items", scope: .group,
        [
          .init(field: FieldSegments(["tags"]), kind: .contains),
          .init(field: FieldSegments(["n"]), kind: .descending),
        ]),
    ]
    var done: [UInt64] = []
    for round in 0..<(Soak.isOn ? 20 : 3) {
      let helper = try Helper("index-until-killed", path, count)
      #expect(helper.line() == "ready")
      // From the second on, the lease of the dead has to run out.
      let lease = round == 0 ? 0 : Int(Lease.microseconds)
      helper.kill(after: lease + Int.random(in: 0...300_000))
      #expect(helper.wasKilled)
      let (problems, progress) = try look(path)
      #expect(problems == [], "round \(round)")
      done.append(progress)
      if progress == .max { break }
    }
    #expect(done == done.sorted(), "Building began anew: \(done)")

    let db = try Firestore.open(at: path)
    try await db.indexes.waitUntilReady()
    let states = try await db.indexes.list().map(\.state)
    #expect(states == [.ready, .ready])
    try await db.terminate()
    let (problems, progress) = try look(path)
    #expect(problems == [] && progress == .max)
    let store = try open(path)
    let kept = try store.read { try $0.indexes().indexes.map(\.definition) }
    store.close()
    #expect(Set(kept) == Set(definitions.map(\.stored)))
  }

  private func fill(_ path: String, _ count: Int) async throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    let db = try Firestore.open(at: path, settings: settings)
    for start in stride(from: 0, to: count, by: 500) {
      let batch = db.batch()
      for index in start..<min(start + 500, count) {
        batch.setData(
          ["n": index, "tags": ["a", "b\(index % 3)"]], forDocument: db.document("items/\(index)"))
      }
      try await batch.commit()
    }
    try await db.terminate()
  }

  private func open(_ path: String) throws -> Store {
    try Store(path: path, configuration: StoreConfiguration())
  }

  /// What is wrong, and how many documents the building has looked at; all if it is done.
  private func look(_ path: String) throws -> ([String], UInt64) {
    let store = try open(path)
    defer { store.close() }
    let progress = try store.read { snapshot in
      try snapshot.readIndexes().reduce(0 as UInt64) { sum, index in
        guard case .building(let documents, _) = index.state else { return sum + 1 << 32 }
        return sum + documents
      }
    }
    return (try store.check().problems, progress == 2 << 32 ? .max : progress)
  }
}
