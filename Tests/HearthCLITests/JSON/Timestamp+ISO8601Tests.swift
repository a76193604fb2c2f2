#if Tools
  import Foundation
  import Hearth
  import Testing

  @testable import HearthCLI

  @Suite struct TimestampISO8601Tests {
    @Test(arguments: [
      ("1970-01-01T00:00:00Z", Int64(0), Int32(0)),
      ("1965-08-01T12:00:00.000001Z", -139_406_400, 1000),
      ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
      ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999),
      ("2024-02-29T23:59:59.5Z", 1_709_251_199, 500_000_000),
      ("1900-03-01T00:00:00Z", -2_203_891_200, 0),
    ])
    func `a moment is written and read to the nanosecond`(text: String, seconds: Int64, rest: Int32)
    {
      let moment = Timestamp(seconds: seconds, nanoseconds: rest)
      #expect(moment.iso8601 == text)
      #expect(Timestamp(iso8601: text) == moment)
    }

    @Test func `every day is its own, in order`() {
      var previous = ""
      for day in stride(from: Int64(-719_162), through: 2_932_896, by: 997) {
        let moment = Timestamp(seconds: day * 86_400 + 3661, nanoseconds: 0)
        let text = moment.iso8601
        #expect(text > previous && text.hasSuffix("T01:01:01Z"))
        #expect(Timestamp(iso8601: text) == moment)
        previous = text
      }
    }

    @Test func `an offset is taken into account`() {
      let noon = Timestamp(iso8601: "2024-05-01T12:00:00Z")
      #expect(noon != nil)
      #expect(Timestamp(iso8601: "2024-05-01T14:00:00+02:00") == noon)
      #expect(Timestamp(iso8601: "2024-05-01T06:30:00-05:30") == noon)
    }

    @Test(arguments: [
      "", "2024-05-01", "2024-05-01T12:00:00", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
      "2024-00-01T00:00:00Z", "2024-05-01T24:00:00Z", "2024-05-01T12:60:00Z",
      "2024-05-01T12:00:00.Z", "٢٠٢٤-05-01T12:00:00Z", "12024-05-01T12:00:00Z",
    ])
    func `what is no moment is refused`(text: String) {
      #expect(Timestamp(iso8601: text) == nil)
    }
  }
#endif
