import Foundation
import TestSupport
import Testing

@testable import HearthGeometry

@Suite struct GeoCellTests {
  /// The cells that contain a leaf, from its face to itself.
  private func ancestors(of leaf: UInt64) -> [GeoCell] {
    var cells = (0..<6).map(GeoCell.init(face:)).filter { $0.leaves.contains(leaf) }
    while let cell = cells.last, cell.level < GeoCell.maximumLevel {
      let children = (0..<4).map(cell.child).filter { $0.leaves.contains(leaf) }
      guard children.count == 1 else {
        Issue.record("\(children.count) children of \(cell) contain the leaf \(leaf)")
        break
      }
      cells += children
    }
    return cells
  }

  private func cells(level: Int) -> [GeoCell] {
    (0..<level).reduce((0..<6).map(GeoCell.init(face:))) { cells, _ in
      cells.flatMap { cell in (0..<4).map(cell.child) }
    }
  }

  private func corners(_ cell: GeoCell) -> [SIMD3<Double>] {
    let (u, v) = cell.square
    return [(u.lower, v.lower), (u.upper, v.lower), (u.upper, v.upper), (u.lower, v.upper)].map {
      let corner = GeoCell.xyz(SIMD3($0, $1, 1), face: cell.face)
      return corner / (corner * corner).sum().squareRoot()
    }
  }

  private func center(_ cell: GeoCell) -> SIMD3<Double> {
    corners(cell).reduce(SIMD3()) { $0 + $1 } / 4
  }

  private func distance(_ one: SIMD3<Double>, _ other: SIMD3<Double>) -> Double {
    ((one - other) * (one - other)).sum().squareRoot()
  }

  // MARK: Golden

  /// Stored in files. They are the ids of S2, too, except on the antimeridian, an edge of leaves.
  @Test(arguments: [
    ("0, 0", 0.0, 0.0, 0x1000_0000_0000_0001),
    ("north pole", 90.0, 0.0, 0x5000_0000_0000_0001),
    ("south pole", -90.0, 0.0, 0xB000_0000_0000_0001),
    ("antimeridian", 10.0, 180.0, 0x7AD5_2CAD_2CAD_354D),
    ("London", 51.5074, -0.1278, 0x4876_04CE_3674_8FA9),
    ("Oslo", 59.9139, 10.7522, 0x4641_6E61_88C8_6E59),
    ("New York", 40.7128, -74.006, 0x89C2_5A22_0CF8_0969),
    ("Sydney", -33.8688, 151.2093, 0x6B12_AE3F_F629_0055),
    ("Tokyo", 35.6762, 139.6503, 0x6018_F255_5554_4B7F),
    ("Cape Town", -33.9249, 18.4241, 0x1DCC_6763_2259_9C1B),
    ("Buenos Aires", -34.6037, -58.3816, 0x95BC_CACF_155F_668F),
    ("Honolulu", 21.3069, -157.8583, 0x7C00_6E75_4A2C_74D3),
    ("Singapore", 1.3521, 103.8198, 0x31DA_10CC_E41E_EDB7),
    ("Longyearbyen", 78.2232, 15.6267, 0x459C_5328_C003_C583),
    ("McMurdo", -77.8419, 166.6863, 0xAF77_3974_5556_0B89),
    ("Auckland", -36.8509, 174.7645, 0x6D0D_47E5_3EA4_057B),
  ])
  func `the leaves of known places never change`(
    name: String, latitude: Double, longitude: Double, leaf: UInt64
  ) {
    #expect(GeoCell.leaf(latitude: latitude, longitude: longitude) == leaf, "\(name)")
  }

  @Test func `the leaves of 100,000 points never change`() {
    var generator = SeededGenerator(seed: 1)
    var hash: UInt64 = 0
    for _ in 0..<100_000 {
      // Dyadic fractions: exact on every machine.
      let latitude = Double(Int64(bitPattern: generator.next()) >> 20) / 0x800_0000_0000 * 90
      let longitude = Double(Int64(bitPattern: generator.next()) >> 20) / 0x800_0000_0000 * 180
      hash = (hash &* 31) ^ GeoCell.leaf(latitude: latitude, longitude: longitude)
    }
    #expect(hash == 8_067_468_853_758_893_806)
  }

  // MARK: Ranges

  @Test func `a leaf is in the range of one cell of every level`() {
    var places = RandomPlaces(seed: 1)
    for _ in 0..<1000 {
      let place = places.place()
      let leaf = GeoCell.leaf(latitude: place.latitude, longitude: place.longitude)
      let cells = ancestors(of: leaf)
      #expect(cells.map(\.level) == Array(0...30))
      #expect(cells.last?.id == leaf)
      #expect(cells.last?.leaves == leaf...leaf)
      for (parent, child) in zip(cells, cells.dropFirst()) {
        #expect(parent.leaves.contains(child.leaves))
        let children = (0..<4).map(parent.child)
        #expect(children[0].leaves.lowerBound == parent.leaves.lowerBound)
        #expect(children[3].leaves.upperBound == parent.leaves.upperBound)
        for (one, next) in zip(children, children.dropFirst()) {
          #expect(one.leaves.upperBound + 2 == next.leaves.lowerBound)
        }
      }
    }
  }

  @Test func `a leaf is a small square that contains the point`() throws {
    var places = RandomPlaces(seed: 2)
    for _ in 0..<1000 {
      let place = places.place()
      let leaf = GeoCell.leaf(latitude: place.latitude, longitude: place.longitude)
      let cell = try #require(ancestors(of: leaf).last)
      let point = GeoCell.point(latitude: place.latitude, longitude: place.longitude)
      let uvw = GeoCell.uvw(point, face: cell.face)
      let (u, v) = cell.square
      #expect(u.lower - 1e-15 <= uvw.x / uvw.z && uvw.x / uvw.z <= u.upper + 1e-15, "\(place)")
      #expect(v.lower - 1e-15 <= uvw.y / uvw.z && uvw.y / uvw.z <= v.upper + 1e-15, "\(place)")
      for corner in corners(cell) {
        #expect(distance(corner, point) * GeoRegion.earthRadiusMeters < 0.016)
      }
    }
  }

  @Test func `points 1 cm apart have different leaves, but for few`() {
    var places = RandomPlaces(seed: 3)
    var different = 0
    for _ in 0..<2000 {
      let one = places.point()
      let other = RandomPlaces.destination(
        from: one, meters: 0.01, bearing: places.number(0...2 * .pi))
      let leaves = [one, other].map {
        GeoCell.leaf(latitude: $0.latitude, longitude: $0.longitude)
      }
      if leaves[0] != leaves[1] { different += 1 }
    }
    #expect(different > 1900)
  }

  // MARK: Geometry

  @Test func `cells that follow each other on the curve touch each other`() {
    let cells = cells(level: 5)
    #expect(zip(cells, cells.dropFirst()).allSatisfy { $0.id < $1.id })
    for (one, next) in zip(cells, cells.dropFirst()) {
      let shared = corners(one).filter { corner in
        corners(next).contains { distance($0, corner) < 1e-12 }
      }
      #expect(shared.count == 2, "\(one), \(next)")
    }
  }

  @Test func `the cells of a level cover the sphere once, and their areas are near`() {
    // The solid angle of a triangle (Van Oosterom and Strackee).
    func angle(_ a: SIMD3<Double>, _ b: SIMD3<Double>, _ c: SIMD3<Double>) -> Double {
      let normal = SIMD3(
        b.y * c.z - b.z * c.y, b.z * c.x - b.x * c.z, b.x * c.y - b.y * c.x)
      let cosines = (a * b).sum() + (b * c).sum() + (c * a).sum()
      return 2 * atan2((a * normal).sum(), 1 + cosines)
    }
    let areas = cells(level: 4).map { cell in
      let corners = corners(cell)
      return angle(corners[0], corners[1], corners[2]) + angle(corners[0], corners[2], corners[3])
    }
    #expect(abs(areas.reduce(0, +) - 4 * .pi) < 1e-12)
    // Negative if the axes of a face were mirrored.
    #expect((areas.min() ?? 0) > 0)
    #expect((areas.max() ?? 0) < 2.1 * (areas.min() ?? 0))
  }

  @Test func `the axes of a face are undone`() {
    for face in 0..<6 {
      let vector = SIMD3(1.0, 2, 3)
      #expect(GeoCell.uvw(GeoCell.xyz(vector, face: face), face: face) == vector)
    }
  }

  @Test func `180 and -180 are one meridian, and a pole is one point`() {
    var places = RandomPlaces(seed: 4)
    for _ in 0..<1000 {
      let place = places.place()
      #expect(
        GeoCell.leaf(latitude: place.latitude, longitude: 180)
          == GeoCell.leaf(latitude: place.latitude, longitude: -180))
      for pole in [90.0, -90] {
        #expect(
          GeoCell.leaf(latitude: pole, longitude: place.longitude)
            == GeoCell.leaf(latitude: pole, longitude: 0))
      }
    }
    #expect(
      GeoCell.leaf(latitude: -0.0, longitude: -0.0) == GeoCell.leaf(latitude: 0, longitude: 0))
  }

  @Test func `sine and cosine agree with the C library`() {
    var places = RandomPlaces(seed: 5)
    for _ in 0..<20_000 {
      let degrees = places.number(-180...180)
      let (sine, cosine) = GeoCell.sineAndCosine(degrees: degrees)
      // The rounding of the radians moves the functions of the C library.
      #expect(abs(sine - sin(degrees * .pi / 180)) < 8e-16, "\(degrees)")
      #expect(abs(cosine - cos(degrees * .pi / 180)) < 8e-16, "\(degrees)")
      #expect(abs(sine * sine + cosine * cosine - 1) < 5e-16)
      let small = degrees * 1e-9
      let radians = small * .pi / 180
      let smallSine = GeoCell.sineAndCosine(degrees: small).sine
      #expect(abs(smallSine - radians) <= abs(radians) * 5e-16)
    }
    for (degrees, sine, cosine) in [(0.0, 0.0, 1.0), (90, 1, 0), (-90, -1, 0), (180, 0, -1)] {
      #expect(GeoCell.sineAndCosine(degrees: degrees) == (sine, cosine))
    }
  }

  @Test func `no coordinate traps`() {
    let numbers = [
      0, -0.0, 90, 91, 180, 360, 1e300, .infinity, -.infinity, .nan, .leastNonzeroMagnitude,
      .greatestFiniteMagnitude,
    ]
    for latitude in numbers {
      for longitude in numbers {
        #expect(GeoCell.leaf(latitude: latitude, longitude: longitude) & 1 == 1)
      }
    }
  }
}
