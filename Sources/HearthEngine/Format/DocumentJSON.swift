import Foundation
internal import HearthText

/// Documents as lines of JSON, without loss, in the form of Firestore's REST interface; see
/// ExportFormat.md.
///
///     {"name":"books/dune","fields":{"pages":{"integerValue":"412"}},"createTime":…,…}
///
/// Law: reading what was written gives identical fields.
package enum DocumentJSON {
  /// Appends a line, with its newline.
  static func append(
    _ record: DocumentRecord, _ body: StoredBody, at path: ResourcePath, to text: inout [UInt8]
  ) throws(Status) {
    try append(
      path, try MapView(body: body), created: record.createTime, updated: record.updateTime,
      to: &text)
    text.append(UInt8(ascii: "\n"))
  }

  /// Appends a document, without a newline.
  static func append(
    _ path: ResourcePath, _ fields: MapView, created: Instant, updated: Instant,
    to text: inout [UInt8]
  ) throws(Status) {
    text += #"{"name":"#.utf8
    append(path.text, to: &text)
    text += #","fields":"#.utf8
    try append(fields: fields, to: &text)
    text += #","createTime":""#.utf8
    text += created.text.utf8
    text += #"","updateTime":""#.utf8
    text += updated.text.utf8
    text += "\"}".utf8
  }

  private static func append(fields: MapView, to text: inout [UInt8]) throws(Status) {
    text.append(UInt8(ascii: "{"))
    for index in 0..<fields.count {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      append(try fields.nameString(at: index), to: &text)
      text.append(UInt8(ascii: ":"))
      try append(try fields.value(at: index), to: &text)
    }
    text.append(UInt8(ascii: "}"))
  }

  private static func append(_ value: ValueView, to text: inout [UInt8]) throws(Status) {
    switch try value.kind() {
    case .null: text += #"{"nullValue":null}"#.utf8
    case .boolean: text += #"{"booleanValue":\#(value.boolean() ?? false)}"#.utf8
    case .integer: text += #"{"integerValue":"\#(try value.integer() ?? 0)"}"#.utf8
    case .double: append(try value.double() ?? 0, to: &text)
    case .timestamp:
      let time = try value.timestamp() ?? Instant(microseconds: 0)
      text += #"{"timestampValue":"\#(time.text)"}"#.utf8
    case .string:
      text += #"{"stringValue":"#.utf8
      append(try value.string() ?? "", to: &text)
      text.append(UInt8(ascii: "}"))
    case .bytes:
      let bytes = try value.blob().map { Data($0) } ?? Data()
      text += #"{"bytesValue":"\#(bytes.base64EncodedString())"}"#.utf8
    case .reference:
      text += #"{"referenceValue":"#.utf8
      append(try value.reference()?.text ?? "", to: &text)
      text.append(UInt8(ascii: "}"))
    case .geoPoint:
      let point = try value.geoPoint() ?? Coordinate(latitude: 0, longitude: 0)
      text += #"{"geoPointValue":{"latitude":\#(number(point.latitude)),"#.utf8
      text += #""longitude":\#(number(point.longitude))}}"#.utf8
    case .array:
      text += #"{"arrayValue":{"values":["#.utf8
      if var array = try value.array() {
        for index in 0..<array.count {
          if index > 0 { text.append(UInt8(ascii: ",")) }
          try append(try array.next(), to: &text)
        }
      }
      text += "]}}".utf8
    case .vector:
      text += #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"#.utf8
      text += #""value":{"arrayValue":{"values":["#.utf8
      for (index, component) in (try value.vector() ?? []).enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        append(component, to: &text)
      }
      text += "]}}}}}".utf8
    case .map:
      text += #"{"mapValue":{"fields":"#.utf8
      if let map = try value.map() { try append(fields: map, to: &text) }
      text += "}}".utf8
    }
  }

  private static func append(_ double: Double, to text: inout [UInt8]) {
    text += #"{"doubleValue":\#(number(double))}"#.utf8
  }

  /// The shortest digits that read back as the same double.
  private static func number(_ double: Double) -> String {
    if double.isNaN { return "\"NaN\"" }
    if double.isInfinite { return double > 0 ? "\"Infinity\"" : "\"-Infinity\"" }
    return double.description
  }

  private static func append(_ string: String, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    for byte in string.utf8 {
      switch byte {
      case UInt8(ascii: "\""): text += #"\""#.utf8
      case UInt8(ascii: "\\"): text += #"\\"#.utf8
      case UInt8(ascii: "\n"): text += #"\n"#.utf8
      case 0..<0x20, 0x7F:
        text += "\\u\(String(byte, radix: 16, width: 4))".utf8
      default: text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }
}
