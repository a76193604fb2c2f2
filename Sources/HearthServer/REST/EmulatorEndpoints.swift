#if Server
  import Foundation
  import HearthEngine

  /// The requests that only an emulator has: clear, export, import and shutdown.
  struct EmulatorEndpoints: Sendable {
    let catalog: DatabaseCatalog
    let shutDown: @Sendable () -> Void

    /// Documents that a clear deletes with one commit: all that tests have.
    static let clearedAtOnce = 10_000

    func answer(_ route: RESTRoute, _ body: [UInt8]) async throws {
      switch route {
      case .clear(let name):
        let name = try DatabaseName(name)
        let database = try await catalog.use(name, for: .reading)
        defer { catalog.endUse(of: name, database) }
        try await clear(database)
      case .export(let project):
        try await withFile(of: project, body, for: .reading) {
          _ = try await $0.export(to: $1, replacing: false, nil)
        }
      case .load(let project):
        try await withFile(of: project, body, for: .writing) {
          _ = try await $0.importDocuments(from: $1, skippingInvalidLines: false, nil)
        }
      default: break
      }
    }

    /// Deletes all documents, by one commit if they are few. Otherwise in the order of their names,
    /// so that it ends also while others write: what they write behind it stays.
    func clear(_ database: ServedDatabase, _ step: Int = clearedAtOnce) async throws {
      var query = StructuredQuery(.subtree(below: .root))
      query.projection = [.documentID]
      query.orders = query.effectiveOrders
      query.limit = step
      while true {
        let found = try await database.results(of: query, .newest)
        guard let last = found.last else { return }
        _ = try await database.commit(found.map { Mutation(path: $0.path, operation: .delete) })
        guard found.count == step else { return }
        query.start = .init(values: [.reference(last.path)], isBefore: false)
      }
    }

    /// The body of an export or import, as Google's tools send it.
    private struct Body: Decodable {
      var database: String
      var export_directory: String
      var export_name: String
    }

    /// Reads or writes the file that a body names: not on an event loop.
    private func withFile(
      of project: String, _ body: [UInt8], for purpose: DatabaseCatalog.Purpose,
      _ use: (any FileBackend, String) async throws -> Void
    ) async throws {
      guard let body = try? JSONDecoder().decode(Body.self, from: Data(body)) else {
        throw Status.invalidArgument(
          "The body has a database, an export_directory and an export_name.")
      }
      let name = try DatabaseName(body.database)
      guard name.project == project else {
        throw Status.invalidArgument("The database is of another project than the path.")
      }
      guard !body.export_name.isEmpty, !body.export_name.contains("/") else {
        throw Status.invalidArgument(
          "An export_name is the name of a file in the export_directory.")
      }
      let database = try await catalog.use(name, for: purpose)
      defer { catalog.endUse(of: name, database) }
      guard let backend = database.backend as? any FileBackend else {
        throw Status(.unimplemented, "Only a database in a file is exported and imported.")
      }
      do {
        try await withTaskExecutorPreference(globalConcurrentExecutor) {
          try await use(backend, body.export_directory + "/" + body.export_name + ".jsonl")
        }
      } catch let status as Status {
        throw status
      } catch {
        // Errors of maintenance have the form that users see.
        let error = error as NSError
        throw Status(
          Status.Code(rawValue: error.code) ?? .unavailable, error.localizedDescription)
      }
    }
  }
#endif
