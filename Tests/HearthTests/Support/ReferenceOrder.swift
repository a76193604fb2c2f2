@testable import Hearth
@testable import HearthEngine

func sign<T: Comparable>(_ lhs: T, _ rhs: T) -> Int { lhs < rhs ? -1 : (lhs > rhs ? 1 : 0) }

func compareBytes(_ lhs: [UInt8], _ rhs: [UInt8]) -> Int {
  lhs.withUnsafeBytes { left in rhs.withUnsafeBytes { UTF8Order.compare(left, $0).signum() } }
}
