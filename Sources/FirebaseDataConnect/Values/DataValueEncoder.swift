import Foundation
import Hearth

/// Encodes a value as Data Connect sends it.
enum DataValueEncoder {
  static func encode<Value: Encodable>(_ value: Value) throws -> DataValue {
    do {
      return try embedded(value, [])
    } catch let error as DataConnectCodecError {
      throw error
    } catch {
      throw DataConnectCodecError(.encodingFailed, "A value cannot be encoded.", error)
    }
  }

  /// Types with a form of their own are not asked to encode themselves.
  fileprivate static func embedded<Value: Encodable>(
    _ value: Value, _ path: [any CodingKey]
  ) throws -> DataValue {
    switch value {
    case let value as String: return .string(value)
    case let value as UUID: return .string(value.dataConnectText)
    case let value as Timestamp: return .timestamp(value)
    case let value as AnyValue: return value.dataValue
    case let value as Date: return .timestamp(Timestamp(date: value))
    default:
      let encoder = TreeEncoder(path)
      try value.encode(to: encoder)
      return encoder.node.result
    }
  }
}

/// A value that is being encoded: containers of one encoder share it.
private final class Node {
  var value = DataValue.null
  /// Members or elements that are not finished.
  let names = MemberNames([])
  var children: [Node] = []

  enum Kind { case single, keyed, unkeyed }
  var kind = Kind.single

  var result: DataValue {
    switch kind {
    case .single: value
    case .keyed:
      .object(DataObject(names, values: children.map(\.result)))
    case .unkeyed: .list(children.map(\.result))
    }
  }

  func set(_ node: Node, for name: String) {
    if let index = names.position(of: name) {
      children[index] = node
    } else {
      names.append(name)
      children.append(node)
    }
  }
}

private struct TreeEncoder: Encoder, SingleValueEncodingContainer {
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]
  let node = Node()

  init(_ path: [any CodingKey]) { codingPath = path }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.kind = .keyed
    return KeyedEncodingContainer(Keyed<Key>(codingPath: codingPath, node: node))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.kind = .unkeyed
    return Unkeyed(codingPath: codingPath, node: node)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() { node.value = .null }
  func encode(_ value: Bool) { node.value = .bool(value) }
  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case let value as any BinaryInteger: node.value = try integer(value)
    case let value as Double: node.value = .double(value)
    case let value as Float: node.value = .double(Double(value))
    case let value as Bool: node.value = .bool(value)
    default: node.value = try DataValueEncoder.embedded(value, codingPath)
    }
  }

  private func integer(_ value: any BinaryInteger) throws -> DataValue {
    guard let number = Int64(exactly: value) else {
      throw EncodingError.invalidValue(
        value,
        .init(codingPath: codingPath, debugDescription: "The number does not fit in 64 bits."))
    }
    return .int(number)
  }

  struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let codingPath: [any CodingKey]
    let node: Node

    private func child(_ name: String, _ path: [any CodingKey]) -> TreeEncoder {
      let child = TreeEncoder(path)
      node.set(child.node, for: name)
      return child
    }

    private func child(_ key: Key) -> TreeEncoder { child(key.stringValue, codingPath + [key]) }

    func encodeNil(forKey key: Key) { node.set(Node(), for: key.stringValue) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
      try child(key).encode(value)
    }

    func nestedContainer<NestedKey: CodingKey>(
      keyedBy keyType: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> { child(key).container(keyedBy: keyType) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      child(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { child("super", codingPath) }
    func superEncoder(forKey key: Key) -> any Encoder { child(key) }
  }

  struct Unkeyed: UnkeyedEncodingContainer {
    let codingPath: [any CodingKey]
    let node: Node

    var count: Int { node.children.count }

    private func child() -> TreeEncoder {
      let child = TreeEncoder(codingPath)
      node.children.append(child.node)
      return child
    }

    func encodeNil() { _ = child() }
    func encode<Value: Encodable>(_ value: Value) throws { try child().encode(value) }

    func nestedContainer<NestedKey: CodingKey>(
      keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> { child().container(keyedBy: keyType) }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { child().unkeyedContainer() }
    func superEncoder() -> any Encoder { child() }
  }
}
