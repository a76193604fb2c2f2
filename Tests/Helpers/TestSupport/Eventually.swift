import Testing

/// Waits, for as long as a slow machine may take: on a busy one, a try may take seconds.
package nonisolated(nonsending) func eventually(
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + .seconds(300)
  var tries = 0
  while try await !condition() {
    tries += 1
    try #require(ContinuousClock.now < end || tries < 1000, "It did not come to pass.")
    try await Task.sleep(for: .milliseconds(5))
  }
}
