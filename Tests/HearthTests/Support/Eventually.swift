import Testing

/// Waits, for as long as a slow machine may take.
nonisolated(nonsending) func eventually(
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + .seconds(120)
  while try await !condition() {
    try #require(ContinuousClock.now < end, "It did not come to pass.")
    try await Task.sleep(for: .milliseconds(5))
  }
}
