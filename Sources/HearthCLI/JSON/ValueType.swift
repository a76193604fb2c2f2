#if Tools
  import Foundation
  import Hearth

  /// The types of values in JSON, in the form of Firestore's REST interface, as in exports.
  ///
  ///     {"stringValue": "Dune"}   {"integerValue": "412"}   {"doubleValue": 1.5}   {"booleanValue": true}
  ///     {"nullValue": null}       {"timestampValue": "1965-08-01T00:00:00.000001Z"}
  ///     {"bytesValue": "aGVhcnRo"}                   {"referenceValue": "books/dune"}
  ///     {"geoPointValue": {"latitude": 59.91, "longitude": 10.75}}
  ///     {"arrayValue": {"values": [ … ]}}            {"mapValue": {"fields": { … }}}
  ///
  /// On input, null, true, "text", 1, 1.5, [ … ] and { … } may be written plainly. An object whose only
  /// member has the name of a type is a value of this type.
  enum ValueType: String {
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

    func callAsFunction(_ value: JSON) -> JSON { .object([JSON.Member(rawValue, value)]) }
  }

  extension JSON {
    /// The member with this name; nil if there is none, or this is not an object.
    func member(_ name: String) -> JSON? {
      guard case .object(let members) = self else { return nil }
      return members.first { $0.name == name }?.value
    }

    /// The type and the content of a typed value.
    var typed: (type: ValueType, content: JSON)? {
      guard case .object(let members) = self, members.count == 1,
        let type = ValueType(rawValue: members[0].name)
      else { return nil }
      return (type, members[0].value)
    }
  }

  // MARK: - Out of a database

  extension DocumentSnapshot {
    /// The fields, each a typed value; nil if the document does not exist.
    var jsonFields: JSON? {
      get throws { try jsonLine.flatMap { try JSONReader.read($0).member("fields") } }
    }
  }

  extension JSON {
    /// A number of an aggregation as a typed value.
    init(aggregate number: Any?) {
      guard let number = number as? NSNumber else {
        self = ValueType.null(.null)
        return
      }
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "d"), UInt8(ascii: "f"):
        let double = number.doubleValue
        let word = double.isNaN ? "NaN" : double > 0 ? "Infinity" : "-Infinity"
        self = ValueType.double(double.isFinite ? .double(double) : .string(word))
      default: self = ValueType.integer(.string(String(number.int64Value)))
      }
    }
  }

  // MARK: - Into a database

  extension JSON {
    /// The fields of a document, as `setData` takes them.
    func fields(in database: Firestore) throws -> [String: Any] {
      guard case .object(let members) = self else {
        throw Failure("A document's fields are a JSON object: {\"title\": \"Dune\"}.")
      }
      var fields: [String: Any] = [:]
      for member in members { fields[member.name] = try member.value.value(in: database) }
      return fields
    }

    /// One value, plain or typed, as documents and conditions take it.
    func value(in database: Firestore) throws -> Any {
      switch self {
      case .null: return NSNull()
      case .boolean(let flag): return flag
      case .integer(let number): return number
      case .double(let number): return number
      case .string(let text): return text
      case .array(let elements): return try elements.map { try $0.value(in: database) }
      case .object:
        guard let (type, content) = typed else { return try fields(in: database) }
        guard let value = try content.value(of: type, in: database) else {
          throw Failure(
            "\(type.rawValue) cannot be \(content.text); it looks like \(type.example).")
        }
        return value
      }
    }

    /// Nil if this cannot be the content of a value of the type.
    private func value(of type: ValueType, in database: Firestore) throws -> Any? {
      switch (type, self) {
      case (.null, .null): return NSNull()
      case (.boolean, .boolean(let flag)): return flag
      case (.integer, .integer(let number)): return number
      case (.integer, .string(let digits)): return Int64(digits)
      case (.double, _): return number
      case (.timestamp, .string(let text)): return Timestamp(iso8601: text)
      case (.string, .string(let text)): return text
      case (.bytes, .string(let text)): return Data(base64Encoded: text)
      case (.reference, .string(let name)): return database.document(JSON.relative(name))
      case (.geoPoint, .object):
        guard let latitude = (member("latitude") ?? .integer(0)).number,
          let longitude = (member("longitude") ?? .integer(0)).number
        else { return nil }
        return GeoPoint(latitude: latitude, longitude: longitude)
      case (.array, .object):
        guard case .array(let elements) = member("values") ?? .array([]) else { return nil }
        return try elements.map { try $0.value(in: database) }
      case (.map, .object):
        let fields = member("fields") ?? .object([])
        guard case .object = fields else { return nil }
        return try fields.vector ?? fields.fields(in: database)
      default: return nil
      }
    }

    /// The vector that a map with these fields is in the REST form; nil if it is another map.
    var vector: VectorValue? {
      guard case .object(let members) = self, members.count == 2,
        case (.string, .string("__vector__"))? = member("__type__")?.typed,
        case (.array, let content)? = member("value")?.typed,
        case .array(let elements)? = content.member("values")
      else { return nil }
      let numbers = elements.compactMap { ($0.typed?.content ?? $0).number }
      return numbers.count == elements.count ? VectorValue(numbers) : nil
    }

    private var number: Double? {
      switch self {
      case .integer(let number): Double(number)
      case .double(let number): number
      case .string("NaN"): .nan
      case .string("Infinity"): .infinity
      case .string("-Infinity"): -.infinity
      default: nil
      }
    }

    /// `books/dune`, of a name that may begin with `projects/…/documents/`.
    private static func relative(_ name: String) -> String {
      let parts = name.split(separator: "/", maxSplits: 5, omittingEmptySubsequences: false)
      guard parts.count == 6, parts[0] == "projects", parts[2] == "databases",
        parts[4] == "documents"
      else { return name }
      return String(parts[5])
    }
  }

  extension ValueType {
    fileprivate var example: String {
      switch self {
      case .null: #"{"nullValue": null}"#
      case .boolean: #"{"booleanValue": true}"#
      case .integer: #"{"integerValue": "412"}"#
      case .double: #"{"doubleValue": 1.5}"#
      case .timestamp: #"{"timestampValue": "1965-08-01T00:00:00Z"}"#
      case .string: #"{"stringValue": "Dune"}"#
      case .bytes: #"{"bytesValue": "aGVhcnRo"}"#
      case .reference: #"{"referenceValue": "books/dune"}"#
      case .geoPoint: #"{"geoPointValue": {"latitude": 59.91, "longitude": 10.75}}"#
      case .array: #"{"arrayValue": {"values": [{"integerValue": "1"}]}}"#
      case .map: #"{"mapValue": {"fields": {"a": {"integerValue": "1"}}}}"#
      }
    }
  }
#endif
