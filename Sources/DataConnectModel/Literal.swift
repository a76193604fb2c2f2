/// A value in an operation, or in a directive: GraphQL's values, with variables.
public indirect enum Literal: Hashable, Sendable {
  /// `null`
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without fraction and exponent. Numbers outside 64 bits are refused by the compiler.
  case int(Int64)
  /// A number with a fraction or an exponent.
  case float(Double)
  /// A string, with its escapes resolved.
  case string(String)
  /// A name without quotes: `DESC`.
  case name(String)
  /// A variable, by its name without `$`.
  case variable(String)
  /// A list, in the order of the source.
  case list([Literal])
  /// The members in the order of the source, each name once.
  case object([Member])

  /// A member of an object, or an argument of a field.
  public struct Member: Codable, Hashable, Sendable {
    /// The name, without quotes.
    public var name: String
    /// The value. It may contain variables.
    public var value: Literal

    /// Creates a member.
    public init(_ name: String, _ value: Literal) {
      self.name = name
      self.value = value
    }
  }

  /// The member of an object. Nil for other values.
  public subscript(_ name: String) -> Literal? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }
}

/// Null, booleans, strings and lists are as in JSON. Other values are objects with one member:
/// `{"int": "12"}`, `{"float": 1.5}`, `{"name": "DESC"}`, `{"variable": "id"}`,
/// `{"object": [{"name": …, "value": …}]}`.
extension Literal: Codable {
  private enum CodingKeys: String, CodingKey {
    case int, float, name, variable, object
  }

  /// Throws `DecodingError.dataCorrupted` for an object that does not have exactly one known
  /// member, and for an `int` outside 64 bits.
  public init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: CodingKeys.self) {
      guard let key = container.allKeys.first, container.allKeys.count == 1 else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: decoder.codingPath, debugDescription: "This is no literal."))
      }
      switch key {
      case .int:
        guard let value = Int64(try container.decode(String.self, forKey: key)) else {
          throw DecodingError.dataCorruptedError(
            forKey: key, in: container, debugDescription: "This is no integer.")
        }
        self = .int(value)
      case .float: self = .float(try container.decode(Double.self, forKey: key))
      case .name: self = .name(try container.decode(String.self, forKey: key))
      case .variable: self = .variable(try container.decode(String.self, forKey: key))
      case .object: self = .object(try container.decode([Member].self, forKey: key))
      }
      return
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else {
      self = .list(try container.decode([Literal].self))
    }
  }

  /// Encodes integers as strings, so that readers with numbers in double precision keep all digits.
  public func encode(to encoder: any Encoder) throws {
    func keyed<Value: Encodable>(_ key: CodingKeys, _ value: Value) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(value, forKey: key)
    }
    func single<Value: Encodable>(_ value: Value) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
    switch self {
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .bool(let value): try single(value)
    case .int(let value): try keyed(.int, String(value))
    case .float(let value): try keyed(.float, value)
    case .string(let value): try single(value)
    case .name(let value): try keyed(.name, value)
    case .variable(let value): try keyed(.variable, value)
    case .list(let values): try single(values)
    case .object(let members): try keyed(.object, members)
    }
  }
}
