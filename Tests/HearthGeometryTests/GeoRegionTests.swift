import Foundation
import TestSupport
import Testing

@testable import HearthGeometry

@Suite struct GeoRegionTests {
  private func distance(_ one: RandomPlaces.Point, _ other: RandomPlaces.Point) -> Double {
    GeoRegion.distance(
      fromLatitude: one.latitude, longitude: one.longitude, toLatitude: other.latitude,
      longitude: other.longitude)
  }

  // MARK: Distance

  /// Meters on the ellipsoid WGS 84, by Vincenty's formula.
  @Test(arguments: [
    ("London", 51.5074, -0.1278, "New York", 40.7128, -74.006, 5_585_234.0),
    ("London", 51.5074, -0.1278, "Paris", 48.8566, 2.3522, 343_923),
    ("Oslo", 59.9139, 10.7522, "Bergen", 60.3913, 5.3221, 306_165),
    ("Sydney", -33.8688, 151.2093, "Auckland", -36.8509, 174.7645, 2_160_624),
    ("Auckland", -36.8509, 174.7645, "Honolulu", 21.3069, -157.8583, 7_050_331),
    ("Tokyo", 35.6762, 139.6503, "San Francisco", 37.7749, -122.4194, 8_293_443),
    ("Cape Town", -33.9249, 18.4241, "Buenos Aires", -34.6037, -58.3816, 6_884_648),
    ("Oslo", 59.9139, 10.7522, "Singapore", 1.3521, 103.8198, 10_048_434),
  ])
  func `distances between cities are right within half a percent`(
    from: String, latitude: Double, longitude: Double, to: String, otherLatitude: Double,
    otherLongitude: Double, meters: Double
  ) {
    let found = GeoRegion.distance(
      fromLatitude: latitude, longitude: longitude, toLatitude: otherLatitude,
      longitude: otherLongitude)
    #expect(abs(found - meters) < 0.005 * meters, "\(from) to \(to): \(found)")
  }

  @Test func `distances agree with the law of cosines, and from both ends`() {
    var places = RandomPlaces(seed: 11)
    for _ in 0..<20_000 {
      let (one, other) = (places.place(), places.place())
      let vectors = [one, other].map {
        GeoCell.point(latitude: $0.latitude, longitude: $0.longitude)
      }
      let cosine = max(-1, min(1, (vectors[0] * vectors[1]).sum()))
      // An arc cosine is inaccurate near 0 and π.
      let tolerance = abs(cosine) > 0.999999 ? 0.2 : 1e-5
      let found = distance(one, other)
      let expected = acos(cosine) * GeoRegion.earthRadiusMeters
      #expect(abs(found - expected) < tolerance, "\(one), \(other)")
      #expect(abs(found - distance(other, one)) < 1e-8)
    }
  }

  @Test func `distances are accurate near a point and near its antipode`() {
    var places = RandomPlaces(seed: 12)
    let half = GeoRegion.earthRadiusMeters * .pi
    for _ in 0..<5000 {
      let one = places.place()
      #expect(distance(one, one) == 0)
      let meters = pow(10, places.number(-3...3))
      // Along the meridian, where the plane is exact.
      let step = meters / GeoRegion.earthRadiusMeters * 180 / .pi
      let latitude = one.latitude > 0 ? one.latitude - step : one.latitude + step
      let expected =
        abs(latitude - one.latitude) * .pi / 180 * GeoRegion.earthRadiusMeters
      let other = RandomPlaces.Point(latitude: latitude, longitude: one.longitude)
      #expect(abs(distance(one, other) - expected) <= 1e-14 * expected + 1e-300)
      let antipode = RandomPlaces.Point(
        latitude: -latitude,
        longitude: one.longitude > 0 ? one.longitude - 180 : one.longitude + 180)
      #expect(abs(distance(one, antipode) - (half - expected)) < 2e-8)
    }
  }

  // MARK: Polygons

  /// On whole coordinates, in whole arithmetic: the winding of a ring from its crossings of a ray to
  /// the west, and the boundary by exact equality.
  private func contains(_ ring: [(y: Int, x: Int)], y: Int, x: Int) -> Bool {
    var crossings = 0
    for index in ring.indices {
      let (a, b) = (ring[index], ring[(index + 1) % ring.count])
      let cross = (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x)
      let isBeside = (x - a.x) * (x - b.x) + (y - a.y) * (y - b.y) <= 0
      if cross == 0 && isBeside { return true }
      if a.y < y && b.y >= y && cross < 0 { crossings += 1 }
      if b.y < y && a.y >= y && cross > 0 { crossings += 1 }
    }
    return crossings % 2 == 1
  }

  @Test(arguments: 0..<20)
  func `a polygon contains what whole arithmetic finds, with its boundary`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var inside = 0
    for round in 0..<60 {
      let size = round.isMultiple(of: 2) ? 5 : 12
      let ring = (0..<3 + generator.below(8)).map { _ in
        (y: generator.below(size), x: generator.below(size))
      }
      let polygon = GeoRegion.polygon(
        ring.map {
          GeoRegion.Vertex(latitude: Double($0.y - 3), longitude: Double($0.x) * 10 - 30)
        })
      for y in -1...size {
        for x in -1...size {
          let expected = contains(ring, y: y, x: x)
          if expected { inside += 1 }
          #expect(
            polygon.contains(latitude: Double(y - 3), longitude: Double(x) * 10 - 30) == expected,
            "(\(y), \(x)) in \(ring)")
        }
      }
    }
    #expect(inside > 500)
  }

  @Test(arguments: 0..<10)
  func `a polygon that is cut in two loses no point`(seed: UInt64) {
    var places = RandomPlaces(seed: seed)
    for _ in 0..<50 {
      // The ends of the cut, and a vertex on either side of it.
      let (height, width) = (places.number(-40...40), places.number(1...80))
      let corners = [(-height, -width), (-width, height), (height, width), (width, -height)].map {
        RandomPlaces.Point(latitude: $0 * 0.9 + 0.1, longitude: $1 * 0.9 + 0.1)
      }
      let halves = [[0, 1, 2], [2, 3, 0]].map { GeoRegion.polygon($0.map { corners[$0] }) }
      for _ in 0..<200 {
        // On the cut, but for rounding.
        let part = places.number(0.01...0.99)
        let latitude = corners[0].latitude + (corners[2].latitude - corners[0].latitude) * part
        let longitude = corners[0].longitude + (corners[2].longitude - corners[0].longitude) * part
        #expect(halves.contains { $0.contains(latitude: latitude, longitude: longitude) })
      }
    }
  }

  // MARK: Boundaries

  @Test func `boundaries are inside, and the antimeridian has both longitudes`() {
    let box = GeoRegion.box(south: -10, west: 170, north: 10, east: -170)
    for (latitude, longitude) in [(-10.0, 170.0), (10, -170), (0, 180), (0, -180), (0, 175)] {
      #expect(box.contains(latitude: latitude, longitude: longitude))
    }
    for (latitude, longitude) in [(0.0, 169.9), (0, -169.9), (10.1, 180), (0, 0)] {
      #expect(!box.contains(latitude: latitude, longitude: longitude))
    }
    let western = GeoRegion.box(south: 0, west: 170, north: 1, east: 180)
    #expect(western.contains(latitude: 0, longitude: -180))
    #expect(!western.contains(latitude: 0, longitude: -179))
    let triangle = GeoRegion.polygon([
      .init(latitude: 0, longitude: 180), .init(latitude: 10, longitude: 180),
      .init(latitude: 0, longitude: 170),
    ])
    #expect(triangle.contains(latitude: 5, longitude: -180))
    #expect(!triangle.contains(latitude: 5, longitude: 174.9))
    let circle = GeoRegion.circle(latitude: 90, longitude: 12, radiusMeters: 0)
    #expect(circle.contains(latitude: 90, longitude: -50))
    #expect(!circle.contains(latitude: 89.999999, longitude: 12))
    let meters = GeoRegion.distance(fromLatitude: 1, longitude: 2, toLatitude: 3, longitude: 4)
    #expect(
      GeoRegion.circle(latitude: 1, longitude: 2, radiusMeters: meters)
        .contains(latitude: 3, longitude: 4))
    #expect(
      !GeoRegion.circle(latitude: 1, longitude: 2, radiusMeters: meters.nextDown)
        .contains(latitude: 3, longitude: 4))
  }

  // MARK: Checking

  private static func ring(_ points: (Double, Double)...) -> GeoRegion {
    .polygon(points.map { GeoRegion.Vertex(latitude: $0.0, longitude: $0.1) })
  }

  private static let many = (0...10_000).map {
    GeoRegion.Vertex(latitude: Double($0) / 1000, longitude: 0)
  }

  @Test(arguments: [
    (GeoRegion.circle(latitude: 91, longitude: 0, radiusMeters: 1), "latitude of a center is 91.0"),
    (.circle(latitude: .nan, longitude: 0, radiusMeters: 1), "latitude of a center is nan"),
    (.circle(latitude: 0, longitude: -181, radiusMeters: 1), "longitude of a center is -181.0"),
    (.circle(latitude: 0, longitude: 0, radiusMeters: -1), "radius of a circle is -1.0"),
    (.circle(latitude: 0, longitude: 0, radiusMeters: .infinity), "radius of a circle is inf"),
    (.circle(latitude: 0, longitude: 0, radiusMeters: .nan), "radius of a circle is nan"),
    (.box(south: 2, west: 0, north: 1, east: 1), "south of a box, 2.0, is greater"),
    (.box(south: 0, west: 0, north: 1, east: .infinity), "longitude of a north-east corner is inf"),
    (.box(south: -90.1, west: 0, north: 1, east: 1), "latitude of a south-west corner is -90.1"),
    (.polygon([]), "at least 3 different vertices"),
    (ring((0, 0), (0, 1)), "at least 3 different vertices"),
    (ring((0, 0), (0, 1), (0, 0), (0, 1)), "at least 3 different vertices"),
    (ring((0, 0), (0, 1), (95, 0)), "latitude of a vertex is 95.0"),
    (ring((0, 170), (10, -170), (0, 0)), "from longitude 170.0 to -170.0"),
    (ring((0, 170), (10, 0), (0, -170)), "from longitude -170.0 to 170.0"),
    (.polygon(many), "10001 vertices. Simplify it to at most 10000"),
  ])
  func `a region without a meaning is refused with a reason`(region: GeoRegion, reason: String) {
    let error = #expect(throws: GeoRegion.Invalid.self) { try region.check() }
    #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
  }

  @Test(arguments: [
    GeoRegion.circle(latitude: 90, longitude: -180, radiusMeters: 0),
    .circle(latitude: 0, longitude: 0, radiusMeters: 1e12),
    .box(south: 1, west: 1, north: 1, east: 1),
    .box(south: -90, west: 180, north: 90, east: -180),
    ring((0, 0), (0, 1), (1, 0), (0, 0)),
    ring((0, 0), (0, 180), (90, 0)),
    .polygon(many.dropLast()),
  ])
  func `a region with a meaning is accepted`(region: GeoRegion) throws { try region.check() }

  @Test func `no number traps`() {
    let numbers = [
      0, 90, -200, 1e300, .infinity, -.infinity, .nan, .leastNonzeroMagnitude, -0.0,
    ]
    var generator = SeededGenerator(seed: 13)
    for _ in 0..<1000 {
      let picked = (0..<6).map { _ in generator.pick(numbers) }
      let regions: [GeoRegion] = [
        .circle(latitude: picked[0], longitude: picked[1], radiusMeters: picked[2]),
        .box(south: picked[0], west: picked[1], north: picked[2], east: picked[3]),
        Self.ring((picked[0], picked[1]), (picked[2], picked[3]), (picked[4], picked[5])),
        .polygon([]),
      ]
      for region in regions {
        #expect(!region.contains(latitude: .nan, longitude: picked[4]))
        #expect(!region.contains(latitude: picked[4], longitude: .nan))
        _ = region.contains(latitude: picked[4], longitude: picked[5])
        _ = region.covering(maximumRanges: generator.pick([-1, 0, 1, 8]))
        _ = try? region.check()
      }
    }
  }
}
