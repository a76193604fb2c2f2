/// The part of a value that its component's bytes do not give back: see `KeyReader.readValue`.
///
/// On disk. Changing a raw value changes the file format; see StorageLayout.md.
enum KeyIdentity: UInt8, Sendable {
  /// Nothing: the value read from the key is identical.
  case exact = 0
  /// A double that the key gives back as an integer.
  case double = 1
  case negativeZero = 2
  /// More than fits here: read the document.
  case unknown = 3
}

/// Appends components from stored bytes, without an intermediate `Value`.
///
/// Law: the bytes are those that `append(_: Value)` writes for the value they hold.
extension KeyBuffer {
  @discardableResult
  mutating func append(_ view: ValueView, descending: Bool) throws(Status) -> KeyIdentity {
    let start = count
    let identity = try append(view, depthLeft: DocumentFormat.maximumDepth + 1)
    if descending { invert(from: start) }
    return identity
  }

  private mutating func append(
    _ view: ValueView, depthLeft: Int
  ) throws(Status) -> KeyIdentity {
    guard depthLeft > 0 else { throw .tooDeep }
    switch try view.kind() {
    case .null: appendNull()
    case .boolean: append(boolean: view.boolean() ?? false)
    case .integer: if let integer = try view.integer() { append(integer: integer) }
    case .double:
      guard let double = try view.double() else { break }
      append(double: double)
      return KeyIdentity(double)
    case .timestamp: if let instant = try view.timestamp() { append(timestamp: instant) }
    case .string: if let utf8 = try view.stringBytes() { append(utf8: utf8) }
    case .bytes: if let blob = try view.blob() { append(bytes: blob) }
    case .reference:
      guard let text = try view.referenceText() else { break }
      append(tag: .reference)
      append(pathText: text)
    case .geoPoint:
      guard let point = try view.geoPoint() else { break }
      append(latitude: point.latitude, longitude: point.longitude)
      let hasSign = [point.latitude, point.longitude].contains { $0 == 0 && $0.sign == .minus }
      return hasSign ? .unknown : .exact
    case .array:
      guard var elements = try view.array() else { break }
      append(tag: .array)
      var identity = KeyIdentity.exact
      for _ in 0..<elements.count {
        if try append(elements.next(), depthLeft: depthLeft - 1) != .exact { identity = .unknown }
      }
      appendTerminator()
      return identity
    case .vector:
      guard let vector = try view.vectorView() else { break }
      beginVector(count: vector.count)
      var identity = KeyIdentity.exact
      for index in 0..<vector.count {
        append(ordered: vector[index])
        if vector[index] == 0, vector[index].sign == .minus { identity = .unknown }
      }
      return identity
    case .map:
      guard let map = try view.map() else { break }
      append(tag: .map)
      var identity = KeyIdentity.exact
      for index in 0..<map.count {
        appendName(utf8: try map.name(at: index))
        if try append(map.value(at: index), depthLeft: depthLeft - 1) != .exact {
          identity = .unknown
        }
      }
      appendTerminator()
      return identity
    }
    return .exact
  }

  /// A path as text, such as `books/dune`, in the form of `append(path:)`.
  mutating func append(pathText text: UnsafeRawBufferPointer) {
    var start = 0
    for index in 0...text.count where index == text.count || text[index] == UInt8(ascii: "/") {
      if index > start {
        append(idUTF8: UnsafeRawBufferPointer(rebasing: text[start..<index]))
      }
      start = index + 1
    }
    appendTerminator()
  }
}

extension KeyIdentity {
  fileprivate init(_ double: Double) {
    if double == 0 {
      self = double.sign == .minus ? .negativeZero : .double
    } else {
      self = Int64(exactly: double) == nil ? .exact : .double
    }
  }

  /// The value with this identity, from the value read from the key; nil if only the document has
  /// it.
  func value(_ read: Value) -> Value? {
    switch (self, read) {
    case (.exact, _): read
    case (.double, .integer(let integer)): .double(Double(integer))
    case (.negativeZero, .integer(0)): .double(-0.0)
    default: nil
    }
  }
}

extension ValueView {
  /// The value, encoded as an ascending component of an entry's key.
  func componentKey() throws(Status) -> [UInt8] {
    var key = KeyBuffer(minimumCapacity: 64)
    try key.append(self, descending: false)
    return key.bytes
  }
}
