#if Service
  import Foundation
  import Hearth
  import HearthService
  import Logging
  import ServiceLifecycle
  import Synchronization
  import TestSupport
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

  /// A live stream, as a service of a test.
  struct Stream: Service {
    let send: @Sendable () async throws -> Void

    func run() async throws { try await send() }
  }

  /// The snippets of the module's landing page, word for word.
  @Suite struct ServicesGuideTests {
    private let files: TemporaryFolder
    private var folder: URL { files.url }
    private let logger = Logger(label: "test")

    init() throws { files = TemporaryFolder() }

    /// `Firestore.open(at:)`, with its files in the temporary folder.
    private struct Opener {
      let folder: URL

      func open(at name: String) throws -> Hearth.Firestore {
        try Hearth.Firestore.open(at: folder.appending(path: name))
      }
    }

    /// Compiled, but not run: it would take the signals of the tests' process.
    private func library() async {
      let Firestore = Opener(folder: folder)
      let logger = Logger(label: "library")
      do {
        let db = try Firestore.open(at: "books.hearth")
        // After `MetricsSystem.bootstrap`; see "Metrics".
        try db.reportMetrics(dimensions: [("database", "books")])
        var configuration = ServiceGroupConfiguration(
          // The last element is the server, such as Hummingbird's `Application(router: router)`.
          services: [FirestoreService(db), Reminders(db: db)],
          gracefulShutdownSignals: [.sigterm, .sigint],
          logger: logger)
        configuration.maximumGracefulShutdownDuration = .seconds(10)
        try await ServiceGroup(configuration: configuration).run()
      } catch {
        logger.critical("The service has ended: \(error)")
        exit(1)
      }
    }

    private struct Book: Codable {
      var title: String
      var pages: Int
    }

    /// A book in a response, as on the page on bodies.
    private struct BookBody: Codable {
      var id: String
      var title: String

      init(_ snapshot: DocumentSnapshot) throws {
        id = snapshot.documentID
        title = try snapshot.data(as: Book.self).title
      }
    }

    /// Sends the books as server-sent events: all, or the changes since `lastEventID`.
    func sendEvents(
      of books: Query, after lastEventID: String?, to send: (String) async throws -> Void
    ) async throws {
      let reset = "event: reset\ndata: {}\n\n"
      let bytes = lastEventID.flatMap { Data(base64Encoded: $0) }
      var token = bytes.flatMap { try? ChangeToken(bytes: $0) }
      if token == nil { try await send(reset) }
      while true {
        do {
          let snapshots = books.snapshots(resumingFrom: token)
          for try await snapshot in snapshots.cancelOnGracefulShutdown() {
            if snapshot.isFullResync { try await send(reset) }
            let changes = snapshot.documentChanges
            let id = snapshot.token.map { "id: \($0.bytes.base64EncodedString())\n" } ?? ""
            if changes.isEmpty { try await send("event: ready\ndata: {}\n\(id)\n") }
            for (index, change) in changes.enumerated() {
              if index % 64 == 63 { await Task.yield() }
              if Task.isCancelled || Task.isShuttingDownGracefully { return }
              try await send(event(change) + (index == changes.count - 1 ? id : "") + "\n")
            }
          }
          return
        } catch FirestoreErrorCode.invalidArgument where token != nil {
          token = nil
          try await send(reset)
        } catch {
          if !Task.isCancelled { logger.error("A stream of books has failed: \(error)") }
          throw error
        }
      }
    }

    /// The event of a change, without the empty line at its end.
    func event(_ change: DocumentChange) throws -> String {
      let encoder = JSONEncoder()
      // As in the responses of the server.
      encoder.dateEncodingStrategy = .iso8601
      var kind = DocumentChangeType.removed
      var json = try encoder.encode(["id": change.document.documentID])
      if change.type != .removed {
        do {
          json = try encoder.encode(BookBody(change.document))
          kind = change.type
        } catch {
          // Removed: a client that had it before must not keep it.
          logger.error("\(change.document.reference.path) is left out: \(error)")
        }
      }
      return "event: \(kind)\ndata: \(String(decoding: json, as: UTF8.self))\n"
    }

    @Test func `live streams, workers and the database end in order`() async throws {
      defer { try? FileManager.default.removeItem(at: folder) }
      let db = try Opener(folder: folder).open(at: "books.hearth")
      let loan = db.document("loans/1")
      try await loan.setData(["isDue": true])
      let sent = Mutex<[String]>([])
      let stream = Stream {
        try await sendEvents(of: db.collection("books"), after: nil) { event in
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
      try await db.document("books/dune").setData(["title": "Dune", "pages": 412])
      try await eventually {
        let last = sent.withLock { $0.last } ?? ""
        return last.hasPrefix("event: added\n") && last.contains("\"title\":\"Dune\"")
      }
      try await eventually { try await loan.getDocument()["reminded"] as? Bool == true }
      let backup = folder.appending(path: "nightly.hearth").path
      try await eventually { FileManager.default.fileExists(atPath: backup) }

      await group.triggerGracefulShutdown()
      try await running.value
      let error = await #expect(throws: NSError.self) { try await loan.getDocument() }
      #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
      #expect(try await FirestoreFile(at: backup).check().isIntact)
    }

    /// The kinds of the first `count` events of a stream.
    private func kinds(
      _ count: Int, of books: Query, after lastEventID: String?
    ) async throws -> [String] {
      let sent = Mutex<[String]>([])
      let stream = Task {
        try await sendEvents(of: books, after: lastEventID) { event in
          sent.withLock { $0.append(event) }
        }
      }
      try await eventually { sent.withLock { $0.count >= count } }
      stream.cancel()
      try await stream.value
      let events = sent.withLock { $0 }
      return events.prefix(count).map { event in
        String(event.prefix { $0 != "\n" }.dropFirst("event: ".count))
      }
    }

    @Test func `a live stream resumes, or begins with a reset`() async throws {
      defer { try? FileManager.default.removeItem(at: folder) }
      let db = try Opener(folder: folder).open(at: "books.hearth")
      let books = db.collection("books")
      #expect(try await kinds(2, of: books, after: nil) == ["reset", "ready"])
      try await books.document("dune").setData(["title": "Dune", "pages": 412])
      // Does not decode, and is left out.
      try await books.document("bad").setData(["title": 1])
      let token = try await db.changeToken().bytes
      try await books.document("dune").updateData(["pages": 418])
      try await books.document("emma").setData(["title": "Emma", "pages": 474])
      let all = ["reset", "removed", "added", "added"]
      #expect(try await kinds(4, of: books, after: nil) == all)
      let resumed = try await kinds(2, of: books, after: token.base64EncodedString())
      #expect(Set(resumed) == ["modified", "added"])
      // The same position in another file, and a later one in this file: see `ChangeToken.bytes`.
      var other = [UInt8](token)
      other[8] ^= 1
      var later = [UInt8](token)
      later[9] = 1
      for id in [Data(other), Data(later), Data([1])].map({ $0.base64EncodedString() }) + ["?"] {
        #expect(try await kinds(4, of: books, after: id) == all)
      }
      try await db.terminate()
    }

    @Test(.timeLimit(patience)) func `a stream ends with its group`() async throws {
      defer { try? FileManager.default.removeItem(at: folder) }
      let db = try Opener(folder: folder).open(at: "books.hearth")
      let books = db.collection("books")
      let (events, sent) = AsyncStream.makeStream(of: String.self)
      let stream = Stream { try await sendEvents(of: books, after: nil) { sent.yield($0) } }
      let group = ServiceGroup(services: [FirestoreService(db), stream], logger: logger)
      let running = Task { try await group.run() }
      var received = events.makeAsyncIterator()
      #expect(await received.next() == "event: reset\ndata: {}\n\n")
      await group.triggerGracefulShutdown()
      // Ends with the stream, and closes the database.
      try await running.value
      await #expect(throws: NSError.self) { try await books.getDocuments() }
    }

    @Test(.timeLimit(patience))
    func `the shutdown does not wait for large snapshots, nor for a thread`() async throws {
      defer { try? FileManager.default.removeItem(at: folder) }
      let db = try Opener(folder: folder).open(at: "books.hearth")
      let books = db.collection("books")
      let batch = db.batch()
      for number in 0..<3000 {
        batch.setData(["title": "\(number)", "pages": 1], forDocument: books.document("\(number)"))
      }
      try await batch.commit()
      let group = Mutex<ServiceGroup?>(nil)
      let counts = Mutex<[Int: Int]>([:])
      let streams = (0..<ProcessInfo.processInfo.activeProcessorCount * 2).map { number in
        Stream {
          // Does not suspend.
          try await sendEvents(of: books, after: nil) { _ in
            let sent = counts.withLock { counts in
              counts[number, default: 0] += 1
              return counts.values.reduce(0, +)
            }
            if sent == 10, let group = group.withLock(\.self) {
              Task { await group.triggerGracefulShutdown() }
            }
            // On a busy machine, the group's turn comes late: thousands would be sent meanwhile.
            if sent >= 10 { usleep(5000) }
          }
        }
      }
      let running = ServiceGroup(services: [FirestoreService(db)] + streams, logger: logger)
      group.withLock { $0 = running }
      try await running.run()
      // Each would have sent all its books, before the shutdown or after it.
      let sent = counts.withLock(\.self)
      #expect(sent.count > 0 && sent.values.allSatisfy { $0 < 2000 }, "\(sent)")
    }

    @Test func `a client does not keep a book that no longer decodes`() async throws {
      defer { try? FileManager.default.removeItem(at: folder) }
      let db = try Opener(folder: folder).open(at: "books.hearth")
      let dune = db.document("books/dune")
      try await dune.setData(["title": "Dune", "pages": 412])
      for change in [{ try await dune.updateData(["title": 1]) }, { try await dune.delete() }] {
        let token = try await db.changeToken().bytes.base64EncodedString()
        try await change()
        #expect(try await kinds(1, of: db.collection("books"), after: token) == ["removed"])
      }
      try await db.terminate()
    }
  }
#endif
