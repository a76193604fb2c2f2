#if Server
  import FirestoreProtocol
  import GRPCCore
  import HearthEngine

  extension FirestoreRPCs {
    func listen(
      request: RPCAsyncSequence<ProtoListenRequest, any Error>,
      response: RPCWriter<ProtoListenResponse>, context: ServerContext
    ) async throws {
      var requests = request.makeAsyncIterator()
      guard let first = try await requests.next() else { return }
      try await with(database: first.database) { database, name in
        let inputs = ListenInputs()
        let stream = ListenStream(database, name, inputs, response)
        defer { stream.close() }
        try await withThrowingTaskGroup(of: Void.self) { group in
          let rest = UncheckedRequests(requests: requests)
          group.addTask {
            do {
              var requests = rest.requests
              while let request = try await requests.next() { inputs.add(.request(request)) }
              inputs.end()
            } catch {
              inputs.end()
              throw error
            }
          }
          group.addTask {
            while !Task.isCancelled {
              try await Task.sleep(for: ListenStream.heartbeat)
              inputs.add(.heartbeat)
            }
          }
          inputs.add(.request(first))
          defer { group.cancelAll() }
          for await input in inputs.stream { try await stream.handle(input) }
          if let status = inputs.status { throw status }
        }
      }
    }
  }

  private struct UncheckedRequests: @unchecked Sendable {
    // Unchecked: one task continues with the iterator after another.
    var requests: RPCAsyncSequence<ProtoListenRequest, any Error>.AsyncIterator
  }
#endif
