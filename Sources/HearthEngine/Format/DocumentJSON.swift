import Foundation

/// Documents as lines of JSON, without loss, in the form of Firestore's REST interface; see
/// ExportFormat.md.
///
///     {"name":"books/dune","fields":{"pages":{"integerValue":"412"}},"createTime":…,…}
///
/// Law: reading what was written gives identical fields.
enum DocumentJSON {
  /// A document as read from one line.
  struct Line {
    var path: ResourcePath
    var fields: MapValue
    var createTime: Instant?
    var updateTime: Instant?
  }

  // MARK: Writing

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
        let digits = String(byte, radix: 16)
        text += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
      default: text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }

  // MARK: Reading

  /// Throws `invalidArgument`, with a message that names the error.
  static func line(_ json: JSON) throws(Status) -> Line {
    guard case .object = json, let name = json["name"]?.string, let fields = json["fields"] else {
      throw .invalidArgument("It is not a document: it lacks a name or fields.")
    }
    let path = try ResourcePath(checkingDocument: relative(name))
    var line = Line(path: path, fields: try self.fields(fields, depth: 0))
    line.createTime = try json["createTime"].map { json throws(Status) in try time(json) }
    line.updateTime = try json["updateTime"].map { json throws(Status) in try time(json) }
    return line
  }

  /// `books/dune`, from a name that may begin with `projects/…/documents/`.
  private static func relative(_ name: String) -> String {
    let parts = name.utf8.split(
      separator: UInt8(ascii: "/"), maxSplits: 5, omittingEmptySubsequences: false
    ).map { Substring($0) }
    guard parts.count == 6, parts[0] == "projects", parts[2] == "databases",
      parts[4] == "documents"
    else { return name }
    return String(parts[5])
  }

  private static func fields(_ json: JSON, depth: Int) throws(Status) -> MapValue {
    guard case .object(let members) = json else { throw expected("fields", json) }
    guard depth <= Limits.nesting + 1 else { throw Limits.tooDeep }
    var fields: [MapValue.Field] = []
    fields.reserveCapacity(members.count)
    for member in members {
      fields.append(
        MapValue.Field(name: member.name, value: try value(member.value, depth: depth)))
    }
    return MapValue(distinct: fields)
  }

  private static func value(_ json: JSON, depth: Int) throws(Status) -> Value {
    guard case .object(let members) = json, let member = members.first, members.count == 1 else {
      throw expected("a value, such as {\"stringValue\": \"Dune\"}", json)
    }
    let content = member.value
    switch (member.name, content) {
    case ("nullValue", .null), ("nullValue", .string("NULL_VALUE")): return .null
    case ("booleanValue", .boolean(let flag)): return .boolean(flag)
    case ("integerValue", .integer(let number)): return .integer(number)
    case ("integerValue", .string(let digits)):
      guard let number = Int64(digits) else { throw expected("an integer", content) }
      return .integer(number)
    case ("doubleValue", _): return .double(try double(content))
    case ("timestampValue", _): return .timestamp(try time(content))
    case ("stringValue", .string(let text)): return .string(text)
    case ("bytesValue", .string(let text)):
      // Rejects base64 that would not be written the same.
      guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else {
        throw expected("base64", content)
      }
      return .bytes(Array(data))
    case ("referenceValue", .string(let name)):
      return .reference(try ResourcePath(checkingDocument: relative(name)))
    case ("geoPointValue", .object):
      return .geoPoint(
        Coordinate(
          latitude: try content["latitude"].map { json throws(Status) in try double(json) } ?? 0,
          longitude: try content["longitude"].map { json throws(Status) in try double(json) } ?? 0))
    case ("arrayValue", .object):
      guard case .array(let elements) = content["values"] ?? .array([]) else {
        throw expected("values", content)
      }
      guard depth <= Limits.nesting else { throw Limits.tooDeep }
      var values: [Value] = []
      values.reserveCapacity(elements.count)
      for element in elements { values.append(try value(element, depth: depth + 1)) }
      return .array(values)
    case ("mapValue", .object):
      let map = try fields(content["fields"] ?? .object([]), depth: depth + 1)
      return try vector(map) ?? .map(map)
    default: throw expected("a value of a known type", json)
    }
  }

  /// The vector that a map encodes; nil if it encodes none.
  private static func vector(_ map: MapValue) throws(Status) -> Value? {
    guard map.count == 2, map["__type__"] == .string("__vector__"),
      case .array(let elements)? = map["value"]
    else { return nil }
    var components: [Double] = []
    for element in elements {
      switch element {
      case .double(let number): components.append(number)
      case .integer(let number): components.append(Double(number))
      default: throw .invalidArgument("A vector has a component that is no number.")
      }
    }
    return .vector(components)
  }

  private static func double(_ json: JSON) throws(Status) -> Double {
    switch json {
    case .double(let number): return number
    case .integer(let number): return Double(number)
    case .string("NaN"): return .nan
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    default: throw expected("a number", json)
    }
  }

  private static func time(_ json: JSON) throws(Status) -> Instant {
    guard let text = json.string, let time = Instant(text: text) else {
      throw expected("a time, such as 1965-08-01T00:00:00Z", json)
    }
    return time
  }

  private static func expected(_ what: String, _ json: JSON) -> Status {
    let found = json.text
    let brief = found.utf8.count > 80 ? String(found.prefix(80)) + "…" : found
    return .invalidArgument("Expected \(what), found \(brief)")
  }
}

extension JSON {
  /// Nil for a missing member, or if this is not an object.
  subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { UTF8Order.areEqual($0.name, name) }?.value
  }

  var string: String? { if case .string(let text) = self { text } else { nil } }
}
