import Foundation
import Hearth

/// A bar on standard error, drawn only if that is a terminal. Any thread may draw it.
package final class ProgressBar: Sendable {
  private struct State {
    /// The name of the current step, before the bar.
    var step: String?
    var total = 1
    var began = ContinuousClock.now
    var drawn = ContinuousClock.now
  }

  private let state = Guarded(State())

  package init() {}

  package func show(_ step: String, _ done: Int, of total: Int) {
    guard Terminal.showsProgress else { return }
    state.withLock { state in
      if state.step != step { state = State(step: step, total: max(total, 1)) }
      guard state.drawn.duration(to: .now) > .milliseconds(50) else { return }
      state.drawn = .now
      let width = 32
      let filled = min(width, done * width / state.total)
      let bar =
        String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
      let seconds = max(state.began.duration(to: .now) / .seconds(1), 0.001)
      let rate = Figure.count(Int(Double(done) / seconds))
      let name = step.isEmpty ? "" : step + " "
      Terminal.writeAside(
        "\r  \(name)\(bar) \(Figure.count(done)) of \(Figure.count(state.total)), \(rate)/s\u{1B}[K"
      )
    }
  }

  package func finish() {
    if Terminal.showsProgress { Terminal.writeAside("\r\u{1B}[K") }
  }
}
