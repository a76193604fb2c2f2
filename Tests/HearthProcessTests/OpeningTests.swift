import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite(.ownThreads) struct OpeningTests {
  let folder = TemporaryFolder()
  var path: String { folder.path + "/books.hearth" }

  private func error(_ body: () async throws -> Void) async -> NSError? {
    do {
      try await body()
      return nil
    } catch {
      return error as NSError
    }
  }

  private func expect(
    _ code: FirestoreErrorCode.Code, _ sentence: String = "",
    _ body: () async throws -> Void
  ) async {
    let error = await error(body)
    #expect(error?.domain == FirestoreErrorDomain)
    #expect(error?.code == code.rawValue)
    let text = error?.localizedDescription ?? ""
    #expect(sentence.isEmpty || text.contains(sentence), "\(text)")
    #expect(text.hasSuffix("."), "\(text)")
  }

  @Test func `the same file opened twice, also through links, is the same instance`() async throws {
    let db = try Firestore.open(at: path)
    #expect(try Firestore.open(at: path) === db)
    #expect(try Firestore.open(at: folder.path + "/./../" + folder.name + "/books.hearth") === db)
    let link = folder.path + "/link.hearth"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    #expect(try Firestore.open(at: link) === db)
    let folderLink = folder.path + "/here"
    try FileManager.default.createSymbolicLink(
      atPath: folderLink, withDestinationPath: folder.path)
    #expect(try Firestore.open(at: folderLink + "/books.hearth") === db)
    try await db.terminate()
  }

  @Test func `a file that is there twice, as hard links, is the same instance`() async throws {
    let db = try Firestore.open(at: path)
    let link = folder.path + "/hard.hearth"
    try FileManager.default.linkItem(atPath: path, toPath: link)
    #expect(try Firestore.open(at: link) === db)
    try await db.terminate()
  }

  @Test func `a file opened for reading only is read and never written`() async throws {
    let db = try Firestore.open(at: path)
    try await db.document("a/b").setData(["n": 1])
    try await db.terminate()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let settings = FirestoreSettings()
    settings.isReadOnly = true
    let reading = try Firestore.open(at: path, settings: settings)
    #expect(try await reading.document("a/b").getDocument()["n"] as? Int == 1)
    await expect(.failedPrecondition) { try await reading.document("a/b").setData(["n": 2]) }
    #expect(try await reading.document("a/b").getDocument()["n"] as? Int == 1)
    try await reading.terminate()
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    await expect(.notFound) {
      _ = try Firestore.open(at: folder.path + "/none.hearth", settings: settings)
    }
  }

  @Test func `a file of a newer format is refused`() async throws {
    let db = try Firestore.open(at: path)
    try await db.terminate()
    try plantFormat(FileFormat.current.version + 1, at: path)
    await expect(.failedPrecondition, "has format version \(FileFormat.current.version + 1)") {
      _ = try Firestore.open(at: path)
    }
  }

  @Test func `a process that has the file open writes nothing after another one has upgraded it`()
    async throws
  {
    let current = FileFormat.current.version
    let helper = try Helper("write-until-refused", path)
    #expect(helper.line() == "ready")
    try await Task.sleep(for: .milliseconds(20))
    try plantFormat(current + 1, at: path)
    let count = try #require(helper.line().flatMap { Int($0.dropFirst("acknowledged ".count)) })
    let refusals = helper.lines()
    #expect(refusals.count == 15 && refusals.last == "ended", "\(refusals)")
    for refusal in refusals.dropLast() {
      #expect(
        refusal.contains(": \(FirestoreErrorCode.failedPrecondition.rawValue) ")
          && refusal.contains("has upgraded the file to format version \(current + 1)")
          && refusal.contains("supports version \(current). Restart it"), "\(refusal)")
    }
    // Nothing but what was acknowledged is in the file.
    try plantFormat(current, at: path)
    let db = try Firestore.open(at: path)
    #expect(try await db.collection("c").getDocuments().count == count)
    #expect(try await db.document("c/one").getDocument()["n"] as? Int == 0)
    #expect(try await db.indexes.list().isEmpty)
    #expect(try await db.ttl.policies().isEmpty)
    #expect(try await db.maintenance.check().isIntact)
    try await db.terminate()
  }

  @Test func `what is not a database or is cut short is data loss`() async throws {
    try Data("I am a poem, not a database. ".utf8).write(to: URL(fileURLWithPath: path))
    await expect(.dataLoss, "not an LMDB database") { _ = try Firestore.open(at: path) }
    try Data((0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      .write(to: URL(fileURLWithPath: path))
    await expect(.dataLoss) { _ = try Firestore.open(at: path) }

    let whole = folder.path + "/whole.hearth"
    let db = try Firestore.open(at: whole)
    for index in 0..<50 {
      try await db.document("a/\(index)").setData(["t": String(repeating: "x", count: 3000)])
    }
    try await db.terminate()
    let bytes = try Data(contentsOf: URL(fileURLWithPath: whole))
    for length in [1, 100, 4096, 5000, 8192, bytes.count / 2] {
      let truncated = folder.path + "/cut-\(length).hearth"
      try bytes.prefix(length).write(to: URL(fileURLWithPath: truncated))
      await expect(.dataLoss) { _ = try Firestore.open(at: truncated) }
    }
  }

  @Test func `files are made for their owner only`() async throws {
    let deep = folder.path + "/new/folder"
    let old = umask(0)
    defer { umask(old) }
    let db = try Firestore.open(at: deep + "/books.hearth")
    try await db.document("a/b").setData(["n": 1])
    for name in try FileManager.default.contentsOfDirectory(atPath: deep) {
      let attributes = try FileManager.default.attributesOfItem(atPath: deep + "/" + name)
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
    }
    let attributes = try FileManager.default.attributesOfItem(atPath: deep)
    #expect(attributes[.posixPermissions] as? Int == 0o700)
    try await db.terminate()
  }

  @Test func `the default database is where the environment says`() throws {
    let names = ["(default).hearth", "(default).hearth-lock", "(default).hearth-presence"]
    for (variable, place) in [
      ("HEARTH_HOME", "/home"), ("XDG_DATA_HOME", "/data/hearth"),
      ("HOME", "/somebody/.local/share/hearth"),
    ] {
      let base =
        folder.path + (variable == "HEARTH_HOME" ? place : "/" + place.split(separator: "/")[0])
      var environment = ["HEARTH_HOME": "", "XDG_DATA_HOME": ""]
      environment[variable] = base
      let helper = try Helper("default-location", "-", environment: environment)
      #expect(helper.lines() == ["same"])
      let found = try FileManager.default.contentsOfDirectory(atPath: folder.path + place)
      #expect(found.sorted() == names, "\(variable)")
    }
  }

  @Test func `a database in memory leaves nothing behind`() async throws {
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    let db = try Firestore.open(at: path, settings: settings)
    try await db.document("a/b").setData(["n": 1])
    #expect(try await db.document("a/b").getDocument()["n"] as? Int == 1)
    let place = try db.database().embedded.store.path
    #expect(FileManager.default.fileExists(atPath: place))
    try await db.terminate()
    let temporaryFolder = URL(fileURLWithPath: place).deletingLastPathComponent().path
    #expect(!FileManager.default.fileExists(atPath: temporaryFolder))
    #expect(!FileManager.default.fileExists(atPath: path))
    let again = try Firestore.open(at: path, settings: settings)
    #expect(try await !again.document("a/b").getDocument().exists)
    try await again.terminate()
  }

  @Test func `terminating twice is as once, and nothing works after it`() async throws {
    let db = try Firestore.open(at: path)
    let document = db.document("a/b")
    document.setData(["n": 1], completion: nil)
    try await db.terminate()
    try await db.terminate()
    let terminated = "The client has already been terminated."
    await expect(.failedPrecondition, terminated) { try await document.setData(["n": 2]) }
    await expect(.failedPrecondition, terminated) { _ = try await document.getDocument() }
    await expect(.failedPrecondition, terminated) {
      _ = try await db.collection("a").getDocuments()
    }
    await expect(.failedPrecondition, terminated) {
      for try await _ in document.snapshots {}
    }
    let told = await withCheckedContinuation { continuation in
      document.setData(["n": 3]) { continuation.resume(returning: ($0 as NSError?)?.code) }
    }
    #expect(told == FirestoreErrorCode.failedPrecondition.rawValue)
    let again = try Firestore.open(at: path)
    #expect(again !== db)
    // What was handed over before was done.
    #expect(try await again.document("a/b").getDocument()["n"] as? Int == 1)
    try await again.terminate()
  }

  @Test func `terminating ends listeners and lets what waits be written`() async throws {
    let db = try Firestore.open(at: path)
    let news = db.collection("a").snapshots
    let listening = Task {
      var counts: [Int] = []
      do {
        for try await snapshot in news { counts.append(snapshot.count) }
        return (counts, nil as Int?)
      } catch {
        return (counts, (error as NSError).code)
      }
    }
    for index in 0..<500 { db.document("a/\(index)").setData(["n": index], completion: nil) }
    try await db.terminate()
    let (_, code) = await listening.value
    // A sequence that began before the end has no error, and one that began after it throws.
    #expect(code == nil || code == FirestoreErrorCode.failedPrecondition.rawValue)
    let again = try Firestore.open(at: path)
    #expect(try await again.collection("a").getDocuments().count == 500)
    try await again.terminate()
  }

  @Test func `persistence is cleared before the first use or after the end`() async throws {
    let db = try Firestore.open(at: path)
    try await db.document("a/b").setData(["n": 1])
    await expect(.failedPrecondition, "while the client is running") {
      try await db.clearPersistence()
    }
    try await db.terminate()
    try await onceAlone { try await db.clearPersistence() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    try await onceAlone { try await db.clearPersistence() }
    let again = try Firestore.open(at: path)
    #expect(try await !again.document("a/b").getDocument().exists)
    try await again.terminate()
  }

  @Test func `a forked child is refused its parent's database`() throws {
    let helper = try Helper("fork", path)
    let lines = helper.lines()
    try #require(lines.count == 2, "\(lines)")
    #expect(lines[0].hasPrefix("refused \(FirestoreErrorCode.failedPrecondition.rawValue) "))
    #expect(lines[1] == "the parent reads 2")
  }
}
