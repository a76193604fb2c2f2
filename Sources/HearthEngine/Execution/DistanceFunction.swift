/// The distance from one vector to stored vectors.
struct DistanceFunction {
  private let nearest: StructuredQuery.Nearest
  /// Padded with zeros to whole lanes.
  private let lanes: [SIMD8<Double>]
  private let count: Int
  private let length: Double

  init(_ nearest: StructuredQuery.Nearest) {
    self.nearest = nearest
    count = nearest.vector.count
    let vector = nearest.vector
    lanes = stride(from: 0, to: vector.count, by: 8).map { start in
      var lane = SIMD8<Double>()
      for index in start..<min(start + 8, vector.count) { lane[index - start] = vector[index] }
      return lane
    }
    length = lanes.reduce(SIMD8<Double>()) { $0 + $1 * $1 }.sum().squareRoot()
  }

  /// Nil for a vector of another dimension, and for a cosine if either length is zero.
  func distance(to vector: VectorView) -> Double? {
    guard vector.count == count else { return nil }
    // Multiply, then add: without a CPU instruction, a fused multiply-add is a call per number.
    var sum = SIMD8<Double>()
    switch nearest.measure {
    case .euclidean:
      forEachLane(vector) { mine, theirs in
        let difference = mine - theirs
        sum += difference * difference
      }
      return sum.sum().squareRoot()
    case .dotProduct:
      forEachLane(vector) { sum += $0 * $1 }
      return sum.sum()
    case .cosine:
      var squares = SIMD8<Double>()
      forEachLane(vector) { mine, theirs in
        sum += mine * theirs
        squares += theirs * theirs
      }
      let lengths = length * squares.sum().squareRoot()
      guard lengths > 0 else { return nil }
      return 1 - sum.sum() / lengths
    }
  }

  /// Calls `body` with both vectors, eight numbers at a time.
  @inline(__always)
  private func forEachLane(
    _ vector: VectorView, _ body: (SIMD8<Double>, SIMD8<Double>) -> Void
  ) {
    let whole = count / 8
    lanes.withUnsafeBufferPointer { lanes in
      for index in 0..<whole {
        let theirs = vector.bytes.loadUnaligned(
          fromByteOffset: index * 64, as: SIMD8<UInt64>.self)
        body(lanes[index], SIMD8<Double>(bitPatterns: theirs))
      }
      guard whole < lanes.count else { return }
      var theirs = SIMD8<Double>()
      for index in (whole * 8)..<count { theirs[index - whole * 8] = vector[index] }
      body(lanes[whole], theirs)
    }
  }

  func accepts(_ distance: Double) -> Bool {
    guard !distance.isNaN else { return false }
    guard let threshold = nearest.threshold else { return true }
    return nearest.measure == .dotProduct ? distance >= threshold : distance <= threshold
  }

  /// Negative if `lhs` is nearer.
  func compare(_ lhs: Double, _ rhs: Double) -> Int {
    if lhs == rhs { return 0 }
    return (nearest.measure == .dotProduct ? lhs > rhs : lhs < rhs) ? -1 : 1
  }
}

extension SIMD8 where Scalar == Double {
  /// Stored doubles are little-endian.
  @inline(__always)
  fileprivate init(bitPatterns: SIMD8<UInt64>) {
    #if _endian(little)
      self = unsafeBitCast(bitPatterns, to: SIMD8<Double>.self)
    #else
      self.init()
      for index in 0..<8 {
        self[index] = Double(bitPattern: UInt64(littleEndian: bitPatterns[index]))
      }
    #endif
  }
}
