import Foundation

/// The operands of Hearth's own operators, as values.
extension StructuredQuery.Comparison {
  /// The field is a point in the region.
  package init(field: FieldSegments, within region: GeoRegion) {
    self.init(field: field, operator: .withinRegion, operand: region.operand)
  }

  /// The field is a string in which the pattern is found.
  ///
  /// - Parameter options: See `RegularExpression.init(_:options:)`.
  package init(field: FieldSegments, matching pattern: String, options: String) {
    self.init(
      field: field, operator: .matchesPattern,
      operand: .array([.string(pattern), .string(options)])
    )
  }

  /// The field is a timestamp that is later than the time of the read plus an offset; or, if
  /// `isBefore`, not later.
  package init(field: FieldSegments, isBefore: Bool, nowPlus microseconds: Int64) {
    self.init(
      field: field, operator: isBefore ? .beforeNow : .afterNow, operand: .integer(microseconds))
  }

  /// The field is a timestamp on a day, which is counted from that of the read, or on a later one; or, if `isBefore`,
  /// on an earlier one.
  package init(field: FieldSegments, isBefore: Bool, day: Int, in zone: TimeZone) {
    self.init(
      field: field, operator: isBefore ? .beforeNow : .afterNow,
      operand: .array([.integer(Int64(day)), .string(zone.identifier)]))
  }

  /// The comparison whose path also leads through arrays. One of a field of the document itself is the
  /// same.
  var throughArrays: StructuredQuery.Comparison {
    guard !field.isDocumentID, field.names.count > 1, let root = field.names.first else {
      return self
    }
    var outer = StructuredQuery.Comparison(
      field: FieldSegments([root]), operator: .throughArrays,
      operand: .array([
        .integer(Int64(`operator`.rawValue)),
        .array(field.names.dropFirst().map(Value.string)),
        operand,
      ]))
    outer.isNegated = isNegated
    outer.isUnordered = isUnordered
    return outer
  }

  /// The comparison of the values that `throughArrays` leads to; its field is relative to its own. Nil
  /// for another operand.
  var reached: StructuredQuery.Comparison? {
    guard `operator` == .throughArrays, case .array(let parts) = operand, parts.count == 3,
      case .integer(let number) = parts[0], case .array(let names) = parts[1],
      let kind = StructuredQuery.Comparison.Operator(rawValue: Int(clamping: number)),
      kind != .throughArrays
    else { return nil }
    let path = names.compactMap { if case .string(let name) = $0 { name } else { nil } }
    guard !path.isEmpty, path.count == names.count else { return nil }
    var reached = StructuredQuery.Comparison(
      field: FieldSegments(path), operator: kind, operand: parts[2])
    reached.isUnordered = isUnordered
    return reached
  }

  /// Nil for another operand.
  var region: GeoRegion? { `operator` == .withinRegion ? GeoRegion(operand: operand) : nil }

  /// The prepared pattern. Throws `invalidArgument` for one that is not valid.
  func pattern() throws(Status) -> RegularExpression? {
    guard `operator` == .matchesPattern, case .array(let parts) = operand, parts.count == 2,
      case .string(let pattern) = parts[0], case .string(let options) = parts[1]
    else { return nil }
    return try RegularExpression(pattern, options: options)
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

extension RegularExpression {
  /// - Parameter options: Letters: `i` ignores case, `m` lets `^` and `$` match at lines, `s` lets `.`
  ///   match newlines, `x` ignores white space and comments in the pattern.
  init(_ pattern: String, options: String) throws(Status) {
    for option in options where !"imsx".contains(option) {
      throw .invalidArgument(
        "'\(option)' is no option of a regular expression. Use i, m, s or x.")
    }
    try self.init(
      pattern, ignoringCase: options.contains("i"), isMultiline: options.contains("m"),
      dotMatchesNewlines: options.contains("s"), isExtended: options.contains("x"))
  }
}

extension GeoRegion {
  fileprivate var operand: Value {
    func point(_ latitude: Double, _ longitude: Double) -> Value {
      .geoPoint(Coordinate(latitude: latitude, longitude: longitude))
    }
    switch self {
    case .circle(let latitude, let longitude, let radius):
      return .array([point(latitude, longitude), .double(radius)])
    case .box(let south, let west, let north, let east):
      return .array([point(south, west), point(north, east)])
    case .polygon(let vertices):
      return .array([.null] + vertices.map { point($0.latitude, $0.longitude) })
    }
  }

  fileprivate init?(operand: Value) {
    guard case .array(let parts) = operand, let first = parts.first else { return nil }
    let points = parts.compactMap { part -> Vertex? in
      guard case .geoPoint(let point) = part else { return nil }
      return Vertex(latitude: point.latitude, longitude: point.longitude)
    }
    switch (first, parts.last) {
    case (.geoPoint, .double(let radius)?) where points.count == 1:
      self = .circle(
        latitude: points[0].latitude, longitude: points[0].longitude, radiusMeters: radius)
    case (.geoPoint, .geoPoint?) where points.count == 2:
      self = .box(
        south: points[0].latitude, west: points[0].longitude, north: points[1].latitude,
        east: points[1].longitude)
    case (.null, _) where points.count == parts.count - 1: self = .polygon(points)
    default: return nil
    }
  }
}
