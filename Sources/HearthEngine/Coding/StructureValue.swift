import Foundation

/// The content of an `Any` in a structure, one level deep. Never rounds, truncates or rejects a
/// value. Compare `AnyBridge.Kind`, which is for storing.
enum StructureValue {
  case null
  case boolean(Bool)
  case integer(Int64)
  /// An integer outside the range of `Int64`, in decimal digits.
  case large(String)
  case double(Double)
  case decimal(Decimal)
  case string(String)
  case data(Data)
  case date(Date)
  case array([Any])
  case dictionary([String: Any])
  /// A dictionary whose keys cannot all be strings, and the reason.
  case noDictionary(String)
  /// Any other value, including Firestore types.
  case object(Any)

  init(_ input: Any) {
    let type = type(of: input)
    if type is AnyClass {
      self.init(object: input as AnyObject)
    } else if type == Data.self, let data = input as? Data {
      self = .data(data)
    } else if type == Date.self, let date = input as? Date {
      self = .date(date)
    } else if type == Decimal.self, let decimal = input as? Decimal {
      self = .decimal(decimal)
    } else if type == [String: Any].self, let dictionary = input as? [String: Any] {
      self = .dictionary(dictionary)
    } else if let array = input as? any AnyArray {
      self = .array(array.anyElements)
    } else {
      self.init(kindOf: input)
    }
  }

  private init(object: AnyObject) {
    switch object {
    case let decimal as NSDecimalNumber: self = .decimal(decimal.decimalValue)
    case let date as NSDate:
      self = .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate))
    case let data as NSData: self = .data(Data(referencing: data))
    case is Timestamp, is GeoPoint, is VectorValue, is FieldValue: self = .object(object)
    default: self.init(kindOf: object)
    }
  }

  /// Numbers, strings, and Foundation's collections: only values that storing would not round.
  private init(kindOf input: Any) {
    do throws(Status) {
      switch try AnyBridge.kind(of: input) {
      case .scalar(.null): self = .null
      case .scalar(.boolean(let flag)): self = .boolean(flag)
      case .scalar(.integer(let number)): self = .integer(number)
      case .scalar(.double(let number)): self = .double(number)
      case .scalar(.string(let string)): self = .string(string)
      case .decimalNaN: self = .decimal(.nan)
      case .array(let elements): self = .array(elements)
      case .dictionary(let dictionary): self = .dictionary(dictionary)
      case .tooLarge(let digits): self = .large(digits)
      case .unsupportedKey(let typeName):
        self = .noDictionary("Keys must be strings, but one is of type: \(typeName).")
      case .repeatedKey(let name):
        self = .noDictionary("Two keys are the String \"\(name)\".")
      case .scalar, .scalars, .reference, .sentinel, .unsupported: self = .object(input)
      }
    } catch {
      self = .object(input)
    }
  }

  /// The kind for error messages: `a number`.
  var name: String {
    switch self {
    case .null: "a null value"
    case .boolean, .integer, .large, .double, .decimal: "a number"
    case .string: "a string/data"
    case .data: "bytes"
    case .date: "a date"
    case .array: "an array"
    case .dictionary, .noDictionary: "a dictionary"
    case .object(let object): StructureValue.name(of: object)
    }
  }

  private static func name(of object: Any) -> String {
    switch AnyBridge.object(object) {
    case is Timestamp: "a timestamp"
    case is GeoPoint: "a geo point"
    case is VectorValue: "a vector"
    case is any DocumentReferencing: "a document reference"
    default: "\(type(of: object))"
    }
  }
}
