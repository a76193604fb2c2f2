/// Returns the least of the times that `body` returns. It is called with 1, 2, and so on: twenty times, and on a busy
/// machine until one is below `limit`. What always waits for so long is never below it.
package nonisolated(nonsending) func leastTime(
  below limit: Duration, _ body: nonisolated(nonsending) (Int) async throws -> Duration
) async throws -> Duration {
  var least = try await body(1)
  for n in 2...500 where n <= 20 || least >= limit { least = min(least, try await body(n)) }
  return least
}
