import Glibc
import HearthEngine
import Testing

/// Waits, for as long as a slow machine may take: on a busy one, a try may take seconds.
package nonisolated(nonsending) func eventually(
  at location: SourceLocation = #_sourceLocation,
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let isTrue = try await becomesTrue(condition)
  try #require(isTrue, "It did not come to pass.", sourceLocation: location)
}

/// Waits as `eventually` does. Returns false if it takes too long.
package nonisolated(nonsending) func becomesTrue(
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws -> Bool {
  var poll = Poll()
  while try await !condition() {
    guard let pause = poll.nextPause() else { return false }
    try await Task.sleep(for: .milliseconds(pause))
  }
  return true
}

/// Waits as `eventually` does, and blocks the thread.
package func blockUntil(
  at location: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) throws {
  var poll = Poll()
  while try !condition() {
    let next = poll.nextPause()
    let pause = try #require(next, "It did not come to pass.", sourceLocation: location)
    usleep(UInt32(pause) * 1000)
  }
}

/// Does something for which no process may have a file open, once none seems to: a child that another test starts has
/// all files of this process until it is another program.
@discardableResult
package nonisolated(nonsending) func onceAlone<Result>(
  _ body: nonisolated(nonsending) () async throws -> Result
) async throws -> Result {
  var poll = Poll()
  while true {
    do {
      return try await body()
    } catch  where FirestoreErrorCode.failedPrecondition ~= error {
      guard let pause = poll.nextPause() else { throw error }
      try await Task.sleep(for: .milliseconds(pause))
    }
  }
}

/// The pauses between the tries of a condition.
private struct Poll {
  private let end = ContinuousClock.now + .seconds(300)
  private var tries = 0

  /// Returns a number of milliseconds, or nil when the time is over.
  mutating func nextPause() -> Int? {
    tries += 1
    guard ContinuousClock.now < end || tries < 1000 else { return nil }
    return tries < 100 ? 1 : 5
  }
}
