#if Server
  import FirestoreProtocol
  import Foundation
  import HearthEngine
  import Logging
  import TestSupport
  import Testing

  @testable import HearthServer

  /// A folder has any number of databases, of which few are open.
  @Suite(.timeLimit(patience)) struct DatabaseCatalogTests {
    @Test func `of many databases, those that nobody uses are closed`() async throws {
      let folder = TemporaryFolder()
      let catalog = try DatabaseCatalog(
        at: folder.path, creates: true, EmbeddedBackend.Settings(), ServedIndexes(), openLimit: 3,
        logger: Logger(label: "test"))
      defer { catalog.close() }
      func name(_ number: Int) throws -> DatabaseName {
        try DatabaseName("projects/p\(number)/databases/(default)")
      }
      let used = try await catalog.use(try name(0), for: .writing)
      let inTransaction = try await catalog.use(try name(1), for: .writing)
      let transaction = try await inTransaction.transactions.begin(.init(), isReadOnly: false, "a")
      catalog.endUse(of: try name(1), inTransaction)
      let path = ResourcePath(["a", "b"])
      for round in 0..<2 {
        for number in 2..<12 {
          let database = try await catalog.use(try name(number), for: .writing)
          let found = try await database.backend.read(.documents(at: [path])).documents
          #expect((found[0] != nil) == (round == 1), "\(number)")
          _ = try await database.commit([
            Mutation(path: path, operation: try .set(encoding: MapValue([])))
          ])
          catalog.endUse(of: try name(number), database)
          #expect(catalog.openFiles.count <= 3)
        }
      }
      #expect(try await catalog.use(try name(0), for: .writing) === used)
      #expect(try await catalog.use(try name(1), for: .writing) === inTransaction)
      try inTransaction.transactions.rollback(transaction)
    }

    @Test func `calls at once open a database once, and none after the end`() async throws {
      let folder = TemporaryFolder()
      let catalog = try DatabaseCatalog(
        at: folder.path, creates: true, EmbeddedBackend.Settings(), ServedIndexes(), openLimit: 3,
        logger: Logger(label: "test"))
      let names = try (0..<3).map { try DatabaseName("projects/p\($0)/databases/(default)") }
      let used = try await withThrowingTaskGroup(of: (Int, ObjectIdentifier).self) { calls in
        for call in 0..<96 {
          calls.addTask {
            (call % 3, ObjectIdentifier(try await catalog.use(names[call % 3], for: .writing)))
          }
        }
        return try await calls.reduce(into: [[], [], []] as [Set<ObjectIdentifier>]) {
          $0[$1.0].insert($1.1)
        }
      }
      #expect(used.allSatisfy { $0.count == 1 } && Set(used).count == 3)
      catalog.close()
      let refused = await #expect(throws: Status.self) {
        try await catalog.use(names[0], for: .reading)
      }
      #expect(refused?.code == .unavailable && catalog.openFiles.count == 0)
    }

    private static func run(
      _ body: (_ folder: String, _ catalog: DatabaseCatalog) async throws -> Void
    ) async throws {
      let temporary = TemporaryFolder()
      // It is not there until a database is.
      let folder = temporary.path + "/databases"
      let catalog = try DatabaseCatalog(
        at: folder, creates: true, EmbeddedBackend.Settings(), ServedIndexes(), databaseLimit: 5,
        logger: Logger(label: "test"))
      defer { catalog.close() }
      try await body(folder, catalog)
    }

    @Test func `what reads a database that does not exist finds it empty, and creates no file`()
      async throws
    {
      try await Self.run { folder, catalog in
        let name = try DatabaseName("projects/p/databases/(default)")
        try await withThrowingTaskGroup(of: Bool.self) { readers in
          for _ in 0..<50 {
            readers.addTask {
              let database = try await catalog.use(name, for: .reading)
              defer { catalog.endUse(of: name, database) }
              let path = ResourcePath(["a", "b"])
              return try await database.documents(at: [path], .newest)[0] == nil
            }
          }
          for try await isEmpty in readers { #expect(isEmpty) }
        }
        #expect(!FileManager.default.fileExists(atPath: folder) && catalog.openFiles.count == 0)

        // One that creates it, among those that do not.
        let isCreated = Guarded(0)
        let watch = DatabaseCatalog.CreationWatch { isCreated.withLock { $0 += 1 } }
        #expect(try await catalog.use(name, for: .listening(watch)).isPlaceholder)
        async let reader = catalog.use(name, for: .reading)
        let written = try await catalog.use(name, for: .writing)
        _ = try await reader
        #expect(!written.isPlaceholder && isCreated.withLock { $0 } == 1)
        let read = try await catalog.use(name, for: .reading)
        #expect(read === written)
        #expect(FileManager.default.fileExists(atPath: folder + "/p/(default).hearth"))
      }
    }

    @Test func `a listener that has ended is not called for a creation`() async throws {
      try await Self.run { _, catalog in
        let name = try DatabaseName("projects/p/databases/(default)")
        let isCreated = Guarded(false)
        let watch = DatabaseCatalog.CreationWatch { isCreated.withLock { $0 = true } }
        _ = try await catalog.use(name, for: .listening(watch))
        catalog.remove(watch, of: name)
        _ = try await catalog.use(name, for: .writing)
        #expect(!isCreated.withLock { $0 })
      }
    }

    @Test func `no more databases are created than may be, and all that exist are served`()
      async throws
    {
      try await Self.run { folder, catalog in
        func name(_ number: Int) throws -> DatabaseName {
          try DatabaseName("projects/p\(number % 3)/databases/d\(number)")
        }
        let refused = try await withThrowingTaskGroup(of: Optional<Status.Code>.self) { calls in
          for number in 0..<40 {
            calls.addTask {
              do {
                _ = try await catalog.use(try name(number), for: .writing)
                return nil
              } catch let status as Status {
                return status.code
              }
            }
          }
          return try await calls.reduce(into: [] as [Status.Code]) {
            if let code = $1 { $0.append(code) }
          }
        }
        // Those that are created together may count each other twice.
        #expect(refused.count >= 35 && refused.allSatisfy { $0 == .resourceExhausted })
        for number in 0..<40 { _ = try? await catalog.use(try name(number), for: .writing) }
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder)
          .filter { $0.hasSuffix(".hearth") }
        #expect(files.count == 5 && catalog.openFiles.count == 5)
        // A read of one that does not exist is answered.
        for number in 0..<40 { _ = try await catalog.use(try name(number), for: .reading) }
        // One more file, which others have made.
        let path = folder + "/p0/other.hearth"
        try EmbeddedBackend(
          at: path, named: path, EmbeddedBackend.Settings(), logger: Logger(label: "test")
        ).close()
        _ = try await catalog.use(
          try DatabaseName("projects/p0/databases/other"), for: .writing)
      }
    }

    @Test func `a file that is held up or is no database holds up no other`() async throws {
      try await Self.run { folder, catalog in
        let project = folder + "/p"
        try FileManager.default.createDirectory(atPath: project, withIntermediateDirectories: true)
        // No database, and a database that another process is about to open: it waits for the lock.
        try Data("no database".utf8).write(to: URL(filePath: project + "/broken.hearth"))
        let path = project + "/slow.hearth"
        try EmbeddedBackend(
          at: path, named: path, EmbeddedBackend.Settings(), logger: Logger(label: "test")
        ).close()
        let gate = open(path + "-presence", O_RDWR | O_CREAT, 0o600)
        try #require(gate >= 0 && flock(gate, LOCK_EX) == 0)
        let slow = Task {
          try await catalog.use(try DatabaseName("projects/p/databases/slow"), for: .reading)
        }
        for _ in 0..<20 {
          await #expect(throws: Status.self) {
            try await catalog.use(
              try DatabaseName("projects/p/databases/broken"), for: .writing)
          }
        }
        for number in 0..<3 {
          _ = try await catalog.use(
            try DatabaseName("projects/p/databases/d\(number)"), for: .writing)
        }
        close(gate)
        #expect(try await !slow.value.isPlaceholder)
      }
    }
  }
#endif
