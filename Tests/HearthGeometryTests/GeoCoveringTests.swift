import Foundation
import Testing

@testable import HearthGeometry

@Suite struct GeoCoveringTests {
  private typealias Point = RandomPlaces.Point

  private func contains(_ ranges: [ClosedRange<UInt64>], _ point: Point) -> Bool {
    let leaf = GeoCell.leaf(latitude: point.latitude, longitude: point.longitude)
    var (lower, upper) = (0, ranges.count)
    while lower < upper {
      let middle = (lower + upper) / 2
      if ranges[middle].upperBound < leaf { lower = middle + 1 } else { upper = middle }
    }
    return lower < ranges.count && ranges[lower].contains(leaf)
  }

  // MARK: Superset

  /// Returns how many points were inside.
  private func expectSuperset(
    _ region: GeoRegion, maximumRanges: Int, in places: inout RandomPlaces, seed: UInt64
  ) -> Int {
    let ranges = region.covering(maximumRanges: maximumRanges)
    #expect((1...max(1, maximumRanges)).contains(ranges.count), "\(region), seed \(seed)")
    for (one, next) in zip(ranges, ranges.dropFirst()) {
      // Even the next leaf is not in it.
      #expect(one.upperBound + 2 < next.lowerBound, "\(region), seed \(seed)")
    }
    var inside = 0
    for _ in 0..<40 {
      let point = places.generator.one(in: 10) ? places.place() : places.point(near: region)
      guard region.contains(latitude: point.latitude, longitude: point.longitude) else { continue }
      inside += 1
      if !contains(ranges, point) {
        Issue.record("\(point) is in \(region) and not in its covering, seed \(seed)")
      }
    }
    return inside
  }

  @Test(arguments: 0..<20)
  func `every point of a circle is in its covering`(seed: UInt64) throws {
    var places = RandomPlaces(seed: seed)
    var inside = 0
    for _ in 0..<150 {
      let region = places.circle()
      try region.check()
      inside += expectSuperset(
        region, maximumRanges: places.generator.pick([0, 1, 3, 8, 48]), in: &places, seed: seed)
    }
    #expect(inside > 2500)
  }

  @Test(arguments: 0..<20)
  func `every point of a box is in its covering`(seed: UInt64) throws {
    var places = RandomPlaces(seed: seed)
    var inside = 0
    for _ in 0..<150 {
      let region = places.box()
      try region.check()
      inside += expectSuperset(
        region, maximumRanges: places.generator.pick([0, 1, 3, 8, 48]), in: &places, seed: seed)
    }
    #expect(inside > 2500)
  }

  @Test(arguments: 0..<20)
  func `every point of a polygon is in its covering`(seed: UInt64) throws {
    var places = RandomPlaces(seed: seed)
    var inside = 0
    for _ in 0..<150 {
      let region = places.polygon()
      try region.check()
      inside += expectSuperset(
        region, maximumRanges: places.generator.pick([0, 1, 3, 8, 48]), in: &places, seed: seed)
    }
    #expect(inside > 1500)
  }

  @Test func `the rounding of large longitudes loses no polygon of a millimeter`() {
    for (latitude, longitude) in [(90.0, -138.52258810525757), (-89.999, 179.9), (60, 179.99)] {
      for step in [1e-8, 1e-10, 1e-12] {
        // All on one parallel, and not.
        for height in [0, step] {
          let vertices = [(0.0, 0.0), (0, step), (height, 2 * step)].map {
            Point(latitude: latitude - $0, longitude: longitude + $1)
          }
          let ranges = GeoRegion.polygon(vertices).covering()
          for vertex in vertices { #expect(contains(ranges, vertex), "\(vertices)") }
        }
      }
    }
  }

  @Test func `the whole sphere is one range, and half of it is covered`() {
    let everything = GeoCell(face: 0).leaves.lowerBound...GeoCell(face: 5).leaves.upperBound
    for region in [
      GeoRegion.circle(latitude: 12, longitude: 34, radiusMeters: 20_015_115),
      .circle(latitude: 12, longitude: 34, radiusMeters: 1e15),
      .box(south: -90, west: -180, north: 90, east: 180),
    ] {
      #expect(region.covering() == [everything])
    }
    var places = RandomPlaces(seed: 21)
    let half = GeoRegion.earthRadiusMeters * .pi / 2
    for center in [places.point(), Point(latitude: 90, longitude: 0)] {
      let region = GeoRegion.circle(
        latitude: center.latitude, longitude: center.longitude, radiusMeters: half)
      let ranges = region.covering()
      let points = (0..<5000).map { _ in places.point() }
      let covered = points.filter { contains(ranges, $0) }
      let inside = points.filter {
        region.contains(latitude: $0.latitude, longitude: $0.longitude)
      }
      #expect(inside.count > 2300 && covered.count < inside.count * 11 / 10)
    }
  }

  @Test func `a point is covered by few leaves around it`() {
    var places = RandomPlaces(seed: 22)
    for _ in 0..<200 {
      let point = places.place()
      let ranges = GeoRegion.circle(
        latitude: point.latitude, longitude: point.longitude, radiusMeters: 0
      ).covering()
      #expect(contains(ranges, point))
      #expect(ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) / 2 + 1 } <= 40)
    }
  }

  // MARK: Quality

  /// Points in the covering for each point in the region, of points uniform within a distance.
  private func ratio(
    _ region: GeoRegion, around center: Point, meters: Double, in places: inout RandomPlaces
  ) -> Double {
    let ranges = region.covering()
    var (inside, covered) = (0, 0)
    for _ in 0..<3000 {
      let point = places.point(around: center, meters: meters)
      if region.contains(latitude: point.latitude, longitude: point.longitude) { inside += 1 }
      if contains(ranges, point) { covered += 1 }
    }
    return Double(covered - 5) / Double(inside)
  }

  enum Center: CaseIterable {
    case anywhere, pole, antimeridian, cubeCorner

    func point(in places: inout RandomPlaces) -> GeoRegion.Vertex {
      var point = places.point()
      switch self {
      case .anywhere: break
      case .pole: point.latitude = places.generator.pick([90, -90])
      case .antimeridian: point.longitude = places.generator.pick([180, -180])
      case .cubeCorner: (point.latitude, point.longitude) = (35.264389682754654, 45)
      }
      return point
    }
  }

  @Test(arguments: Center.allCases)
  func `few points in the covering of a circle are outside it`(kind: Center) {
    var places = RandomPlaces(seed: 23)
    for radius in [100.0, 1000, 20_000, 300_000, 2_000_000] {
      for _ in 0..<8 {
        let center = kind.point(in: &places)
        let region = GeoRegion.circle(
          latitude: center.latitude, longitude: center.longitude, radiusMeters: radius)
        let ratio = ratio(region, around: center, meters: 4 * radius, in: &places)
        #expect(ratio < 1.15, "\(region)")
      }
    }
    for _ in 0..<4 {
      let center = kind.point(in: &places)
      let region = GeoRegion.circle(
        latitude: center.latitude, longitude: center.longitude, radiusMeters: 2_000_000)
      // All over the sphere.
      #expect(ratio(region, around: center, meters: 1e9, in: &places) < 1.2, "\(region)")
    }
  }

  @Test func `few points in the covering of a box are outside it`() {
    var places = RandomPlaces(seed: 24)
    for size in [0.001, 0.1, 5, 40] {
      for _ in 0..<12 {
        let center = Point(
          latitude: places.number(-60...60), longitude: places.generator.pick([-179.9999, 20, 100]))
        let height = size * places.number(0.5...1)
        let width = size * places.number(0.5...1) / cos(center.latitude * .pi / 180)
        let (west, east) = (center.longitude - width, center.longitude + width)
        let region = GeoRegion.box(
          south: max(-90, center.latitude - height), west: west < -180 ? west + 360 : west,
          north: min(90, center.latitude + height), east: east)
        let ratio = ratio(region, around: center, meters: 222_000 * size, in: &places)
        #expect(ratio < 1.3, "\(region)")
      }
    }
    for south in [89.9, 80, 50] {
      let region = GeoRegion.box(south: south, west: -180, north: 90, east: 180)
      let pole = Point(latitude: 90, longitude: 0)
      let ratio = ratio(region, around: pole, meters: (90 - south) * 222_000, in: &places)
      #expect(ratio < 1.3, "\(region)")
    }
  }

  @Test func `few points in the covering of a polygon are outside it`() {
    var places = RandomPlaces(seed: 25)
    for size in [0.001, 0.1, 5, 20] {
      for count in [3, 5, 12, 500] {
        let center = Point(latitude: places.number(-60...60), longitude: places.number(-90...90))
        let vertices = (0..<count).map { index in
          let angle = (Double(index) + places.number(0...0.5)) / Double(count) * 2 * .pi
          let length = size * places.number(0.6...1)
          return Point(
            latitude: center.latitude + sin(angle) * length,
            longitude: center.longitude + cos(angle) * length / cos(center.latitude * .pi / 180))
        }
        let region = GeoRegion.polygon(vertices)
        let ratio = ratio(region, around: center, meters: 170_000 * size, in: &places)
        #expect(ratio < 1.6, "\(region)")
      }
    }
  }

  @Test func `more ranges are finer, and a polygon's chains change nothing`() {
    let circle = GeoRegion.circle(latitude: 59.9, longitude: 10.7, radiusMeters: 5000)
    let areas = [1, 4, 16, 64, 256].map { count in
      circle.covering(maximumRanges: count).reduce(0) { $0 + ($1.upperBound - $1.lowerBound) }
    }
    #expect(areas == areas.sorted(by: >) && Set(areas).count == areas.count)
    // A square with vertices along its edges has the covering of the square.
    let corners = [(10.0, 20.0), (10, 28), (18, 28), (18, 20)]
    let square = corners.map { Point(latitude: $0.0, longitude: $0.1) }
    let fine = corners.indices.flatMap { side in
      let (from, to) = (corners[side], corners[(side + 1) % 4])
      return (0..<512).map { step in
        let part = Double(step) / 512
        return Point(
          latitude: from.0 + (to.0 - from.0) * part, longitude: from.1 + (to.1 - from.1) * part)
      }
    }
    #expect(GeoRegion.polygon(fine).covering() == GeoRegion.polygon(square).covering())
  }
}
