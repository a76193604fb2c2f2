/// A value in an operation, or in a directive: GraphQL's values, with variables.
public indirect enum Literal: Hashable, Sendable {
  case null
  case bool(Bool)
  case int(Int64)
  case float(Double)
  case string(String)
  /// A name without quotes: `DESC`.
  case name(String)
  case variable(String)
  case list([Literal])
  /// The members in the order of the source, each name once.
  case object([Member])

  public struct Member: Codable, Hashable, Sendable {
    public var name: String
    public var value: Literal

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
