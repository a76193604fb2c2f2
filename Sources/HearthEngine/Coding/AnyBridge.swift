import Foundation

/// A reference to a document, as the bridge needs to know it.
package protocol DocumentReferencing: AnyObject {
  var resourcePath: ResourcePath { get }
  var databaseIdentity: DatabaseIdentity { get }
  /// Why this reference cannot be used; nil if it can.
  var validationError: Status? { get }
}

/// A value that is stored as a reference.
package protocol ReferenceConvertible {
  var documentReference: any DocumentReferencing { get }
}

/// Converts between `Any`, as users pass and receive it, and the engine's values.
///
/// This file converts input, one level deep; `AnyBridge+Out.swift` converts output.
package enum AnyBridge {
  /// The content of an `Any`, one level deep.
  package enum Kind {
    case scalar(Value)
    /// An array without nested arrays, maps or sentinels.
    case scalars([Value])
    case array([Any])
    case dictionary([String: Any])
    case reference(any DocumentReferencing)
    case sentinel(FieldValue)
    /// An integer outside the range of `Int64`, in decimal digits.
    case tooLarge(String)
    /// `Decimal.nan`. A `Double` NaN is a scalar.
    case decimalNaN
    case unsupported(typeName: String)
    /// A dictionary with a key that is not a string.
    case unsupportedKey(typeName: String)
    /// A dictionary with two keys, of different types or bytes, that are the same `String`.
    case repeatedKey(String)
  }

  /// Checks first the types that one comparison recognizes; `rareKind(of:)` handles the others.
  ///
  /// Comparing the type before casting is faster than a failing cast, and prevents a number class
  /// from passing as a `Bool` or an `Int`.
  package static func kind(of input: Any) throws(Status) -> Kind {
    let type = type(of: input)
    if type == String.self, let string = input as? String { return .scalar(.string(string)) }
    if type == Int.self, let number = input as? Int { return .scalar(.integer(Int64(number))) }
    if type == Double.self, let number = input as? Double { return .scalar(.double(number)) }
    if type == Bool.self, let flag = input as? Bool { return .scalar(.boolean(flag)) }
    if type == [String: Any].self, let map = input as? [String: Any] { return .dictionary(map) }
    if type == [Any].self, let array = input as? [Any] { return .array(array) }
    if type == Int64.self, let number = input as? Int64 { return .scalar(.integer(number)) }
    if type == Date.self, let date = input as? Date {
      return .scalar(.timestamp(try EncodingRules.instant(date)))
    }
    if type == Data.self, let data = input as? Data { return .scalar(.bytes([UInt8](data))) }
    if type == [String].self, let strings = input as? [String] {
      return .scalars(strings.map(Value.string))
    }
    if type == [Int].self, let numbers = input as? [Int] {
      return .scalars(numbers.map { .integer(Int64($0)) })
    }
    if type == [Double].self, let numbers = input as? [Double] {
      return .scalars(numbers.map(Value.double))
    }
    if type == Float.self, let number = input as? Float { return .scalar(.double(Double(number))) }
    if type == Int32.self, let number = input as? Int32 {
      return .scalar(.integer(Int64(number)))
    }
    if type == Timestamp.self, let timestamp = input as? Timestamp {
      return .scalar(.timestamp(try timestamp.instant()))
    }
    if type == FieldValue.self, let sentinel = input as? FieldValue { return .sentinel(sentinel) }
    if type == NSNull.self { return .scalar(.null) }
    if type == NSNumber.self, let number = input as? NSNumber { return kind(of: number) }
    if type is AnyClass {
      // Before the casts to other classes: most objects in conditions are references.
      if let reference = input as? any DocumentReferencing { return .reference(reference) }
      return try kind(of: input as AnyObject)
    }
    return try rareKind(of: input)
  }

  private static func kind(of object: AnyObject) throws(Status) -> Kind {
    switch object {
    case let decimal as NSDecimalNumber: return kind(of: decimal.decimalValue)
    case let number as NSNumber: return kind(of: number)
    case let point as GeoPoint: return .scalar(.geoPoint(try point.coordinate()))
    case let vector as VectorValue: return .scalar(.vector(vector.array))
    case let string as NSString: return .scalar(.string(String(describing: string)))
    case let date as NSDate:
      let date = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
      return .scalar(.timestamp(try EncodingRules.instant(date)))
    case let data as NSData: return .scalar(.bytes([UInt8](Data(referencing: data))))
    case let array as NSArray: return .array((0..<array.count).map(array.object(at:)))
    case let dictionary as NSDictionary:
      return Self.dictionary(dictionary.allKeys.map { ($0, dictionary.object(forKey: $0) as Any) })
    default: return .unsupported(typeName: String(describing: type(of: object)))
    }
  }

  private static func kind(of decimal: Decimal) -> Kind {
    decimal.isNaN ? .decimalNaN : .scalar(.double(EncodingRules.double(decimal)))
  }

  private static func kind(of number: NSNumber) -> Kind {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "c"), UInt8(ascii: "B"):
      // Only booleans have this type: Foundation on Linux stores an `Int8` as an int.
      return .scalar(.boolean(number.boolValue))
    case UInt8(ascii: "d"), UInt8(ascii: "f"): return .scalar(.double(number.doubleValue))
    case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max):
      return .tooLarge("\(number.uint64Value)")
    default: return .scalar(.integer(number.int64Value))
    }
  }

  private static func rareKind(of input: Any) throws(Status) -> Kind {
    switch input {
    case let optional as any AnyOptional:
      guard let wrapped = optional.wrapped else { return .scalar(.null) }
      return try kind(of: wrapped)
    case let array as any AnyArray: return .array(array.anyElements)
    case let dictionary as any AnyDictionary: return Self.dictionary(dictionary.anyEntries)
    case let hashable as AnyHashable where type(of: input) == AnyHashable.self:
      return try kind(of: hashable.base)
    case let substring as Substring: return .scalar(.string(String(substring)))
    case let decimal as Decimal: return kind(of: decimal)
    case let number as any BinaryInteger:
      guard let integer = Int64(exactly: number) else { return .tooLarge("\(number)") }
      return .scalar(.integer(integer))
    case let number as any BinaryFloatingPoint: return .scalar(.double(Double(number)))
    case let typed as any ReferenceConvertible: return .reference(typed.documentReference)
    default: return .unsupported(typeName: String(describing: type(of: input)))
    }
  }

  private static func dictionary(_ entries: [(key: Any, value: Any)]) -> Kind {
    var named: [String: Any] = [:]
    named.reserveCapacity(entries.count)
    for (key, value) in entries {
      guard let name = string(key) else {
        let key = (key as? AnyHashable)?.base ?? key
        return .unsupportedKey(typeName: String(describing: type(of: key)))
      }
      guard named.updateValue(value, forKey: name) == nil else { return .repeatedKey(name) }
    }
    return .dictionary(named)
  }

  /// The text of a `String`, `Substring`, `NSString`, or one of them in an `AnyHashable`.
  package static func string(_ input: Any) -> String? {
    if type(of: input) == String.self { return input as? String }
    if let object = object(input) { return (object as? NSString).map(String.init(describing:)) }
    return switch input {
    case let string as String: string
    case let substring as Substring: String(substring)
    case let hashable as AnyHashable where type(of: input) == AnyHashable.self:
      string(hashable.base)
    default: nil
    }
  }

  /// The input if it is an object. Casting anything else to a class bridges it first, recursively,
  /// which overflows the stack for deeply nested values.
  package static func object(_ input: Any) -> AnyObject? {
    type(of: input) is AnyClass ? input as AnyObject : nil
  }
}

extension AnyBridge {
  /// The value inside optionals and an `AnyHashable`; nil if there is none.
  static func unwrapped(_ input: Any) -> Any? {
    let type = type(of: input)
    if type is AnyClass || type == String.self { return input }
    if let optional = input as? any AnyOptional { return optional.wrapped.flatMap(unwrapped) }
    if type == AnyHashable.self, let hashable = input as? AnyHashable {
      return unwrapped(hashable.base)
    }
    return input
  }
}

private protocol AnyOptional {
  var wrapped: Any? { get }
}

extension Optional: AnyOptional {
  fileprivate var wrapped: Any? { map { $0 } }
}

/// An `Array` of any element type.
protocol AnyArray {
  var anyElements: [Any] { get }
}

extension Array: AnyArray {
  var anyElements: [Any] { map { $0 } }
}

private protocol AnyDictionary {
  var anyEntries: [(key: Any, value: Any)] { get }
}

extension Dictionary: AnyDictionary {
  fileprivate var anyEntries: [(key: Any, value: Any)] { map { ($0.key, $0.value) } }
}
