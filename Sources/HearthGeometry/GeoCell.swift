/// A cell of the sphere, as in S2: the sphere is projected on the six faces of a cube, and each face
/// is a quadtree of 30 levels whose cells follow a Hilbert curve.
///
///     ┌──────┬───────────────────────────────┬───┬───────┐
///     │ face │ position on the Hilbert curve │ 1 │ zeros │   64 bits
///     └──────┴───────────────────────────────┴───┴───────┘
///        3               2 · level             1
///
/// A leaf, of level 30, is about 9 mm wide. Law: the ids of all leaves in a cell are one range, and
/// the ranges of its four children divide it in order. Ids are those of S2, except of points on an
/// edge of leaves, which rounding moves to either side.
///
/// On disk: the id of a leaf is the key of an index entry. Changing the projection, the curve or the
/// order of an arithmetic operation in `leaf(latitude:longitude:)` changes the file format. It uses
/// only operations that IEEE 754 rounds in one way (+, -, ×, ÷ and √; no fused multiply-add, and no
/// function of the C library), so every machine computes the same id.
package struct GeoCell: Hashable, Sendable {
  static let maximumLevel = 30

  let id: UInt64
  /// The column and the row on the face, in cells of this level.
  private let i: UInt32
  private let j: UInt32
  /// How the curve runs through the cell: 1 swaps its axes, 2 inverts them.
  private let orientation: UInt8

  /// A face: the cells of level 0, 0 to 5.
  init(face: Int) {
    self.init(id: UInt64(face) << 61 | 1 << 60, i: 0, j: 0, orientation: UInt8(face & 1))
  }

  private init(id: UInt64, i: UInt32, j: UInt32, orientation: UInt8) {
    (self.id, self.i, self.j, self.orientation) = (id, i, j, orientation)
  }

  /// The child at a position on the curve, 0 to 3. Not for a leaf.
  func child(_ position: Int) -> GeoCell {
    let quadrant = Curve.quadrant(at: position, orientation: orientation)
    // The lowest set bit marks the level: it moves down by two bits.
    let mark = (id & (0 &- id)) >> 2
    return GeoCell(
      id: id &- 3 &* mark &+ UInt64(position) &* 2 &* mark,
      i: i << 1 | UInt32(quadrant >> 1), j: j << 1 | UInt32(quadrant & 1),
      orientation: orientation ^ Curve.orientationChange(at: position))
  }

  var face: Int { Int(id >> 61) }
  var level: Int { Self.maximumLevel - id.trailingZeroBitCount / 2 }

  /// The ids of the leaves in the cell. All of them are odd.
  var leaves: ClosedRange<UInt64> {
    let below = (id & (0 &- id)) &- 1
    return (id &- below)...(id &+ below)
  }
}

// MARK: - Leaves

extension GeoCell {
  /// The id of the leaf that contains a point, in degrees.
  ///
  /// 180 and -180 are the same meridian, and a pole is one point at any longitude. Coordinates out
  /// of range, infinities and NaN have an unspecified id.
  package static func leaf(latitude: Double, longitude: Double) -> UInt64 {
    let point = point(latitude: latitude, longitude: longitude)
    let (x, y, z) = (abs(point.x), abs(point.y), abs(point.z))
    let axis = x > y ? (x > z ? 0 : 2) : (y > z ? 1 : 2)
    let face = point[axis] < 0 ? axis + 3 : axis
    let uvw = uvw(point, face: face)
    let i = index(uvw.x / uvw.z)
    let j = index(uvw.y / uvw.z)
    var id = UInt64(face)
    var orientation = UInt8(face & 1)
    for bit in stride(from: maximumLevel - 1, through: 0, by: -1) {
      let quadrant = (i >> bit & 1) << 1 | (j >> bit & 1)
      let position = Curve.position(of: quadrant, orientation: orientation)
      id = id << 2 | UInt64(position)
      orientation ^= Curve.orientationChange(at: position)
    }
    return id << 1 | 1
  }

  /// The column of leaves at a coordinate of the cube, -1...1. The square root makes the cells of a
  /// level more even: the largest has twice the area of the smallest, not five times.
  private static func index(_ u: Double) -> Int {
    let s = u >= 0 ? 0.5 * (1 + 3 * u).squareRoot() : 1 - 0.5 * (1 - 3 * u).squareRoot()
    // In this order, NaN becomes a number.
    return Int(min(0x3FFF_FFFF, max(0, s * 0x4000_0000)))
  }

  /// The point on the unit sphere: x points to (0°, 0°), y to (0°, 90° E), z to the north pole.
  static func point(latitude: Double, longitude: Double) -> SIMD3<Double> {
    let (up, out) = sineAndCosine(degrees: latitude)
    let (east, front) = sineAndCosine(degrees: longitude)
    return SIMD3(out * front, out * east, up)
  }

  /// Exact at multiples of 90°, within 2 units of the last place elsewhere. For -180...180.
  static func sineAndCosine(degrees: Double) -> (sine: Double, cosine: Double) {
    let quarters = (degrees / 90).rounded()
    // Exact: the two are within a factor of two of each other.
    let x = (degrees - 90 * quarters) * (Double.pi / 180)
    let square = x * x
    // Taylor series, cut where the rest is below the last place for |x| ≤ π/4.
    var sine = 1 - square * (1.0 / 272)
    sine = 1 - square * (1.0 / 210) * sine
    sine = 1 - square * (1.0 / 156) * sine
    sine = 1 - square * (1.0 / 110) * sine
    sine = 1 - square * (1.0 / 72) * sine
    sine = 1 - square * (1.0 / 42) * sine
    sine = 1 - square * (1.0 / 20) * sine
    sine = x - x * (square * (1.0 / 6) * sine)
    var cosine = 1 - square * (1.0 / 240)
    cosine = 1 - square * (1.0 / 182) * cosine
    cosine = 1 - square * (1.0 / 132) * cosine
    cosine = 1 - square * (1.0 / 90) * cosine
    cosine = 1 - square * (1.0 / 56) * cosine
    cosine = 1 - square * (1.0 / 30) * cosine
    cosine = 1 - square * (1.0 / 12) * cosine
    cosine = 1 - square * 0.5 * cosine
    return switch quarters {
    case 0: (sine, cosine)
    case 1: (cosine, -sine)
    case -1: (-cosine, sine)
    default: (-sine, -cosine)
    }
  }
}

// MARK: - Geometry

extension GeoCell {
  /// A vector in the axes of a face: along its columns, along its rows, and outwards.
  static func uvw(_ point: SIMD3<Double>, face: Int) -> SIMD3<Double> {
    let (x, y, z) = (point.x, point.y, point.z)
    return switch face {
    case 0: SIMD3(y, z, x)
    case 1: SIMD3(-x, z, y)
    case 2: SIMD3(-x, -y, z)
    case 3: SIMD3(-z, -y, -x)
    case 4: SIMD3(-z, x, -y)
    default: SIMD3(y, x, -z)
    }
  }

  /// The inverse of `uvw(_:face:)`.
  static func xyz(_ uvw: SIMD3<Double>, face: Int) -> SIMD3<Double> {
    let (u, v, w) = (uvw.x, uvw.y, uvw.z)
    return switch face {
    case 0: SIMD3(w, u, v)
    case 1: SIMD3(-u, w, v)
    case 2: SIMD3(-u, -v, w)
    case 3: SIMD3(-w, -v, -u)
    case 4: SIMD3(v, -w, -u)
    default: SIMD3(v, u, -w)
    }
  }

  /// The bounds of the cell on its face of the cube, which is -1...1 in both axes. Each edge is an arc
  /// of a great circle.
  var square: (u: (lower: Double, upper: Double), v: (lower: Double, upper: Double)) {
    let side = 1 / Double(1 << level)
    func coordinate(_ index: UInt32) -> Double {
      let s = Double(index) * side
      return s >= 0.5 ? (4 * s * s - 1) / 3 : (1 - 4 * (1 - s) * (1 - s)) / 3
    }
    return ((coordinate(i), coordinate(i + 1)), (coordinate(j), coordinate(j + 1)))
  }
}

/// The Hilbert curve. A quadrant is 2·column + row. The tables hold two bits for each orientation and
/// each of its positions or quadrants, lowest bits first.
private enum Curve {
  static func quadrant(at position: Int, orientation: UInt8) -> Int {
    // 0 1 3 2, 0 2 3 1, 3 2 0 1, 3 1 0 2.
    (0x874B_78B4 >> (8 &* Int(orientation) &+ 2 &* position)) & 3
  }

  static func position(of quadrant: Int, orientation: UInt8) -> Int {
    // 0 1 3 2, 0 3 1 2, 2 3 1 0, 2 1 3 0.
    (0x361E_9CB4 >> (8 &* Int(orientation) &+ 2 &* quadrant)) & 3
  }

  /// The difference between the orientations of a child and its parent, as an exclusive or.
  static func orientationChange(at position: Int) -> UInt8 {
    switch position {
    case 0: 1
    case 3: 3
    default: 0
    }
  }
}
