#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// A request that may select the state that it reads.
  protocol ReadingRequest {
    associatedtype Selector: StateSelector
    /// Nil for the newest state.
    var consistencySelector: Selector? { get }
    /// Empty if something else is selected.
    var transaction: Data { get }
    /// The epoch if something else is selected.
    var readTime: Google_Protobuf_Timestamp { get }
  }

  /// The state that a request selects. Each request has a type of its own for it, with the same cases.
  protocol StateSelector: Equatable {
    static func transaction(_ id: Data) -> Self
    static func readTime(_ time: Google_Protobuf_Timestamp) -> Self
  }

  extension ProtoGetDocumentRequest: ReadingRequest {}
  extension ProtoGetDocumentRequest.OneOf_ConsistencySelector: StateSelector {}
  extension ProtoListDocumentsRequest: ReadingRequest {}
  extension ProtoListDocumentsRequest.OneOf_ConsistencySelector: StateSelector {}
  extension ProtoBatchGetDocumentsRequest: ReadingRequest {}
  extension ProtoBatchGetDocumentsRequest.OneOf_ConsistencySelector: StateSelector {}
  extension ProtoRunQueryRequest: ReadingRequest {}
  extension ProtoRunQueryRequest.OneOf_ConsistencySelector: StateSelector {}
  extension ProtoRunAggregationQueryRequest: ReadingRequest {}
  extension ProtoRunAggregationQueryRequest.OneOf_ConsistencySelector: StateSelector {}

  extension ServedDatabase {
    /// The state that a request reads. For a request that begins a transaction, this is the newest state: `begin`
    /// returns the one of the transaction.
    func consistency(
      of request: some ReadingRequest, _ context: ServerContext
    ) throws(Status) -> Consistency {
      // The cases are compared with the values of the request: one pattern does not match several types.
      switch request.consistencySelector {
      case .transaction(request.transaction)?:
        try transactions.consistency(of: request.transaction, context.remotePeer)
      case .readTime(request.readTime)?: try consistency(at: request.readTime)
      default: .newest
      }
    }

    /// The state at a read time; the newest one if there is none.
    func consistency(at time: Google_Protobuf_Timestamp?) throws(Status) -> Consistency {
      guard let time else { return .newest }
      return .past(Timestamp(try Instant(exactly: time, "The read time")))
    }

    /// Begins a transaction for a request that reads, and returns the state that it reads then.
    ///
    /// - Parameter answer: Sends the id of the transaction.
    func begin(
      _ options: ProtoTransactionOptions, _ context: ServerContext,
      _ answer: (Data) async throws -> Void
    ) async throws -> Consistency {
      let id = try await transactions.begin(options, isReadOnly: true, context.remotePeer)
      try await answer(id)
      return try transactions.consistency(of: id, context.remotePeer)
    }
  }
#endif
