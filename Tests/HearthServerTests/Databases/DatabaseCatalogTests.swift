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
      let used = try catalog.use(try name(0))
      let inTransaction = try catalog.use(try name(1))
      let transaction = try await inTransaction.transactions.begin(.init(), isReadOnly: false, "a")
      catalog.endUse(of: try name(1))
      let path = ResourcePath(["a", "b"])
      for round in 0..<2 {
        for number in 2..<12 {
          let database = try catalog.use(try name(number))
          let found = try await database.backend.documents(at: [path])
          #expect((found[0] != nil) == (round == 1), "\(number)")
          _ = try await database.commit([
            Mutation(path: path, operation: try .set(encoding: MapValue([])))
          ])
          catalog.endUse(of: try name(number))
          #expect(catalog.openCount <= 3)
        }
      }
      #expect(try catalog.use(try name(0)) === used)
      #expect(try catalog.use(try name(1)) === inTransaction)
      try inTransaction.transactions.rollback(transaction)
    }
  }
#endif
