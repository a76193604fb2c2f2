/// A polygon on the earth: straight lines in the plane of degrees. Stored as an array of `GeoPoint`s.
public struct ParsePolygon: Codable, Hashable, Sendable {
  /// The vertices. The last one is joined with the first one.
  public let coordinates: [ParseGeoPoint]

  /// Creates a polygon from its vertices, in order. Throws `ParseError` with `.invalidValue` for
  /// fewer than three points.
  public init(_ coordinates: [ParseGeoPoint]) throws(ParseError) {
    guard coordinates.count >= 3 else {
      throw ParseError(.invalidValue, "A polygon has at least 3 points.")
    }
    self.coordinates = coordinates
  }

  /// Same as `init(_:)` with a list.
  public init(_ coordinates: ParseGeoPoint...) throws(ParseError) { try self.init(coordinates) }

  /// Decodes an array of points. Throws `ParseError`: `.invalidValue` for fewer than three,
  /// `.incorrectType` for other JSON.
  public init(from decoder: any Decoder) throws {
    try self.init(reporting { try [ParseGeoPoint](from: decoder) })
  }

  /// Encodes an array of points.
  public func encode(to encoder: any Encoder) throws { try coordinates.encode(to: encoder) }

  /// Whether the point is inside, or on an edge. Edges do not cross the antimeridian.
  public func containsPoint(_ point: ParseGeoPoint) -> Bool {
    var isInside = false
    var before = coordinates[coordinates.count - 1]
    for vertex in coordinates {
      if Self.isOn(point, before, vertex) { return true }
      if (vertex.latitude > point.latitude) != (before.latitude > point.latitude) {
        let crossing =
          (before.longitude - vertex.longitude) * (point.latitude - vertex.latitude)
          / (before.latitude - vertex.latitude) + vertex.longitude
        if point.longitude < crossing { isInside.toggle() }
      }
      before = vertex
    }
    return isInside
  }

  private static func isOn(
    _ point: ParseGeoPoint, _ one: ParseGeoPoint, _ other: ParseGeoPoint
  ) -> Bool {
    let cross =
      (other.longitude - one.longitude) * (point.latitude - one.latitude)
      - (other.latitude - one.latitude) * (point.longitude - one.longitude)
    return cross == 0
      && (min(one.longitude, other.longitude)...max(one.longitude, other.longitude))
        .contains(point.longitude)
      && (min(one.latitude, other.latitude)...max(one.latitude, other.latitude))
        .contains(point.latitude)
  }
}
