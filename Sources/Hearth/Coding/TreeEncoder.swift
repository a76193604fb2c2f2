import Foundation

/// Encodes into a tree of objects first, so that containers may be used in any order, twice, and
/// at the same time. The answer for types that a stream cannot follow, and the measure of what
/// the stream writes.
struct TreeEncoder: Encoder, SingleValueEncodingContainer {
  let node: TreeNode
  let run: TreeRun
  let codingPath: [any CodingKey]
  var isField = false
  var keepsKeys = false

  var userInfo: [CodingUserInfoKey: Any] { run.options.userInfo }

  static func encode<T: Encodable>(
    _ value: T, options: FirebaseDataEncoder
  ) throws -> EncodedDocument {
    let run = TreeRun(options: options)
    let root = TreeNode()
    try TreeEncoder(node: root, run: run, codingPath: []).encodeHere(value)
    if let misuse = run.misuse { throw misuse }
    switch root.content {
    case .map: break
    case .empty: throw TopLevel.nothing(value)
    default: throw TopLevel.notAllowed(value)
    }
    let writer = DocumentWriter.borrow()
    defer { writer.giveBack() }
    var document = EncodedDocument(body: .empty, databases: run.databases, fault: run.fault)
    root.write(to: writer, &document)
    document.body = try writer.finish()
    return document
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if !node.becomeMap() {
      run.note(EncodingRules.secondContainer("keyed", codingPath: codingPath))
    }
    return KeyedEncodingContainer(
      TreeKeyedContainer<Key>(node: node, run: run, codingPath: codingPath, keepsKeys: keepsKeys))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if !node.becomeArray() {
      run.note(EncodingRules.secondContainer("unkeyed", codingPath: codingPath))
    }
    return TreeUnkeyedContainer(node: node, run: run, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func set(_ value: Value) throws { try set(content: .value(value)) }

  func set(content: TreeNode.Content) throws {
    try run.checkDepth(of: codingPath)
    guard case .empty = node.content else {
      throw EncodingRules.secondValue(codingPath: codingPath)
    }
    node.content = content
  }

  func encodeNil() throws { try set(.null) }

  func encode(_ value: Bool) throws { try set(.boolean(value)) }

  func encode(_ value: String) throws { try set(.string(value)) }

  func encode(_ value: Double) throws {
    try set(run.number(value, named: "Double", codingPath: codingPath))
  }

  func encode(_ value: Float) throws {
    try set(run.number(Double(value), named: "Float", codingPath: codingPath))
  }

  func encode(_ value: Int) throws { try set(.integer(Int64(value))) }

  func encode(_ value: Int8) throws { try set(.integer(Int64(value))) }

  func encode(_ value: Int16) throws { try set(.integer(Int64(value))) }

  func encode(_ value: Int32) throws { try set(.integer(Int64(value))) }

  func encode(_ value: Int64) throws { try set(.integer(Int64(value))) }

  func encode(_ value: UInt8) throws { try set(.integer(Int64(value))) }

  func encode(_ value: UInt16) throws { try set(.integer(Int64(value))) }

  func encode(_ value: UInt32) throws { try set(.integer(Int64(value))) }

  func encode(_ value: UInt) throws { try set(run.integer(value, codingPath: codingPath)) }

  func encode(_ value: UInt64) throws { try set(run.integer(value, codingPath: codingPath)) }

  func encode(_ value: Int128) throws { try set(run.integer(value, codingPath: codingPath)) }

  func encode(_ value: UInt128) throws { try set(run.integer(value, codingPath: codingPath)) }

  func encode<T: Encodable>(_ value: T) throws {
    guard case .empty = node.content else {
      throw EncodingRules.secondValue(codingPath: codingPath)
    }
    run.valuesInPlace += 1
    defer { run.valuesInPlace -= 1 }
    guard run.valuesInPlace <= EncodingRules.mostValuesInPlace else {
      throw EncodingRules.endless(value, codingPath: codingPath)
    }
    try encodeHere(value)
  }

  fileprivate func encodeHere<T: Encodable>(_ value: T) throws {
    try run.checkDepth(of: codingPath)
    switch try EncodingRules.handling(of: value, options: run.options) {
    case .value(let plain): try set(plain)
    case .encode(let encode): try encode(self)
    case .ordinary:
      var encoder = self
      encoder.keepsKeys = value is any StringKeyedDictionary
      try value.encode(to: encoder)
    }
  }
}

/// What all encoders and containers of one run share.
final class TreeRun {
  let options: FirebaseDataEncoder
  var misuse: EncodingError?
  var fault: Status?
  var databases: [DatabaseIdentity] = []
  /// Values around this one that are encoded in their own place, by single value containers.
  var valuesInPlace = 0

  init(options: FirebaseDataEncoder) { self.options = options }

  /// Whether a value can be there: in the innermost map of a document, or further out.
  func isReachable(_ codingPath: [any CodingKey]) -> Bool {
    codingPath.count <= DocumentFormat.maximumDepth + 1
  }

  /// Before going deeper: types that contain themselves would go on until the stack ends.
  func checkDepth(of codingPath: [any CodingKey]) throws {
    guard !isReachable(codingPath) else { return }
    // Remembered, too: a type that catches it leaves the value out.
    fault = EncodingRules.tooDeep
    throw EncodingRules.tooDeep
  }

  func note(_ error: EncodingError) { misuse = misuse ?? error }

  func number(
    _ value: Double, named typeName: String, codingPath: @autoclosure () -> [any CodingKey]
  ) throws -> Value {
    if value.isFinite { return .double(value) }
    return .string(
      try EncodingRules.string(
        for: value, named: typeName, options: options, codingPath: codingPath))
  }

  func integer(
    _ value: some FixedWidthInteger, codingPath: @autoclosure () -> [any CodingKey]
  ) throws -> Value {
    guard let integer = Int64(exactly: value) else {
      throw EncodingRules.tooLarge(value, codingPath: codingPath())
    }
    return .integer(integer)
  }
}

/// A value that may still become one thing or another.
final class TreeNode {
  enum Content {
    case empty
    case value(Value)
    case map([(name: String, node: TreeNode)])
    case array([TreeNode])
    case transform(FieldTransform)
    case none
  }

  var content = Content.empty

  init(_ content: Content = .empty) { self.content = content }

  func becomeMap() -> Bool {
    switch content {
    case .empty: content = .map([])
    case .map: break
    default: return false
    }
    return true
  }

  func becomeArray() -> Bool {
    switch content {
    case .empty: content = .array([])
    case .array: break
    default: return false
    }
    return true
  }

  subscript(name: String) -> TreeNode? {
    get {
      guard case .map(let fields) = content else { return nil }
      return fields.first { UTF8Order.areEqual($0.name, name) }?.node
    }
    set {
      guard case .map(var fields) = content else { return }
      fields.removeAll { UTF8Order.areEqual($0.name, name) }
      if let newValue { fields.append((name, newValue)) }
      content = .map(fields)
    }
  }

  func append(_ node: TreeNode) {
    guard case .array(var elements) = content else { return }
    elements.append(node)
    content = .array(elements)
  }

  var count: Int {
    if case .array(let elements) = content { return elements.count }
    return 0
  }

  func write(
    to writer: DocumentWriter, _ document: inout EncodedDocument, isElement: Bool = false
  ) {
    switch content {
    case .empty:
      writer.beginMap()
      writer.endMap()
    case .value(let value):
      if isElement, case .array = value { note(EncodingRules.nestedArrays, &document) }
      writer.value(value)
    case .map(let fields):
      writer.beginMap()
      noteDepth(writer, &document)
      for field in fields {
        writer.field(field.name)
        if let fault = EncodingRules.fault(ofName: field.name, path: writer.openPath()) {
          note(fault, &document)
        }
        field.node.write(to: writer, &document)
      }
      writer.endMap()
    case .array(let elements):
      writer.beginArray()
      noteDepth(writer, &document)
      if isElement { note(EncodingRules.nestedArrays, &document) }
      for element in elements {
        writer.element()
        element.write(to: writer, &document, isElement: true)
      }
      writer.endArray()
    case .transform(let transform):
      if let path = writer.openPath() {
        document.transforms.append((FieldSegments(path), transform))
      } else {
        note(EncodingRules.sentinelInArray(transform), &document)
        writer.null()
      }
    case .none: break
    }
  }

  private func noteDepth(_ writer: DocumentWriter, _ document: inout EncodedDocument) {
    if writer.depth > DocumentFormat.maximumDepth + 1 { note(EncodingRules.tooDeep, &document) }
  }

  private func note(_ fault: Status, _ document: inout EncodedDocument) {
    document.fault = document.fault ?? fault
  }
}

private struct TreeKeyedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: TreeNode
  let run: TreeRun
  let codingPath: [any CodingKey]
  let keepsKeys: Bool

  private func name(of key: any CodingKey) -> String {
    keepsKeys
      ? key.stringValue
      : EncodingRules.name(of: key, options: run.options) { codingPath }
  }

  private func set(_ value: Value, _ key: Key) throws {
    try run.checkDepth(of: codingPath)
    node[name(of: key)] = TreeNode(.value(value))
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

  func encode(_ value: Int, forKey key: Key) throws { try set(.integer(Int64(value)), key) }

  func encode(_ value: Int8, forKey key: Key) throws { try set(.integer(Int64(value)), key) }

  func encode(_ value: Int16, forKey key: Key) throws { try set(.integer(Int64(value)), key) }

  func encode(_ value: Int32, forKey key: Key) throws { try set(.integer(Int64(value)), key) }

  func encode(_ value: Int64, forKey key: Key) throws { try set(.integer(Int64(value)), key) }

  func encode(_ value: UInt8, forKey key: Key) throws { try set(.integer(Int64(value)), key) }

  func encode(_ value: UInt16, forKey key: Key) throws { try set(.integer(Int64(value)), key) }

  func encode(_ value: UInt32, forKey key: Key) throws { try set(.integer(Int64(value)), key) }

  func encode(_ value: UInt, forKey key: Key) throws {
    try set(run.integer(value, codingPath: codingPath + [key]), key)
  }

  func encode(_ value: UInt64, forKey key: Key) throws {
    try set(run.integer(value, codingPath: codingPath + [key]), key)
  }

  func encode(_ value: Int128, forKey key: Key) throws {
    try set(run.integer(value, codingPath: codingPath + [key]), key)
  }

  func encode(_ value: UInt128, forKey key: Key) throws {
    try set(run.integer(value, codingPath: codingPath + [key]), key)
  }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    let name = name(of: key)
    let field = TreeNode()
    try TreeEncoder(node: field, run: run, codingPath: codingPath + [key], isField: true)
      .encodeHere(value)
    node[name] = field
  }

  /// Leads nowhere: deeper than a document can be.
  private var refused: TreeEncoder {
    run.fault = EncodingRules.tooDeep
    return TreeEncoder(node: TreeNode(), run: run, codingPath: codingPath, isField: true)
  }

  /// What a container or an encoder for that key works on; the same again for the same key.
  private func nested(_ key: any CodingKey) -> TreeEncoder {
    guard run.isReachable(codingPath) else { return refused }
    let name = name(of: key)
    let field: TreeNode
    if let existing = node[name] {
      field = existing
    } else {
      field = TreeNode()
      node[name] = field
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

  func superEncoder() -> any Encoder { nested(PlainKey.super) }

  func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
}

private struct TreeUnkeyedContainer: UnkeyedEncodingContainer {
  let node: TreeNode
  let run: TreeRun
  let codingPath: [any CodingKey]

  var count: Int { node.count }

  private var elementPath: [any CodingKey] { codingPath + [PlainKey.index(count)] }

  private func append(_ value: Value) throws {
    try run.checkDepth(of: codingPath)
    node.append(TreeNode(.value(value)))
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

  func encode(_ value: Int) throws { try append(.integer(Int64(value))) }

  func encode(_ value: Int8) throws { try append(.integer(Int64(value))) }

  func encode(_ value: Int16) throws { try append(.integer(Int64(value))) }

  func encode(_ value: Int32) throws { try append(.integer(Int64(value))) }

  func encode(_ value: Int64) throws { try append(.integer(Int64(value))) }

  func encode(_ value: UInt8) throws { try append(.integer(Int64(value))) }

  func encode(_ value: UInt16) throws { try append(.integer(Int64(value))) }

  func encode(_ value: UInt32) throws { try append(.integer(Int64(value))) }

  func encode(_ value: UInt) throws {
    try append(run.integer(value, codingPath: elementPath))
  }

  func encode(_ value: UInt64) throws { try append(run.integer(value, codingPath: elementPath)) }

  func encode(_ value: Int128) throws { try append(run.integer(value, codingPath: elementPath)) }

  func encode(_ value: UInt128) throws { try append(run.integer(value, codingPath: elementPath)) }

  func encode<T: Encodable>(_ value: T) throws {
    let element = TreeNode()
    try TreeEncoder(node: element, run: run, codingPath: elementPath).encodeHere(value)
    node.append(element)
  }

  private func nested() -> TreeEncoder {
    let element = TreeNode()
    guard run.isReachable(codingPath) else {
      run.fault = EncodingRules.tooDeep
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
