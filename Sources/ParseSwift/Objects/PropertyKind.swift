/// The kinds of properties, as far as queries and schemas distinguish them.
enum PropertyKind {
  /// A list, or a set: an array in a document, whose order means nothing.
  case array(element: any Any.Type, isSet: Bool)
  /// A map with any names.
  case map(value: any Any.Type)
  case object(any ParseObject.Type)
  case pointer(any ParseObject.Type)
  case other

  /// Whether the property refers to objects, alone or in a list.
  var isObject: Bool {
    switch self {
    case .object: true
    case .array(let element, _): PropertyKind(element).isObject
    case .map, .pointer, .other: false
    }
  }

  init(_ type: any Any.Type) {
    switch type {
    case let type as any ParseObject.Type: self = .object(type)
    case let type as any KindType.Type: self = type.kind
    default: self = .other
    }
  }
}

/// A pointer of any class, a list of any elements, or a map with any values.
private protocol KindType {
  static var kind: PropertyKind { get }
}

extension Pointer: KindType {
  fileprivate static var kind: PropertyKind { .pointer(T.self) }
}

extension Array: KindType {
  fileprivate static var kind: PropertyKind { .array(element: Element.self, isSet: false) }
}

extension Set: KindType {
  fileprivate static var kind: PropertyKind { .array(element: Element.self, isSet: true) }
}

extension Dictionary: KindType where Key == String {
  fileprivate static var kind: PropertyKind { .map(value: Value.self) }
}

/// Where the names of a key lead, as far as the types of a class say.
///
///     struct Plan { var doses: [Dose]? }      doses.drug ─▶ passes an array; String
struct PropertyPath {
  /// Whether a name before the last one is an array. Nil if the types do not say.
  private(set) var passesArray: Bool? = false
  /// The type of the last name. Nil if it is not known.
  private(set) var type: (any Any.Type)?

  /// - Parameter types: Those of the properties of the class.
  init(_ key: String, in types: [String: any Any.Type]) {
    var names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
    type = types[names.removeFirst()]
    for name in names {
      while let current = type, case .array(let element, _) = PropertyKind(current) {
        passesArray = true
        type = element
      }
      type = type.flatMap { Self.type(of: name, in: $0) }
      if type == nil, passesArray == false { passesArray = nil }
    }
  }

  /// Whether the last name is an array. Nil if the types do not say.
  var isArray: Bool? {
    type.map { if case .array = PropertyKind($0) { true } else { false } }
  }

  private static func type(of name: String, in type: any Any.Type) -> (any Any.Type)? {
    if case .map(let value) = PropertyKind(type) { return value }
    guard let decodable = type as? any Decodable.Type else { return nil }
    return FieldNames.types(of: decodable)[name]
  }
}
