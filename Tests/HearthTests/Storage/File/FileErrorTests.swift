import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Errors of files are sentences that name the file and what to do.
@Suite struct FileErrorTests {
  private let folder = TemporaryFolder()

  private func failure(_ body: () async throws -> Void) async -> NSError? {
    do {
      try await body()
      return nil
    } catch { return error as NSError }
  }

  private func expect(
    _ code: FirestoreErrorCode.Code, _ parts: [String], _ body: () async throws -> Void
  ) async {
    let error = await failure(body)
    let sentence = error?.localizedDescription ?? "no error"
    #expect(error?.domain == FirestoreErrorDomain && error?.code == code.rawValue, "\(sentence)")
    for part in parts { #expect(sentence.contains(part), "\(sentence)") }
    for raw in ["errno", "Error Domain", "No such file or directory", "Bad file descriptor"] {
      #expect(!sentence.contains(raw), "\(sentence)")
    }
  }

  @Test(.embedded("It writes files."))
  func `a copy into a folder that does not exist is not notFound`()
    async throws
  {
    let db = try Firestore.open(at: folder.path + "/a.hearth")
    try await db.document("a/b").setData(["n": 1])
    let target = folder.path + "/missing/b.hearth"
    let said = ["/missing/b.hearth", "Its folder does not exist. Create the folder first."]
    await expect(.failedPrecondition, said) { try await db.maintenance.backup(to: target) }
    await expect(.failedPrecondition, said) {
      try await db.maintenance.backup(to: target, compacting: true, replacing: true)
    }
    await expect(.failedPrecondition, said) { try await db.maintenance.export(to: target) }
    let lines = folder.path + "/a.jsonl"
    try await db.maintenance.export(to: lines)
    try await db.terminate()
    let file = FirestoreFile(at: folder.path + "/a.hearth")
    await expect(.failedPrecondition, said) { _ = try await file.repair(to: target) }
    await expect(.failedPrecondition, said) {
      try await FirestoreFile(at: target).import(from: lines)
    }
    // What is read and is not there, however, is notFound.
    let missing = ["/missing/b.hearth"]
    let new = FirestoreFile(at: folder.path + "/new.hearth")
    await expect(.notFound, missing) { _ = try await FirestoreFile(at: target).check() }
    await expect(.notFound, missing) { _ = try await new.restore(from: target) }
    await expect(.notFound, missing) { try await new.import(from: target) }
  }

  @Test(.embedded("It writes files."))
  func `an empty file is said to be empty, and stays as it is`()
    async throws
  {
    let path = folder.path + "/empty.hearth"
    try Data().write(to: URL(fileURLWithPath: path))
    let settings = FirestoreSettings()
    settings.isReadOnly = true
    await expect(.failedPrecondition, ["/empty.hearth", "The file is empty", "Restore a backup"]) {
      _ = try Firestore.open(at: path, settings: settings)
    }
    let file = FirestoreFile(at: path)
    await expect(.failedPrecondition, ["The file is empty"]) { try await file.compact() }
    await expect(.failedPrecondition, ["/empty.hearth", "The file is empty"]) {
      _ = try await FirestoreFile(at: folder.path + "/b.hearth").restore(from: path)
    }
    let report = try await file.check()
    #expect(!report.isIntact && report.problems.count == 1)
    #expect(report.problems.first?.hasPrefix("The file is empty") == true)
    let repaired = try await file.repair(to: folder.path + "/c.hearth")
    #expect(repaired.problems.first?.hasPrefix("The file is empty") == true)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
    // A creation that was killed leaves such a file: it must not stop the next start.
    let db = try Firestore.open(at: path)
    try await db.document("a/b").setData(["n": 1])
    try await db.terminate()
    #expect(try await file.check().documents == 1)
  }

  @Test(.embedded("It reads files.")) func `the file that cannot be read is the one that is named`()
    async throws
  {
    let target = folder.path + "/b.hearth"
    let name = (folder.path as NSString).standardizingPath
    await expect(.unavailable, ["Cannot open \(name). It is a folder, not a file."]) {
      _ = try await FirestoreFile(at: folder.path).repair(to: target)
    }
    await expect(.unavailable, ["Cannot open \(name). It is a folder, not a file."]) {
      _ = try await FirestoreFile(at: target).restore(from: folder.path)
    }
    await expect(.unavailable, ["It is a folder, not a file."]) {
      try await FirestoreFile(at: target).import(from: folder.path)
    }
  }

  @Test(.embedded("It writes files."))
  func `a path with hidden characters is written as a JSON string`()
    async throws
  {
    let path = folder.path + "/a\u{202E}\n.hearth"
    try Data("text".utf8).write(to: URL(fileURLWithPath: path))
    await expect(.dataLoss, [#"/a\u202e\n.hearth""#]) { _ = try Firestore.open(at: path) }
  }

  @Test(.embedded("It reads files.")) func `what is imported may be no database and no UTF-16`()
    async throws
  {
    let (database, lines) = (folder.path + "/a.hearth", folder.path + "/lines")
    try await Firestore.open(at: database).terminate()
    await expect(.invalidArgument, ["/a.hearth is a database, and not the lines of an export"]) {
      try await FirestoreFile(at: folder.path + "/b.hearth").import(from: database)
    }
    let text = #"{"name":"a/b","fields":{}}"#
    try (try #require(text.data(using: .utf16))).write(to: URL(fileURLWithPath: lines))
    await expect(.invalidArgument, ["Line 1", "UTF-16", "Save it as UTF-8"]) {
      try await FirestoreFile(at: folder.path + "/b.hearth").import(from: lines)
    }
  }

  @Test func `errors of Foundation get the sentences of the system's error inside`() throws {
    let missing = folder.path + "/missing"
    let errors: [(String, () throws -> Void)] = [
      ("There is no such file.", { _ = try String(contentsOfFile: missing, encoding: .utf8) }),
      ("There is no such file.", { _ = try Data(contentsOf: URL(fileURLWithPath: missing)) }),
      (
        "It is a folder, not a file.",
        { [folder] in _ = try Data(contentsOf: URL(fileURLWithPath: folder.path)) }
      ),
      ("There is no such file.", { try Data().write(to: URL(fileURLWithPath: missing + "/a")) }),
      ("There is no such file.", { throw POSIXError(.ENOENT) }),
      ("The disk is full.", { throw CocoaError(.fileWriteOutOfSpace) }),
      ("It is not UTF-8 text.", { throw CocoaError(.fileReadInapplicableStringEncoding) }),
    ]
    for (sentence, body) in errors {
      let error = try #require(throws: (any Error).self) { try body() }
      let said = FileError.sentence(for: error) ?? ""
      #expect(said.hasPrefix(sentence), "\(said)")
    }
    #expect(FileError.sentence(for: Status(.aborted, "other")) == nil)
    #expect(FileError.sentence(for: CancellationError()) == nil)
  }
}
