import Foundation

/// How long tests are: longer with `HEARTH_SOAK=1`.
package enum Soak {
  private static let environment = ProcessInfo.processInfo.environment

  package static let isOn = environment["HEARTH_SOAK"] == "1"

  /// The seed of a run that failed, from `HEARTH_SEED`, to repeat it.
  package static let seed = environment["HEARTH_SEED"].flatMap(UInt64.init)

  /// The first seeds and those that failed once, or only the one that is asked for.
  package static func seeds(_ count: Int, andOnce failed: UInt64...) -> [UInt64] {
    seed.map { [$0] } ?? Array(0..<UInt64(count)) + failed
  }

  /// The seed itself; in a soak, some that follow from it.
  package static func seeds(from base: UInt64) -> [UInt64] {
    isOn ? (0..<8).map { base + $0 * 101 } : [base]
  }
}
