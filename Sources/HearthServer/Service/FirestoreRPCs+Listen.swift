#if Server
  import FirestoreProtocol
  import GRPCCore
  import HearthEngine

  extension FirestoreRPCs {
    func listen(
      request: RPCAsyncSequence<ProtoListenRequest, any Error>,
      response: RPCWriter<ProtoListenResponse>, context: ServerContext
    ) async throws {
      let inputs = ListenInputs()
      streams.add(inputs)
      defer { streams.remove(inputs) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { group.cancelAll() }
        group.addTask {
          do {
            for try await request in request { inputs.add(.request(request)) }
            inputs.end()
          } catch {
            inputs.end(Status(ofRequests: error))
          }
        }
        var iterator = inputs.stream.makeAsyncIterator()
        guard case .request(let first)? = try await iterator.next() else {
          if let status = inputs.status { throw status }
          return
        }
        group.addTask {
          while true {
            try await Task.sleep(for: ListenStream.heartbeat)
            inputs.add(.heartbeat)
          }
        }
        let name = try DatabaseName(first.database)
        try await with(name) { database in
          let stream = ListenStream(
            database, name, inputs, response, targetLimit: targetsPerStream)
          defer { stream.close() }
          try await stream.handle(.request(first))
          while let input = try await iterator.next() { try await stream.handle(input) }
          if let status = inputs.status { throw status }
        }
      }
    }
  }

  extension Status {
    /// Why no more requests of a stream come: one is malformed, or the client has gone.
    fileprivate init(ofRequests error: any Error) {
      if let error = error as? RPCError, error.code == .invalidArgument {
        self.init(.invalidArgument, error.message)
      } else {
        self.init(.cancelled, "The client has gone.")
      }
    }
  }
#endif
