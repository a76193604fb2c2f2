import Glibc

/// Lets time pass in which something would happen that must not, where no later event shows that it did not.
package func quietTime(_ duration: Duration = .milliseconds(20)) async throws {
  try await Task.sleep(for: duration)
}

/// Returns the value once it is the same after a pause as before it.
package nonisolated(nonsending) func settled<Value: Equatable>(
  for pause: Duration, _ value: () -> Value
) async throws -> Value {
  while true {
    let before = value()
    try await Task.sleep(for: pause)
    if value() == before { return before }
  }
}

/// Returns when the task is cancelled. Until then, whatever its caller has open stays open.
package func untilCancelled() async {
  for await _ in AsyncStream<Never>(Never.self, { _ in }) {}
}

extension SeededGenerator {
  /// Blocks the thread for a random time, so that threads meet in many ways.
  package mutating func pause(below microseconds: Int) { usleep(UInt32(below(microseconds))) }
}
