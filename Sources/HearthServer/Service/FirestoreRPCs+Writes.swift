#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// Commits and transactions.
  extension FirestoreRPCs {
    func beginTransaction(
      request: ProtoBeginTransactionRequest, context: ServerContext
    ) async throws -> ProtoBeginTransactionResponse {
      // A transaction without a mode may write.
      let writes = request.options.mode == nil || request.options.isWriting
      return try await with(DatabaseName(request.database), writes: writes) { database in
        let id = try await database.transactions.begin(
          request.options, isReadOnly: false, context.remotePeer)
        return .with { $0.transaction = id }
      }
    }

    func commit(
      request: ProtoCommitRequest, context: ServerContext
    ) async throws -> ProtoCommitResponse {
      let name = try DatabaseName(request.database)
      return try await with(name, writes: !request.writes.isEmpty) { database in
        let mutations = try name.mutations(request.writes)
        let result =
          request.transaction.isEmpty
          ? try await database.commit(mutations)
          : try await database.transactions.commit(
            request.transaction, mutations, context.remotePeer
          ) {
            try await database.commit(mutations, in: $0)
          }
        return .with {
          $0.writeResults = result.results.map(name.proto)
          $0.commitTime = .init(result.commitTime)
        }
      }
    }

    func rollback(
      request: ProtoRollbackRequest, context: ServerContext
    ) async throws -> Google_Protobuf_Empty {
      try await with(DatabaseName(request.database)) { database in
        try database.transactions.rollback(request.transaction)
        return Google_Protobuf_Empty()
      }
    }

    func batchWrite(
      request: ProtoBatchWriteRequest, context: ServerContext
    ) async throws -> ProtoBatchWriteResponse {
      let name = try DatabaseName(request.database)
      return try await with(name, writes: !request.writes.isEmpty) { database in
        let mutations = request.writes.map { proto in
          Result { () throws(Status) in try name.mutation(proto) }
        }
        var paths: Set<ResourcePath> = []
        for case .success(let mutation) in mutations
        where !paths.insert(mutation.path).inserted {
          throw Status.invalidArgument(
            "A batch writes a document more than once: \(name.name(of: mutation.path))")
        }
        // All at once: the backend commits them in groups.
        let outcomes = await withTaskGroup(
          of: (Int, Result<CommitResult, Status>).self,
          returning: [Int: Result<CommitResult, Status>].self
        ) { group in
          for (index, mutation) in mutations.enumerated() {
            group.addTask {
              do {
                return (index, .success(try await database.commit([try mutation.get()])))
              } catch {
                return (index, .failure(name.named(Status(readingFailed: error))))
              }
            }
          }
          return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        var response = ProtoBatchWriteResponse()
        for index in mutations.indices {
          switch outcomes[index] {
          case .success(let result)?:
            response.writeResults.append(contentsOf: result.results.map(name.proto))
            response.status.append(ProtoStatus())
          case .failure(let status)?:
            response.writeResults.append(ProtoWriteResult())
            response.status.append(.init(status))
          case nil: break
          }
        }
        return response
      }
    }

    func write(
      request: RPCAsyncSequence<ProtoWriteRequest, any Error>,
      response: RPCWriter<ProtoWriteResponse>, context: ServerContext
    ) async throws {
      try await writeStreams.run { stream in
        var name: DatabaseName?
        var count: UInt64 = 0
        for try await message in request {
          try stream.begin()
          defer { stream.end() }
          count += 1
          let token = withUnsafeBytes(of: count.bigEndian) { Data($0) }
          guard let name else {
            // The first message only names the database.
            name = try DatabaseName(message.database)
            guard message.writes.isEmpty else {
              throw Status.invalidArgument("The first message of a write stream has no writes.")
            }
            let streamID =
              message.streamID.isEmpty ? "\(UInt64.random(in: 0 ... .max))" : message.streamID
            try await response.write(
              .with {
                $0.streamID = streamID
                $0.streamToken = token
              })
            continue
          }
          try await with(name, writes: !message.writes.isEmpty) { database in
            let result =
              message.writes.isEmpty
              ? nil : try await database.commit(try name.mutations(message.writes))
            try await response.write(
              .with {
                $0.streamToken = token
                if let result {
                  $0.writeResults = result.results.map(name.proto)
                  $0.commitTime = .init(result.commitTime)
                }
              })
          }
        }
      }
    }
  }

  extension ProtoTransactionOptions {
    /// Whether the transaction is explicitly one that may write.
    var isWriting: Bool { if case .readWrite? = mode { true } else { false } }
  }

  extension ProtoStatus {
    init(_ status: Status) {
      self.init()
      code = Int32(status.clientCode.rawValue)
      message = status.message
    }
  }
#endif
