#if Server
  import FirestoreProtocol
  import Foundation
  import HearthEngine
  import Logging
  import Testing

  @testable import HearthServer

  /// A folder has any number of databases, of which few are open.
  @Suite struct DatabaseCatalogTests {
    @Test func `of many databases, those that nobody uses are closed`() async throws {
      let folder = NSTemporaryDirectory() + "catalog-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let catalog = try DatabaseCatalog(
        at: folder, creates: true, EmbeddedBackend.Settings(), ServedIndexes(), openLimit: 3,
        logger: Logger(label: "test"))
      defer { catalog.close() }
      func name(_ number: Int) throws -> DatabaseName {
        try DatabaseName("projects/p\(number)/databases/(default)")
      }
      let used = try await catalog.use(try name(0))
      let inTransaction = try await catalog.use(try name(1))
      let transaction = try await inTransaction.transactions.begin(.init(), isReadOnly: false, "a")
      catalog.endUse(of: try name(1))
      let path = ResourcePath(["a", "b"])
      for round in 0..<2 {
        for number in 2..<12 {
          let database = try await catalog.use(try name(number))
          let found = try await database.backend.documents(at: [path])
          #expect((found[0] != nil) == (round == 1), "\(number)")
          _ = try await database.commit([
            Mutation(path: path, operation: try .set(encoding: MapValue([])))
          ])
          catalog.endUse(of: try name(number))
          #expect(catalog.openCount <= 3)
        }
      }
      #expect(try await catalog.use(try name(0)) === used)
      #expect(try await catalog.use(try name(1)) === inTransaction)
      try inTransaction.transactions.rollback(transaction)
    }

    @Test func `calls at once open a database once, and none after the end`() async throws {
      let folder = NSTemporaryDirectory() + "catalog-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let catalog = try DatabaseCatalog(
        at: folder, creates: true, EmbeddedBackend.Settings(), ServedIndexes(), openLimit: 3,
        logger: Logger(label: "test"))
      let names = try (0..<3).map { try DatabaseName("projects/p\($0)/databases/(default)") }
      let used = try await withThrowingTaskGroup(of: (Int, ObjectIdentifier).self) { calls in
        for call in 0..<96 {
          calls.addTask { (call % 3, ObjectIdentifier(try await catalog.use(names[call % 3]))) }
        }
        return try await calls.reduce(into: [[], [], []] as [Set<ObjectIdentifier>]) {
          $0[$1.0].insert($1.1)
        }
      }
      #expect(used.allSatisfy { $0.count == 1 } && Set(used).count == 3)
      catalog.close()
      let refused = await #expect(throws: Status.self) { try await catalog.use(names[0]) }
      #expect(refused?.code == .unavailable && catalog.openCount == 0)
    }
  }
#endif
