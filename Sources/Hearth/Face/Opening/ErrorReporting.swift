import Foundation
import Logging
import Synchronization

/// Runs `body`, and rethrows the engine's `Status` as the error that users catch.
func reporting<Result>(
  _ body: () async throws -> Result
) async throws -> Result {
  do {
    return try await body()
  } catch let status as Status {
    throw status.thrown
  }
}

/// Same as the async form.
func reporting<Result>(_ body: () throws -> Result) throws -> Result {
  do { return try body() } catch let status as Status { throw status.thrown }
}
