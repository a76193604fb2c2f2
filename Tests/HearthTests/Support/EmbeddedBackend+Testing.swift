@testable import Hearth

/// The layers below an open database.
extension Database {
  var embedded: EmbeddedBackend {
    guard let embedded = backend as? EmbeddedBackend else { preconditionFailure("not embedded") }
    return embedded
  }

  var store: Store { embedded.store }
  var writer: Writer { embedded.writer }
  var registry: Registry { embedded.registry }
  var indexes: IndexKeeper { embedded.indexes }
  var history: History { embedded.history }
  var lines: DocumentLines { embedded.transactions.lines }
}

extension Store {
  func name(_ path: ResourcePath) -> DocumentName { DocumentName(path, limit: keyLimit) }
}

/// The writer's verbs, awaited.
extension Writer {
  @discardableResult
  func commit(
    _ mutations: [Mutation], areChecked: Bool = false, on premises: Premises? = nil,
    tellsListenersFirst: Bool = true
  ) async throws -> CommitResult {
    var request = CommitRequest(mutations)
    request.areChecked = areChecked
    request.tellsListenersFirst = tellsListenersFirst
    return try await withCheckedContinuation { continuation in
      commit(request, on: premises) { continuation.resume(returning: $0) }
    }.get()
  }

  @discardableResult
  func perform(
    from callSite: CallSite? = nil, _ body: @escaping (LiveRequest) throws -> Void
  ) async throws -> CommitResult {
    try await withCheckedContinuation { continuation in
      perform(from: callSite, body) { continuation.resume(returning: $0) }
    }.get()
  }

  func drain() async {
    await withCheckedContinuation { continuation in
      whenDrained { continuation.resume() }
    }
  }
}

extension DocumentLines {
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
