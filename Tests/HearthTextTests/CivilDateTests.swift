import Testing

@testable import HearthText

@Suite struct CivilDateTests {
  private static func length(ofMonth month: Int64, _ year: Int64) -> Int64 {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][Int(month - 1)]
  }

  @Test func `days and dates are inverse, and each day follows the one before`() {
    var expected = CivilDate(year: 1, month: 1, day: 1)
    for days in Int64(-719_162)...100_000 {
      let date = CivilDate(daysSince1970: days)
      guard date == expected, date.daysSince1970 == days, date.exists else {
        Issue.record("day \(days)")
        return
      }
      expected.day += 1
      if expected.day > Self.length(ofMonth: expected.month, expected.year) {
        expected.day = 1
        expected.month += 1
      }
      if expected.month > 12 {
        expected.month = 1
        expected.year += 1
      }
    }
    #expect(CivilDate(year: 9999, month: 12, day: 31).daysSince1970 == 2_932_896)
  }

  @Test func `a day exists if its month has so many`() {
    for year in Int64(0)...9999 {
      for (month, day) in [(0, 1), (13, 1), (1, 0), (1, 32), (.min, 1), (.max, 1), (1, .max)] {
        #expect(!CivilDate(year: year, month: Int64(month), day: Int64(day)).exists)
      }
      for month in Int64(1)...12 {
        let length = Self.length(ofMonth: month, year)
        #expect(CivilDate(year: year, month: month, day: length).exists)
        #expect(!CivilDate(year: year, month: month, day: length + 1).exists)
      }
    }
  }
}
