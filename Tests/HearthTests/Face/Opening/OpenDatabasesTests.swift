import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct OpenDatabasesTests {
  @Test func `each name of a database has a file of its own inside the folder`() {
    let names = [
      "(default)", "orders", "a/b", "a_b", "a%2Fb", "a%b", "", "%", "_", ".", "..", "%2E",
      ".hidden",
      "_.hidden", "../up", "nul\0byte", "nul%00byte", "é", "e\u{301}", "🐟",
    ]
    let files = names.map(DefaultLocation.fileName)
    #expect(files[0] == "(default)")
    #expect(files[2] == "a%2Fb")
    #expect(Set(files.map { Array($0.utf8) }).count == names.count)
    for file in files {
      #expect(!file.isEmpty && !file.hasPrefix(".") && !file.contains("/") && !file.contains("\0"))
    }
  }

  private func settings() -> FirestoreSettings {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return settings
  }

  @Test func `opening again with other settings throws, with the same or without gives the same`()
    async throws
  {
    let folder = TemporaryFolder()
    let path = folder.path + "/a b%20c.hearth"
    let database = try Firestore.open(at: path, settings: settings())
    #expect(try Firestore.open(at: path, settings: settings()) === database)
    #expect(try Firestore.open(at: path) === database)
    #expect(try Firestore.open(at: URL(filePath: path)) === database)
    let others = settings()
    others.queueLimitBytes = 1_000
    let sentence = await expectRefused(.failedPrecondition) {
      _ = try Firestore.open(at: path, settings: others)
    }
    #expect(sentence?.contains("is open with other settings") == true)
    await expectRefused(.invalidArgument) {
      _ = try Firestore.open(at: try #require(URL(string: "https://example.org/a.hearth")))
    }
    try await database.document("a/b").setData(["n": 1])
    try await database.terminate()
  }
}
