import Foundation
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct BootMarkTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path + "/a.hearth" }

  /// Opens the file during a boot, and returns its history and whether it has a mark afterwards.
  private func open(
    _ durability: StoreConfiguration.Durability, boot: String, isReadOnly: Bool = false
  ) throws -> (history: History, hasMark: Bool) {
    var configuration = StoreConfiguration()
    configuration.durability = durability
    configuration.isReadOnly = isReadOnly
    let store = try Store(path: path, configuration: configuration)
    defer { store.close() }
    try BootMark.update(store, boot: Array(boot.utf8))
    return try store.read { snapshot in
      let mark = try BootMark.key.withUnsafeBytes {
        try snapshot.lmdb.get(snapshot.tables.meta, $0) != nil
      }
      return (try History.read(snapshot), mark)
    }
  }

  @Test func `a file without flushes begins a new history in each boot that writes it`() throws {
    let first = try open(.unsafeWithoutFlushing, boot: "1")
    #expect(first.hasMark && !first.history.isRestored)
    #expect(try open(.lastCommitMayBeLost, boot: "1") == first)
    #expect(try open(.full, boot: "1") == first)
    #expect(try open(.full, boot: "2", isReadOnly: true) == first)

    let second = try open(.lastCommitMayBeLost, boot: "2")
    #expect(second.hasMark && second.history.isRestored && second.history.id > first.history.id)
    // With full durability it is the last time.
    let third = try open(.full, boot: "3")
    #expect(!third.hasMark && third.history.id > second.history.id)
    #expect(try open(.full, boot: "4") == third)
  }

  @Test func `a file with full durability gets no mark`() throws {
    let first = try open(.full, boot: "1")
    #expect(!first.hasMark)
    #expect(try open(.full, boot: "2") == first)
  }

  /// The new commit has the sequence of the lost one.
  @Test func `listeners do not continue from a commit that was lost`() async throws {
    let settings = FirestoreSettings()
    settings.durability = .lastCommitMayBeLost
    let db = try Firestore.open(at: path, settings: settings)
    try await db.document("books/dune").setData(["n": 1])
    let token = try await db.changeToken()
    try await db.terminate()

    var configuration = StoreConfiguration()
    configuration.durability = .unsafeWithoutFlushing
    let store = try Store(path: path, configuration: configuration)
    try store.write { transaction in
      var mark = RecordFrame.room() + Array("an earlier boot".utf8)
      RecordFrame.seal(&mark, key: BootMark.key)
      try transaction.put(store.tables.meta, BootMark.key, mark)
    }
    store.close()

    let again = try Firestore.open(at: path, settings: settings)
    var snapshots = again.collection("books").snapshots(resumingFrom: token).makeAsyncIterator()
    let snapshot = try #require(try await snapshots.next())
    #expect(snapshot.isFullResync && snapshot.documentChanges.count == 1)
    await #expect {
      for try await _ in again.changes(since: token) { break }
    } throws: {
      FirestoreErrorCode.outOfRange ~= $0
    }
    try await again.terminate()
  }
}
