import Foundation
import Logging
import TestSupport

@testable import Hearth
@testable import HearthEngine

/// A database with documents in it, and what a query finds there.
final class QueryWorld: Sendable {
  private let folder = TemporaryFolder()
  let database: EmbeddedBackend

  /// - Parameter indexes: ready before the first document is there.
  init(
    _ documents: [(path: ResourcePath, fields: MapValue)], keyLimit: KeyLimit = .standard,
    indexes: [IndexDefinition] = [], configure: (inout StoreConfiguration) -> Void = { _ in }
  ) async throws {
    var settings = EmbeddedBackend.Settings()
    settings.store.durability = .unsafeWithoutFlushing
    settings.store.mapSizeBytes = 1 << 30
    settings.store.keyLimit = keyLimit
    settings.queueLimitBytes = 256 << 20
    settings.indexPolicy = .declared
    configure(&settings.store)
    database = try EmbeddedBackend(
      path: folder.path + "/world.hearth", settings, logger: Logger(label: "test"))
    try database.store.putReady(indexes)
    try await database.add(documents)
  }

  deinit { database.close() }

  func documents(
    _ query: StructuredQuery, touched: ReadCounters = ReadCounters()
  ) throws -> [StoredDocument] {
    try query.check()
    return try database.store.read {
      try $0.documents(matching: EffectiveQuery(query), trace: QueryTrace(touched))
    }
  }

  func names(_ query: StructuredQuery, touched: ReadCounters = ReadCounters()) throws -> [String] {
    try documents(query, touched: touched).map(\.path.text)
  }

  func aggregate(
    _ aggregations: [Aggregation], over query: StructuredQuery,
    touched: ReadCounters = ReadCounters()
  ) throws -> [Value] {
    try query.check(aggregations)
    return try database.store.read {
      try $0.aggregate(aggregations, over: EffectiveQuery(query), trace: QueryTrace(touched))
    }
  }

  /// What one plan finds, and how many its entries alone stand for without a limit; nil if they do not tell.
  struct Answer {
    var plan: QueryPlan
    var documents: [StoredDocument]
    var counted: Int?
  }

  /// Every plan for the query, and what each finds.
  func documentsByEveryPlan(_ query: StructuredQuery) throws -> [Answer] {
    try query.check()
    let query = EffectiveQuery(query)
    return try database.store.read { snapshot in
      try snapshot.planner(query).candidates().map { plan in
        let run = try QueryExecutor(query, in: snapshot, plan: plan)
        var answer = Answer(plan: plan, documents: try run.documents())
        if plan.isExact {
          var counted = 0
          try run.forEachEntry { _, _, _ in
            counted += 1
            return true
          }
          answer.counted = counted
        }
        return answer
      }
    }
  }
}

extension Store {
  /// Makes indexes as they are when their background build is done; for a store without their documents.
  func putReady(_ definitions: [IndexDefinition]) throws {
    var transaction = try environment.beginWrite()
    for (number, definition) in definitions.enumerated() {
      let index = StoredIndex(
        number: UInt32(number), definition: definition.stored, state: .ready, origin: .declared)
      try transaction.store(index, number: index.number, in: self)
    }
    try transaction.commit()
  }
}

extension EmbeddedBackend {
  func add(_ documents: [(path: ResourcePath, fields: MapValue)]) async throws {
    for start in stride(from: 0, to: documents.count, by: 20_000) {
      let chunk = documents[start..<min(start + 20_000, documents.count)]
      _ = try await writer.commit(
        chunk.map { Mutation(path: $0.path, operation: .set(DocumentBody($0.fields))) })
    }
  }
}
