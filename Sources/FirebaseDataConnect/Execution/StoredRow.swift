import Foundation
import Hearth

/// A value as the document of a row has it.
enum StoredValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case timestamp(Timestamp)
  case reference(DocumentReference)
  case vector([Double])
  /// No type of GraphQL: of documents that were written by hand.
  case geoPoint(GeoPoint)
  case bytes(Data)
  case list([StoredValue])
  case map(StoredRow)
}

/// The fields of a row's document, read and written without `Codable`.
struct StoredRow: Sendable, Equatable {
  private(set) var names: [String] = []
  private(set) var values: [StoredValue] = []

  init() {}

  /// `names` has no name twice, and as many elements as `values`.
  init(names: [String], values: [StoredValue]) {
    assert(names.count == values.count)
    self.names = names
    self.values = values
  }

  /// Searches linearly: for the columns of a table.
  subscript(_ name: String) -> StoredValue? {
    get {
      guard let index = names.firstIndex(of: name) else { return nil }
      return values[index]
    }
    set {
      switch (names.firstIndex(of: name), newValue) {
      case (let index?, let value?): values[index] = value
      case (let index?, nil):
        names.remove(at: index)
        values.remove(at: index)
      case (nil, let value?):
        names.append(name)
        values.append(value)
      case (nil, nil): break
      }
    }
  }
}

extension StoredRow {
  /// Nil for a field that is no text.
  func text(_ name: String) -> String? {
    if case .string(let text)? = self[name] { text } else { nil }
  }

  /// The texts of a list. Empty for another field.
  func texts(_ name: String) -> [String] {
    guard case .list(let values)? = self[name] else { return [] }
    return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
  }
}

extension StoredRow: DocumentValueCodable {
  func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.map { map throws(UseCodable) in
      for (name, value) in zip(names, values) { try map.write(value, named: name) }
    }
  }

  init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    var names: [String] = []
    var values: [StoredValue] = []
    names.reserveCapacity(8)
    values.reserveCapacity(8)
    try reader.forEachField { name, value throws(UseCodable) in
      names.append(name)
      values.append(try StoredValue(reading: value))
    }
    self.names = names
    self.values = values
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: DataValue.MemberKey.self)
    for (name, value) in zip(names, values) {
      try container.encode(value, forKey: DataValue.MemberKey(stringValue: name))
    }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DataValue.MemberKey.self)
    let keys = container.allKeys
    names = keys.map(\.stringValue)
    values = try keys.map { try container.decode(StoredValue.self, forKey: $0) }
  }
}

extension StoredValue: DocumentValueCodable {
  func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    switch self {
    case .null: try writer.null()
    case .bool(let value): try writer.boolean(value)
    case .int(let value): try writer.integer(value)
    case .double(let value): try writer.double(value)
    case .string(let value): try writer.string(value)
    case .timestamp(let value): try value.write(to: writer)
    case .reference(let value): try value.write(to: writer)
    case .vector(let values): try VectorValue(values).write(to: writer)
    case .geoPoint(let value): try value.write(to: writer)
    case .bytes(let value): try writer.data(value)
    case .list(let values):
      try writer.array { array throws(UseCodable) in
        for value in values { try array.write(value) }
      }
    case .map(let row): try row.write(to: writer)
    }
  }

  init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    if reader.isNull {
      self = .null
    } else if let value = try? reader.string() {
      self = .string(value)
    } else if let value = try? reader.integer() {
      self = .int(value)
    } else if let value = try? reader.double() {
      self = .double(value)
    } else if let value = try? reader.boolean() {
      self = .bool(value)
    } else if let value = try? Timestamp(reading: reader) {
      self = .timestamp(value)
    } else if let value = try? DocumentReference(reading: reader) {
      self = .reference(value)
    } else if let value = try? VectorValue(reading: reader) {
      self = .vector(value.array)
    } else if let value = try? GeoPoint(reading: reader) {
      self = .geoPoint(value)
    } else if let value = try? reader.data() {
      self = .bytes(value)
    } else if let values = try? Self.elements(reader) {
      self = .list(values)
    } else {
      self = .map(try StoredRow(reading: reader))
    }
  }

  private static func elements(
    _ reader: borrowing DocumentValueReader
  ) throws(UseCodable) -> [StoredValue] {
    var elements = try reader.array()
    var values: [StoredValue] = []
    while let element = try elements.next() { values.append(try StoredValue(reading: element)) }
    return values
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .timestamp(let value): try container.encode(value)
    case .reference(let value): try container.encode(value)
    case .vector(let values): try container.encode(VectorValue(values))
    case .geoPoint(let value): try container.encode(value)
    case .bytes(let value): try container.encode(value)
    case .list(let values): try container.encode(values)
    case .map(let row): try container.encode(row)
    }
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    /// Nil for a value of another type.
    func value<T: Decodable>(_ make: (T) -> StoredValue) -> StoredValue? {
      (try? container.decode(T.self)).map(make)
    }
    let scalar: StoredValue? =
      container.decodeNil()
      ? .null
      : value(Self.bool) ?? value(Self.int) ?? value(Self.double) ?? value(Self.string)
        ?? value(Self.timestamp) ?? value(Self.reference)
        ?? value { (vector: VectorValue) in .vector(vector.array) }
    self =
      try scalar ?? value(Self.geoPoint) ?? value(Self.bytes) ?? value(Self.list)
      ?? Self.map(container.decode(StoredRow.self))
  }
}

extension StoredValue {
  /// As queries take it.
  var queryValue: Any {
    switch self {
    case .null: NSNull()
    case .bool(let value): value
    case .int(let value): value
    case .double(let value): value
    case .string(let value): value
    case .timestamp(let value): value
    case .reference(let value): value
    case .vector(let values): VectorValue(values)
    case .geoPoint(let value): value
    case .bytes(let value): value
    case .list(let values): values.map(\.queryValue)
    case .map(let row):
      Dictionary(
        zip(row.names, row.values.map(\.queryValue)), uniquingKeysWith: { _, last in last })
    }
  }
}
