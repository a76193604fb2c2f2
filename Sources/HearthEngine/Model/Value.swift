internal import HearthText

/// One Firestore value, as the engine holds it between documents, keys and queries.
///
/// `==` is *identity*: it distinguishes what a stored document distinguishes (1 ≠ 1.0, -0.0 ≠ 0.0,
/// every NaN is the same). Query equality and order are `Value.compare(_:_:)`, where 1 equals 1.0.
package enum Value: Sendable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  case timestamp(Instant)
  case string(String)
  case bytes([UInt8])
  case reference(ResourcePath)
  case geoPoint(Coordinate)
  case array([Value])
  case vector([Double])
  case map(MapValue)

  /// The limit for nested maps and arrays.
  package static let deepestNesting = Limits.nesting
}

/// A map's fields, sorted by the UTF-8 bytes of their names, each name once.
package struct MapValue: Sendable {
  package struct Field: Sendable {
    package var name: String
    package var value: Value

    package init(name: String, value: Value) {
      self.name = name
      self.value = value
    }
  }

  /// Sorted by name, names unique.
  package private(set) var fields: [Field]

  package init() { fields = [] }

  /// If several fields have the same name, the last one is kept.
  package init(_ unordered: some Sequence<(String, Value)>) {
    var numbered = unordered.enumerated().map { (index: $0.offset, field: $0.element) }
    numbered.sort {
      let order = UTF8Order.compare($0.field.0, $1.field.0)
      return order == 0 ? $0.index < $1.index : order < 0
    }
    fields = []
    fields.reserveCapacity(numbered.count)
    for (_, field) in numbered {
      if let last = fields.last, UTF8Order.areEqual(last.name, field.0) {
        fields[fields.count - 1].value = field.1
      } else {
        fields.append(Field(name: field.0, value: field.1))
      }
    }
  }

  /// For fields with distinct names.
  package init(distinct unsorted: [Field]) {
    fields = unsorted
    fields.sort { UTF8Order.compare($0.name, $1.name) < 0 }
  }

  package var isEmpty: Bool { fields.isEmpty }
  package var count: Int { fields.count }

  /// Reading a missing name gives nil; assigning nil removes the field.
  package subscript(name: String) -> Value? {
    get {
      let (index, isThere) = position(of: name)
      return isThere ? fields[index].value : nil
    }
    set {
      let (index, isThere) = position(of: name)
      switch (isThere, newValue) {
      case (true, let value?): fields[index].value = value
      case (true, nil): fields.remove(at: index)
      case (false, let value?): fields.insert(Field(name: name, value: value), at: index)
      case (false, nil): break
      }
    }
  }

  /// The index of the name, or the index where it would be inserted.
  private func position(of name: String) -> (index: Int, isThere: Bool) {
    fields.indices.position { UTF8Order.compare(fields[$0].name, name) }
  }
}

extension Value: Equatable {
  package static func == (lhs: Value, rhs: Value) -> Bool {
    switch (lhs, rhs) {
    case (.null, .null): true
    case (.boolean(let a), .boolean(let b)): a == b
    case (.integer(let a), .integer(let b)): a == b
    case (.double(let a), .double(let b)): areIdentical(a, b)
    case (.timestamp(let a), .timestamp(let b)): a == b
    case (.string(let a), .string(let b)): UTF8Order.areEqual(a, b)
    case (.bytes(let a), .bytes(let b)): a == b
    case (.reference(let a), .reference(let b)): a == b
    case (.geoPoint(let a), .geoPoint(let b)):
      areIdentical(a.latitude, b.latitude) && areIdentical(a.longitude, b.longitude)
    case (.array(let a), .array(let b)): a == b
    case (.vector(let a), .vector(let b)):
      a.count == b.count && zip(a, b).allSatisfy { areIdentical($0, $1) }
    case (.map(let a), .map(let b)): a == b
    default: false
    }
  }

  private static func areIdentical(_ lhs: Double, _ rhs: Double) -> Bool {
    lhs.bitPattern == rhs.bitPattern || (lhs.isNaN && rhs.isNaN)
  }
}

extension MapValue: Equatable {
  package static func == (lhs: MapValue, rhs: MapValue) -> Bool {
    lhs.count == rhs.count
      && zip(lhs.fields, rhs.fields).allSatisfy {
        UTF8Order.areEqual($0.name, $1.name) && $0.value == $1.value
      }
  }
}
