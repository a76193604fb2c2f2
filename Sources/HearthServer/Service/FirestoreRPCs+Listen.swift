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
          defer { inputs.end() }
          for try await request in request { inputs.add(.request(request)) }
        }
        var iterator = inputs.stream.makeAsyncIterator()
        guard case .request(let first)? = try await iterator.next() else { return }
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
#endif
