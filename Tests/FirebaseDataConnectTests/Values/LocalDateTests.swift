import Foundation
import Testing

@testable import FirebaseDataConnect

@Suite struct LocalDateTests {
  @Test func `a day is the same from its numbers, its text and its moments`() throws {
    let day = try LocalDate(year: 2024, month: 5, day: 14)
    #expect(try LocalDate(localDateString: "2024-05-14") == day)
    #expect(try LocalDate(localDateString: "2024-05-14T23:59:59Z") == day)
    #expect(Set([day, try LocalDate(localDateString: "2024-05-14")]).count == 1)
    #expect(try LocalDate(date: day.date) == day)
  }

  @Test func `all moments of a day are this day, in each zone`() throws {
    for (name, first) in [
      ("UTC", "2024-06-01T00:00:00Z"), ("Asia/Tokyo", "2024-05-31T15:00:00Z"),
      ("America/Los_Angeles", "2024-06-01T07:00:00Z"),
      ("Pacific/Kiritimati", "2024-05-31T10:00:00Z"),
    ] {
      let zone = try #require(TimeZone(identifier: name))
      let begin = try Date(first, strategy: .iso8601)
      for seconds in [0, 1, 72, 43_200, 86_399] {
        let day = try LocalDate(date: begin + Double(seconds), timeZone: zone)
        #expect(day.description == "2024-06-01", "\(name) \(seconds)")
      }
      #expect(try LocalDate(date: begin - 1, timeZone: zone).description == "2024-05-31")
      #expect(try LocalDate(date: begin + 86_400, timeZone: zone).description == "2024-06-02")
    }
  }

  @Test func `days are ordered as in the calendar`() throws {
    let (earlier, later) = (
      try LocalDate(localDateString: "2023-12-29"), try LocalDate(localDateString: "2024-02-01")
    )
    #expect(earlier < later && earlier <= later && !(earlier > later) && earlier != later)
    #expect(!(earlier < earlier) && earlier <= earlier)
    // A period of the calendar: each day is followed by the next.
    let first = try LocalDate(year: 1600, month: 1, day: 1).daysSince1970
    var last = try LocalDate(year: 1599, month: 12, day: 31)
    for number in first..<first + 146_097 {
      let day = try LocalDate(daysSince1970: number)
      guard last < day, !(day < last), day.daysSince1970 == number,
        last.description < day.description
      else {
        Issue.record("\(last) is followed by \(day)")
        return
      }
      last = day
    }
    #expect(last.description == "1999-12-31")
  }

  @Test(arguments: [
    (2024, 13, 45), (2024, 0, 1), (2024, 1, 0), (2024, 1, 32), (2024, 4, 31), (2023, 2, 29),
    (1900, 2, 29), (0, 1, 1), (10_000, 1, 1), (-1, 1, 1), (.max, .max, .max), (.min, .min, .min),
  ])
  func `numbers that are no day are refused`(year: Int, month: Int, day: Int) {
    let error = #expect(throws: DataConnectCodecError.self) {
      try LocalDate(year: year, month: month, day: day)
    }
    #expect(error?.code == .invalidLocalDateFormat)
  }

  @Test(arguments: [
    "", "T", "2024", "2024-05", "2024-5-14", "24-05-14", "02024-05-14", "2024-05-14-", "2024/05/14",
    "14-05-2024", "2024-05-1a", "2024-05-14 ", " 2024-05-14", "+024-05-14", "2024--5-14",
    "2024-13-01", "2024-02-30", "0000-01-01", "٢٠٢٤-٠٥-١٤", "２０２４-０５-１４", "२०२४-०५-१४",
  ])
  func `a text that is no day is refused`(text: String) {
    let error = #expect(throws: DataConnectCodecError.self) {
      try LocalDate(localDateString: text)
    }
    #expect(error?.code == .invalidLocalDateFormat)
  }

  @Test func `JSON has a day as text, and gives it back`() throws {
    for text in ["0001-01-01", "1583-01-01", "2024-02-29", "9999-12-31"] {
      let day = try LocalDate(localDateString: text)
      let json = try JSONEncoder().encode([day])
      #expect(String(decoding: json, as: UTF8.self) == "[\"\(text)\"]")
      #expect(try JSONDecoder().decode([LocalDate].self, from: json) == [day])
      #expect(try LocalDate(dataConnectValue: day.dataConnectValue) == day)
    }
    #expect(throws: (any Error).self) {
      try JSONDecoder().decode([LocalDate].self, from: Data("[\"2024-02-30\"]".utf8))
    }
  }

  @Test func `digits are ASCII, although a locale has others`() throws {
    let moment = try Date("2024-05-14T12:00:00Z", strategy: .iso8601)
    let day = try LocalDate(date: moment)
    for identifier in ["ar_EG", "fa_IR", "hi_IN@numbers=deva", "my_MM", "th_TH@calendar=buddhist"] {
      var style = Date.FormatStyle(
        locale: Locale(identifier: identifier), timeZone: .gmt
      ).year(.padded(4)).month(.twoDigits).day(.twoDigits)
      style.calendar = style.locale.calendar
      // The text that the locale would have.
      #expect(moment.formatted(style) != day.description)
    }
    #expect(day.description.utf8.elementsEqual("2024-05-14".utf8))
    #expect(
      try LocalDate(year: 7, month: 8, day: 9).description.utf8.elementsEqual("0007-08-09".utf8))
  }
}
