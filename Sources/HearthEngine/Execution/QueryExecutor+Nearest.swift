/// Searching for the nearest vectors: every vector is looked at, where it is stored.
extension StoreSnapshot {
  /// The query's results, copied out, as it tells them.
  func documents(
    matching query: EffectiveQuery, touched: ReadCounters = ReadCounters()
  ) throws -> [StoredDocument] {
    try documents(matching: query, trace: QueryTrace(touched))
  }

  func documents(matching query: EffectiveQuery, trace: QueryTrace) throws -> [StoredDocument] {
    guard let nearest = query.nearest else {
      let found = try run(query, trace: trace).documents()
      trace.found = found.count + query.offset
      return found
    }
    let run = try run(
      query, needsOrder: query.limit != nil || query.offset > 0, trace: trace)
    let projection = Projection(query.projection)
    // The run keeps the keys of documents that were picked by name.
    return try withExtendedLifetime(run) {
      try run.nearest(nearest, trace).map { found in
        let document = try copy(
          found.found.record, key: found.found.key, path: path(of: found.found))
        let measured =
          try nearest.distanceField.map { try document.setting($0, to: .double(found.distance)) }
          ?? document
        return try projection?.applied(to: measured) ?? measured
      }
    }
  }
}

extension StoreSnapshot {
  /// Calls `body` with the name and the fields of every result, as the query tells them: borrowed where
  /// they are stored, if that is possible.
  func forEachBody(
    matching query: EffectiveQuery, trace: QueryTrace = QueryTrace(),
    _ body: (StoredName, StoredBody) throws -> Void
  ) throws {
    guard query.nearest == nil, query.projection.isEmpty else {
      for document in try documents(matching: query, trace: trace) {
        try document.body.withBytes { try body(.path(document.path), StoredBody($0)) }
      }
      return
    }
    trace.found = query.offset
    try run(query, trace: trace).forEachBody { name, fields in
      trace.found += 1
      try body(name, fields)
    }
  }

  /// What `decode` makes of every result, as the query tells them.
  ///
  /// - Parameter isParallel: Many results are decoded by several threads: `decode` is called by all, and
  ///   `Model` is `Sendable`.
  func decoded<Model>(
    matching query: EffectiveQuery, trace: QueryTrace = QueryTrace(), isParallel: Bool,
    _ decode: @escaping (StoredName, StoredBody) throws -> Model
  ) throws -> [Model] {
    var models: [Model] = []
    guard isParallel, store.configuration.scanThreads > 1, query.nearest == nil,
      query.projection.isEmpty
    else {
      try forEachBody(matching: query, trace: trace) { models.append(try decode($0, $1)) }
      return models
    }
    trace.found = query.offset
    try run(query, trace: trace).forEachDecoded(decode) { portion in
      trace.found += portion.count
      // Most results are one portion: it need not be copied.
      if models.isEmpty { models = portion } else { models += portion }
    }
    return models
  }
}

/// A result, and how far it is from the vector that was asked for.
struct ScoredDocument<Found> {
  var found: Found
  var distance: Double
}

extension QueryExecutor {
  fileprivate func nearest(
    _ nearest: StructuredQuery.Nearest, _ trace: QueryTrace
  ) throws -> [ScoredDocument<StoredEntry>] {
    var lookup = FieldLookup(nearest.field)
    let ruler = DistanceFunction(nearest)
    var foremost = TopK<ScoredDocument<StoredEntry>>(limit: nearest.limit)
    func compare(
      _ lhs: ScoredDocument<StoredEntry>, _ rhs: ScoredDocument<StoredEntry>
    ) throws -> Int {
      let order = ruler.compare(lhs.distance, rhs.distance)
      return order != 0 ? order : try compareNames(lhs.found, rhs.found)
    }
    try forEachUnordered { entry, body in
      trace.found += 1
      guard let vector = try lookup.find(in: body)?.vectorView(),
        let distance = ruler.distance(to: vector), ruler.accepts(distance)
      else { return true }
      try foremost.add(ScoredDocument(found: entry, distance: distance), by: compare)
      return true
    }
    return try foremost.finish(by: compare)
  }
}

/// Measures distances from one vector to stored ones.
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

  /// Nil for a vector of another dimension, and where there is no angle.
  func distance(to vector: VectorView) -> Double? {
    guard vector.count == count else { return nil }
    // Products are added, not fused: without an instruction for it that is a call for each number.
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

  /// Both vectors side by side, eight numbers at a time.
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

  /// The nearer first.
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

extension StoredDocument {
  /// The same document with one field set, as if it had been stored so.
  func setting(_ field: FieldSegments, to value: Value) throws -> StoredDocument {
    var map = try body.map()
    map.set(field.names[...], to: value)
    return StoredDocument(
      path: path, sequence: sequence, createTime: createTime, updateTime: updateTime,
      body: try DocumentBody(encoding: map))
  }
}

extension MapValue {
  /// Maps on the way are made, and take the place of what is none.
  fileprivate mutating func set(_ names: ArraySlice<String>, to value: Value) {
    guard let name = names.first else { return }
    guard names.count > 1 else {
      self[name] = value
      return
    }
    var inner = MapValue()
    if case .map(let map) = self[name] { inner = map }
    inner.set(names.dropFirst(), to: value)
    self[name] = .map(inner)
  }
}
