import Foundation
import Logging

@testable import Hearth

/// A database with documents in it, and what a query finds there.
final class QueryWorld: Sendable {
  private let folder = TemporaryFolder()
  let database: Database

  init(
    _ documents: [(path: ResourcePath, fields: MapValue)], keyLimit: KeyLimit = .standard
  ) async throws {
    var configuration = StoreConfiguration()
    configuration.durability = .unsafeNoSync
    configuration.keyLimit = keyLimit
    database = try Database(
      path: folder.path + "/world.hearth", configuration: configuration,
      queueLimitBytes: 256 << 20, logger: Logger(label: "test"))
    try await database.add(documents)
  }

  deinit { database.close() }

  func documents(
    _ query: StructuredQuery, touched: TouchCount = TouchCount()
  ) throws -> [StoredDocument] {
    try query.check()
    return try database.store.read {
      try $0.documents(matching: EffectiveQuery(query), touched: touched)
    }
  }

  func names(_ query: StructuredQuery, touched: TouchCount = TouchCount()) throws -> [String] {
    try documents(query, touched: touched).map(\.path.text)
  }

  func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery, touched: TouchCount = TouchCount()
  ) throws -> [Value] {
    try query.check(aggregations)
    return try database.store.read {
      try $0.aggregate(aggregations, over: EffectiveQuery(query), touched: touched)
    }
  }
}

extension Database {
  func add(_ documents: [(path: ResourcePath, fields: MapValue)]) async throws {
    _ = try await writer.commit(
      documents.map { Mutation(name: name($0.path), operation: .set(DocumentBody($0.fields))) })
  }
}
