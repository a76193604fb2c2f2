extension QueryExecutor {
  func nearest(
    _ nearest: StructuredQuery.Nearest, _ trace: QueryTrace
  ) throws -> [ScoredDocument<StoredEntry>] {
    var lookup = FieldLookup(nearest.field)
    let metric = DistanceFunction(nearest)
    var topK = TopK<ScoredDocument<StoredEntry>>(limit: nearest.limit)
    func compare(
      _ lhs: ScoredDocument<StoredEntry>, _ rhs: ScoredDocument<StoredEntry>
    ) throws -> Int {
      let order = metric.compare(lhs.distance, rhs.distance)
      return order != 0 ? order : try compareNames(lhs.found, rhs.found)
    }
    try forEachUnordered { entry, body in
      trace.found += 1
      guard let vector = try lookup.find(in: body)?.vectorView(),
        let distance = metric.distance(to: vector), metric.accepts(distance)
      else { return true }
      try topK.add(ScoredDocument(found: entry, distance: distance), by: compare)
      return true
    }
    return try topK.finish(by: compare)
  }
}

extension SIMD8 where Scalar == Double {
  /// Stored doubles are little-endian.
  @inline(__always)
  init(bitPatterns: SIMD8<UInt64>) {
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
  /// The document with one field set, as if it were stored with it.
  func setting(_ field: FieldSegments, to value: Value) throws -> StoredDocument {
    var map = try body.map()
    map.set(field.names[...], to: value)
    return StoredDocument(
      path: path, sequence: sequence, createTime: createTime, updateTime: updateTime,
      body: try DocumentBody(encoding: map))
  }
}

extension MapValue {
  /// Creates missing maps on the path; replaces values that are not maps.
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
