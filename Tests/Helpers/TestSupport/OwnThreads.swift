import HearthEngine
import Testing

/// Runs tests that wait for other processes, or compute for long, on threads of their own.
///
///     @Suite(.ownThreads) struct CrashTests { … }
///
/// Swift runs async code on as many threads as there are cores. A test that keeps one of them stops
/// all others, with their clocks running.
package struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
  package let isRecursive = true

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(BlockingExecutor.shared) { try await function() }
  }
}

extension Trait where Self == OwnThreads {
  package static var ownThreads: Self { OwnThreads() }
}

private final class BlockingExecutor: TaskExecutor {
  static let shared = BlockingExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    BlockingThreads.shared.run { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
