package import HearthText

/// Reads documents and values in the form of Firestore's REST interface, as the JSON mapping of Protocol
/// Buffers defines it.
///
///     412, "412", 4.12e2               an integer; a double likewise, and "NaN", "Infinity", "-Infinity"
///     "aGVhcnRo", "_-8", "_-8="        bytes in base64, of either alphabet, with or without padding
///     "1965-08-01T02:00:00+02:00"      a time, rounded down to a microsecond
///     "stringValue", "string_value"    both names of a field
///     null, or no member               the default: no elements, 0; a value without a type is refused
///
/// Unknown members and repeated names are refused, so that nothing is left out.
extension DocumentJSON {
  /// A document as read from one line.
  struct Line {
    var path: ResourcePath
    var fields: MapValue
    var createTime: Instant?
    var updateTime: Instant?
  }

  /// The types of values, by the names of the members that hold them.
  package enum ValueType: String {
    case null = "nullValue"
    case boolean = "booleanValue"
    case integer = "integerValue"
    case double = "doubleValue"
    case timestamp = "timestampValue"
    case string = "stringValue"
    case bytes = "bytesValue"
    case reference = "referenceValue"
    case geoPoint = "geoPointValue"
    case array = "arrayValue"
    case map = "mapValue"
  }

  /// A document with its name. Throws `invalidArgument`, with a message that names the error.
  static func line(_ json: JSON) throws(Status) -> Line {
    let document = try document(json)
    guard let name = document.name, !name.isEmpty else {
      throw .invalidArgument("It is not a document: it lacks a name.")
    }
    return Line(
      path: try ResourcePath(checkingDocument: relative(name)), fields: document.fields,
      createTime: document.createTime, updateTime: document.updateTime)
  }

  /// The fields of a document, whose name and times are checked, and not used.
  package static func fields(ofDocument json: JSON) throws(Status) -> MapValue {
    try document(json).fields
  }

  /// The fields of a document as plain JSON, in which any value may be a typed one.
  package static func plainFields(_ json: JSON) throws(Status) -> MapValue {
    try Reader(takesPlain: true).fields(json, depth: 0)
  }

  /// A value in plain JSON, or a typed one.
  package static func plainValue(_ json: JSON) throws(Status) -> Value {
    try Reader(takesPlain: true).value(json, depth: 0)
  }

  private struct Document {
    var name: String?
    var fields = MapValue()
    var createTime: Instant?
    var updateTime: Instant?
  }

  private static func document(_ json: JSON) throws(Status) -> Document {
    guard case .object(let members) = json else { throw expected("a document", json) }
    var document = Document()
    try read(members, of: "A document") { (name, content) throws(Status) in
      switch name {
      case "name":
        document.name = try content.map { json throws(Status) in
          guard let name = json.string else { throw refusal("name", json, "\"books/dune\"") }
          return name
        }
      case "fields":
        document.fields = try Reader(takesPlain: false).fields(content ?? .object([]), depth: 0)
      case "createTime", "create_time":
        document.createTime = try time(name, content, unless: document.createTime)
      case "updateTime", "update_time":
        document.updateTime = try time(name, content, unless: document.updateTime)
      default: return false
      }
      return true
    }
    return document
  }

  /// - Parameter other: The time that the document already has, by the member's other name.
  private static func time(
    _ name: String, _ json: JSON?, unless other: Instant?
  ) throws(Status) -> Instant? {
    guard other == nil else { throw .invalidArgument("A document has two members for \(name).") }
    guard let json else { return nil }
    guard let time = instant(json) else { throw refusal(name, json, "\"1965-08-01T00:00:00Z\"") }
    return time
  }

  /// Calls `body` with every member of a message. The content is nil for null, which is the default,
  /// as if the member was missing. `body` returns false for a name that the message does not have.
  private static func read(
    _ members: [JSON.Member], of message: String,
    _ body: (String, JSON?) throws(Status) -> Bool
  ) throws(Status) {
    for member in members {
      var content: JSON? = member.value
      if case .null = member.value { content = nil }
      guard try body(member.name, content) else {
        throw .invalidArgument("\(message) has no member \"\(member.name)\".")
      }
    }
  }

  // MARK: Values

  private struct Reader {
    /// Whether null, true, 412, "Dune", [ … ] and { … } are values as well.
    let takesPlain: Bool

    func fields(_ json: JSON, depth: Int) throws(Status) -> MapValue {
      guard case .object(let members) = json else { throw expected("fields", json) }
      guard depth <= Limits.nesting + 1 else { throw Limits.tooDeep }
      var fields: [MapValue.Field] = []
      fields.reserveCapacity(members.count)
      for member in members {
        let value = try value(member.value, depth: depth)
        fields.append(MapValue.Field(name: member.name, value: value))
      }
      return MapValue(distinct: fields)
    }

    func value(_ json: JSON, depth: Int) throws(Status) -> Value {
      if takesPlain, let value = try plain(json, depth: depth) { return value }
      guard case .object(let members) = json else {
        throw expected(#"a value, such as {"stringValue": "Dune"}"#, json)
      }
      var found: (type: ValueType, content: JSON)?
      for member in members {
        guard let type = ValueType(member: member.name) else {
          throw .invalidArgument("There is no type \"\(member.name)\" of stored values.")
        }
        if case .null = member.value, type != .null { continue }
        guard found == nil else {
          throw .invalidArgument("A value has one type only, unlike \(brief(json))")
        }
        found = (type, member.value)
      }
      guard let (type, content) = found else {
        throw .invalidArgument("A value lacks its type: \(brief(json))")
      }
      guard let value = try value(type, content, depth: depth) else {
        throw refusal(type.rawValue, content, "{\"\(type.rawValue)\": \(type.example)}")
      }
      return value
    }

    /// Nil for a typed value: an object whose only member has the name of a type.
    private func plain(_ json: JSON, depth: Int) throws(Status) -> Value? {
      switch json {
      case .null: return .null
      case .boolean(let flag): return .boolean(flag)
      case .integer(let number): return .integer(number)
      case .double(let number): return .double(number)
      case .string(let text): return .string(text)
      case .array(let elements): return .array(try values(elements, depth: depth))
      case .object(let members):
        if members.count == 1, ValueType(rawValue: members[0].name) != nil { return nil }
        return .map(try fields(json, depth: depth + 1))
      }
    }

    /// Nil if this cannot be the content of a value of the type.
    private func value(
      _ type: ValueType, _ content: JSON, depth: Int
    ) throws(Status) -> Value? {
      switch (type, content) {
      case (.null, .null), (.null, .string("NULL_VALUE")): return .null
      // Enumerations take numbers. The mapping keeps unknown ones; there is only one null.
      case (.null, .integer), (.null, .double): return integer(content).map { _ in Value.null }
      case (.boolean, .boolean(let flag)): return .boolean(flag)
      case (.integer, _): return integer(content).map { .integer($0) }
      case (.double, _): return double(content).map { .double($0) }
      case (.timestamp, _): return instant(content).map { .timestamp($0) }
      case (.string, .string(let text)): return .string(text)
      case (.bytes, .string(let text)): return bytes(ofBase64: text).map { .bytes($0) }
      case (.reference, .string(let name)):
        return .reference(try ResourcePath(checkingDocument: relative(name)))
      case (.geoPoint, .object(let members)): return try geoPoint(members)
      case (.array, .object(let members)):
        var content = JSON.array([])
        try read(members, of: type.rawValue) { (name, values) throws(Status) in
          content = values ?? content
          return name == "values"
        }
        guard case .array(let elements) = content else { return nil }
        return .array(try values(elements, depth: depth))
      case (.map, .object(let members)):
        var content = JSON.object([])
        try read(members, of: type.rawValue) { (name, fields) throws(Status) in
          content = fields ?? content
          return name == "fields"
        }
        let map = try fields(content, depth: depth + 1)
        return try vector(map) ?? .map(map)
      default: return nil
      }
    }

    private func values(_ elements: [JSON], depth: Int) throws(Status) -> [Value] {
      guard depth <= Limits.nesting else { throw Limits.tooDeep }
      var values: [Value] = []
      values.reserveCapacity(elements.count)
      for element in elements { values.append(try value(element, depth: depth + 1)) }
      return values
    }

    private func geoPoint(_ members: [JSON.Member]) throws(Status) -> Value? {
      var latitude: Double? = 0
      var longitude: Double? = 0
      try read(members, of: ValueType.geoPoint.rawValue) { (name, content) throws(Status) in
        switch name {
        case "latitude": latitude = double(content ?? .integer(0))
        case "longitude": longitude = double(content ?? .integer(0))
        default: return false
        }
        return true
      }
      guard let latitude, let longitude else { return nil }
      return .geoPoint(Coordinate(latitude: latitude, longitude: longitude))
    }

    /// The vector that a map encodes; nil if it encodes none.
    private func vector(_ map: MapValue) throws(Status) -> Value? {
      guard map["__type__"] == .string("__vector__") else { return nil }
      guard map.count == 2, case .array(let elements)? = map["value"] else {
        throw .invalidArgument("Vector must have an array of values.")
      }
      var components: [Double] = []
      components.reserveCapacity(elements.count)
      for element in elements {
        switch element {
        case .double(let number): components.append(number)
        case .integer(let number) where takesPlain: components.append(Double(number))
        default: throw .invalidArgument("Vector must only contain values of type 'double'")
        }
      }
      return .vector(components)
    }
  }

  // MARK: Scalars

  /// Nil for what is not a number or its text, and for one that is not an integer of 64 bits.
  private static func integer(_ json: JSON) -> Int64? {
    switch json {
    case .integer(let number): return number
    case .double(let number): return Int64(exactly: number)
    case .string(let text):
      // The usual form, without another reading of it.
      if let number = Int64(text), number.description == text { return number }
      return JSONReader.number(text).flatMap(integer)
    default: return nil
    }
  }

  private static func double(_ json: JSON) -> Double? {
    switch json {
    case .integer(let number): Double(number)
    case .double(let number): number
    case .string("NaN"): .nan
    case .string("Infinity"), .string("Inf"): .infinity
    case .string("-Infinity"), .string("-Inf"): -.infinity
    case .string(let text): JSONReader.number(text).flatMap(double)
    default: nil
    }
  }

  private static func instant(_ json: JSON) -> Instant? {
    json.string.flatMap { Instant(text: $0) }
  }

  /// The bytes of a text in base64. Spaces, and the bits after the last byte, have no meaning.
  package static func bytes(ofBase64 text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    var (digits, padding) = (0, 0)
    var (isStandard, isForURLs) = (false, false)
    for byte in text.utf8 {
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = byte - UInt8(ascii: "A")
      case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = byte - UInt8(ascii: "a") + 26
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0") + 52
      case UInt8(ascii: "+"): (digit, isStandard) = (62, true)
      case UInt8(ascii: "/"): (digit, isStandard) = (63, true)
      case UInt8(ascii: "-"): (digit, isForURLs) = (62, true)
      case UInt8(ascii: "_"): (digit, isForURLs) = (63, true)
      case UInt8(ascii: "="):
        padding += 1
        continue
      case UInt8(ascii: " "): continue
      default: return nil
      }
      guard padding == 0 else { return nil }
      bits = bits << 6 | UInt32(digit)
      digits += 1
      if digits % 4 == 0 {
        for shift in [16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
      }
    }
    let missing = (4 - digits % 4) % 4
    guard padding == 0 || padding == missing, missing < 3, !(isStandard && isForURLs) else {
      return nil
    }
    if missing == 2 { bytes.append(UInt8(truncatingIfNeeded: bits >> 4)) }
    if missing == 1 {
      for shift in [10, 2] { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
    }
    return bytes
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

  // MARK: Errors

  private static func expected(_ what: String, _ json: JSON) -> Status {
    .invalidArgument("Expected \(what), found \(brief(json))")
  }

  private static func refusal(_ name: String, _ json: JSON, _ example: String) -> Status {
    .invalidArgument("\(name) cannot be \(brief(json)); it looks like \(example).")
  }

  private static func brief(_ json: JSON) -> String {
    let text = json.text
    return text.utf8.count > 80 ? String(text.prefix(80)) + "…" : text
  }
}

extension DocumentJSON.ValueType {
  /// Takes the field's name in camel case, or as Firestore's definition has it.
  fileprivate init?(member name: String) {
    switch name {
    case "stringValue", "string_value": self = .string
    case "integerValue", "integer_value": self = .integer
    case "doubleValue", "double_value": self = .double
    case "booleanValue", "boolean_value": self = .boolean
    case "mapValue", "map_value": self = .map
    case "arrayValue", "array_value": self = .array
    case "nullValue", "null_value": self = .null
    case "timestampValue", "timestamp_value": self = .timestamp
    case "referenceValue", "reference_value": self = .reference
    case "bytesValue", "bytes_value": self = .bytes
    case "geoPointValue", "geo_point_value": self = .geoPoint
    default: return nil
    }
  }

  fileprivate var example: String {
    switch self {
    case .null: "null"
    case .boolean: "true"
    case .integer: #""412""#
    case .double: "1.5"
    case .timestamp: #""1965-08-01T00:00:00Z""#
    case .string: #""Dune""#
    case .bytes: #""aGVhcnRo""#
    case .reference: #""books/dune""#
    case .geoPoint: #"{"latitude": 59.91, "longitude": 10.75}"#
    case .array: #"{"values": [{"integerValue": "1"}]}"#
    case .map: #"{"fields": {"a": {"integerValue": "1"}}}"#
    }
  }
}
