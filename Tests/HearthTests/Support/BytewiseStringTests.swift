import Foundation
import Testing

@testable import HearthEngine

@Suite struct BytewiseStringTests {
  @Test func `texts are equal if and only if their bytes are`() {
    // Of each length that a string stores inside of itself and outside; bridged ones, too.
    let texts =
      ["", "a", "b", "é", "e\u{301}", "\u{212B}", "\u{C5}", "\0", "a\0", "a\0b"]
      + (1..<40).map { String(repeating: "x", count: $0) }
      + (1..<40).map { String(repeating: "x", count: $0 - 1) + "y" }
      + [NSString(string: "é") as String, NSString(string: "e\u{301}abc") as String]
    for one in texts {
      for other in texts {
        let areEqual = Array(one.utf8) == Array(other.utf8)
        #expect((BytewiseString(one) == BytewiseString(other)) == areEqual, "\(one) \(other)")
        if areEqual { #expect(BytewiseString(one).hashValue == BytewiseString(other).hashValue) }
      }
    }
  }
}
