import FirebaseFirestore
import Foundation
import HearthTesting
import TestSupport
import Testing

/// The snippets of the page on maintenance, word for word.
@Suite(.embedded("Maintenance is of files.")) struct MaintenanceGuideTests {
  private let folder = TemporaryFolder()

  private final class Output: Sendable {
    let lines = Guarded<[String]>([])
  }

  private let output = Output()

  private func print(_ items: Any...) {
    output.lines.withLock { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
  }

  /// `FirestoreFile(at:)` and the paths of snippets, in the temporary folder.
  private struct Files {
    let folder: TemporaryFolder

    func callAsFunction(at name: String) -> File {
      File(folder: folder, file: FirebaseFirestore.FirestoreFile(at: folder.path + "/" + name))
    }
  }

  private struct File {
    let folder: TemporaryFolder
    let file: FirebaseFirestore.FirestoreFile

    func check() async throws -> FirestoreMaintenance.CheckReport { try await file.check() }
    func restore(from name: String) async throws {
      try await file.restore(from: folder.path + "/" + name)
    }
    func repair(to name: String) async throws -> FirebaseFirestore.FirestoreFile.RepairReport {
      try await file.repair(to: folder.path + "/" + name)
    }
  }

  /// A database whose backups are in the temporary folder.
  private struct Database {
    let folder: TemporaryFolder
    let firestore: Firestore

    var maintenance: Maintenance { Maintenance(folder: folder, firestore: firestore) }
    var ttl: FirestoreTTL { firestore.ttl }

    struct Maintenance {
      let folder: TemporaryFolder
      let firestore: Firestore

      func backup(to name: String) async throws {
        try await firestore.maintenance.backup(to: folder.path + "/" + name)
      }
    }
  }

  @Test func `a file is backed up, checked, restored and repaired`() async throws {
    let FirestoreFile = Files(folder: folder)
    try FileManager.default.createDirectory(
      atPath: folder.path + "/backups", withIntermediateDirectories: true)
    let firestore = try Firestore.open(at: folder.path + "/books.hearth")
    try await firestore.document("books/dune").setData([:])
    let db = Database(folder: folder, firestore: firestore)
    try await db.ttl.setPolicy(collectionGroup: "sessions", field: "expiresAt")
    try await db.maintenance.backup(to: "backups/monday.hearth")
    try await firestore.document("books/dune").delete()
    try await firestore.terminate()

    try await checkFile(FirestoreFile)
    try await FirestoreFile(at: "books.hearth").restore(from: "backups/monday.hearth")
    try await repairFile(FirestoreFile)
    #expect(output.lines.withLock(\.self) == ["1 documents; 0 lost"])
  }

  private func checkFile(_ FirestoreFile: Files) async throws {
    let report = try await FirestoreFile(at: "books.hearth").check()
    if !report.isIntact { print(report.problems.joined(separator: "\n")) }
    #expect(report.documents == 0)
  }

  private func repairFile(_ FirestoreFile: Files) async throws {
    let report = try await FirestoreFile(at: "books.hearth").repair(to: "repaired.hearth")
    print(report.documents, "documents;", report.losses.map(\.lost).reduce(0, +), "lost")
  }
}
