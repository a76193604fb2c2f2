import Foundation

/// Two ways to do a thing, measured in turns, so that what else the machine does meets both.
public struct Comparison {
  public static let rounds = 7

  /// Prints `ratio`, the name, the median of `over / under` and the least and greatest, with tabs
  /// between. Both give a rate; each is asked once to warm up.
  public static func print(
    _ name: String, over: () async throws -> Double, under: () async throws -> Double
  ) async throws {
    _ = try await over()
    _ = try await under()
    var ratios: [Double] = []
    for _ in 0..<rounds {
      let (above, below) = (try await over(), try await under())
      ratios.append(above / below)
    }
    Swift.print(line(name, ratios))
  }

  public static func line(_ name: String, _ ratios: [Double]) -> String {
    let sorted = ratios.sorted()
    guard let least = sorted.first, let greatest = sorted.last else { return "" }
    return "ratio\t\(name)\t\(text(sorted[sorted.count / 2]))\t\(text(least))…\(text(greatest))"
  }

  private static func text(_ ratio: Double) -> String { String(format: "%.3f", ratio) }

  /// How many per second `body` does.
  public static func rate(_ count: Int, _ body: () async throws -> Void) async throws -> Double {
    let begin = ContinuousClock.now
    try await body()
    let duration = ContinuousClock.now - begin
    return Double(count) / (duration / .seconds(1))
  }
}
