import Foundation
import Hearth

/// Decodes a value from the form in which Data Connect sends it.
enum DataValueDecoder {
  /// Throws `DecodingError` for a value of another form.
  static func decode<Value: Decodable>(_ type: Value.Type, from value: DataValue) throws -> Value {
    try TreeDecoder(value, nil).embedded(type)
  }
}

private struct TreeDecoder: Decoder, SingleValueDecodingContainer {
  /// The keys that lead to the value; an array is made only for an error.
  final class Path {
    let key: any CodingKey
    let parent: Path?

    init(_ key: any CodingKey, _ parent: Path?) {
      self.key = key
      self.parent = parent
    }
  }

  let value: DataValue
  let path: Path?
  let userInfo: [CodingUserInfoKey: Any] = [:]

  init(_ value: DataValue, _ path: Path?) {
    self.value = value
    self.path = path
  }

  var codingPath: [any CodingKey] {
    var keys: [any CodingKey] = []
    var next = path
    while let path = next {
      keys.append(path.key)
      next = path.parent
    }
    return keys.reversed()
  }

  func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "The value is not of the type \(type).")
    return value.isNull
      ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let object) = value else { throw mismatch(DataObject.self) }
    return KeyedDecodingContainer(Keyed(object: object, decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .list(let values) = value else { throw mismatch([DataValue].self) }
    return Unkeyed(values: values, decoder: self)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func embedded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    func cast(_ value: some Any) throws -> Value {
      guard let value = value as? Value else { throw mismatch(type) }
      return value
    }
    switch type {
    case is String.Type: return try cast(string())
    case is Int.Type: return try cast(integer(Int.self))
    case is Int64.Type: return try cast(integer(Int64.self))
    case is Double.Type: return try cast(double())
    case is Bool.Type: return try cast(bool())
    case is UUID.Type: return try cast(UUID(dataConnectText: string()))
    case is Timestamp.Type:
      if case .timestamp(let time) = value { return try cast(time) }
      return try cast(Timestamp(rfc3339: string()))
    case is Date.Type:
      switch value {
      case .timestamp(let time): return try cast(time.dateValue())
      case .string(let text): return try cast(Timestamp(rfc3339: text).dateValue())
      default: return try Value(from: self)
      }
    case is AnyValue.Type: return try cast(AnyValue(value))
    case is DataValue.Type: return try cast(value)
    default: return try Value(from: self)
    }
  }

  func string() throws -> String {
    switch value {
    case .string(let text): return text
    case .timestamp(let time): return time.rfc3339
    default: throw mismatch(String.self)
    }
  }

  func bool() throws -> Bool {
    guard case .bool(let flag) = value else { throw mismatch(Bool.self) }
    return flag
  }

  func double() throws -> Double {
    guard let found = value.number else { throw mismatch(Double.self) }
    return found
  }

  func integer<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    guard let found: Number = value.integer() else { throw mismatch(type) }
    return found
  }

  func decodeNil() -> Bool { value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try bool() }
  func decode(_ type: String.Type) throws -> String { try string() }
  func decode(_ type: Double.Type) throws -> Double { try double() }
  func decode(_ type: Float.Type) throws -> Float { Float(try double()) }
  func decode<Number: FixedWidthInteger & Decodable>(_ type: Number.Type) throws -> Number {
    try integer(type)
  }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try embedded(type) }

  struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: DataObject
    let decoder: TreeDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { object.names.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }

    private func child(_ key: Key) throws -> TreeDecoder {
      guard let value = object[key.stringValue] else {
        throw DecodingError.keyNotFound(
          key,
          .init(
            codingPath: codingPath, debugDescription: "There is no member '\(key.stringValue)'."))
      }
      return TreeDecoder(value, Path(key, decoder.path))
    }

    func decodeNil(forKey key: Key) throws -> Bool { try child(key).value.isNull }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try child(key).bool() }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try child(key).string() }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try child(key).double() }
    func decode<Number: FixedWidthInteger & Decodable>(
      _ type: Number.Type, forKey key: Key
    ) throws -> Number {
      try child(key).integer(type)
    }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      try child(key).embedded(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
      keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
      try child(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try child(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
      TreeDecoder(object["super"] ?? .null, decoder.path)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try child(key) }
  }

  struct Unkeyed: UnkeyedDecodingContainer {
    struct Index: CodingKey {
      let intValue: Int?
      var stringValue: String { "\(intValue ?? 0)" }

      init(_ index: Int) { intValue = index }
      init?(intValue: Int) { self.intValue = intValue }
      init?(stringValue: String) { nil }
    }

    let values: [DataValue]
    let decoder: TreeDecoder
    var currentIndex = 0

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex >= values.count }

    private func child() throws -> TreeDecoder {
      guard currentIndex < values.count else {
        throw DecodingError.valueNotFound(
          DataValue.self,
          .init(codingPath: codingPath, debugDescription: "The list has no more elements."))
      }
      return TreeDecoder(values[currentIndex], Path(Index(currentIndex), decoder.path))
    }

    mutating func decodeNil() throws -> Bool {
      guard try child().value.isNull else { return false }
      currentIndex += 1
      return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
      let value = try child().embedded(type)
      currentIndex += 1
      return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
      keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
      let container = try child().container(keyedBy: type)
      currentIndex += 1
      return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
      let container = try child().unkeyedContainer()
      currentIndex += 1
      return container
    }

    mutating func superDecoder() throws -> any Decoder {
      let child = try child()
      currentIndex += 1
      return child
    }
  }
}
