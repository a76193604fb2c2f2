import Foundation

/// Work that several do in turns, so that whatever else the machine does meets all of them.
struct Race {
  private struct Runner {
    var name: String
    var run: () async throws -> Double
  }

  private var runners: [Runner] = []

  /// Adds somebody whose `run` gives a figure of which less is better; the first added is us.
  mutating func add(_ name: String, _ run: @escaping () async throws -> Double) {
    runners.append(Runner(name: name, run: run))
  }

  /// The figures of each, round by round. Everybody has one round more, to warm up.
  func run(rounds: Int) async throws -> [String: [Double]] {
    for runner in runners { _ = try await runner.run() }
    var results: [String: [Double]] = [:]
    for round in 0..<rounds {
      // Who begins has a rested machine: it is somebody else each time.
      for index in runners.indices {
        let runner = runners[(index + round) % runners.count]
        results[runner.name, default: []].append(try await runner.run())
      }
    }
    return results
  }

  /// Nanoseconds that one of `count` operations took.
  static func nanoseconds(_ count: Int, _ body: () async throws -> Void) async throws -> Double {
    let begin = ContinuousClock.now
    try await body()
    return (ContinuousClock.now - begin) / .nanoseconds(1) / Double(count)
  }
}
