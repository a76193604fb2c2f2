import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Which file is which database.
@Suite(.embedded("It looks for files.")) struct DatabaseFilesTests {
  private func settings() -> FirestoreSettings {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return settings
  }

  /// One é, and an e with an accent: Swift takes the paths for equal, the file system does not.
  @Test func `paths that are equal Strings and other bytes are two databases`() async throws {
    let folder = TemporaryFolder()
    let paths = ["/caf\u{E9}.hearth", "/cafe\u{301}.hearth"].map { folder.path + $0 }
    #expect(paths[0] == paths[1])
    let databases = try paths.map { try Firestore.open(at: $0, settings: settings()) }
    #expect(databases[0] !== databases[1])
    for (index, database) in databases.enumerated() {
      try await database.document("a/1").setData(["n": index])
    }
    for (index, database) in databases.enumerated() {
      #expect(try await database.document("a/1").getDocument()["n"] as? Int == index)
      #expect(access(paths[index], F_OK) == 0)
    }
    // A reference of one is not stored in the other.
    await #expect(throws: NSError.self) {
      try await databases[0].document("a/2").setData(["r": databases[1].document("a/1")])
    }
    for database in databases { try await database.terminate() }
  }

  @Test func `a slash before a combining accent is one`() throws {
    let folder = TemporaryFolder()
    let real = try #require(OpenDatabases.canonical(folder.path).utf8.first)
    #expect(real == UInt8(ascii: "/"))
    let path = folder.path + "/\u{301}x/\u{301}y.hearth"
    let canonical = OpenDatabases.canonical(path)
    #expect(Array(canonical.utf8.suffix(15)) == Array("/\u{301}x/\u{301}y.hearth".utf8))
    let database = try Firestore.open(at: path, settings: settings())
    #expect(access(path, F_OK) == 0)
    #expect(try Firestore.open(at: path) === database)
  }

  @Test func `a file that has two names is one database`()
    async throws
  {
    let folder = TemporaryFolder()
    let (path, other) = (folder.path + "/one.hearth", folder.path + "/two.hearth")
    let database = try Firestore.open(at: path, settings: settings())
    #expect(link(path, other) == 0)
    #expect(try Firestore.open(at: other) === database)
    try await database.terminate()
    // What is closed is not found by its file any more.
    let later = try Firestore.open(at: other, settings: settings())
    #expect(later !== database)
    try await later.terminate()
  }

  @Test func `settings that a file could not be opened with do not stay`() async throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/a.hearth"
    let readOnly = settings()
    readOnly.isReadOnly = true
    await expectRefused(.notFound) { _ = try Firestore.open(at: path, settings: readOnly) }
    let wrong = settings()
    wrong.queueLimitBytes = 0
    await expectRefused(.invalidArgument) { _ = try Firestore.open(at: path, settings: wrong) }
    let database = try Firestore.open(at: path)
    #expect(!database.settings.isReadOnly)
    try await database.document("a/b").setData(["n": 1])
    try await database.terminate()
  }
}
