import Foundation

/// Numbers formatted for people.
package enum Figure {
  /// `63,666`
  package static func count(_ number: Int) -> String {
    var digits = String(number.magnitude)
    var groups: [String] = []
    while digits.count > 3 {
      groups.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    groups.insert(digits, at: 0)
    return (number < 0 ? "-" : "") + groups.joined(separator: ",")
  }

  /// `63,666 documents`, `1 document`
  package static func count(_ number: Int, _ noun: String) -> String {
    "\(count(number)) \(noun)\(number == 1 ? "" : "s")"
  }

  /// `50.2 MB`, in powers of ten.
  package static func bytes(_ number: Int) -> String {
    switch number {
    case ..<1000: "\(number) bytes"
    case ..<1_000_000: "\(decimals(Double(number) / 1e3, 1)) kB"
    case ..<1_000_000_000: "\(decimals(Double(number) / 1e6, 1)) MB"
    default: "\(decimals(Double(number) / 1e9, 2)) GB"
    }
  }

  /// `3.1 s`, `959 ms`, `4.2 ms`, `870 µs`
  package static func duration(_ duration: Duration) -> String {
    let seconds = duration / .seconds(1)
    return switch seconds {
    case ..<0.001: "\(decimals(seconds * 1e6, 0)) µs"
    case ..<0.01: "\(decimals(seconds * 1e3, 1)) ms"
    case ..<1: "\(decimals(seconds * 1e3, 0)) ms"
    default: "\(decimals(seconds, 1)) s"
    }
  }

  package static func decimals(_ number: Double, _ count: Int) -> String {
    String(format: "%.\(count)f", number)
  }
}
