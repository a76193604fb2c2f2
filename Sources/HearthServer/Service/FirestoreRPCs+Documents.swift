#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  internal import HearthText
  import SwiftProtobuf

  /// Reading and writing single documents.
  extension FirestoreRPCs {
    func getDocument(
      request: ProtoGetDocumentRequest, context: ServerContext
    ) async throws -> ProtoDocument {
      let (name, path) = try DatabaseName.parse(document: request.name)
      return try await with(name) { database in
        let mask = try name.projection(request.hasMask ? request.mask : nil)
        let consistency = try database.consistency(of: request, context)
        let found = try await database.document(at: path, consistency, in: context.answerRoom)
        guard let document = found else {
          throw Status(.notFound, "Document \"\(request.name)\" not found.")
        }
        return try name.proto(mask?.applied(to: document) ?? document)
      }
    }

    func batchGetDocuments(
      request: ProtoBatchGetDocumentsRequest, response: RPCWriter<ProtoBatchGetDocumentsResponse>,
      context: ServerContext
    ) async throws {
      let name = try DatabaseName(request.database)
      try await with(name, writes: request.newTransaction.isWriting) { database in
        var paths: [ResourcePath] = []
        var seen: Set<ResourcePath> = []
        for document in request.documents {
          let path = try name.path(of: document)
          if seen.insert(path).inserted { paths.append(path) }
        }
        let mask = try name.projection(request.hasMask ? request.mask : nil)
        var consistency = try database.consistency(of: request, context)
        if case .newTransaction(let options)? = request.consistencySelector {
          consistency = try await database.begin(options, context) { id in
            try await response.write(.with { $0.transaction = id })
          }
        }
        let ((found, missing), time, _) = try await database.result(
          at: paths, consistency, in: results)
        let readTime = Google_Protobuf_Timestamp(time)
        try await write(found, response, context, in: database, at: time) { document in
          try .with {
            $0.found = try name.proto(mask?.applied(to: document) ?? document)
            $0.readTime = readTime
          }
        }
        var answers = PartWriter(response, context.answerRoom)
        for path in missing {
          let missing = name.name(of: path)
          try await answers.write(
            .with {
              $0.missing = missing
              $0.readTime = readTime
            }, bytes: missing.utf8.count)
        }
        try await answers.send()
      }
    }

    func createDocument(
      request: ProtoCreateDocumentRequest, context: ServerContext
    ) async throws -> ProtoDocument {
      let (name, parent) = try DatabaseName.parse(document: request.parent, allowsRoot: true)
      return try await with(name, writes: true) { database in
        let id = request.documentID.isEmpty ? AutoID.make() : request.documentID
        let path = parent.appending(request.collectionID).appending(id)
        let mutation = Mutation(
          path: path, operation: try .set(encoding: name.fields(request.document.fields)),
          precondition: .exists(false))
        return try await write(
          mutation, database, name, request.hasMask ? request.mask : nil, context)
      }
    }

    func updateDocument(
      request: ProtoUpdateDocumentRequest, context: ServerContext
    ) async throws -> ProtoDocument {
      let (name, _) = try DatabaseName.parse(document: request.document.name)
      return try await with(name, writes: true) { database in
        let mutation = try name.mutation(
          .with {
            $0.update = request.document
            if request.hasUpdateMask { $0.updateMask = request.updateMask }
            if request.hasCurrentDocument { $0.currentDocument = request.currentDocument }
          })
        return try await write(
          mutation, database, name, request.hasMask ? request.mask : nil, context)
      }
    }

    /// Writes a document, and returns it as it then is.
    private func write(
      _ mutation: Mutation, _ database: ServedDatabase, _ name: DatabaseName,
      _ mask: ProtoDocumentMask?, _ context: ServerContext
    ) async throws -> ProtoDocument {
      let mask = try name.projection(mask)
      let time = try await database.commit([mutation]).commitTime
      let document: StoredDocument?
      do {
        document = try await database.document(
          at: mutation.path, .past(Timestamp(time)), in: context.answerRoom)
      } catch let status as Status where status.code == .failedPrecondition {
        // The change log does not reach back so far.
        document = try await database.document(at: mutation.path, .newest, in: context.answerRoom)
      }
      guard let document else {
        throw Status(.unknown, "The document was written, and deleted since.")
      }
      return try name.proto(mask?.applied(to: document) ?? document)
    }

    func deleteDocument(
      request: ProtoDeleteDocumentRequest, context: ServerContext
    ) async throws -> Google_Protobuf_Empty {
      let (name, _) = try DatabaseName.parse(document: request.name)
      return try await with(name, writes: true) { database in
        let mutation = try name.mutation(
          .with {
            $0.delete = request.name
            if request.hasCurrentDocument { $0.currentDocument = request.currentDocument }
          })
        _ = try await database.commit([mutation])
        return Google_Protobuf_Empty()
      }
    }
  }
#endif
