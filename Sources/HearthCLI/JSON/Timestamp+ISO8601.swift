#if Tools
  import Hearth

  /// `1965-08-01T00:00:00.000001Z`: in UTC, with as many fractional digits as needed.
  ///
  /// Does not use `Date`, which cannot hold every microsecond of the years 0001 to 9999.
  extension Timestamp {
    var iso8601: String {
      let (day, second) = seconds.quotientAndRemainder(floorDividingBy: 86_400)
      let date = CivilDate(daysSince1970: day)
      var text = "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T"
      text += "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
      if nanoseconds != 0 {
        var digits = padded(Int64(nanoseconds), 9)
        while digits.hasSuffix("0") { digits.removeLast() }
        text += "." + digits
      }
      return text + "Z"
    }

    convenience init?(iso8601 text: String) {
      let pattern =
        /(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))/
      guard let match = try? pattern.asciiOnlyDigits().wholeMatch(in: text),
        let year = Int64(match.1), let month = Int64(match.2), let day = Int64(match.3),
        let hour = Int64(match.4), let minute = Int64(match.5), let second = Int64(match.6),
        hour < 24, minute < 60, second < 60
      else { return nil }
      let date = CivilDate(year: year, month: month, day: day)
      guard CivilDate(daysSince1970: date.daysSince1970) == date else { return nil }
      let fraction = match.7.map { $0 + String(repeating: "0", count: 9 - $0.count) } ?? "0"
      guard let nanoseconds = Int32(fraction) else { return nil }
      var seconds = date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second
      if let sign = match.8, let hours = match.9.flatMap({ Int64($0) }),
        let minutes = match.10.flatMap({ Int64($0) })
      {
        seconds -= (sign == "-" ? -1 : 1) * (hours * 3600 + minutes * 60)
      }
      self.init(seconds: seconds, nanoseconds: nanoseconds)
    }
  }

  private func padded(_ number: Int64, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
  }
#endif
