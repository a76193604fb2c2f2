import Foundation

extension GeoRegion {
  /// Ranges of the ids of leaves that contain every point of the region: sorted, disjoint, and at most
  /// `maximumRanges`, but at least one.
  ///
  /// They contain points outside the region, too: test each with `contains`. With 48 ranges, there are
  /// 5 % more points than in a circle or a box, and 7 % to 40 % more than in a polygon that is not
  /// thin. Takes 25 µs for a circle, 0.1 ms for a box or a polygon, and 0.5 ms for one of 10,000
  /// vertices. Empty only for a region that `check()` refuses.
  package func covering(maximumRanges: Int = 48) -> [ClosedRange<UInt64>] {
    switch self {
    case .circle(let latitude, let longitude, let radius):
      let circle = PreparedCircle(latitude: latitude, longitude: longitude, radiusMeters: radius)
      return GeoCovering(of: circle, maximumRanges: maximumRanges).ranges
    case .box(let south, let west, let north, let east):
      let box = PreparedBox(
        latitudes: (south, north), longitudes: (west, west > east ? east + 360 : east))
      return GeoCovering(of: box, maximumRanges: maximumRanges).ranges
    case .polygon(let vertices):
      return GeoCovering(of: PreparedPolygon(vertices), maximumRanges: maximumRanges).ranges
    }
  }
}

/// The cells that cover a region. Begins with the faces, and divides the cells on the boundary, level
/// by level, until there are more of them than ranges can follow. Then closes the smallest gaps
/// between ranges.
///
/// Cells of one level differ in area by a factor of two, so this divides the largest first, without a
/// queue. Gaps are weighed by their leaves: the closed ones add the least area.
private struct GeoCovering {
  private struct Part {
    var cell: GeoCell
    var isInside: Bool
  }

  /// More cells make a finer boundary, and take longer: with 4, points outside the region are 5 % of
  /// those in a circle; with 1, they are 20 %.
  private static let boundaryCellsPerRange = 4

  private(set) var ranges: [ClosedRange<UInt64>] = []

  init(of region: some PreparedRegion, maximumRanges: Int) {
    let maximumRanges = max(1, maximumRanges)
    // A small region on a corner of large cells has several boundary cells on every level.
    let boundaryLimit = Self.boundaryCellsPerRange * max(8, min(maximumRanges, 1 << 20))
    // Sorted along the curve.
    var parts = (0..<6).map { Part(cell: GeoCell(face: $0), isInside: false) }
    var divided: [Part] = []
    parts.reserveCapacity(3 * boundaryLimit)
    divided.reserveCapacity(3 * boundaryLimit)
    var boundaryCount = 0
    for _ in 0..<GeoCell.maximumLevel {
      boundaryCount = 0
      divided.removeAll(keepingCapacity: true)
      for part in parts {
        if part.isInside {
          divided.append(part)
          continue
        }
        for position in 0..<4 {
          let cell = part.cell.child(position)
          switch region.relation(to: cell) {
          case .outside: break
          case .boundary:
            divided.append(Part(cell: cell, isInside: false))
            boundaryCount += 1
          case .inside: divided.append(Part(cell: cell, isInside: true))
          }
        }
      }
      swap(&parts, &divided)
      if boundaryCount == 0 || boundaryCount >= boundaryLimit { break }
    }
    ranges.reserveCapacity(parts.count)
    for part in parts { append(part.cell.leaves) }
    closeGaps(maximumRanges: maximumRanges)
  }

  private mutating func append(_ range: ClosedRange<UInt64>) {
    // Ids of leaves are odd.
    if let last = ranges.last, range.lowerBound - last.upperBound <= 2 {
      ranges[ranges.count - 1] = last.lowerBound...range.upperBound
    } else {
      ranges.append(range)
    }
  }

  private mutating func closeGaps(maximumRanges: Int) {
    guard ranges.count > maximumRanges else { return }
    let gaps = zip(ranges, ranges.dropFirst()).map { $1.lowerBound - $0.upperBound }
    let sorted = gaps.sorted(by: >)
    let largestClosed = sorted[maximumRanges - 1]
    // Many gaps are equal: some of those that equal the largest closed one stay open.
    var equalOpen = maximumRanges - 1 - sorted.prefix { $0 > largestClosed }.count
    var merged = [ranges[0]]
    merged.reserveCapacity(maximumRanges)
    for (gap, range) in zip(gaps, ranges.dropFirst()) {
      if gap > largestClosed {
        merged.append(range)
      } else if gap == largestClosed, equalOpen > 0 {
        equalOpen -= 1
        merged.append(range)
      } else {
        merged[merged.count - 1] = merged[merged.count - 1].lowerBound...range.upperBound
      }
    }
    ranges = merged
  }
}

private enum Relation { case outside, boundary, inside }

/// A region in the form in which it is compared with cells.
///
/// Law: no point of a cell that is `outside` is in the region. A cell near the boundary may be
/// `boundary` without need, or `inside` with a part outside: both only add points.
///
/// Regions are padded by at least 1 cm for this law. Rounding in leaves, cells and distances, and the
/// different last places of the C library's functions on different machines, move a point by less
/// than 0.01 mm; in circles of nearly half the Earth by less than 0.2 m, where the padding is 1 m.
private protocol PreparedRegion {
  func relation(to cell: GeoCell) -> Relation
}

/// 1 cm on the ground, as an angle.
private let padding = (radians: 1.6e-9, degrees: 9.2e-8)

// MARK: - Circles

private struct PreparedCircle: PreparedRegion {
  /// On the unit sphere.
  private let center: SIMD3<Double>
  /// A circle of more than half the sphere is stored as the cap outside it: a smaller cap is convex.
  private let isComplement: Bool
  /// Of the angle from the center to the edge of the cap.
  private let squaredChord: Double
  private let squaredSine: Double

  init(latitude: Double, longitude: Double, radiusMeters: Double) {
    let angle = radiusMeters / GeoRegion.earthRadiusMeters
    // The relative part is for circles of nearly half the Earth, where the sine is nearly constant.
    let radius = min(.pi, angle + padding.radians + angle * 1e-7)
    let point = GeoCell.point(latitude: latitude, longitude: longitude)
    isComplement = radius > .pi / 2
    center = isComplement ? -point : point
    let smaller = isComplement ? .pi - radius : radius
    let chord = 2 * sin(smaller / 2)
    squaredChord = chord * chord
    squaredSine = sin(smaller) * sin(smaller)
  }

  func relation(to cell: GeoCell) -> Relation {
    switch relationOfCap(to: cell) {
    case .outside: isComplement ? .inside : .outside
    case .boundary: .boundary
    case .inside: isComplement ? .outside : .inside
    }
  }

  private func relationOfCap(to cell: GeoCell) -> Relation {
    let center = GeoCell.uvw(center, face: cell.face)
    let (u, v) = cell.square
    var cornersInside = 0
    for (u, v) in [(u.lower, v.lower), (u.lower, v.upper), (u.upper, v.lower), (u.upper, v.upper)] {
      let scale = 1 / (u * u + v * v + 1).squareRoot()
      let difference = SIMD3(u * scale, v * scale, scale) - center
      if (difference * difference).sum() <= squaredChord { cornersInside += 1 }
    }
    if cornersInside == 4 { return .inside }
    if cornersInside > 0 { return .boundary }
    let (x, y, z) = (center.x, center.y, center.z)
    if z > 0, x >= u.lower * z, x <= u.upper * z, y >= v.lower * z, y <= v.upper * z {
      return .boundary
    }
    let reachesEdge =
      reaches(u.lower, from: v.lower, to: v.upper, across: x, along: y, outward: z)
      || reaches(u.upper, from: v.lower, to: v.upper, across: x, along: y, outward: z)
      || reaches(v.lower, from: u.lower, to: u.upper, across: y, along: x, outward: z)
      || reaches(v.upper, from: u.lower, to: u.upper, across: y, along: x, outward: z)
    return reachesEdge ? .boundary : .outside
  }

  /// Whether the point of an edge that is nearest to the center is between its ends, and in the cap.
  ///
  /// The edge is on the plane where the coordinate `across` is `edge` times the outward one.
  private func reaches(
    _ edge: Double, from lower: Double, to upper: Double, across: Double, along: Double,
    outward: Double
  ) -> Bool {
    let squaredLength = 1 + edge * edge
    let distance = across - edge * outward
    guard distance * distance <= squaredSine * squaredLength else { return false }
    let middle = edge * across + outward
    return along * squaredLength >= lower * middle && along * squaredLength <= upper * middle
  }
}

// MARK: - Boxes

/// The least rectangle of degrees around a cell.
private struct CellBounds {
  let south: Double
  let north: Double
  /// May be less than -180 by rounding, and `east` more than 180.
  let west: Double
  let east: Double
  /// 1 cm on the cell's highest latitude.
  let longitudePadding: Double

  /// Not for faces: in smaller cells, the extremes are at the corners.
  init(_ cell: GeoCell) {
    let (u, v) = cell.square
    let middle = GeoCell.xyz(
      SIMD3((u.lower + u.upper) / 2, (v.lower + v.upper) / 2, 1), face: cell.face)
    // Tangents: of the latitude, and of the difference of longitude from the middle.
    var latitudes = (lower: Double.infinity, upper: -Double.infinity)
    var offsets = (lower: Double.infinity, upper: -Double.infinity)
    var touchesPole = false
    for (u, v) in [(u.lower, v.lower), (u.lower, v.upper), (u.upper, v.lower), (u.upper, v.upper)] {
      let corner = GeoCell.xyz(SIMD3(u, v, 1), face: cell.face)
      let fromAxis = (corner.x * corner.x + corner.y * corner.y).squareRoot()
      if fromAxis == 0 { touchesPole = true }
      let latitude = corner.z / fromAxis
      latitudes = (min(latitudes.lower, latitude), max(latitudes.upper, latitude))
      let offset =
        (middle.x * corner.y - middle.y * corner.x) / (middle.x * corner.x + middle.y * corner.y)
      offsets = (min(offsets.lower, offset), max(offsets.upper, offset))
    }
    let degrees = 180 / Double.pi
    south = atan(latitudes.lower) * degrees
    north = atan(latitudes.upper) * degrees
    let steepest = max(abs(latitudes.lower), abs(latitudes.upper))
    let onParallel = padding.degrees * (1 + steepest * steepest).squareRoot()
    if touchesPole || onParallel > 180 {
      (west, east, longitudePadding) = (-180, 180, padding.degrees)
    } else {
      let longitude = atan2(middle.y, middle.x) * degrees
      west = longitude + atan(offsets.lower) * degrees
      east = longitude + atan(offsets.upper) * degrees
      longitudePadding = onParallel
    }
  }
}

/// The same longitudes, as a cell and a region may have them: the antimeridian is 180 and -180, and a
/// box that crosses it extends beyond 180.
private let revolutions = [-360.0, 0, 360]

private struct PreparedBox: PreparedRegion {
  let latitudes: (south: Double, north: Double)
  /// The east may be more than 180.
  let longitudes: (west: Double, east: Double)

  func relation(to cell: GeoCell) -> Relation {
    let bounds = CellBounds(cell)
    guard bounds.north + padding.degrees >= latitudes.south,
      bounds.south - padding.degrees <= latitudes.north
    else { return .outside }
    let isBetweenParallels =
      bounds.south + padding.degrees >= latitudes.south
      && bounds.north - padding.degrees <= latitudes.north
    var relation = Relation.outside
    for revolution in revolutions {
      let (west, east) = (bounds.west + revolution, bounds.east + revolution)
      guard east + bounds.longitudePadding >= longitudes.west,
        west - bounds.longitudePadding <= longitudes.east
      else { continue }
      relation = .boundary
      if isBetweenParallels, west + bounds.longitudePadding >= longitudes.west,
        east - bounds.longitudePadding <= longitudes.east
      {
        return .inside
      }
    }
    return relation
  }
}

// MARK: - Polygons

private struct PreparedPolygon: PreparedRegion {
  /// Consecutive edges, and their bounds: most are skipped together.
  private struct Chain {
    var indices: Range<Int>
    var south = Double.infinity
    var north = -Double.infinity
    var west = Double.infinity
    var east = -Double.infinity
  }

  private static let edgesPerChain = 32

  /// The last vertex is the first.
  private let ring: [GeoRegion.Vertex]
  private var chains: [Chain] = []

  init(_ vertices: [GeoRegion.Vertex]) {
    ring = vertices + vertices.prefix(1)
    for start in stride(from: 0, to: vertices.count, by: Self.edgesPerChain) {
      let end = min(start + Self.edgesPerChain, vertices.count)
      var chain = Chain(indices: start..<end)
      for vertex in ring[start...end] {
        chain.south = min(chain.south, vertex.latitude)
        chain.north = max(chain.north, vertex.latitude)
        chain.west = min(chain.west, vertex.longitude)
        chain.east = max(chain.east, vertex.longitude)
      }
      chains.append(chain)
    }
  }

  func relation(to cell: GeoCell) -> Relation {
    let bounds = CellBounds(cell)
    for revolution in revolutions {
      let relation = relation(
        latitude: (bounds.south + bounds.north) / 2,
        longitude: (bounds.west + bounds.east) / 2 + revolution,
        halfHeight: (bounds.north - bounds.south) / 2 + padding.degrees,
        halfWidth: (bounds.east - bounds.west) / 2 + bounds.longitudePadding)
      if relation != .outside { return relation }
    }
    return .outside
  }

  /// The relation to a rectangle. If no edge reaches it, its center decides: the edges that are
  /// crossed on the way east are counted.
  private func relation(
    latitude: Double, longitude: Double, halfHeight: Double, halfWidth: Double
  ) -> Relation {
    var isInside = false
    for chain in chains {
      guard chain.south <= latitude + halfHeight, chain.north >= latitude - halfHeight,
        chain.east >= longitude - halfWidth
      else { continue }
      if chain.west > longitude + halfWidth {
        let (start, end) = (ring[chain.indices.lowerBound], ring[chain.indices.upperBound])
        if (start.latitude > latitude) != (end.latitude > latitude) { isInside.toggle() }
        continue
      }
      for index in chain.indices {
        let (start, end) = (ring[index], ring[index + 1])
        let (startX, startY) = (start.longitude - longitude, start.latitude - latitude)
        let (endX, endY) = (end.longitude - longitude, end.latitude - latitude)
        guard min(startY, endY) <= halfHeight, max(startY, endY) >= -halfHeight else { continue }
        // Not from the four above: their rounding would exceed the padding of a short edge.
        let rise = end.latitude - start.latitude
        let run = end.longitude - start.longitude
        let cross = startX * rise - startY * run
        // Otherwise the rectangle is on one side of the edge, or beyond its ends.
        if abs(cross) <= abs(rise) * halfWidth + abs(run) * halfHeight,
          min(startX, endX) <= halfWidth, max(startX, endX) >= -halfWidth
        {
          return .boundary
        }
        if (startY > 0) != (endY > 0), (cross > 0) == (rise > 0) { isInside.toggle() }
      }
    }
    return isInside ? .inside : .outside
  }
}
