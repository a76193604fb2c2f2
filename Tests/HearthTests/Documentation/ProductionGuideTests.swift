import FirebaseFirestore
import Foundation
import HearthTesting
import TestSupport
import Testing

/// The snippets of the page on running in production, word for word.
@Suite struct ProductionGuideTests {
  private let folder = TemporaryFolder()

  private final class Output: Sendable {
    let lines = Guarded<[String]>([])
  }

  private let output = Output()

  private func print(_ line: String) { output.lines.withLock { $0.append(line) } }

  func openDatabase(at path: String, within limit: Duration) async throws -> Firestore {
    let end = ContinuousClock.now + limit
    while true {
      do {
        return try Firestore.open(at: path)
      } catch FirestoreErrorCode.failedPrecondition where ContinuousClock.now < end {
        try await Task.sleep(for: .milliseconds(250))
      }
    }
  }

  /// Makes a backup, and removes all but the newest ones. For one caller at a time.
  func backUp(
    _ db: Firestore, into folder: URL, keeping count: Int, at time: Date = Date()
  ) async throws {
    func files() throws -> [URL] {
      try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    }
    // What a backup has left whose process was killed.
    for part in try files() where part.lastPathComponent.contains(".hearth-unfinished") {
      try FileManager.default.removeItem(at: part)
    }
    let name = "books-\(Int(time.timeIntervalSince1970)).hearth"
    try await db.maintenance.backup(to: folder.appending(path: name).path)
    let backups = try files().filter { $0.pathExtension == "hearth" }.sorted { $0.path < $1.path }
    for old in backups.dropLast(count) { try FileManager.default.removeItem(at: old) }
  }

  /// Restores a backup beside the database in use, and returns the number of its documents; nil if it is damaged.
  func rehearse(_ backup: URL, at path: String) async throws -> Int? {
    do {
      return try await FirestoreFile(at: path).restore(from: backup.path).documents
    } catch FirestoreErrorCode.dataLoss {
      print("The backup is damaged. Make another one, and check the disk.")
      return nil
    }
  }

  func isReady(_ db: Firestore) async -> Bool {
    do {
      _ = try await db.document("health/ready").getDocument()
      return true
    } catch {
      return false
    }
  }

  @Test func `a database is ready until it is terminated`() async throws {
    let db = try await openDatabase(at: folder.path + "/books.hearth", within: .seconds(5))
    #expect(await isReady(db))
    try await db.terminate()
    #expect(await isReady(db) == false)
  }

  @Test(.embedded("Backups are made of files."))
  func `backups are kept, and restored as a rehearsal`() async throws {
    let db = try Firestore.open(at: folder.path + "/books.hearth")
    let backups = URL(filePath: folder.path).appending(path: "backups")
    try FileManager.default.createDirectory(at: backups, withIntermediateDirectories: true)
    for suffix in ["", "-lock", "-presence"] {
      try Data([1]).write(to: backups.appending(path: "books-16.hearth-unfinished\(suffix)"))
    }
    for number in 1...4 {
      try await db.document("books/\(number)").setData([:])
      let time = Date(timeIntervalSince1970: 1_700_000_000 + Double(number))
      try await backUp(db, into: backups, keeping: 2, at: time)
    }
    try await db.terminate()
    let kept = try FileManager.default.contentsOfDirectory(atPath: backups.path).sorted()
    #expect(kept == ["books-1700000003.hearth", "books-1700000004.hearth"])

    let rehearsal = folder.path + "/rehearsal.hearth"
    let newest = backups.appending(path: "books-1700000004.hearth")
    #expect(try await rehearse(newest, at: rehearsal) == 4)
    // Once more: the file of the last rehearsal is replaced.
    #expect(
      try await rehearse(backups.appending(path: "books-1700000003.hearth"), at: rehearsal) == 3)

    let damaged = backups.appending(path: "damaged.hearth")
    try Data(repeating: 7, count: 100_000).write(to: damaged)
    #expect(try await rehearse(damaged, at: rehearsal) == nil)
    #expect(output.lines.withLock(\.count) == 1)
  }
}
