@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// The layers below an open database.
extension Database {
  /// Throws over another backend.
  var embedded: EmbeddedBackend {
    get throws {
      guard let embedded = backend as? EmbeddedBackend else {
        throw Status(.unimplemented, "The database is not embedded.")
      }
      return embedded
    }
  }

  var store: Store { get throws { try embedded.store } }
  var writer: Writer { get throws { try embedded.writer } }
  var registry: ListenerRegistry {
    get throws {
      try (backend as? MemoryBackend)?.registry ?? (backend as? RemoteBackend)?.registry
        ?? embedded.registry
    }
  }
  var indexes: IndexManager { get throws { try embedded.indexes } }
  var history: History { get throws { try embedded.listeners.history } }
  var lines: DocumentQueues { get throws { try embedded.transactions.queues } }
}

extension Store {
  func name(_ path: ResourcePath) -> DocumentName { DocumentName(path, limit: keyLimit) }
}

/// The writer's verbs, awaited.
extension Writer {
  @discardableResult
  func commit(
    _ mutations: [Mutation], areChecked: Bool = false, on readSet: ReadSet? = nil,
    completesAfterListeners: Bool = true
  ) async throws -> CommitResult {
    let request = CommitRequest(
      mutations, areChecked: areChecked, completesAfterListeners: completesAfterListeners)
    return try await withCheckedContinuation { continuation in
      commit(request, on: readSet) { continuation.resume(returning: $0) }
    }.get()
  }

  @discardableResult
  func perform(
    from callSite: CallSite? = nil, _ body: @escaping (any LocalWriter) throws -> Void
  ) async throws -> CommitResult {
    try await withCheckedContinuation { continuation in
      perform(WriteClosure(from: callSite, body)) { continuation.resume(returning: $0) }
    }.get()
  }

  /// Submits a request that its caller does not await.
  func submit(
    _ mutations: [Mutation], areChecked: Bool = false, isCounted: Bool = true,
    completesAfterListeners: Bool = false, complete: @escaping Completion<CommitResult>
  ) {
    let request = CommitRequest(
      mutations, areChecked: areChecked, isAwaited: false, isCounted: isCounted,
      completesAfterListeners: completesAfterListeners)
    commit(request, complete)
  }

  func drain() async {
    await withCheckedContinuation { continuation in
      whenDrained { continuation.resume() }
    }
  }
}

extension DocumentQueues {
  /// As `whenTurn`; cancelling the task ends the waiting.
  func turn(at paths: [ResourcePath]) async -> Turn {
    let cancellation = CancellationSignal()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        whenTurn(at: paths, cancelledBy: cancellation) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      cancellation.cancel()
    }
  }
}
