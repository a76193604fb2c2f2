import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

struct FirebaseAppTests {
  @Test func `a configured app is found until it is deleted`() async throws {
    let options = FirebaseOptions(googleAppID: "1:2:ios:3", gcmSenderID: "2")
    options.projectID = "library"
    FirebaseApp.configure(name: "found", options: options)
    let app = try #require(FirebaseApp.app(name: "found"))
    #expect(app.name == "found")
    #expect(app.options == options)
    #expect(app === FirebaseApp.app(name: "found"))
    #expect(FirebaseApp.allApps?["found"] === app)
    #expect(await app.delete())
    #expect(FirebaseApp.app(name: "found") == nil)
    #expect(await app.delete() == false)
  }

  @Test func `the default app has a name of its own`() {
    FirebaseApp.configure()
    let app = FirebaseApp.app()
    #expect(app != nil)
    #expect(app === FirebaseApp.app(name: "__FIRAPP_DEFAULT"))
    FirebaseApp.configure()
    #expect(FirebaseApp.app() === app)
    // It stays: deleting it would terminate the default database, which other tests use at the same time.
  }

  @Test func `apps whose names are equal Strings and other bytes are two`() async throws {
    let names = ["twin caf\u{E9}", "twin cafe\u{301}"]
    for name in names { FirebaseApp.configure(name: name, options: FirebaseOptions()) }
    let apps = try names.map { try #require(FirebaseApp.app(name: $0)) }
    #expect(apps[0] !== apps[1])
    #expect(Firestore.firestore(app: apps[0]) !== Firestore.firestore(app: apps[1]))
    // A dictionary by name has the first by bytes.
    #expect(FirebaseApp.allApps?[names[0]] === apps[1])
    for app in apps { #expect(await app.delete()) }
    #expect(FirebaseApp.app(name: names[0]) == nil)
  }

  @Test func `deleting an app terminates its databases, and a new one gets new ones`() async throws
  {
    func configured() throws -> FirebaseApp {
      FirebaseApp.configure(name: "deleted", options: FirebaseOptions())
      return try #require(FirebaseApp.app(name: "deleted"))
    }
    func database(_ app: FirebaseApp, _ name: String = "(default)") -> Firestore {
      let db = Firestore.firestore(app: app, database: name)
      let settings = FirestoreSettings()
      settings.cacheSettings = MemoryCacheSettings()
      db.settings = settings
      return db
    }
    let refusal = "The client has already been terminated."
    func expectTerminated(_ db: Firestore) async {
      let error = await #expect(throws: NSError.self) { try await db.document("a/b").getDocument() }
      #expect(error?.localizedDescription == refusal)
    }

    let app = try configured()
    let (open, other, unused) = (database(app), database(app, "other"), database(app, "unused"))
    try await open.document("a/b").setData(["n": 1])
    try await other.document("a/b").setData(["n": 1])
    // One with a path of its own is no app's.
    let folder = TemporaryFolder()
    let beside = try Firestore.open(at: folder.path + "/beside.hearth")
    #expect(await app.delete())
    for db in [open, other, unused] { await expectTerminated(db) }
    _ = try await beside.document("a/b").getDocument()

    let next = try configured()
    let new = database(next)
    #expect(new !== open)
    #expect(new.app === next)
    try await new.document("a/b").setData(["n": 2])
    // In the form that calls back, as soon as it does.
    let isDeleted = Guarded(false)
    delete(next) { deleted in isDeleted.withLock { $0 = deleted } }
    #expect(isDeleted.withLock { $0 })
    await expectTerminated(new)
    #expect(await next.delete() == false)
    // Waits for the end that has begun.
    try await new.terminate()
    try await beside.terminate()
  }

  @Test func `a database opened by its path belongs to no app, also not to the default one`()
    async throws
  {
    FirebaseApp.configure()
    let app = try #require(FirebaseApp.app())
    let folder = TemporaryFolder()
    let beside = try Firestore.open(at: folder.path + "/beside.hearth")
    #expect(beside.app === app)
    // What deleting the app would terminate: other tests use it at the same time.
    #expect(!OpenDatabases.shared.instances(of: app).contains { $0 === beside })
    try await beside.terminate()
  }

  private func delete(_ app: FirebaseApp, _ completion: @escaping (Bool) -> Void) {
    app.delete(completion)
  }

  @Test func `configuring an app again keeps the first`() throws {
    let options = FirebaseOptions(googleAppID: "first", gcmSenderID: "")
    FirebaseApp.configure(name: "again", options: options)
    options.googleAppID = "changed"
    FirebaseApp.configure(name: "again", options: options)
    let app = try #require(FirebaseApp.app(name: "again"))
    #expect(app.options.googleAppID == "first")
    app.options.googleAppID = "a copy"
    #expect(app.options.googleAppID == "first")
    app.delete { _ in }
  }

  @Test func `options are read from a property list`() throws {
    let folder = FileManager.default.temporaryDirectory
    let file = folder.appendingPathComponent("options-\(UUID().uuidString).plist")
    defer { try? FileManager.default.removeItem(at: file) }
    let entries = [
      "GOOGLE_APP_ID": "1:2:ios:3", "GCM_SENDER_ID": "2", "PROJECT_ID": "library",
      "BUNDLE_ID": "org.example.library", "API_KEY": "key",
    ]
    try PropertyListSerialization.data(fromPropertyList: entries, format: .xml, options: 0)
      .write(to: file)
    let options = try #require(FirebaseOptions(contentsOfFile: file.path))
    #expect(options.googleAppID == "1:2:ios:3")
    #expect(options.gcmSenderID == "2")
    #expect(options.projectID == "library")
    #expect(options.bundleID == "org.example.library")
    #expect(options.apiKey == "key")
    #expect(options.storageBucket == nil)
    #expect(options.copy() as? FirebaseOptions == options)
    #expect(options.hash == (options.copy() as? FirebaseOptions)?.hash)

    try Data("no list".utf8).write(to: file)
    #expect(FirebaseOptions(contentsOfFile: file.path) == nil)
    #expect(FirebaseOptions(contentsOfFile: file.path + ".missing") == nil)
  }
}
