import Foundation

/// Returns the same value, typed as `U`. Requires `T.self == U.self`, which the caller has checked.
@inline(__always)
package func identity<T, U>(_ value: T, as type: U.Type) -> U {
  withUnsafePointer(to: value) { UnsafeRawPointer($0).load(as: U.self) }
}

/// Dictionaries with string keys: key strategies do not change these keys.
protocol StringKeyedDictionary {}
extension Dictionary: StringKeyedDictionary where Key == String {}

/// Rules for the types that coders write and read without calling `encode(to:)` or `init(from:)`.
enum EncodingRules {
  enum Handling {
    case value(Value)
    /// The user's closure, or the type's own `encode(to:)`, encodes at the same place.
    case encode((any Encoder) throws -> Void)
    case ordinary
  }

  @inline(__always)
  static func isSpecial<T>(_ type: T.Type) -> Bool {
    T.self == Date.self || T.self == Data.self || T.self == URL.self || T.self == Decimal.self
  }

  static func handling<T: Encodable>(
    of value: T, options: FirebaseDataEncoder, codingPath: () -> [any CodingKey]
  ) throws -> Handling {
    if T.self == Date.self { return try handling(of: identity(value, as: Date.self), options) }
    if T.self == Data.self { return handling(of: identity(value, as: Data.self), options) }
    if T.self == URL.self { return .value(.string(identity(value, as: URL.self).absoluteString)) }
    if T.self == Decimal.self {
      let decimal = identity(value, as: Decimal.self)
      guard decimal.isNaN else { return .value(.double(double(decimal))) }
      return .value(
        .string(
          try string(for: .nan, named: "Decimal", options: options, codingPath: codingPath)))
    }
    return .ordinary
  }

  /// The nearest double. Foundation's own conversion gets some of the last digits wrong.
  static func double(_ decimal: Decimal) -> Double {
    Double(decimal.description) ?? NSDecimalNumber(decimal: decimal).doubleValue
  }

  /// The shortest decimal that is nearest to the double, as people write it: 19.99 is 19.99. A
  /// double too small for a decimal is 0; one too large is nil.
  static func decimal(_ double: Double) -> Decimal? {
    if double.isNaN { return .nan }
    return Decimal(string: double.description) ?? (abs(double) < 1 ? 0 : nil)
  }

  private static func handling(
    of date: Date, _ options: FirebaseDataEncoder
  ) throws -> Handling {
    switch options.dateEncodingStrategy {
    case .deferredToDate: return .encode { try date.encode(to: $0) }
    case .secondsSince1970: return .value(.double(date.timeIntervalSince1970))
    case .millisecondsSince1970: return .value(.double(1000 * date.timeIntervalSince1970))
    case .iso8601: return .value(.string(date.formatted(.iso8601)))
    case .formatted(let formatter): return .value(.string(formatter.string(from: date)))
    case .custom(let closure): return .encode { try closure(date, $0) }
    case .timestamp: return .value(.timestamp(try instant(date)))
    }
  }

  private static func handling(of data: Data, _ options: FirebaseDataEncoder) -> Handling {
    switch options.dataEncodingStrategy {
    case .deferredToData: .encode { try data.encode(to: $0) }
    case .base64: .value(.string(data.base64EncodedString()))
    case .blob: .value(.bytes([UInt8](data)))
    case .custom(let closure): .encode { try closure(data, $0) }
    }
  }

  /// The date as it is stored: rounded to the nearest microsecond.
  static func instant(_ date: Date) throws(Status) -> Instant {
    guard let instant = Instant(date) else {
      throw Timestamp(date: date).validationError ?? .invalidArgument("Invalid timestamp")
    }
    return instant
  }

  /// The date as structures have it, to the nanosecond.
  static func timestamp(_ date: Date) throws(Status) -> Timestamp {
    let timestamp = Timestamp(date: date)
    if let validationError = timestamp.validationError { throw validationError }
    return timestamp
  }

  /// The string for an infinity or a NaN.
  static func string(
    for number: Double, named typeName: String, options: FirebaseDataEncoder,
    codingPath: () -> [any CodingKey]
  ) throws -> String {
    switch options.nonConformingFloatEncodingStrategy {
    case .convertToString(let positiveInfinity, let negativeInfinity, let nan):
      return number.isNaN ? nan : (number > 0 ? positiveInfinity : negativeInfinity)
    case .throw:
      let name = number.isNaN ? "nan" : (number > 0 ? "infinity" : "-infinity")
      throw invalid(
        number, codingPath(),
        "Unable to encode \(typeName).\(name) directly. Use "
          + "NonConformingFloatEncodingStrategy.convertToString to specify how it is encoded.")
    }
  }

  static func tooLarge(
    _ number: some FixedWidthInteger, codingPath: [any CodingKey]
  ) -> EncodingError {
    invalid(number, codingPath, "NSNumber (\(number)) is too large")
  }

  static func secondValue(codingPath: [any CodingKey]) -> EncodingError {
    invalid(
      (), codingPath,
      "Attempt to encode value through single value container when previously "
        + "value already encoded.")
  }

  static func secondContainer(_ kind: String, codingPath: [any CodingKey]) -> EncodingError {
    invalid(
      (), codingPath,
      "Attempt to push new \(kind) encoding container when already previously "
        + "encoded at this path.")
  }

  /// The field's name for a key.
  static func name(
    of key: any CodingKey, options: FirebaseDataEncoder, codingPath: () -> [any CodingKey]
  ) -> String {
    switch options.keyEncodingStrategy {
    case .useDefaultKeys: key.stringValue
    case .convertToSnakeCase: SnakeCase.fromCamelCase(key.stringValue)
    case .custom(let convert): convert(codingPath() + [key]).stringValue
    }
  }

  /// Why a field of that name, the last of the path, cannot be stored; nil if it can.
  static func validationError(ofName name: String, path: [String]?) -> Status? {
    let position = path.map { " (found in field \(FieldSegments($0).canonicalText))" } ?? ""
    if name.isEmpty {
      return .invalidArgument("Invalid data. Document fields must not be empty\(position)")
    }
    // Compares bytes: a combining accent after an underscore would hide it from a `String`
    // comparison.
    let underscores = "__".utf8
    if name.utf8.count >= 4, name.utf8.starts(with: underscores),
      name.utf8.suffix(2).elementsEqual(underscores)
    {
      return .invalidArgument(
        "Invalid data. Document fields cannot begin and end with \"__\"\(position)")
    }
    return nil
  }

  /// How many values may encode or decode one another in the same place, through single value
  /// containers (wrappers of wrappers). Stops a type that does so with itself, which would never
  /// end.
  static let mostValuesInPlace = 100

  /// The same for structures, which may be much deeper: a few wrappers on each level add up to
  /// more.
  static func mostValuesInPlace(at codingPath: [any CodingKey]) -> Int {
    mostValuesInPlace + 2 * codingPath.count
  }

  static func endless<T>(_ value: T, codingPath: [any CodingKey]) -> EncodingError {
    invalid(value, codingPath, "Too many values encode one another in one place.")
  }

  static let nestedArrays: Status = .invalidArgument("Nested arrays are not supported")

  static let tooDeep: Status = .invalidArgument(
    "Maps and arrays are nested deeper than \(DocumentFormat.maximumDepth) levels.")

  /// How many keys and indexes may lead to a value of a structure. Not a limit of documents: like
  /// that of `JSONEncoder`, it prevents a stack overflow.
  static let deepestStructure = 512

  static func structureTooDeep(codingPath: [any CodingKey]) -> EncodingError {
    invalid(
      (), codingPath, "Dictionaries and arrays are nested deeper than \(deepestStructure) levels.")
  }

  static func sentinelInArray(_ transform: FieldTransform) -> Status {
    .invalidArgument("\(transform.methodName) is not currently supported inside arrays")
  }

  private static func invalid(
    _ value: Any, _ codingPath: [any CodingKey], _ sentence: String
  ) -> EncodingError {
    .invalidValue(
      value, EncodingError.Context(codingPath: codingPath, debugDescription: sentence))
  }

  // MARK: - The value at the top, which must become a document

  static func nothing<T>(_ value: T) -> EncodingError {
    invalid(value, [], "Top-level \(T.self) did not encode any values.")
  }

  static func notAllowed<T>(_ value: T) -> EncodingError {
    invalid(value, [], "Top-level \(T.self) is not allowed.")
  }
}
