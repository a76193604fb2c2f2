import Synchronization

/// The names of the properties of classes and of other types, and their types: what `init(from:)` asks
/// for.
enum FieldNames {
  private static let known = Mutex<[ObjectIdentifier: [String: any Any.Type]]>([:])

  /// By name, the type of each optional property.
  static func types(of type: any Decodable.Type) -> [String: any Any.Type] {
    let id = ObjectIdentifier(type)
    if let types = known.withLock({ $0[id] }) { return types }
    let recorder = Recorder()
    // An object of which nothing is stored has all properties nil. One that needs a value fails there,
    // and the properties after it are unknown.
    _ = try? type.init(from: FieldRecorder(recorder: recorder, codingPath: []))
    let types = recorder.types
    known.withLock { $0[id] = types }
    return types
  }
}

private final class Recorder {
  var types: [String: any Any.Type] = [:]
}

/// A decoder of nothing, which notes what is asked for.
private struct FieldRecorder: Decoder {
  let recorder: Recorder
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Fields<Key>(decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw missing(codingPath) }
  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    throw missing(codingPath)
  }

  fileprivate func missing(_ path: [any CodingKey]) -> DecodingError {
    DecodingError.valueNotFound(
      Any.self, DecodingError.Context(codingPath: path, debugDescription: "Nothing is stored."))
  }

  private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: FieldRecorder
    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { [] }

    private func note(_ type: any Any.Type, _ key: Key) {
      decoder.recorder.types[key.stringValue] = type
    }

    func contains(_ key: Key) -> Bool { false }
    func decodeNil(forKey key: Key) -> Bool { true }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
      note(type, key)
      throw decoder.missing(codingPath + [key])
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) -> T? {
      note(type, key)
      return nil
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) -> Bool? { none(type, key) }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) -> String? { none(type, key) }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) -> Double? { none(type, key) }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) -> Float? { none(type, key) }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) -> Int? { none(type, key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) -> Int8? { none(type, key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) -> Int16? { none(type, key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) -> Int32? { none(type, key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) -> Int64? { none(type, key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) -> UInt? { none(type, key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) -> UInt8? { none(type, key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) -> UInt16? { none(type, key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) -> UInt32? { none(type, key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) -> UInt64? { none(type, key) }

    private func none<T>(_ type: T.Type, _ key: Key) -> T? {
      note(type, key)
      return nil
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { throw decoder.missing(codingPath + [key]) }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      throw decoder.missing(codingPath + [key])
    }
    func superDecoder() -> any Decoder { decoder }
    func superDecoder(forKey key: Key) -> any Decoder { decoder }
  }
}
