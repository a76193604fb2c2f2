import Testing

@testable import HearthText

@Suite struct RFC3339Tests {
  @Test(arguments: [
    ("1970-01-01T00:00:00Z", Int64(0), Int32(0), 0),
    ("1965-08-01T12:00:00.000001Z", -139_406_400, 1000, 6),
    ("0001-01-01T00:00:00Z", -62_135_596_800, 0, 0),
    ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999, 9),
    ("2024-02-29T23:59:59.5Z", 1_709_251_199, 500_000_000, 1),
    ("1900-03-01T00:00:00Z", -2_203_891_200, 0, 0),
  ])
  func `a time is written and read to the nanosecond`(
    text: String, seconds: Int64, nanoseconds: Int32, digits: Int
  ) throws {
    #expect(
      RFC3339.text(seconds: seconds, nanoseconds: nanoseconds, fractionDigits: digits) == text)
    let read = try #require(RFC3339.read(text))
    #expect(read.seconds == seconds && read.nanoseconds == nanoseconds)
  }

  @Test func `every day is its own, in order`() {
    var previous = ""
    for day in stride(from: Int64(-719_162), through: 2_932_896, by: 997) {
      let seconds = day * 86_400 + 3661
      let text = RFC3339.text(seconds: seconds, nanoseconds: 0, fractionDigits: 0)
      #expect(text > previous && text.hasSuffix("T01:01:01Z"))
      #expect(RFC3339.read(text)?.seconds == seconds)
      previous = text
    }
  }

  @Test func `an offset is subtracted`() {
    let noon = RFC3339.read("2024-05-01T12:00:00Z")?.seconds
    #expect(noon == 1_714_564_800)
    for text in [
      "2024-05-01T14:00:00+02:00", "2024-05-01T06:30:00-05:30", "2024-05-02T02:00:00+14:00",
      "2024-05-02T11:59:00+23:59", "2024-05-01T12:00:00-00:00",
    ] {
      #expect(RFC3339.read(text)?.seconds == noon, "\(text)")
    }
  }

  @Test func `letters in lower case are taken where that is asked for`() {
    for text in ["2024-05-01t12:00:00Z", "2024-05-01T12:00:00z", "2024-05-01t12:00:00z"] {
      #expect(RFC3339.read(text) == nil)
      #expect(RFC3339.read(text, takesLowercase: true)?.seconds == 1_714_564_800)
    }
  }

  @Test(arguments: [
    "", "2024-05-01", "2024-05-01T12:00:00", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
    "2024-00-01T00:00:00Z", "2024-05-00T00:00:00Z", "2024-05-01T24:00:00Z",
    "2024-05-01T12:60:00Z", "2024-05-01T12:00:60Z", "2024-05-01T12:00:00.Z",
    "2024-05-01T12:00:00.1234567890Z", "٢٠٢٤-05-01T12:00:00Z", "12024-05-01T12:00:00Z",
    "2024-05-01T12:00:00+24:00", "2024-05-01T12:00:00+01:60", "2024-05-01T12:00:00+0100",
    "2024-05-01T12:00:00Zz", "0000-12-31T23:00:00-02:00", "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01", "x024-05-01T12:00:00Z",
  ])
  func `what is no time is refused`(text: String) {
    #expect(RFC3339.read(text) == nil)
    #expect(RFC3339.read(text, takesLowercase: true) == nil)
  }

  @Test func `a fraction without a number of digits ends with the last that is not zero`() {
    #expect(RFC3339.text(seconds: 0, nanoseconds: 0) == "1970-01-01T00:00:00Z")
    #expect(RFC3339.text(seconds: 0, nanoseconds: 500_000_000) == "1970-01-01T00:00:00.5Z")
    #expect(RFC3339.text(seconds: 0, nanoseconds: 1) == "1970-01-01T00:00:00.000000001Z")
  }

  @Test func `a time keeps its own clock, and is cut where that is asked for`() throws {
    let early = try #require(RFC3339.time("0000-12-31T23:30:00-01:00"))
    #expect(early.date == CivilDate(year: 0, month: 12, day: 31))
    #expect(early.seconds == RFC3339.seconds.lowerBound + 1800)
    let text = "1970-01-01T00:00:00.1234567899Z"
    #expect(RFC3339.time(text) == nil)
    #expect(RFC3339.time(text, cutsFraction: true)?.nanoseconds == 123_456_789)
    #expect(RFC3339.time("1970-01-01T00:00:00.Z", cutsFraction: true) == nil)
  }

  @Test func `no number traps the writer`() {
    for seconds in [Int64.min, -1, 0, .max] {
      for nanoseconds in [Int32.min, -1, 0, .max] {
        _ = RFC3339.text(seconds: seconds, nanoseconds: nanoseconds, fractionDigits: 9)
      }
    }
  }
}
