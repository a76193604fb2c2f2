import FirebaseFirestore
import Foundation
import HearthTesting
import TestSupport
import Testing

@Suite struct TemporaryDatabaseTests {
  @Test(.embedded("It looks for files.")) func `its files are gone with it`() async throws {
    var database: TemporaryDatabase? = try TemporaryDatabase()
    let path = try #require(database?.path)
    let firestore = try #require(database?.firestore)
    try await firestore.document("a/b").setData([:])
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    #expect(FileManager.default.fileExists(atPath: path))
    database = nil
    #expect(!FileManager.default.fileExists(atPath: folder))
    // Terminated soon after, without waiting for it.
    try await eventually {
      do {
        _ = try await firestore.document("a/b").getDocument()
        return false
      } catch FirestoreErrorCode.failedPrecondition {
        return true
      }
    }
  }

  @Test func `reopened, it has what was written`() async throws {
    let database = try TemporaryDatabase()
    let before = database.firestore
    try await before.document("a/b").setData(["x": 1])
    try await database.reopen()
    #expect(database.firestore !== before)
    #expect(try await database.firestore.document("a/b").getDocument()["x"] as? Int == 1)
    await #expect(throws: NSError.self) { try await before.document("a/b").getDocument() }
  }

  @Test func `two have nothing to do with each other`() async throws {
    let one = try TemporaryDatabase()
    let other = try TemporaryDatabase()
    try await one.firestore.document("a/b").setData(["x": 1])
    #expect(try await !other.firestore.document("a/b").getDocument().exists)
  }

  @Test func `settings count, and stay as they were`() async throws {
    let settings = FirestoreSettings()
    settings.queueLimitBytes = 1
    let database = try TemporaryDatabase(settings: settings)
    #expect(settings.durability == .full)
    #expect(database.firestore.settings.durability == .unsafeWithoutFlushing)
    #expect(database.firestore.settings.queueLimitBytes == 1)
  }
}
