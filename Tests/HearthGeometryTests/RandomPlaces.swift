import Foundation
import TestSupport

@testable import HearthGeometry

/// Points and regions of the globe, many of them where geometry is hard.
struct RandomPlaces {
  typealias Point = GeoRegion.Vertex

  var generator: SeededGenerator

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func number(_ range: ClosedRange<Double>) -> Double {
    Double.random(in: range, using: &generator)
  }

  /// Uniform on the sphere.
  mutating func point() -> Point {
    Point(latitude: asin(number(-1...1)) * 180 / .pi, longitude: number(-180...180))
  }

  /// At or near a pole, the antimeridian, a corner or an edge of a face; or anywhere.
  mutating func place() -> Point {
    var place = point()
    let nudge = pow(10, number(-16...0)) * Double(generator.below(3) - 1)
    if generator.one(in: 4) {
      place.latitude = generator.pick([90, -90, 0, 45, -45, 35.264389682754654]) + nudge
    }
    if generator.one(in: 4) {
      place.longitude = generator.pick([180, -180, 0, 45, 90, -135]) + nudge
    }
    return Self.clamped(place)
  }

  /// At a distance and a bearing in radians. Within the rounding of a `Double`.
  static func destination(from start: Point, meters: Double, bearing: Double) -> Point {
    let angle = meters / GeoRegion.earthRadiusMeters
    let latitude = start.latitude * .pi / 180
    let up = sin(latitude) * cos(angle) + cos(latitude) * sin(angle) * cos(bearing)
    let east = sin(bearing) * sin(angle)
    let front = cos(latitude) * cos(angle) - sin(latitude) * sin(angle) * cos(bearing)
    var longitude = start.longitude + atan2(east, front) * 180 / .pi
    if longitude > 180 { longitude -= 360 }
    if longitude < -180 { longitude += 360 }
    let fromAxis = (east * east + front * front).squareRoot()
    return clamped(
      Point(latitude: atan2(up, fromAxis) * 180 / .pi, longitude: longitude))
  }

  /// Uniform in a circle.
  mutating func point(around center: Point, meters: Double) -> Point {
    let chord = sin(min(.pi, meters / GeoRegion.earthRadiusMeters) / 2) * number(0...1).squareRoot()
    return Self.destination(
      from: center, meters: 2 * asin(chord) * GeoRegion.earthRadiusMeters,
      bearing: number(0...2 * .pi))
  }

  private static func clamped(_ point: Point) -> Point {
    Point(
      latitude: min(90, max(-90, point.latitude)),
      longitude: min(180, max(-180, point.longitude)))
  }

  // MARK: Regions

  /// Nothing, millimeters to the whole Earth, and half of it exactly.
  mutating func radius() -> Double {
    switch generator.below(12) {
    case 0: 0
    case 1: 1
    case 2: GeoRegion.earthRadiusMeters * .pi / 2
    case 3: number(9_900_000...10_100_000)
    case 4: number(19_900_000...20_100_000)
    default: pow(10, number(-3...7.31))
    }
  }

  mutating func circle() -> GeoRegion {
    let center = place()
    return .circle(
      latitude: center.latitude, longitude: center.longitude, radiusMeters: radius())
  }

  mutating func box() -> GeoRegion {
    let corner = place()
    let height = generator.one(in: 6) ? 0 : pow(10, number(-9...2.2))
    let width = generator.one(in: 6) ? 0 : pow(10, number(-9...2.5))
    var east = corner.longitude + width
    if east > 180 { east = max(-180, east - 360) }
    if generator.one(in: 10) {
      return .box(south: corner.latitude, west: -180, north: 90, east: 180)
    }
    return .box(
      south: corner.latitude, west: corner.longitude, north: min(90, corner.latitude + height),
      east: min(180, east))
  }

  /// A star around a point, convex or not; or any vertices at all, whose edges may cross.
  mutating func polygon() -> GeoRegion {
    let center = place()
    let size = pow(10, number(-10...2))
    let count = generator.one(in: 20) ? 200 : 3 + generator.below(8)
    let isStar = !generator.one(in: 4)
    let vertices = (0..<count).map { index in
      let angle = (Double(index) + number(0...0.9)) / Double(count) * 2 * .pi
      let length = size * number(0.3...1)
      let offset =
        isStar
        ? (sin(angle) * length, cos(angle) * length) : (number(-size...size), number(-size...size))
      return Self.clamped(
        Point(
          latitude: center.latitude + offset.0,
          // Wide enough for a test at high latitudes, and never over 180° from vertex to vertex.
          longitude: center.longitude * 0.999 + min(89, max(-89, offset.1 * 2))))
    }
    return .polygon(vertices)
  }

  /// A point in or around a region, often on its boundary.
  mutating func point(near region: GeoRegion) -> Point {
    switch region {
    case .circle(let latitude, let longitude, let radius):
      let center = Point(latitude: latitude, longitude: longitude)
      switch generator.below(4) {
      case 0: return center
      // Most points at `radius` are outside by rounding.
      case 1, 2:
        return Self.destination(
          from: center, meters: radius * (1 - pow(10, number(-16 ... -6))),
          bearing: number(0...2 * .pi))
      default: return point(around: center, meters: radius)
      }
    case .box(let south, let west, let north, let east):
      let latitude = [south, north, number(south...north)]
      let width = west <= east ? east - west : east + 360 - west
      var longitude = west + number(0...width)
      if longitude > 180 { longitude -= 360 }
      return Point(
        latitude: generator.pick(latitude), longitude: generator.pick([west, east, longitude]))
    case .polygon(let vertices):
      let start = generator.below(vertices.count)
      var point = vertices[start]
      if generator.one(in: 6) { return point }
      // On an edge, or on a line between any two vertices.
      let end = generator.one(in: 2) ? start + 1 : generator.below(vertices.count)
      let other = vertices[end % vertices.count]
      let part = number(0...1)
      point.latitude += (other.latitude - point.latitude) * part
      point.longitude += (other.longitude - point.longitude) * part
      return Self.clamped(point)
    }
  }
}
