/// The newest catalogue of a store's indexes that this process knows, and reads that use it.
///
/// Another process may drop an index meanwhile: every read says in which generation of the catalogue
/// it was made, and is repeated if that is another one.
final class RemoteCatalogues: Sendable {
  private let store: any RemoteStore
  private let known = Guarded<RemoteCatalogue?>(nil)
  /// Builds what is unfinished. Set once, before the first use.
  nonisolated(unsafe) weak var writer: RemoteWriter?  // Unchecked: as it says.

  init(_ store: any RemoteStore) { self.store = store }

  /// Empty before the first read.
  var newest: RemoteCatalogue { known.withLock { $0 } ?? .empty }

  /// The state of what a request needs, as it is now.
  ///
  /// - Parameter isPrompt: `done` does not block: if there is little, it runs on the store's thread.
  ///   Otherwise it runs on one that may block.
  func read(
    _ needs: @escaping @Sendable (RemoteCatalogue) -> RemoteNeeds, isPrompt: Bool,
    _ done: @escaping Completion<RemoteState>
  ) {
    let catalogue = newest
    let wanted = needs(catalogue)
    read(wanted, catalogue, needs, isPrompt, done)
  }

  private func read(
    _ wanted: RemoteNeeds, _ catalogue: RemoteCatalogue,
    _ needs: @escaping @Sendable (RemoteCatalogue) -> RemoteNeeds, _ isPrompt: Bool,
    _ done: @escaping Completion<RemoteState>
  ) {
    store.read(RemoteRead(scopes: wanted.scopes)) { [self] result in
      let answer: RemoteAnswer
      switch result {
      case .success(let read): answer = read
      case .failure(let status): return done(.failure(status))
      }
      guard catalogue.serves(answer.record.generation, wanted) else {
        return store.read(RemoteRead(withIndexes: true)) { [self] result in
          do throws(Status) {
            try note(result.get())
            read(needs, isPrompt: isPrompt, done)
          } catch {
            done(.failure(error))
          }
        }
      }
      if answer.isInexact { return read(wanted.unpaged, catalogue, needs, isPrompt, done) }
      let finish = { @Sendable in
        done(Result { () throws(Status) in try RemoteState(answer, of: wanted.scopes) })
      }
      // The store's thread has other reads to serve.
      if isPrompt, answer.isSmall { finish() } else { BlockingThreads.shared.run(finish) }
    }
  }

  /// The newest catalogue, read now. Blocks.
  func refresh() throws(Status) -> RemoteCatalogue {
    try note(store.readBlocking(RemoteRead(withIndexes: true)))
  }

  /// Replaces the catalogue that is known. Also by one of an earlier generation: after a failover the
  /// server may lack the last change of its indexes.
  @discardableResult
  func note(_ answer: RemoteAnswer) throws(Status) -> RemoteCatalogue {
    let read = try RemoteCatalogue(generation: answer.record.generation, answer.indexes)
    known.withLock { $0 = read }
    if read.indexes.contains(where: \.isUnfinished) { writer?.continueBuilding(after: 1) }
    return read
  }
}

extension RemoteAnswer {
  /// Whether there is little to evaluate, so that other reads of the thread hardly wait.
  fileprivate var isSmall: Bool {
    documents.count <= 256
      && documents.lazy.map(\.version.body.count).reduce(0, +) <= 256 << 10
  }
}

extension RemoteCatalogue {
  /// Whether what it made of a request is right in a state with this generation.
  fileprivate func serves(_ generation: UInt64, _ needs: RemoteNeeds) -> Bool {
    if generation == self.generation { return true }
    // Only names of documents are independent of indexes.
    return needs.scopes.allSatisfy { if case .documents = $0 { true } else { false } }
  }
}
