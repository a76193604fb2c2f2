import Foundation

/// Encodes into a tree of objects first, so that containers may be used in any order, more than
/// once, and at the same time.
///
///     value ── TreeEncoder ──▸ TreeNode ─┬─ write(to:) ──▸ a document's bytes
///                                        └─ structure() ─▸ [String: Any], [Any], or one value
///
/// For documents it handles the types that cannot be streamed, and is the reference for the
/// stream's output. Structures, which public encoders return, are always made by it.
/// `TreeEncodingState` lists the rules that differ.
package struct TreeEncoder: Encoder, SingleValueEncodingContainer {
  let node: TreeNode
  let run: TreeEncodingState
  package let codingPath: [any CodingKey]
  var isField = false
  var keepsKeys = false

  package var userInfo: [CodingUserInfoKey: Any] { run.options.userInfo }

  static func encode<T: Encodable>(
    _ value: T, options: FirebaseDataEncoder
  ) throws -> EncodedDocument {
    let run = TreeEncodingState(.document, options: options)
    let root = try encode(value, run)
    switch root.content {
    case .map: break
    case .empty: throw EncodingRules.nothing(value)
    default: throw EncodingRules.notAllowed(value)
    }
    let writer = DocumentWriter.borrow()
    defer { writer.giveBack() }
    var document = EncodedDocument(
      body: .empty, databases: run.databases, validationError: run.validationError)
    root.write(to: writer, &document)
    document.body = try writer.finish()
    return document
  }

  /// Encodes a value as users get it: dictionaries, arrays, `NSNumber`, `NSNull`, `String`, `Data`,
  /// and objects of the passthrough types. Throws `EncodingError` and `Status`, and rethrows errors
  /// of the value.
  static func structure<T: Encodable>(of value: T, options: FirebaseDataEncoder) throws -> Any {
    let root = try encode(value, TreeEncodingState(.structure, options: options))
    if case .empty = root.content { throw EncodingRules.nothing(value) }
    return try root.structure()
  }

  private static func encode<T: Encodable>(_ value: T, _ run: TreeEncodingState) throws -> TreeNode
  {
    let root = TreeNode()
    try TreeEncoder(node: root, run: run, codingPath: []).encodeHere(value)
    if let misuse = run.misuse { throw misuse }
    return root
  }

  package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if !node.becomeMap() {
      run.note(EncodingRules.secondContainer("keyed", codingPath: codingPath))
    }
    return KeyedEncodingContainer(
      TreeKeyedContainer<Key>(node: node, run: run, codingPath: codingPath, keepsKeys: keepsKeys))
  }

  package func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if !node.becomeArray() {
      run.note(EncodingRules.secondContainer("unkeyed", codingPath: codingPath))
    }
    return TreeUnkeyedContainer(node: node, run: run, codingPath: codingPath)
  }

  package func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func set(_ value: Value) throws { try set(content: .value(value)) }

  func set(content: TreeNode.Content) throws {
    try run.checkDepth(of: codingPath)
    guard case .empty = node.content else {
      throw EncodingRules.secondValue(codingPath: codingPath)
    }
    node.content = content
  }

  package func encodeNil() throws { try set(.null) }

  package func encode(_ value: Bool) throws { try set(.boolean(value)) }

  package func encode(_ value: String) throws { try set(.string(value)) }

  package func encode(_ value: Double) throws {
    try set(run.number(value, named: "Double", codingPath: codingPath))
  }

  package func encode(_ value: Float) throws {
    try set(run.number(Double(value), named: "Float", codingPath: codingPath))
  }

  package func encode<T: FixedWidthInteger & Encodable>(_ value: T) throws {
    try set(content: run.integer(value, codingPath: codingPath))
  }

  // Apart: for 128 bits the protocol has a default, which Swift prefers to a generic function.

  package func encode(_ value: Int128) throws {
    try set(content: run.integer(value, codingPath: codingPath))
  }

  package func encode(_ value: UInt128) throws {
    try set(content: run.integer(value, codingPath: codingPath))
  }

  package func encode<T: Encodable>(_ value: T) throws {
    guard case .empty = node.content else {
      throw EncodingRules.secondValue(codingPath: codingPath)
    }
    run.valuesInPlace += 1
    defer { run.valuesInPlace -= 1 }
    guard run.valuesInPlace <= run.mostValuesInPlace(at: codingPath) else {
      throw EncodingRules.endless(value, codingPath: codingPath)
    }
    try encodeHere(value)
  }

  fileprivate func encodeHere<T: Encodable>(_ value: T) throws {
    try run.checkDepth(of: codingPath)
    if let other = try run.options.replacement?(value) { return try encodeItself(other) }
    try encodeItself(value)
  }

  private func encodeItself<T: Encodable>(_ value: T) throws {
    if run.target == .structure, try encodeObject(value) { return }
    switch try EncodingRules.handling(
      of: value, options: run.options, codingPath: { codingPath })
    {
    case .value(let plain): try set(plain)
    case .encode(let encode):
      try encode(self)
      // A custom strategy that encodes nothing makes an empty map, also at the top of a structure.
      if run.target == .structure { _ = node.becomeMap() }
    case .ordinary:
      var encoder = self
      encoder.keepsKeys = value is any StringKeyedDictionary
      try value.encode(to: encoder)
    }
  }

  /// Encodes a value that is an object in a structure. False if nothing was encoded.
  private func encodeObject<T: Encodable>(_ value: T) throws -> Bool {
    if T.self == Decimal.self {
      try set(content: .object(NSDecimalNumber(decimal: identity(value, as: Decimal.self))))
    } else if T.self == Date.self, run.options.datesAreTimestamps {
      try encodeItself(EncodingRules.timestamp(identity(value, as: Date.self)))
    } else if !EncodingRules.isSpecial(T.self), !(value is any StringKeyedDictionary),
      run.passesThrough(value)
    {
      try set(content: .object(AnyBridge.unwrapped(value) ?? NSNull()))
    } else {
      return false
    }
    return true
  }
}

private struct TreeKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: TreeNode
  let run: TreeEncodingState
  let codingPath: [any CodingKey]
  let keepsKeys: Bool

  private func name(of key: any CodingKey) -> String {
    keepsKeys
      ? key.stringValue
      : EncodingRules.name(of: key, options: run.options) { codingPath }
  }

  private func set(_ value: Value, _ key: Key) throws { try set(content: .value(value), key) }

  private func set(content: TreeNode.Content, _ key: Key) throws {
    try run.checkDepth(of: codingPath)
    node.put(TreeNode(content), name(of: key))
  }

  func encodeNil(forKey key: Key) throws { try set(.null, key) }

  func encode(_ value: Bool, forKey key: Key) throws { try set(.boolean(value), key) }

  func encode(_ value: String, forKey key: Key) throws { try set(.string(value), key) }

  func encode(_ value: Double, forKey key: Key) throws {
    try set(run.number(value, named: "Double", codingPath: codingPath + [key]), key)
  }

  func encode(_ value: Float, forKey key: Key) throws {
    try set(run.number(Double(value), named: "Float", codingPath: codingPath + [key]), key)
  }

  func encode<T: FixedWidthInteger & Encodable>(_ value: T, forKey key: Key) throws {
    try set(content: run.integer(value, codingPath: codingPath + [key]), key)
  }

  func encode(_ value: Int128, forKey key: Key) throws {
    try set(content: run.integer(value, codingPath: codingPath + [key]), key)
  }

  func encode(_ value: UInt128, forKey key: Key) throws {
    try set(content: run.integer(value, codingPath: codingPath + [key]), key)
  }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    let name = name(of: key)
    let field = TreeNode()
    try TreeEncoder(node: field, run: run, codingPath: codingPath + [key], isField: true)
      .encodeHere(value)
    node.put(field, name)
  }

  /// Records the depth error, and returns an encoder whose result is discarded.
  private var refused: TreeEncoder {
    _ = run.tooDeep(codingPath)
    return TreeEncoder(node: TreeNode(), run: run, codingPath: codingPath, isField: true)
  }

  /// The encoder for a key's container. The same key gets the same node again.
  private func nested(_ key: any CodingKey) -> TreeEncoder {
    guard run.isReachable(codingPath) else { return refused }
    let name = name(of: key)
    let field: TreeNode
    if let existing = node.field(name) {
      field = existing
    } else {
      field = TreeNode()
      node.put(field, name)
    }
    return TreeEncoder(node: field, run: run, codingPath: codingPath + [key], isField: true)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    nested(key).container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { nested(AnyCodingKey.super) }

  func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
}

private struct TreeUnkeyedContainer: UnkeyedEncodingContainer {
  let node: TreeNode
  let run: TreeEncodingState
  let codingPath: [any CodingKey]

  var count: Int { node.count }

  private var elementPath: [any CodingKey] { codingPath + [AnyCodingKey.index(count)] }

  private func append(_ value: Value) throws { try append(content: .value(value)) }

  private func append(content: TreeNode.Content) throws {
    try run.checkDepth(of: codingPath)
    node.append(TreeNode(content))
  }

  func encodeNil() throws { try append(.null) }

  func encode(_ value: Bool) throws { try append(.boolean(value)) }

  func encode(_ value: String) throws { try append(.string(value)) }

  func encode(_ value: Double) throws {
    try append(run.number(value, named: "Double", codingPath: elementPath))
  }

  func encode(_ value: Float) throws {
    try append(run.number(Double(value), named: "Float", codingPath: elementPath))
  }

  func encode<T: FixedWidthInteger & Encodable>(_ value: T) throws {
    try append(content: run.integer(value, codingPath: elementPath))
  }

  func encode(_ value: Int128) throws {
    try append(content: run.integer(value, codingPath: elementPath))
  }

  func encode(_ value: UInt128) throws {
    try append(content: run.integer(value, codingPath: elementPath))
  }

  func encode<T: Encodable>(_ value: T) throws {
    let element = TreeNode()
    try TreeEncoder(node: element, run: run, codingPath: elementPath).encodeHere(value)
    node.append(element)
  }

  private func nested() -> TreeEncoder {
    let element = TreeNode()
    guard run.isReachable(codingPath) else {
      _ = run.tooDeep(codingPath)
      return TreeEncoder(node: element, run: run, codingPath: codingPath)
    }
    let path = elementPath
    node.append(element)
    return TreeEncoder(node: element, run: run, codingPath: path)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    nested().container(keyedBy: keyType)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { nested().unkeyedContainer() }

  func superEncoder() -> any Encoder { nested() }
}
