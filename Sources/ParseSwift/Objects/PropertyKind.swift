import Foundation

/// The kinds of properties, as far as queries and schemas distinguish them.
enum PropertyKind {
  case array(element: any Any.Type)
  case object(any ParseObject.Type)
  case pointer(any ParseObject.Type)
  case other

  /// Whether the property refers to objects, alone or in a list.
  var isObject: Bool {
    switch self {
    case .object: true
    case .array(let element): PropertyKind(element).isObject
    case .pointer, .other: false
    }
  }

  /// Whether the property is an array in a document, whose order means nothing.
  static func isSet(_ type: any Any.Type) -> Bool { type is any SetType.Type }

  init(_ type: any Any.Type) {
    switch type {
    case let type as any ParseObject.Type: self = .object(type)
    case let type as any PointerType.Type: self = .pointer(type.target)
    case is Data.Type: self = .other
    case let type as any ArrayType.Type: self = .array(element: type.element)
    default: self = .other
    }
  }
}

/// A pointer of any class.
private protocol PointerType {
  static var target: any ParseObject.Type { get }
}

extension Pointer: PointerType {
  fileprivate static var target: any ParseObject.Type { T.self }
}

/// A list of any elements.
private protocol ArrayType {
  static var element: any Any.Type { get }
}

extension Array: ArrayType {
  fileprivate static var element: any Any.Type { Element.self }
}

extension Set: ArrayType {
  fileprivate static var element: any Any.Type { Element.self }
}

/// A set of any elements.
private protocol SetType {}

extension Set: SetType {}
