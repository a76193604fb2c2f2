#if Tools
  import Foundation
  import Hearth
  import HearthTerminal

  /// A progress bar that another thread draws.
  final class SharedBar: Sendable {
    private struct State {
      var bar = ProgressBar(total: 1)
      var step: String?
    }

    private let state = Guarded(State())

    func show(_ step: String, _ done: Int, of total: Int) {
      state.withLock { state in
        if state.step != step {
          state.step = step
          state.bar = ProgressBar(total: total, name: step)
        }
        state.bar.advance(to: done)
      }
    }

    func show(_ progress: MaintenanceProgress) {
      show(progress.step.rawValue, progress.done, of: progress.total)
    }

    func finish() { state.withLock { $0.bar.finish() } }
  }

  /// Runs `body` and shows a progress bar on standard error.
  func withProgress<R: Sendable>(
    _ body: @escaping @Sendable (@escaping FirestoreMaintenance.ProgressHandler) async throws -> R
  ) async throws -> R {
    let bar = SharedBar()
    defer { bar.finish() }
    return try await Interruption.cancelling { try await body { bar.show($0) } }
  }
#endif
