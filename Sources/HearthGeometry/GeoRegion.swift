import Foundation

/// A region of the globe, in degrees. Its boundary is inside.
///
/// A point on the antimeridian has both longitudes, 180 and -180. A pole has the longitude that it is
/// written with, except in a circle.
package enum GeoRegion: Hashable, Sendable {
  /// The points at most `radiusMeters` away from the center, by `distance`.
  case circle(latitude: Double, longitude: Double, radiusMeters: Double)
  /// A rectangle in the plane of degrees. Crosses the antimeridian if `west` is greater than `east`.
  case box(south: Double, west: Double, north: Double, east: Double)
  /// A polygon in the plane of degrees, as MongoDB's legacy coordinates: its edges are straight lines
  /// there, not arcs of great circles. The last vertex is joined to the first. A point is inside if a
  /// line from it crosses the edges an odd number of times.
  case polygon([Vertex])

  package struct Vertex: Hashable, Sendable {
    package var latitude: Double
    package var longitude: Double

    package init(latitude: Double, longitude: Double) {
      self.latitude = latitude
      self.longitude = longitude
    }
  }

  static let vertexLimit = 10_000
}

// MARK: - Checking

extension GeoRegion {
  /// Why a region has no meaning: a sentence says how to change it.
  package struct Invalid: Error {
    package let message: String

    fileprivate init(_ message: String) { self.message = message }
  }

  package func check() throws(Invalid) {
    switch self {
    case .circle(let latitude, let longitude, let radius):
      try Self.check("center", latitude: latitude, longitude: longitude)
      guard radius >= 0, radius.isFinite else {
        throw Invalid(
          "The radius of a circle is \(radius). Use a finite number of meters, 0 or greater.")
      }
    case .box(let south, let west, let north, let east):
      try Self.check("south-west corner", latitude: south, longitude: west)
      try Self.check("north-east corner", latitude: north, longitude: east)
      guard south <= north else {
        throw Invalid(
          "The south of a box, \(south), is greater than its north, \(north). Exchange them.")
      }
    case .polygon(let vertices): try Self.check(vertices)
    }
  }

  private static func check(_ vertices: [Vertex]) throws(Invalid) {
    guard vertices.count <= vertexLimit else {
      throw Invalid(
        "A polygon has \(vertices.count) vertices. Simplify it to at most \(vertexLimit).")
    }
    for vertex in vertices {
      try check("vertex", latitude: vertex.latitude, longitude: vertex.longitude)
    }
    guard let first = vertices.first, let second = vertices.first(where: { $0 != first }),
      vertices.contains(where: { $0 != first && $0 != second })
    else {
      throw Invalid("A polygon needs at least 3 different vertices. Add the missing ones.")
    }
    var previous = vertices[vertices.count - 1]
    for vertex in vertices {
      guard abs(vertex.longitude - previous.longitude) <= 180 else {
        throw Invalid(
          "An edge of a polygon goes from longitude \(previous.longitude) to "
            + "\(vertex.longitude), more than 180 degrees. Split the polygon at the antimeridian.")
      }
      previous = vertex
    }
  }

  private static func check(
    _ name: String, latitude: Double, longitude: Double
  ) throws(Invalid) {
    guard (-90...90).contains(latitude) else {
      throw Invalid(
        "The latitude of a \(name) is \(latitude). Use a number of degrees from -90 to 90.")
    }
    guard (-180...180).contains(longitude) else {
      throw Invalid(
        "The longitude of a \(name) is \(longitude). Use a number of degrees from -180 to 180.")
    }
  }
}

// MARK: - Points

extension GeoRegion {
  /// Allocates nothing. False for coordinates out of range, and for NaN.
  package func contains(latitude: Double, longitude: Double) -> Bool {
    guard abs(latitude) <= 90, abs(longitude) <= 180 else { return false }
    switch self {
    case .circle(let centerLatitude, let centerLongitude, let radius):
      return Self.distance(
        fromLatitude: centerLatitude, longitude: centerLongitude, toLatitude: latitude,
        longitude: longitude) <= radius
    case .box(let south, let west, let north, let east):
      guard latitude >= south, latitude <= north else { return false }
      func isBetween(_ longitude: Double) -> Bool {
        west <= east
          ? longitude >= west && longitude <= east : longitude >= west || longitude <= east
      }
      return isBetween(longitude) || abs(longitude) == 180 && isBetween(-longitude)
    case .polygon(let vertices):
      return Self.polygon(vertices, containsLatitude: latitude, longitude: longitude)
        || abs(longitude) == 180
          && Self.polygon(vertices, containsLatitude: latitude, longitude: -longitude)
    }
  }

  /// Exact for vertices, for edges along meridians and parallels, and for coordinates of few digits in
  /// binary, such as whole numbers. Elsewhere, a point within 1e-13 degrees of an edge is on either
  /// side. Polygons that share an edge agree about it: no point falls between them.
  private static func polygon(
    _ vertices: [Vertex], containsLatitude latitude: Double, longitude: Double
  ) -> Bool {
    guard var start = vertices.last else { return false }
    var isInside = false
    for end in vertices {
      defer { start = end }
      guard min(start.latitude, end.latitude) <= latitude,
        latitude <= max(start.latitude, end.latitude)
      else { continue }
      let left = (start.longitude - longitude) * (end.latitude - latitude)
      let right = (end.longitude - longitude) * (start.latitude - latitude)
      if left == right, min(start.longitude, end.longitude) <= longitude,
        longitude <= max(start.longitude, end.longitude)
      {
        return true
      }
      // An edge includes its lower end and not its upper one: a vertex is not crossed twice.
      if (start.latitude > latitude) != (end.latitude > latitude),
        (left > right) == (end.latitude > start.latitude)
      {
        isInside.toggle()
      }
    }
    return isInside
  }

  /// The mean radius of the Earth (IUGG).
  static let earthRadiusMeters = 6_371_008.8

  /// The great-circle distance in meters on a sphere of the mean radius of the Earth, up to 0.6 % from
  /// the distance on the ellipsoid.
  ///
  /// The haversine formula, with the haversines of both arcs between the points: accurate near the
  /// point and near its antipode. `atan2` may differ in the last place between machines.
  package static func distance(
    fromLatitude latitude: Double, longitude: Double, toLatitude otherLatitude: Double,
    longitude otherLongitude: Double
  ) -> Double {
    let (north, _) = GeoCell.sineAndCosine(degrees: (latitude - otherLatitude) / 2)
    let (middle, _) = GeoCell.sineAndCosine(degrees: (latitude + otherLatitude) / 2)
    let (east, west) = GeoCell.sineAndCosine(degrees: (longitude - otherLongitude) / 2)
    let out =
      GeoCell.sineAndCosine(degrees: latitude).cosine
      * GeoCell.sineAndCosine(degrees: otherLatitude).cosine
    let near = north * north + out * (east * east)
    let far = middle * middle + out * (west * west)
    return 2 * earthRadiusMeters * atan2(near.squareRoot(), far.squareRoot())
  }
}
