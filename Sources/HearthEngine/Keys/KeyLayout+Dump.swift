internal import HearthText

/// Keys in readable form. Never throws: damaged keys are marked as such and shown in hex.
extension KeyLayout {
  /// `books/dune`
  static func dump(documentKey bytes: UnsafeRawBufferPointer, limit: KeyLimit = .standard) -> String
  {
    dump(bytes, limit) { () throws(Status) in
      try documentPath(fromKey: bytes, limit: limit).map(\.text) ?? ""
    }
  }

  /// `books/dune/pages`
  static func dump(catalogueKey bytes: UnsafeRawBufferPointer, limit: KeyLimit = .standard)
    -> String
  {
    dump(bytes, limit) { () throws(Status) in
      try collectionPath(fromKey: bytes, limit: limit).map(\.text) ?? ""
    }
  }

  /// `index 3, below /, 1965, "Herbert" ↓, dune`
  ///
  /// - Parameter descending: The direction of each component.
  static func dump(
    entryKey bytes: UnsafeRawBufferPointer, isGroup: Bool, descending: [Bool],
    limit: KeyLimit = .standard
  ) -> String {
    dump(bytes, limit) { () throws(Status) in
      var reader = KeyReader(bytes)
      var parts = ["index \(try reader.readIndex())"]
      if !isGroup { parts.append("below /\(try reader.readPath().text)") }
      for direction in descending {
        let value = dump(try reader.readValue(descending: direction))
        parts.append(direction ? value + " ↓" : value)
      }
      parts.append(isGroup ? try reader.readPath().text : try reader.readID())
      try reader.expectEnd()
      return parts.joined(separator: ", ")
    }
  }

  /// `64 75 6E 65`
  static func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String($0, radix: 16, uppercase: true, width: 2) }.joined(separator: " ")
  }

  private static func dump(
    _ bytes: UnsafeRawBufferPointer, _ limit: KeyLimit, _ whole: () throws(Status) -> String
  ) -> String {
    if limit.isTruncated(bytes) {
      let prefix = bytes[..<limit.truncatedCount].map { byte in
        (0x20..<0x7F).contains(byte) ? String(UnicodeScalar(byte)) : "·"
      }.joined()
      let hash = hex(bytes[limit.truncatedCount..<(limit.count - 1)])
      return "\(prefix)… cut, hash \(hash), ordinal \(bytes[limit.count - 1])"
    }
    do throws(Status) {
      return try whole()
    } catch {
      return "damaged: \(hex(bytes))"
    }
  }

  private static func dump(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .double(let value): "\(value)"
    case .timestamp(let value): "time \(value.microseconds) µs"
    case .string(let value): "\"\(value)\""
    case .bytes(let value): "bytes \(hex(value))"
    case .reference(let value): "/\(value.text)"
    case .geoPoint(let value): "(\(value.latitude), \(value.longitude))"
    case .array(let value): "[\(value.map(dump).joined(separator: ", "))]"
    case .vector(let value): "vector \(value)"
    case .map(let value):
      "{\(value.fields.map { "\($0.name): \(dump($0.value))" }.joined(separator: ", "))}"
    }
  }
}
