#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// One call of Firestore over REST.
  struct RESTCall {
    let rpcs: FirestoreRPCs
    let gate: CallGate
    let request: HTTPRequest
    let parameters: RESTParameters
    let response: HTTPResponseWriter

    private typealias Method = ProtoFirestore.Method

    /// Before the client's address: a transaction over REST does not end with a connection, because each
    /// request may have its own.
    private static let peer = "rest:"

    private static let mask = ["mask.fieldPaths"]
    private static let consistency = ["transaction", "readTime"]
    private static let precondition = ["currentDocument.exists", "currentDocument.updateTime"]
    private static let page = ["pageSize", "pageToken", "orderBy", "showMissing"]

    /// Throws what is wrong with the request, and answers the errors of the call.
    func run(_ route: RESTRoute) async throws {
      switch route {
      case .get(let name):
        var message: ProtoGetDocumentRequest = try parameters.message(
          Self.mask + Self.consistency)
        message.name = name
        try await unary(Method.GetDocument.descriptor, message, rpcs.getDocument)
      case .list(let parent, let collection):
        var message: ProtoListDocumentsRequest = try parameters.message(
          Self.page + Self.mask + Self.consistency)
        message.parent = parent
        message.collectionID = collection
        try await unary(Method.ListDocuments.descriptor, message, rpcs.listDocuments)
      case .create(let parent, let collection):
        var message: ProtoCreateDocumentRequest = try parameters.message(
          Self.mask + ["documentId"])
        message.parent = parent
        message.collectionID = collection
        message.document = try body()
        try await unary(Method.CreateDocument.descriptor, message, rpcs.createDocument)
      case .update(let name):
        var message: ProtoUpdateDocumentRequest = try parameters.message(
          Self.precondition + Self.mask + ["updateMask.fieldPaths"])
        message.document = try body()
        message.document.name = name
        try await unary(Method.UpdateDocument.descriptor, message, rpcs.updateDocument)
      case .delete(let name):
        var message: ProtoDeleteDocumentRequest = try parameters.message(Self.precondition)
        message.name = name
        try await unary(Method.DeleteDocument.descriptor, message, rpcs.deleteDocument)
      case .verb(let verb, let name):
        // Its fields are in the body.
        let _: Google_Protobuf_Empty = try parameters.message()
        try await run(verb, name)
      default:
        throw Status(.notFound, "There is no such call.")
      }
    }

    private func run(_ verb: RESTRoute.Verb, _ name: String) async throws {
      switch verb {
      case .beginTransaction:
        try await unary(
          Method.BeginTransaction.descriptor, body(\.database, name), rpcs.beginTransaction)
      case .commit:
        try await unary(Method.Commit.descriptor, body(\.database, name), rpcs.commit)
      case .rollback:
        try await unary(Method.Rollback.descriptor, body(\.database, name), rpcs.rollback)
      case .batchWrite:
        try await unary(Method.BatchWrite.descriptor, body(\.database, name), rpcs.batchWrite)
      case .partitionQuery:
        try await unary(Method.PartitionQuery.descriptor, body(\.parent, name), rpcs.partitionQuery)
      case .listCollectionIds:
        try await unary(
          Method.ListCollectionIds.descriptor, body(\.parent, name), rpcs.listCollectionIds)
      case .batchGet:
        try await stream(
          Method.BatchGetDocuments.descriptor, body(\.database, name), rpcs.batchGetDocuments)
      case .runQuery:
        try await stream(Method.RunQuery.descriptor, body(\.parent, name), rpcs.runQuery)
      case .runAggregationQuery:
        try await stream(
          Method.RunAggregationQuery.descriptor, body(\.parent, name), rpcs.runAggregationQuery)
      case .executePipeline:
        try await stream(
          Method.ExecutePipeline.descriptor, body(\.database, name), rpcs.executePipeline)
      }
    }

    /// The message in the body; without a body, an empty one.
    private func body<Message: SwiftProtobuf.Message>() throws(Status) -> Message {
      if request.body.isEmpty { return Message() }
      do {
        return try Message(jsonUTF8Bytes: request.body)
      } catch {
        throw .invalidArgument("The body is not the call's message in JSON: \(error)")
      }
    }

    /// The message in the body, with the name in the path.
    private func body<Message: SwiftProtobuf.Message>(
      _ field: WritableKeyPath<Message, String>, _ name: String
    ) throws(Status) -> Message {
      var message: Message = try body()
      message[keyPath: field] = name
      return message
    }

    private typealias Handler<Input: Sendable, Output: Sendable> =
      @Sendable (StreamingServerRequest<Input>, ServerContext) async throws ->
      StreamingServerResponse<Output>

    private func unary<Input: SwiftProtobuf.Message, Output: SwiftProtobuf.Message>(
      _ method: MethodDescriptor, _ message: Input, _ handler: Handler<Input, Output>
    ) async throws {
      try await call(method, message, handler) { contents in
        let answers = CollectedAnswers<Output>()
        _ = try await contents.producer(RPCWriter(wrapping: answers))
        guard let answer = answers.all.withLock(\.first) else {
          throw RPCError(code: .unknown, message: "The call has no answer.")
        }
        try await response.send(body: try HTTPResponseWriter.json(answer), contents.metadata)
      }
    }

    private func stream<Input: SwiftProtobuf.Message, Output: SwiftProtobuf.Message>(
      _ method: MethodDescriptor, _ message: Input, _ handler: Handler<Input, Output>
    ) async throws {
      let array = JSONArrayWriter<Output>(response)
      do {
        try await call(method, message, handler) { contents in
          array.metadata.withLock { $0 = contents.metadata }
          _ = try await contents.producer(RPCWriter(wrapping: array))
          try await array.end()
        }
      } catch let error as RPCError {
        try await array.end(error)
      }
    }

    private func call<Input: SwiftProtobuf.Message, Output: SwiftProtobuf.Message>(
      _ method: MethodDescriptor, _ message: Input, _ handler: Handler<Input, Output>,
      _ consume: (StreamingServerResponse<Output>.Contents) async throws -> Void
    ) async throws {
      var metadata = Metadata()
      // Of the headers, calls use these two. Not all names are valid for metadata.
      for name in ["authorization", CallGate.header] {
        if let value = request.headers.first(name: name) { metadata.addString(value, forKey: name) }
      }
      let input = StreamingServerRequest(
        single: ServerRequest(metadata: metadata, message: message))
      try await withServerContextRPCCancellationHandle { handle in
        var context = ServerContext(
          descriptor: method, remotePeer: Self.peer + request.peer, localPeer: request.localPeer,
          cancellation: handle)
        context.transportSpecific = request.answers?.roomForREST ?? AnswerRoom()
        let ofRequest = context
        let answer = try await withTaskCancellationHandler {
          try await gate.intercept(request: input, context: ofRequest, next: handler)
        } onCancel: {
          handle.cancel()
        }
        try await consume(try answer.accepted.get())
      }
    }
  }

  /// The answers of a call, kept.
  private final class CollectedAnswers<Element: Sendable>: RPCWriterProtocol {
    let all = Guarded<[Element]>([])

    func write(_ element: Element) async throws { all.withLock { $0.append(element) } }

    func write(contentsOf elements: some Sequence<Element>) async throws {
      all.withLock { $0.append(contentsOf: elements) }
    }
  }
#endif
