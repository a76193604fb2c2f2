import Foundation

// The types of the standard library and Foundation, coded as `Codable` codes them.

extension Bool: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.boolean(self)
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self = try reader.boolean()
  }
}

extension String: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.string(self)
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self = try reader.string()
  }
}

extension Double: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.double(self)
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self = try reader.double()
  }
}

extension Float: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.double(Double(self))
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    let number = try reader.double()
    guard abs(number) <= Double(Float.greatestFiniteMagnitude) else { throw UseCodable() }
    self = Float(number)
  }
}

extension FixedWidthInteger where Self: DocumentValueCodable {
  /// Writes an integer. One that 64 bits with a sign cannot hold is left to `Codable`, which throws.
  @inlinable
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    guard let integer = Int64(exactly: self) else { throw UseCodable() }
    try writer.integer(integer)
  }

  /// Reads an integer. One that this type cannot hold is left to `Codable`, which throws.
  @inlinable
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    guard let integer = Self(exactly: try reader.integer()) else { throw UseCodable() }
    self = integer
  }
}

extension Int: DocumentValueCodable {}
extension Int8: DocumentValueCodable {}
extension Int16: DocumentValueCodable {}
extension Int32: DocumentValueCodable {}
extension Int64: DocumentValueCodable {}
extension Int128: DocumentValueCodable {}
extension UInt: DocumentValueCodable {}
extension UInt8: DocumentValueCodable {}
extension UInt16: DocumentValueCodable {}
extension UInt32: DocumentValueCodable {}
extension UInt64: DocumentValueCodable {}
extension UInt128: DocumentValueCodable {}

extension Bool: DocumentRawValue {}
extension String: DocumentRawValue {}
extension Double: DocumentRawValue {}
extension Float: DocumentRawValue {}
extension Int: DocumentRawValue {}
extension Int8: DocumentRawValue {}
extension Int16: DocumentRawValue {}
extension Int32: DocumentRawValue {}
extension Int64: DocumentRawValue {}
extension UInt: DocumentRawValue {}
extension UInt8: DocumentRawValue {}
extension UInt16: DocumentRawValue {}
extension UInt32: DocumentRawValue {}
extension UInt64: DocumentRawValue {}

extension Date: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.date(self)
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self = try reader.date()
  }
}

extension Data: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.data(self)
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self = try reader.data()
  }
}

extension URL: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.string(absoluteString)
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    guard let url = URL(string: try reader.string()) else { throw UseCodable() }
    self = url
  }
}

extension UUID: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.string(uuidString)
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    guard let id = UUID(uuidString: try reader.string()) else { throw UseCodable() }
    self = id
  }
}

extension Decimal: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    guard !isNaN else { throw UseCodable() }
    try writer.value(.double(EncodingRules.double(self)))
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    if let integer = try? reader.integer() {
      self = Decimal(integer)
      return
    }
    guard let decimal = EncodingRules.decimal(try reader.double()) else { throw UseCodable() }
    self = decimal
  }
}

extension Optional: DocumentValueCodable where Wrapped: DocumentValueCodable {
  /// Nil as null. A field that is nil is left out instead.
  @inlinable
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    if let self { try self.write(to: writer) } else { try writer.null() }
  }

  @inlinable
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self = reader.isNull ? nil : try Wrapped(reading: reader)
  }
}

extension Array: DocumentValueCodable where Element: DocumentValueCodable {
  @inlinable
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.array { array throws(UseCodable) in
      if Element.self == String.self {
        try array.write(strings: unsafeBitCast(self, to: [String].self))
      } else {
        for element in self { try array.write(element) }
      }
    }
  }

  @inlinable
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    if Element.self == String.self {
      self = unsafeBitCast(try reader.strings(), to: [Element].self)
      return
    }
    var array = try reader.array()
    var elements: [Element] = []
    // Damaged bytes may claim more elements than fit into memory.
    elements.reserveCapacity(
      Swift.min(array.count, (1 << 20) / Swift.max(1, MemoryLayout<Element>.stride)))
    while let element = try array.next() { elements.append(try Element(reading: element)) }
    self = elements
  }
}

extension Dictionary: DocumentValueCodable where Key == String, Value: DocumentValueCodable {
  @inlinable
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.map { map throws(UseCodable) in
      for (name, value) in self { try map.write(value, named: name) }
    }
  }

  @inlinable
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    var fields: [String: Value] = [:]
    try reader.forEachField { name, value throws(UseCodable) in
      fields[name] = try Value(reading: value)
    }
    self = fields
  }
}

// MARK: Firestore's types

extension Timestamp: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    guard let instant = try? instant() else { throw UseCodable() }
    try writer.value(.timestamp(instant))
  }

  public convenience init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self.init(try reader.timestamp())
  }
}

extension GeoPoint: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    guard let coordinate = try? coordinate() else { throw UseCodable() }
    try writer.value(.geoPoint(coordinate))
  }

  public convenience init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self.init(try reader.geoPoint())
  }
}

extension VectorValue: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.value(.vector(array))
  }

  public convenience init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self.init(try reader.vector())
  }
}

extension ServerTimestamp: DocumentFieldCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    guard let wrappedValue else { return try writer.transform(.serverTimestamp) }
    let instant =
      Value.self == Date.self
      ? Instant(identity(wrappedValue, as: Date.self))
      : try? Value.unwrap(wrappedValue).instant()
    guard let instant else { throw UseCodable() }
    try writer.value(.timestamp(instant))
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    if reader.isNull {
      self.init(wrappedValue: nil)
      return
    }
    let instant = try reader.timestamp()
    if Value.self == Date.self {
      self.init(wrappedValue: identity(instant.date, as: Value.self))
    } else {
      guard let value = try? Value.wrap(Timestamp(instant)) else { throw UseCodable() }
      self.init(wrappedValue: value)
    }
  }

  public init(missingFrom map: borrowing DocumentMapReader) { self.init(wrappedValue: nil) }
}

extension ExplicitNull: DocumentValueCodable where Value: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try wrappedValue.write(to: writer)
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self.init(wrappedValue: try Value?(reading: reader))
  }
}

extension ExplicitNull: DocumentFieldCodable where Value: DocumentValueCodable {
  public init(missingFrom map: borrowing DocumentMapReader) { self.init(wrappedValue: nil) }
}
