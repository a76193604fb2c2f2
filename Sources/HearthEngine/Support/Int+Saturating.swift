extension Int {
  /// The sum of two counts; `max` if it is larger.
  func adding(saturating other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
