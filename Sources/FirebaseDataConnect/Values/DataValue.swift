import Foundation
import Hearth
internal import HearthText

/// A value of a request or of a result, in the form in which Data Connect sends it: a UUID is 32 hex
/// digits, a date `YYYY-MM-DD`, a row an object.
public enum DataValue: Hashable, Sendable {
  /// No value. A member that is missing is not null: it is unset.
  case null
  /// A boolean.
  case bool(Bool)
  /// An `Int` or an `Int64`.
  case int(Int64)
  /// A `Float`, also one that is not finite.
  case double(Double)
  /// Text, and every type that is sent as text: a UUID, a date, the value of an enum.
  case string(String)
  /// A moment. JSON has it as text in RFC 3339.
  case timestamp(Timestamp)
  /// A list, or a vector.
  case list([DataValue])
  /// A row, a key, or an object of an `Any`.
  case object(DataObject)
}

/// The members of an object, in their order.
///
///     var claims: DataObject = ["email": "ada@example.com"]
///     claims["email_verified"] = true
public struct DataObject: Hashable, Sendable {
  private var list: MemberNames
  /// The names of the members, each once. The rows of a result share them.
  public var names: [String] { list.names }
  /// The values of the members, in the order of `names`.
  public private(set) var values: [DataValue]

  /// Creates an object without members.
  public init() {
    list = .none
    values = []
  }

  /// The rows of a result share `list`. It has as many names as there are values.
  init(_ list: MemberNames, values: [DataValue]) {
    assert(list.names.count == values.count)
    self.list = list
    self.values = values
  }

  /// `names` has no name twice, and as many elements as `values`.
  init(names: [String], values: [DataValue]) { self.init(MemberNames(names), values: values) }

  /// The value of a member. Nil if there is no such member; assigning nil removes it, and a new
  /// name is appended. Takes constant time, except for a removal, which moves the members after it,
  /// and for the first new name of an object that shares its names, which copies them.
  public subscript(_ name: String) -> DataValue? {
    get { list.position(of: name).map { values[$0] } }
    set {
      switch (list.position(of: name), newValue) {
      case (let index?, let value?): values[index] = value
      case (let index?, nil):
        makeNamesUnique()
        list.remove(at: index)
        values.remove(at: index)
      case (nil, let value?):
        makeNamesUnique()
        list.append(name)
        values.append(value)
      case (nil, nil): break
      }
    }
  }

  private mutating func makeNamesUnique() {
    if !isKnownUniquelyReferenced(&list) { list = MemberNames(list.names) }
  }

  /// Whether both have the same members in the same order.
  public static func == (lhs: DataObject, rhs: DataObject) -> Bool {
    (lhs.list === rhs.list || lhs.names == rhs.names) && lhs.values == rhs.values
  }

  /// Hashes the names and the values.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(names)
    hasher.combine(values)
  }

  func mapValues(_ body: (DataValue) throws -> DataValue) rethrows -> DataObject {
    DataObject(list, values: try values.map(body))
  }

  /// The members as pairs.
  public var members: Zip2Sequence<[String], [DataValue]> { zip(names, values) }

  /// Whether there are no members.
  public var isEmpty: Bool { values.isEmpty }
}

extension DataValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral, ExpressibleByFloatLiteral
{
  /// A string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// A boolean.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// A double.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Null.
  public init(nilLiteral: ()) { self = .null }
  /// A list.
  public init(arrayLiteral elements: DataValue...) { self = .list(elements) }
  /// An object. The last of several members with one name counts.
  public init(dictionaryLiteral elements: (String, DataValue)...) {
    self = .object(DataObject(elements))
  }
}

extension DataObject: ExpressibleByDictionaryLiteral {
  /// An object. The last of several members with one name counts.
  public init(dictionaryLiteral elements: (String, DataValue)...) { self.init(elements) }

  /// The last of several members with one name counts.
  init(_ members: some Sequence<(String, DataValue)>) {
    self.init()
    for (name, value) in members { self[name] = value }
  }
}

extension DataValue {
  /// The member of an object. Nil if there is none, and for other values.
  public subscript(_ name: String) -> DataValue? {
    guard case .object(let object) = self else { return nil }
    return object[name]
  }

  var isNull: Bool { self == .null }

  /// The text of a string. Nil for other values.
  public var text: String? { if case .string(let value) = self { value } else { nil } }
  /// The elements of a list. Nil for other values.
  public var elements: [DataValue]? { if case .list(let values) = self { values } else { nil } }
  /// The members of an object. Nil for other values.
  public var fields: DataObject? { if case .object(let value) = self { value } else { nil } }

  /// The value with other elements, or with other values of its members.
  func mapParts(_ body: (DataValue) throws -> DataValue) rethrows -> DataValue {
    switch self {
    case .list(let values): .list(try values.map(body))
    case .object(let object): .object(try object.mapValues(body))
    default: self
    }
  }

  /// JSON with sorted names: equal values have equal texts.
  var canonicalText: String {
    var text = ""
    appendJSON(to: &text, isSorted: true)
    return text
  }

  /// The value as JSON, with the members in their order. A timestamp is text as in RFC 3339; a
  /// double that is not finite is the text `inf`, `-inf` or `nan`.
  public var json: String {
    var text = ""
    appendJSON(to: &text, isSorted: false)
    return text
  }

  private func appendJSON(to text: inout String, isSorted: Bool) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .int(let value): text += String(value)
    case .double(let value):
      // JSON has no other numbers; as Firestore's export does.
      text += value.isFinite ? value.description : "\"\(value)\""
    case .string(let value): Self.appendQuoted(value, to: &text)
    case .timestamp(let value): Self.appendQuoted(value.rfc3339, to: &text)
    case .list(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += "," }
        value.appendJSON(to: &text, isSorted: isSorted)
      }
      text += "]"
    case .object(let object):
      text += "{"
      let members = isSorted ? object.members.sorted { $0.0 < $1.0 } : Array(object.members)
      for (index, (name, value)) in members.enumerated() {
        if index > 0 { text += "," }
        Self.appendQuoted(name, to: &text)
        text += ":"
        value.appendJSON(to: &text, isSorted: isSorted)
      }
      text += "}"
    }
  }

  private static func appendQuoted(_ string: String, to text: inout String) {
    text.append(quoting: string) { $0.value < 0x20 ? $0.jsonEscape : nil }
  }

  /// Parses JSON. A timestamp stays a string. Throws `DataConnectCodecError` with `.decodingFailed`
  /// for a text that is no JSON.
  public init(json: String) throws(DataConnectCodecError) {
    do {
      self = try JSONDecoder().decode(DataValue.self, from: Data(json.utf8))
    } catch {
      throw DataConnectCodecError(.decodingFailed, "This is no JSON.", error)
    }
  }
}

/// As JSON. A timestamp is written as text, and read as a string.
extension DataValue: Codable {
  struct MemberKey: CodingKey {
    let stringValue: String
    let intValue: Int? = nil

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Decodes any JSON. A number without a fraction is an `.int` if it fits in 64 bits, else a
  /// `.double`. Members are sorted by name.
  public init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: MemberKey.self) {
      let keys = container.allKeys.sorted { $0.stringValue < $1.stringValue }
      self = .object(
        DataObject(
          try keys.map { ($0.stringValue, try container.decode(DataValue.self, forKey: $0)) }))
      return
    }
    if var container = try? decoder.unkeyedContainer() {
      var values: [DataValue] = []
      while !container.isAtEnd { values.append(try container.decode(DataValue.self)) }
      self = .list(values)
      return
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .int(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else {
      self = .string(try container.decode(String.self))
    }
  }

  /// Encodes JSON. A timestamp is text as in RFC 3339. A double that is not finite is passed on to
  /// the encoder, and `JSONEncoder` refuses it by default; `json` writes it as text.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let object):
      var container = encoder.container(keyedBy: MemberKey.self)
      for (name, value) in object.members {
        try container.encode(value, forKey: MemberKey(stringValue: name))
      }
    case .list(let values):
      var container = encoder.unkeyedContainer()
      for value in values { try container.encode(value) }
    default:
      var container = encoder.singleValueContainer()
      switch self {
      case .bool(let value): try container.encode(value)
      case .int(let value): try container.encode(value)
      case .double(let value): try container.encode(value)
      case .string(let value): try container.encode(value)
      case .timestamp(let value): try container.encode(value.rfc3339)
      case .null, .list, .object: try container.encodeNil()
      }
    }
  }
}
