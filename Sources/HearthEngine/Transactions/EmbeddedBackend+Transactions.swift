/// Transactions of an embedded database.
extension EmbeddedBackend {
  package func beginTransaction(
    _ start: TransactionStart, _ context: RequestContext,
    _ done: @escaping Completion<TransactionID>
  ) {
    transactions.begin(start, context, done) { [self] hold, begun in
      let begun = Guarded<Completion<Void>?>(begun)
      let closure = WriteClosure(from: start.callSite, isAlone: true) { state in
        begun.withLock { $0.take() }?(.success(()))
        guard let work = hold.wait() else { throw Status.transactionHeldTooLong }
        for mutation in work.mutations { try state.write(mutation) }
      }
      writer.perform(closure) { outcome in
        // The writer may have refused it before it came to it.
        begun.withLock { $0.take() }?(outcome.map { _ in })
        hold.work?.complete(outcome)
      }
    }
  }

  package func end(_ transaction: TransactionID, isRetried: Bool) {
    transactions.end(transaction, isRetried: isRetried)
  }

  func read(
    _ request: ReadRequest, in id: TransactionID, _ context: RequestContext,
    _ done: @escaping Completion<VersionedAnswer>
  ) {
    do throws(Status) {
      // Compared again at the commit, with the same times.
      let recorded = try request.recorded().resolved(at: store.configuration.now())
      let (turn, isExclusive, hasRead) = try transactions.waiting(of: id)
      let scope = isExclusive ? ReadScope.nothing : request.readScope
      let read = { @Sendable [self] (context: RequestContext) in
        answer(scope, context, request.length, done) { [self] snapshot in
          var found = try view(snapshot).answer(
            recorded, StateVersion(try snapshot.state()), isMeasured: context.isMeasured)
          try transactions.note(id, recorded, found.answer, at: found.version.sequence)
          found.answer = try request.answer(fromWhole: found.answer)
          return found
        }
      }
      // A transaction that has read something does not wait: others may wait for it.
      guard case .documents(let paths) = request, paths.count == 1, !isExclusive, !hasRead else {
        return read(context)
      }
      if context.thread == .blocked {
        transactions.queues.waitBlocking(for: paths[0], turn)
        read(context)
      } else {
        transactions.queues.whenNext(at: paths[0], turn) { read(context) }
      }
    } catch {
      done(.failure(error))
    }
  }

  /// Commits if what the transaction has read is still so. It has then ended.
  func commit(
    _ request: CommitRequest, in id: TransactionID, _ done: @escaping Completion<CommitResult>
  ) {
    do throws(Status) {
      let transaction = try transactions.transaction(id)
      let ended = try transactions.ending(id, done)
      if let hold = transaction.hold {
        let held: WriteRequest
        do { held = try WriteRequest(request, from: nil, ended) } catch {
          _ = hold.end(nil)
          return ended(.failure(error))
        }
        // The writer's closure waits for listeners.
        if !hold.end(held) { ended(.failure(.transactionHeldTooLong)) }
        return
      }
      let reads = transaction.reads
      if request.mutations.isEmpty, reads.isEmpty {
        // Nothing to write and nothing to validate: waits for no write.
        return answer(.nothing, .lent, .short, ended) {
          let state = try $0.state()
          return CommitResult(
            commitTime: state.lastCommitTime, sequence: state.lastSequence, results: [])
        }
      }
      let verifications = reads.documents.map { path, version in
        Mutation(
          path: path, operation: .verify,
          precondition: version.map { .updateTime($0) } ?? .exists(false))
      }
      var results = ReadSet()
      results.results = reads.results
      writer.commit(request, verifying: verifications, on: results.isEmpty ? nil : results) {
        result in
        ended(
          result.map { result in
            var result = result
            result.results = Array(result.results.dropFirst(verifications.count))
            return result
          })
      }
    } catch {
      done(.failure(error))
    }
  }
}
