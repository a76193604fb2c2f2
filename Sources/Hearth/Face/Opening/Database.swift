import Dispatch
import Logging

/// An open database: its backend and its running operations. Created when a `Firestore` is first
/// used.
final class Database: Sendable {
  let backend: any Backend
  /// `backend`, if it is in this process.
  let local: (any LocalBackend)?
  /// `backend`, if it is a file.
  let file: (any FileBackend)?
  let logger: Logger
  private let operations = DispatchGroup()
  private let isClosing = Guarded(false)
  let transactions: TransactionRunner

  /// - Parameter name: The database's name in logs.
  init(_ backend: any Backend, named name: String, logger: Logger) {
    self.backend = backend
    local = backend as? any LocalBackend
    file = backend as? any FileBackend
    self.logger = logger
    transactions = TransactionRunner(self.backend, named: name, logger)
  }

  /// `local`; throws `unimplemented` if the backend is not in this process.
  func checkedLocal() throws(Status) -> any LocalBackend {
    guard let local else {
      throw Status(
        .unimplemented, "This is possible only with a database that is embedded in the process.")
    }
    return local
  }

  /// `file`; throws `unimplemented` if the backend is not a file.
  func checkedFile() throws(Status) -> any FileBackend {
    guard let file else {
      throw Status(.unimplemented, "This is possible only with a database that is a file.")
    }
    return file
  }

  /// Calls a verb for a caller that goes on meanwhile. `close` waits until `done` was called; after
  /// `close` this throws `terminated`.
  func call<Answer>(
    _ verb: (any Backend, @escaping Completion<Answer>) -> Void,
    _ done: @escaping Completion<Answer>
  ) throws(Status) {
    try begin()
    verb(backend) { [self] result in
      done(result)
      end()
    }
  }

  /// Runs an operation of several steps. `close` waits for it; after `close` this throws
  /// `terminated`.
  func active<Result>(
    _ body: () async throws -> Result
  ) async throws -> Result {
    try begin()
    defer { end() }
    return try await body()
  }

  /// As `active`, for an operation that begins in one place and ends in another. Must be followed
  /// by `end`.
  func begin() throws(Status) {
    let isOpen = isClosing.withLock { isClosing in
      // Under the lock: an operation begins before the closing waits, or not at all.
      if !isClosing { operations.enter() }
      return !isClosing
    }
    guard isOpen else { throw .terminated }
  }

  func end() { operations.leave() }

  /// Waits for the writes that were submitted before.
  func drain() async {
    await withCheckedContinuation { continuation in backend.drain { continuation.resume() } }
  }

  /// Completes pending operations and writes, ends the listeners, and closes the backend. Blocks
  /// until then, also when called again.
  func close() {
    isClosing.withLock { $0 = true }
    operations.wait()
    transactions.close()
    backend.close()
  }
}
