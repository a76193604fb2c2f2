import Foundation

/// A reference to a document, as the bridge needs to know it.
package protocol DocumentReferencing: AnyObject {
  var resourcePath: ResourcePath { get }
  var databaseIdentity: DatabaseIdentity { get }
  /// What keeps this reference from being used.
  var fault: Status? { get }
}

/// Between `Any`, as users hand it over and get it back, and the engine's values.
///
/// Here is what comes in, one level deep; what goes out is in `AnyBridge+Out.swift`.
package enum AnyBridge {
  /// What an `Any` turns out to be, one level deep.
  package enum Kind {
    case scalar(Value)
    /// An array without arrays, maps or sentinels in it.
    case scalars([Value])
    case array([Any])
    case dictionary([String: Any])
    case reference(any DocumentReferencing)
    case sentinel(FieldValue)
    /// A number that fits no `Int64`, in digits.
    case tooLarge(String)
    /// `Decimal.nan`. A double that is not a number is a value.
    case decimalNaN
    case unsupported(typeName: String)
    /// A dictionary with a key that is no string.
    case unsupportedKey(typeName: String)
    /// A dictionary with two keys, of different types or bytes, that are one `String`.
    case repeatedKey(String)
  }

  /// Types that are told by one comparison come first; everything else is `rareShape(of:)`.
  ///
  /// Comparing the type before casting is faster than a failing cast, and keeps a number class from
  /// passing as a `Bool` or an `Int`.
  package static func shape(of input: Any) throws(Status) -> Kind {
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
    if type == NSNumber.self, let number = input as? NSNumber { return shape(of: number) }
    if type is AnyClass { return try shape(of: input as AnyObject) }
    return try rareShape(of: input)
  }

  private static func shape(of object: AnyObject) throws(Status) -> Kind {
    switch object {
    case let decimal as NSDecimalNumber: return shape(of: decimal.decimalValue)
    case let number as NSNumber: return shape(of: number)
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
    case let reference as any DocumentReferencing: return .reference(reference)
    default: return .unsupported(typeName: String(describing: type(of: object)))
    }
  }

  private static func shape(of decimal: Decimal) -> Kind {
    decimal.isNaN ? .decimalNaN : .scalar(.double(EncodingRules.double(decimal)))
  }

  private static func shape(of number: NSNumber) -> Kind {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "c"), UInt8(ascii: "B"):
      // Only booleans are of this type: an `Int8` becomes an int in Foundation on Linux.
      return .scalar(.boolean(number.boolValue))
    case UInt8(ascii: "d"), UInt8(ascii: "f"): return .scalar(.double(number.doubleValue))
    case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max):
      return .tooLarge("\(number.uint64Value)")
    default: return .scalar(.integer(number.int64Value))
    }
  }

  private static func rareShape(of input: Any) throws(Status) -> Kind {
    switch input {
    case let optional as any AnyOptional:
      guard let wrapped = optional.wrapped else { return .scalar(.null) }
      return try shape(of: wrapped)
    case let array as any AnyArray: return .array(array.anyElements)
    case let dictionary as any AnyDictionary: return Self.dictionary(dictionary.anyEntries)
    case let hashable as AnyHashable where type(of: input) == AnyHashable.self:
      return try shape(of: hashable.base)
    case let substring as Substring: return .scalar(.string(String(substring)))
    case let decimal as Decimal: return shape(of: decimal)
    case let number as any BinaryInteger:
      guard let integer = Int64(exactly: number) else { return .tooLarge("\(number)") }
      return .scalar(.integer(integer))
    case let number as any BinaryFloatingPoint: return .scalar(.double(Double(number)))
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

  /// A string of any make: `String`, `Substring`, `NSString`, or one of them in an `AnyHashable`.
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

  /// The input if it is an object. To cast anything else to a class is to bridge it first, all the way
  /// down: no stack is deep enough for some.
  package static func object(_ input: Any) -> AnyObject? {
    type(of: input) is AnyClass ? input as AnyObject : nil
  }
}

extension AnyBridge {
  /// What is inside of optionals and an `AnyHashable`; nil if that is nothing.
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

/// An `Array` of whatever elements.
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
