#if Service
  import Foundation
  import Hearth
  import HearthService
  import Logging
  import ServiceLifecycle
  import Synchronization
  import Testing

  struct Reminders: Service {
    let db: Firestore

    func run() async throws {
      let due = db.collection("loans").whereField("isDue", isEqualTo: true)
      for try await snapshot in due.snapshots.cancelOnGracefulShutdown() {
        for change in snapshot.documentChanges where change.type == .added {
          do {
            try await change.document.reference.updateData(["reminded": true])
          } catch FirestoreErrorCode.notFound {
            // It was deleted since.
          }
        }
      }
    }
  }

  struct NightlyBackup: Service {
    let db: Firestore
    let folder: String

    func run() async throws {
      do {
        try await cancelWhenGracefulShutdown {
          while true {
            try await db.maintenance.backup(to: folder + "/nightly.hearth", replacing: true)
            try await Task.sleep(for: .seconds(24 * 3600))
          }
        }
      } catch is CancellationError {}
    }
  }

  /// The snippets of the module's landing page, word for word.
  @Suite struct ServicesGuideTests {
    private let folder: URL

    init() throws {
      folder = FileManager.default.temporaryDirectory
        .appending(path: "hearth-service-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// `Firestore.open(at:)`, with its files in the temporary folder.
    private struct Opener {
      let folder: URL

      func open(at name: String) throws -> Hearth.Firestore {
        try Hearth.Firestore.open(at: folder.appending(path: name))
      }
    }

    /// Compiled, but not run: it would take the signals of the tests' process.
    private func library() async throws {
      let Firestore = Opener(folder: folder)
      let db = try Firestore.open(at: "books.hearth")
      try db.reportMetrics(dimensions: [("database", "books")])
      var configuration = ServiceGroupConfiguration(
        services: [FirestoreService(db), Reminders(db: db)],
        gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "library"))
      configuration.maximumGracefulShutdownDuration = .seconds(10)
      try await ServiceGroup(configuration: configuration).run()
    }

    /// The body of a response with server-sent events.
    func sendEvents(of books: Query, to send: (String) async throws -> Void) async throws {
      for try await snapshot in books.snapshots.cancelOnGracefulShutdown() {
        for change in snapshot.documentChanges {
          try await send("event: \(change.type)\ndata: \(change.document.documentID)\n\n")
        }
      }
    }

    /// A server with one response, which has no end of its own.
    private struct Stream: Service {
      let run: @Sendable () async throws -> Void

      init(_ run: @escaping @Sendable () async throws -> Void) { self.run = run }

      func run() async throws { try await self.run() }
    }

    private func eventually(_ condition: () async throws -> Bool) async throws {
      let end = ContinuousClock.now + .seconds(60)
      while try await !condition() {
        try #require(ContinuousClock.now < end)
        try await Task.sleep(for: .milliseconds(5))
      }
    }

    @Test func `live streams, workers and the database end in order`() async throws {
      defer { try? FileManager.default.removeItem(at: folder) }
      let db = try Opener(folder: folder).open(at: "books.hearth")
      let loan = db.document("loans/1")
      try await loan.setData(["isDue": true])
      let sent = Mutex<[String]>([])
      let stream = Stream {
        try await sendEvents(of: db.collection("books")) { event in
          sent.withLock { $0.append(event) }
        }
      }
      let group = ServiceGroup(
        services: [
          FirestoreService(db), Reminders(db: db), NightlyBackup(db: db, folder: folder.path),
          stream,
        ],
        logger: Logger(label: "test"))
      let running = Task { try await group.run() }
      try await db.document("books/dune").setData([:])
      try await eventually { sent.withLock { $0 == ["event: added\ndata: dune\n\n"] } }
      try await eventually { try await loan.getDocument()["reminded"] as? Bool == true }
      let backup = folder.appending(path: "nightly.hearth").path
      try await eventually { FileManager.default.fileExists(atPath: backup) }

      await group.triggerGracefulShutdown()
      try await running.value
      let error = await #expect(throws: NSError.self) { try await loan.getDocument() }
      #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
      #expect(try await FirestoreFile(at: backup).check().isIntact)
    }
  }
#endif
