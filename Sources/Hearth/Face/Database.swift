import Logging

/// An open database: its backend, and what is under way. Made when a `Firestore` is first used.
final class Database: Sendable {
  let backend: any Backend
  /// The same, if it is in this process.
  let local: (any LocalBackend)?
  /// The same, if it is a file.
  let file: (any FileBackend)?
  let logger: Logger
  private let activities = RunningOperations()
  let transactions: TransactionRunner

  /// - Parameter name: Of the database, in logs.
  init(_ backend: any Backend, named name: String, logger: Logger) {
    self.backend = backend.complete
    local = backend as? any LocalBackend
    file = backend as? any FileBackend
    self.logger = logger
    transactions = TransactionRunner(self.backend, named: name, logger)
  }

  /// Runs work of several steps, which `close` waits for. Throws `terminated` once that has been called.
  func active<Result>(
    _ body: () async throws -> Result
  ) async throws -> Result {
    try begin()
    defer { end() }
    return try await body()
  }

  /// As `active`, for work that begins in one place and ends in another: `end` follows.
  func begin() throws(Status) {
    guard activities.begin() else { throw .terminated }
  }

  func end() { activities.end() }

  /// Does what was handed over before, ends the listeners, and closes the backend. Blocks until then,
  /// also when it is called again.
  func close() {
    activities.close()
    transactions.close()
    backend.close()
  }
}
