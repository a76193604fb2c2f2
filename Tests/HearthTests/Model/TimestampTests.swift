import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

struct TimestampTests {
  @Test(arguments: [
    (0.0, Int64(0), Int32(0)),
    (1.5, 1, 500_000_000),
    (-0.25, -1, 750_000_000),
    (-1, -1, 0),
    (1_700_000_000.123_456_7, 1_700_000_000, 123_456_716),
    (-1e-20, 0, 0),
  ])
  func `a date is cut to whole nanoseconds, which are never negative`(
    interval: Double, seconds: Int64, nanoseconds: Int32
  ) {
    let timestamp = Timestamp(date: Date(timeIntervalSince1970: interval))
    #expect(timestamp.seconds == seconds)
    #expect(timestamp.nanoseconds == nanoseconds)
    #expect(timestamp.validationError == nil)
  }

  @Test(arguments: [
    (1_570_484_031.123, Int64(1_570_484_031), Int32(122_999_906)),
    // As Firebase's SDK tests it: the nanoseconds of the double, before 1970 too.
    (1.4, 1, 399_999_976), (-0.3, -1, 700_000_047),
  ])
  func `a date's nanoseconds are those of its double, and it is stored as the date is`(
    interval: Double, seconds: Int64, nanoseconds: Int32
  ) throws {
    let date = Date(timeIntervalSince1970: interval)
    let timestamp = Timestamp(date: date)
    #expect(timestamp.seconds == seconds && timestamp.nanoseconds == nanoseconds, "\(timestamp)")
    #expect(try timestamp.instant() == Instant(date))
    #expect(Instant(timestamp) == Instant(date))
    #expect(timestamp.dateValue() == date)
    // The value has no more than its seconds and nanoseconds.
    let same = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    #expect(timestamp == same && timestamp.hash == same.hash)
    #expect(try same.instant() == Instant(seconds: seconds, nanoseconds: nanoseconds / 1000 * 1000))
  }

  @Test func `every date comes back from a timestamp, and from a stored one to the microsecond`()
    throws
  {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<10_000 {
      let interval = Double.random(in: -5e9...5e9, using: &random)
      let date = Date(timeIntervalSince1970: interval)
      let timestamp = Timestamp(date: date)
      #expect(abs(timestamp.dateValue().timeIntervalSince(date)) < 1e-6)
      let whole = try #require(Instant(date)).date
      #expect(Timestamp(date: whole).dateValue() == whole)
      #expect(try Timestamp(date: whole).instant() == Instant(whole))
    }
  }

  @Test func `Date.distantPast is refused with what to do instead`() {
    let sentence = refusal { try Timestamp(date: .distantPast).instant() } ?? ""
    #expect(
      sentence.hasPrefix("Timestamp seconds out of range: -62135769600. This is Date.distantPast"))
    #expect(sentence.contains("Timestamp(seconds: -62_135_596_800, nanoseconds: 0)"))
    #expect(throws: Never.self) {
      try Timestamp(seconds: -62_135_596_800, nanoseconds: 0).instant()
    }
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, 1e300, -1e300, 253_402_300_800])
  func `a date outside of the years 1 to 9999 is remembered as a fault`(interval: Double) {
    let timestamp = Timestamp(date: Date(timeIntervalSince1970: interval))
    #expect(
      refusal { try timestamp.instant() } == "Timestamp seconds out of range: \(timestamp.seconds)")
    _ = timestamp.dateValue()
  }

  @Test func `what is out of range is named`() {
    #expect(
      refusal { try Timestamp(seconds: 0, nanoseconds: -1).instant() }
        == "Timestamp nanoseconds out of range: -1")
    #expect(
      refusal { try Timestamp(seconds: 0, nanoseconds: 1_000_000_000).instant() }
        == "Timestamp nanoseconds out of range: 1000000000")
    #expect(
      refusal { try Timestamp(seconds: -62_135_596_801, nanoseconds: 0).instant() }
        == "Timestamp seconds out of range: -62135596801")
    #expect(
      refusal { try Timestamp(seconds: 253_402_300_800, nanoseconds: 0).instant() }
        == "Timestamp seconds out of range: 253402300800")
  }

  @Test func `nanoseconds stay in memory and microseconds are stored`() throws {
    let timestamp = Timestamp(seconds: -5, nanoseconds: 123_456_789)
    #expect(timestamp.nanoseconds == 123_456_789)
    #expect(
      Timestamp(try timestamp.instant()) == Timestamp(seconds: -5, nanoseconds: 123_456_000))
  }

  @Test func `a date comes back as it went in`() {
    let date = Date(timeIntervalSince1970: 1_700_000_000.25)
    #expect(Timestamp(date: date).dateValue() == date)
    #expect(
      Timestamp(seconds: -1, nanoseconds: 750_000_000).dateValue()
        == Date(timeIntervalSince1970: -0.25))
  }

  @Test func `without arguments it is now`() {
    #expect(abs(Timestamp().dateValue().timeIntervalSinceNow) < 5)
  }

  @Test func `timestamps compare by seconds, then nanoseconds`() {
    let early = Timestamp(seconds: 1, nanoseconds: 9)
    let late = Timestamp(seconds: 2, nanoseconds: 0)
    #expect(early.compare(late) == .orderedAscending)
    #expect(late.compare(early) == .orderedDescending)
    #expect(early.compare(Timestamp(seconds: 1, nanoseconds: 8)) == .orderedDescending)
    #expect(early.compare(Timestamp(seconds: 1, nanoseconds: 9)) == .orderedSame)
  }

  @Test func `equal timestamps are equal as objects, copies and keys`() {
    let one = Timestamp(seconds: 1, nanoseconds: 2)
    let other = Timestamp(seconds: 1, nanoseconds: 2)
    #expect(one == other)
    #expect(one.hash == other.hash)
    #expect(one.copy() as? Timestamp == one)
    #expect([one: "a"][other] == "a")
    #expect(one != Timestamp(seconds: 1, nanoseconds: 3))
    #expect(one != Timestamp(seconds: 2, nanoseconds: 2))
    #expect(!one.isEqual("1"))
    #expect(one.description == "<Timestamp: seconds=1 nanoseconds=2>")
  }
}
