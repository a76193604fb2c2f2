extension MapValue {
  /// The value at a path; nil if any step of it is missing or not a map.
  func value(at path: some Collection<String>) -> Value? {
    guard let first = path.first, let value = self[first] else { return nil }
    let rest = path.dropFirst()
    if rest.isEmpty { return value }
    guard case .map(let inner) = value else { return nil }
    return inner.value(at: rest)
  }

  /// Sets the value at a path. A value on the way that is not a map is replaced by one. Nil removes
  /// the field, and does nothing if a step is missing or not a map.
  mutating func set(_ value: Value?, at path: some Collection<String>) {
    guard let first = path.first else { return }
    let rest = path.dropFirst()
    if rest.isEmpty {
      self[first] = value
      return
    }
    var inner = MapValue()
    if case .map(let existing)? = self[first] {
      inner = existing
      // Leaves one reference to the map, so that it is changed in place.
      self[first] = .null
    } else if value == nil {
      return
    }
    inner.set(value, at: rest)
    self[first] = .map(inner)
  }
}
