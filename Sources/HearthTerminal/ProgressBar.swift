import Foundation

/// A bar on standard error, drawn only if that is a terminal.
package struct ProgressBar {
  private let total: Int
  /// The name of the current step, before the bar.
  private let name: String
  private let began = ContinuousClock.now
  private var drawn = ContinuousClock.now

  package init(total: Int, name: String = "") {
    self.total = max(total, 1)
    self.name = name.isEmpty ? "" : name + " "
  }

  package mutating func advance(to count: Int) {
    guard Terminal.showsProgress, drawn.duration(to: .now) > .milliseconds(50) else { return }
    drawn = .now
    let width = 32
    let filled = min(width, count * width / total)
    let bar =
      String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    let seconds = max(began.duration(to: .now) / .seconds(1), 0.001)
    let rate = Figure.count(Int(Double(count) / seconds))
    Terminal.writeAside(
      "\r  \(name)\(bar) \(Figure.count(count)) of \(Figure.count(total)), \(rate)/s\u{1B}[K"
    )
  }

  package func finish() {
    if Terminal.showsProgress { Terminal.writeAside("\r\u{1B}[K") }
  }
}
