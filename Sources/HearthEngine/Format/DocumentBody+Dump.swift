internal import HearthText

/// A readable listing of the stored bytes.
extension DocumentBody {
  /// One line per value: offset, bytes, meaning. Damage ends the dump with the error's message.
  func dump() -> String { withBytes { DocumentBody.dump($0) } }

  static func dump(_ body: UnsafeRawBufferPointer) -> String { dump(StoredBody(body)) }

  static func dump(_ body: StoredBody) -> String {
    var dump = BodyDump(origin: body.bytes)
    do throws(Status) {
      try dump.add(ValueView(body), label: "document", depth: 0)
    } catch {
      dump.lines.append(error.description)
    }
    return dump.lines.joined(separator: "\n")
  }
}

extension DocumentRecord {
  /// The header on one line, then the body.
  ///
  /// - Parameter nameTable: That of the body, if its names are not in the body.
  func dump(_ nameTable: UnsafePointer<FieldNameTable>? = nil) -> String {
    let named = path.map { ", path \($0)" } ?? ""
    let header =
      "version \(DocumentFormat.version), sequence \(sequence), "
      + "updated \(updateTime.microseconds) µs, created \(createTime.microseconds) µs\(named)"
    return header + "\n" + DocumentBody.dump(StoredBody(storedBody, nameTable))
  }
}

private struct BodyDump {
  let origin: UnsafeRawBufferPointer
  var lines: [String] = []

  mutating func add(_ value: ValueView, label: String, depth: Int) throws(Status) {
    guard depth <= DocumentFormat.maximumDepth else { throw .tooDeep }
    switch try value.kind() {
    case .map:
      guard let map = try value.map() else { return }
      line(value, label, "map of \(map.count)", depth)
      for index in 0..<map.count {
        try add(map.value(at: index), label: map.nameString(at: index), depth: depth + 1)
      }
    case .array:
      guard var array = try value.array() else { return }
      line(value, label, "array of \(array.count)", depth)
      for index in 0..<array.count { try add(array.next(), label: "[\(index)]", depth: depth + 1) }
    default:
      line(value, label, BodyDump.text(try value.value()), depth)
    }
  }

  private mutating func line(_ value: ValueView, _ label: String, _ text: String, _ depth: Int) {
    let offset = value.bytes.baseAddress.map { start in
      origin.baseAddress.map { start - $0 } ?? 0
    }
    let position = String(offset ?? 0, radix: 16, uppercase: true, width: 4)
    let hex = KeyLayout.hex(value.bytes.prefix(8)) + (value.bytes.count > 8 ? "…" : "")
    let gap = String(repeating: " ", count: max(0, 24 - hex.count))
    let indent = String(repeating: "  ", count: depth)
    lines.append("\(position)  \(hex)\(gap)  \(indent)\(label): \(text)")
  }

  private static func text(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .double(let value): "double \(value)"
    case .timestamp(let value): "timestamp \(value.microseconds) µs"
    case .string(let value): "\"\(value)\""
    case .bytes(let value): "\(value.count) bytes"
    case .reference(let value): "reference \(value.text)"
    case .geoPoint(let value): "geo point \(value.latitude), \(value.longitude)"
    case .vector(let value): "vector of \(value.count): \(value)"
    case .array(let value): "array of \(value.count)"
    case .map(let value): "map of \(value.count)"
    }
  }
}
