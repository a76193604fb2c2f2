import Foundation
package import HearthGeometry
internal import HearthPatterns

/// Comparisons with operands that are no values.
extension StructuredQuery.Comparison {
  /// The field is a point in the region.
  package init(field: FieldSegments, within region: GeoRegion) {
    self.init(field: field, operator: .withinRegion, .region(region))
  }

  /// The field is a string in which the pattern is found.
  ///
  /// - Parameter options: See `RegularExpression.init(_:options:)`.
  package init(field: FieldSegments, matching pattern: String, options: String) {
    self.init(field: field, operator: .matchesPattern, .pattern(pattern, options: options))
  }

  /// The field is a timestamp that is later than the time of the read plus an offset; or, if
  /// `isBefore`, not later.
  package init(field: FieldSegments, isBefore: Bool, nowPlus microseconds: Int64) {
    self.init(
      field: field, operator: isBefore ? .beforeNow : .afterNow, .time(.offset(microseconds)))
  }

  /// The field is a timestamp on a day, which is counted from that of the read, or on a later one; or, if `isBefore`,
  /// on an earlier one.
  package init(field: FieldSegments, isBefore: Bool, day: Int, in zone: TimeZone) {
    // The zone of now: a boundary does not move back when the system's zone changes.
    let fixed = TimeZone(identifier: zone.identifier) ?? zone
    self.init(
      field: field, operator: isBefore ? .beforeNow : .afterNow, .time(.beforeDay(day, in: fixed)))
  }

  /// The comparison whose path also leads through arrays. One of a field of the document itself is the
  /// same.
  var throughArrays: StructuredQuery.Comparison {
    guard !field.isDocumentID, field.names.count > 1, let root = field.names.first else {
      return self
    }
    var inner = self
    inner.field = FieldSegments(Array(field.names.dropFirst()))
    inner.isNegated = false
    inner.isUnordered = false
    var outer = StructuredQuery.Comparison(
      field: FieldSegments([root]), operator: .throughArrays, .comparison(inner))
    outer.isNegated = isNegated
    outer.isUnordered = isUnordered
    return outer
  }

  /// The comparison of the values that `throughArrays` leads to; its field is relative to its own. Nil
  /// for another operator.
  var reached: StructuredQuery.Comparison? {
    guard case .comparison(var reached) = operand, reached.operator != .throughArrays else {
      return nil
    }
    reached.isUnordered = isUnordered
    return reached
  }

  /// The prepared pattern. Throws `invalidArgument` for one that is not valid.
  func pattern() throws(Status) -> RegularExpression? {
    guard case .pattern(let pattern, let options) = operand else { return nil }
    do throws(RegularExpression.Failure) {
      return try RegularExpression(pattern, options: options)
    } catch {
      throw Status(error)
    }
  }
}

extension Instant {
  /// Not beyond the first or the last timestamp.
  func adding(saturating microseconds: Int64) -> Instant {
    let (sum, overflow) = self.microseconds.addingReportingOverflow(microseconds)
    if overflow { return microseconds < 0 ? .earliest : .latest }
    return Swift.min(Swift.max(Instant(microseconds: sum), .earliest), .latest)
  }
}
