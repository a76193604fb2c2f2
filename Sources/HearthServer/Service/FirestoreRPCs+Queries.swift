#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// Queries, aggregations and their plans.
  extension FirestoreRPCs {
    func runQuery(
      request: ProtoRunQueryRequest, response: RPCWriter<ProtoRunQueryResponse>,
      context: ServerContext
    ) async throws {
      let (name, parent) = try DatabaseName.parse(document: request.parent, allowsRoot: true)
      try await with(name, writes: request.newTransaction.isWriting) { database in
        let query = try name.query(request.structuredQuery, below: parent)
        try query.check()
        var consistency = try database.consistency(of: request, context)
        if case .newTransaction(let options)? = request.consistencySelector {
          consistency = try await database.begin(options, context) { id in
            try await response.write(.with { $0.transaction = id })
          }
        }
        let analyzes = request.explainOptions.analyze
        if request.hasExplainOptions, !analyzes {
          return try await response.write(.with { $0.explainMetrics = .init(of: query) })
        }
        let (found, time, execution) = try await database.result(
          matching: query, consistency, isMeasured: analyzes, in: results)
        let metrics = execution.map { ProtoExplainMetrics(of: query, $0) }
        let readTime = Google_Protobuf_Timestamp(time)
        if found.isEmpty {
          return try await response.write(
            .with {
              $0.readTime = readTime
              if let metrics { $0.explainMetrics = metrics }
            })
        }
        var position = 0
        try await write(found, response, context, in: database, at: time) { document in
          position += 1
          return try .with {
            $0.document = try name.proto(document)
            $0.readTime = readTime
            if position == 1 { $0.skippedResults = Int32(clamping: query.offset) }
            if position == found.count, let metrics { $0.explainMetrics = metrics }
          }
        }
      }
    }

    func runAggregationQuery(
      request: ProtoRunAggregationQueryRequest,
      response: RPCWriter<ProtoRunAggregationQueryResponse>, context: ServerContext
    ) async throws {
      let (name, parent) = try DatabaseName.parse(document: request.parent, allowsRoot: true)
      try await with(name, writes: request.newTransaction.isWriting) { database in
        let asked = request.structuredAggregationQuery
        let query = try name.query(asked.structuredQuery, below: parent)
        let aggregations = try asked.aggregations.map { try name.aggregation($0) }
        try query.check(aggregations)
        var consistency = try database.consistency(of: request, context)
        if case .newTransaction(let options)? = request.consistencySelector {
          consistency = try await database.begin(options, context) { id in
            try await response.write(.with { $0.transaction = id })
          }
        }
        let analyzes = request.explainOptions.analyze
        if request.hasExplainOptions, !analyzes {
          return try await response.write(.with { $0.explainMetrics = .init(of: query) })
        }
        try await database.checkIndexes(query)
        let (values, time, execution) = try await database.read(
          consistency, .values(of: aggregations, over: query), isMeasured: analyzes
        ) { try $0.values }
        let aliases = try Aggregation.aliases(aggregations)
        try await response.write(
          .with {
            for (alias, value) in zip(aliases, values) {
              $0.result.aggregateFields[alias] = name.proto(value)
            }
            $0.readTime = .init(time)
            if let execution { $0.explainMetrics = .init(of: query, execution) }
          })
      }
    }

    func partitionQuery(
      request: ProtoPartitionQueryRequest, context: ServerContext
    ) async throws -> ProtoPartitionQueryResponse {
      let (name, parent) = try DatabaseName.parse(document: request.parent, allowsRoot: true)
      return try await with(name) { database in
        var query = try name.query(request.structuredQuery, below: parent)
        try query.check()
        guard parent.isRoot else {
          throw Status.invalidArgument("Partitions require the root of the database as parent.")
        }
        guard request.partitionCount > 0 else {
          throw Status.invalidArgument("partition_count must be positive.")
        }
        let size = try pageSize(request.pageSize)
        try query.checkPartition()
        query.projection = [.documentID]
        let consistency = try database.consistency(
          at: request.consistencySelector.map { _ in request.readTime })
        let found = try await database.results(of: query, consistency)
        var points = Self.partitionPoints(of: found.map(\.path), atMost: request.partitionCount)
          .map { name.proto(.reference($0)) }
        if let last = try PageToken.decode(request.pageToken)?.first {
          points = Array(points.drop { $0 != last }.dropFirst())
        }
        var response = ProtoPartitionQueryResponse()
        let count = size ?? points.count
        for point in points.prefix(count) {
          response.partitions.append(.with { $0.values = [point] })
        }
        if points.count > count, let last = response.partitions.last {
          response.nextPageToken = try PageToken.encode(last.values)
        }
        return response
      }
    }

    /// Divides sorted paths into parts of the same size, of at least 128 documents.
    private static func partitionPoints(
      of paths: [ResourcePath], atMost count: Int64
    ) -> [ResourcePath] {
      let parts = min(paths.count / 128, Int(clamping: min(count, .max - 1)) + 1)
      guard parts > 1 else { return [] }
      return (1..<parts).map { paths[$0 * paths.count / parts] }
    }

    func executePipeline(
      request: ProtoExecutePipelineRequest, response: RPCWriter<ProtoExecutePipelineResponse>,
      context: ServerContext
    ) async throws {
      throw Status(
        .failedPrecondition,
        "Pipeline queries are only allowed on ENTERPRISE mode, which this database is not in.")
    }
  }

  /// Where the next page of an answer begins: the position of the last entry of this one, as text.
  enum PageToken {
    static func encode(_ position: [ProtoValue]) throws -> String {
      try ProtoCursor.with { $0.values = position }.serializedData().base64EncodedString()
    }

    /// Nil for the first page.
    static func decode(_ token: String) throws(Status) -> [ProtoValue]? {
      if token.isEmpty { return nil }
      guard let data = Data(base64Encoded: token),
        let cursor = try? ProtoCursor(serializedBytes: data)
      else { throw .invalidArgument("The page token is invalid.") }
      return cursor.values
    }
  }

  extension StructuredQuery {
    /// Only all documents of a collection group, in the order of their names, have partitions.
    fileprivate func checkPartition() throws(Status) {
      var plain = StructuredQuery(scope)
      plain.orders = orders
      guard case .group = scope, self == plain, orders.allSatisfy(\.isNameAscending) else {
        throw .invalidArgument(
          "Only a query of all descendants, ordered by __name__ alone, has partitions.")
      }
    }
  }
#endif
