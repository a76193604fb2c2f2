/// Hashes by identity, like `==`.
extension Value: Hashable {
  package func hash(into hasher: inout Hasher) {
    hasher.combine(typeClass)
    switch self {
    case .null: break
    case .boolean(let value): hasher.combine(value)
    case .integer(let value): hasher.combine(value)
    case .double(let value): Value.hash(value, into: &hasher)
    case .timestamp(let value): hasher.combine(value)
    case .string(let value): Value.hash(value, into: &hasher)
    case .bytes(let value): hasher.combine(value)
    case .reference(let value): hasher.combine(value)
    case .geoPoint(let value):
      Value.hash(value.latitude, into: &hasher)
      Value.hash(value.longitude, into: &hasher)
    case .array(let value): hasher.combine(value)
    case .vector(let value):
      hasher.combine(value.count)
      for component in value { Value.hash(component, into: &hasher) }
    case .map(let value): hasher.combine(value)
    }
  }

  /// All NaNs have one hash; 0.0 and -0.0 have two.
  private static func hash(_ double: Double, into hasher: inout Hasher) {
    hasher.combine(double.isNaN ? Double.nan.bitPattern : double.bitPattern)
  }

  fileprivate static func hash(_ string: String, into hasher: inout Hasher) {
    hasher.combine(BytewiseString(string))
    hasher.combine(0xFF as UInt8)
  }
}

extension MapValue: Hashable {
  package func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    for field in fields {
      Value.hash(field.name, into: &hasher)
      hasher.combine(field.value)
    }
  }
}
