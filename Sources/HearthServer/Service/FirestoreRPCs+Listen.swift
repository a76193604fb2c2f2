#if Server
  import FirestoreProtocol
  import GRPCCore
  import HearthEngine

  extension FirestoreRPCs {
    /// A task keeps the memory of its deepest calls until it ends, 1 KiB at least. So an idle stream
    /// has only gRPC's task and one that reads requests, both with shallow calls: inputs are handled
    /// in tasks that end when no input waits.
    func listen(
      request: RPCAsyncSequence<ProtoListenRequest, any Error>,
      response: RPCWriter<ProtoListenResponse>, context: ServerContext
    ) async throws {
      let inputs = ListenInputs()
      streams.add(inputs)
      defer { streams.remove(inputs) }
      // Not a child: a task group costs another half KiB. Detached, and not on the event loop: gRPC's
      // task-local values, or an executor, cost a KiB, and requests are rare.
      let reading = Task.detached { await inputs.take(request) }
      defer {
        inputs.end()
        reading.cancel()
      }
      let room = context.answerRoom
      var stream: ListenStream?
      defer { stream?.close() }
      for await _ in inputs.arrivals {
        stream = try await withThrowingTaskGroup { [stream] handling in
          handling.addTask { try await handle(inputs, stream, response, room) }
          return try await handling.next() ?? nil
        }
      }
      if let status = inputs.status { throw status }
    }

    /// Handles the inputs that wait.
    ///
    /// - Parameter stream: Nil before the first request, which opens it.
    private func handle(
      _ inputs: ListenInputs, _ stream: ListenStream?, _ response: RPCWriter<ProtoListenResponse>,
      _ room: AnswerRoom
    ) async throws -> ListenStream? {
      var stream = stream
      do {
        while let input = inputs.next() {
          switch input {
          case .request(let first) where stream == nil:
            stream = try await open(first.database, inputs, response, room)
          case .creation: if let stream { stream.move(to: try await use(stream.name, inputs)) }
          default: break
          }
          try await stream?.handle(input)
        }
        return stream
      } catch {
        stream?.close()
        throw error
      }
    }

    private func open(
      _ database: String, _ inputs: ListenInputs, _ response: RPCWriter<ProtoListenResponse>,
      _ room: AnswerRoom
    ) async throws -> ListenStream {
      let name = try DatabaseName(database)
      return ListenStream(
        try await use(name, inputs), name, inputs, response, room,
        targetLimit: limits.targetsPerStream, memberLimit: limits.membersPerStream)
    }

    /// A database for a stream. One that does not exist yet is empty, and adds an input when it is created.
    private func use(
      _ name: DatabaseName, _ inputs: ListenInputs
    ) async throws -> ListenStream.Source {
      do {
        let watch = DatabaseCatalog.CreationWatch { inputs.add(.creation) }
        let database = try await catalog.use(name, for: .listening(watch))
        let source = ListenStream.Source(database: database) { [catalog] in
          catalog.endUse(of: name, database)
          catalog.remove(watch, of: name)
        }
        do {
          try await database.prepared()
        } catch {
          source.close()
          throw error
        }
        return source
      } catch let status as Status {
        throw name.named(status)
      }
    }
  }

  extension ListenInputs {
    /// Reads requests until the last one, which ends the stream.
    fileprivate func take(_ requests: RPCAsyncSequence<ProtoListenRequest, any Error>) async {
      var requests = requests.makeAsyncIterator()
      do {
        // Without a name: while the task waits, it has room for each copy.
        while add(try await requests.next()) { await requestsAreTaken() }
        end()
      } catch {
        end(Status(ofRequests: error))
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
