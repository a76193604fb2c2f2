import Hearth

/// `1965-08-01T00:00:00.000001Z`: in UTC, with as many digits of a second as there are.
///
/// By hand, because `Date` cannot hold every microsecond of the years 0001 to 9999.
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

/// A day of the proleptic Gregorian calendar. Years begin in March here, so that a leap day is last.
private struct CivilDate: Equatable {
  var year: Int64
  var month: Int64
  var day: Int64

  init(year: Int64, month: Int64, day: Int64) {
    self.year = year
    self.month = month
    self.day = day
  }

  init(daysSince1970 days: Int64) {
    let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(floorDividingBy: 146_097)
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  var daysSince1970: Int64 {
    let (era, yearOfEra) =
      (month <= 2 ? year - 1 : year).quotientAndRemainder(floorDividingBy: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}

extension Int64 {
  fileprivate func quotientAndRemainder(
    floorDividingBy divisor: Int64
  ) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

private func padded(_ number: Int64, _ count: Int) -> String {
  let digits = String(number)
  return String(repeating: "0", count: max(0, count - digits.count)) + digits
}
