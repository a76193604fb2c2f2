import Foundation

/// Encodes `Encodable` values as dictionaries, arrays and plain values. ``FirebaseDataDecoder``
/// reverses it.
///
///     let encoder = FirebaseDataEncoder()
///     encoder.dateEncodingStrategy = .secondsSince1970
///     let payload = try encoder.encode(event) as? [String: Any]
///
/// The initial strategies are those of `JSONEncoder`: a `Date` encodes itself, and `Data` becomes a
/// base64 string. Firestore types get no special treatment: a `Timestamp` becomes a dictionary of
/// its parts; a `FieldValue` or a `DocumentReference` throws
/// `FirestoreEncodingError.encodingIsNotSupported`. To encode documents, use `Firestore.Encoder`,
/// which has strategies of its own.
open class FirebaseDataEncoder {
  /// How a `Date` is encoded.
  public enum DateEncodingStrategy {
    /// As `Date` encodes itself.
    case deferredToDate
    /// As a number of seconds.
    case secondsSince1970
    /// As a number of milliseconds.
    case millisecondsSince1970
    /// As a string: `2019-03-27T08:15:30Z`.
    case iso8601
    /// As a string, by the formatter.
    case formatted(DateFormatter)
    /// By the closure. If it encodes nothing, the value is an empty map.
    case custom((Date, any Encoder) throws -> Void)
    /// As a `Timestamp`. A document stores the nearest microsecond.
    case timestamp
  }

  /// How `Data` is encoded.
  public enum DataEncodingStrategy {
    /// As `Data` encodes itself: an array of numbers.
    case deferredToData
    /// As a base64 string.
    case base64
    /// As bytes.
    case blob
    /// By the closure. If it encodes nothing, the value is an empty map.
    case custom((Data, any Encoder) throws -> Void)
  }

  /// How infinity and NaN are encoded.
  public enum NonConformingFloatEncodingStrategy {
    /// Never: throws `EncodingError.invalidValue`.
    case `throw`
    /// As these strings.
    case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// How coding keys become field names. The keys of a `[String: …]` are never converted.
  public enum KeyEncodingStrategy {
    /// The field name is the key.
    case useDefaultKeys
    /// `imageURL` becomes `image_url`.
    case convertToSnakeCase
    /// By the closure, which gets the path to the key, the key last.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }

  /// How a `Date` is encoded. Initially `deferredToDate`.
  open var dateEncodingStrategy: DateEncodingStrategy = .deferredToDate {
    didSet {
      datesAreTimestamps = if case .timestamp = dateEncodingStrategy { true } else { false }
    }
  }
  /// How `Data` is encoded. Initially `base64`.
  open var dataEncodingStrategy: DataEncodingStrategy = .base64 {
    didSet { dataIsBlob = if case .blob = dataEncodingStrategy { true } else { false } }
  }
  /// How infinity and NaN are encoded. Initially `throw`.
  open var nonConformingFloatEncodingStrategy: NonConformingFloatEncodingStrategy = .throw
  /// How coding keys become field names. Initially `useDefaultKeys`.
  open var keyEncodingStrategy: KeyEncodingStrategy = .useDefaultKeys {
    didSet {
      keysAreDefault = if case .useDefaultKeys = keyEncodingStrategy { true } else { false }
    }
  }
  /// Decides which values are kept as they are, for example your own objects. Called for every
  /// value except a `Date`, `Data`, `URL`, `Decimal`, or a dictionary with string keys. Not used
  /// when a document is stored.
  open var passthroughTypeResolver: any StructureCodingPassthroughTypeResolver.Type =
    NoPassthroughTypes.self
  /// Returns the replacement of a value inside of the encoded one; nil for the value itself. Need not be called for
  /// standard types. Without exception, values are then encoded through `Codable`. If a type cannot be streamed, the
  /// whole value is encoded twice.
  package final var replacement: ((any Encodable) throws -> (any Encodable)?)? {
    didSet { hasReplacement = replacement != nil }
  }
  /// Context for the types being encoded, as their encoders' `userInfo`.
  open var userInfo: [CodingUserInfoKey: Any] = [:]

  // Whether the strategies are the common ones: checked once per run, without a switch per value.
  final private(set) var datesAreTimestamps = false
  final private(set) var dataIsBlob = false
  final private(set) var keysAreDefault = true
  final private(set) var hasReplacement = false
  /// Accepts only values that can be a document, also in the `encode` that returns `Any`.
  private let isOfDocuments: Bool

  /// Makes an encoder with the strategies of `JSONEncoder`.
  public init() { isOfDocuments = false }

  /// Makes an encoder with the strategies for documents, only for values that encode as
  /// dictionaries.
  package init(ofDocuments: Void) {
    isOfDocuments = true
    (dateEncodingStrategy, datesAreTimestamps) = (.timestamp, true)
    (dataEncodingStrategy, dataIsBlob) = (.blob, true)
    passthroughTypeResolver = FirestorePassthroughTypes.self
  }

  /// Encodes a value as a `[String: Any]`, an `[Any]`, or one plain value, as its type encodes
  /// itself.
  ///
  ///     let names = try FirebaseDataEncoder().encode(["Ada", "Grace"]) as? [Any]
  ///
  /// Numbers become `NSNumber`, a `Decimal` becomes an `NSDecimalNumber`, and null becomes
  /// `NSNull`. Nothing is rounded.
  ///
  /// Throws `EncodingError` if the value encodes nothing, if a float is infinite or NaN and the
  /// strategy is `throw`, if an integer exceeds `UInt64.max`, or if the value is nested deeper than
  /// 512 levels. Throws `invalidArgument` if two keys of a dictionary are the same `String` but
  /// differ in bytes, or if a `Date` is outside the years 0001 to 9999 and the strategy is
  /// `timestamp`. Rethrows errors of the value's own encoding.
  // Disfavored so that `Firestore.Encoder` always uses its `encode` that returns `[String: Any]`.
  @_disfavoredOverload
  open func encode<T: Encodable>(_ value: T) throws -> Any {
    isOfDocuments ? try fields(of: value) : try structure(of: value)
  }

  private func structure<T: Encodable>(of value: T) throws -> Any {
    do {
      return try TreeEncoder.structure(of: value, options: self)
    } catch let status as Status {
      throw status.nsError
    }
  }

  /// Encodes the value as a dictionary. Throws `EncodingError` if it encodes as anything else.
  package final func fields<T: Encodable>(of value: T) throws -> [String: Any] {
    guard let fields = try structure(of: value) as? [String: Any] else {
      throw EncodingRules.notAllowed(value)
    }
    return fields
  }
}

/// The result of encoding a value as a document.
package struct EncodedDocument {
  /// The fields, without those that hold a sentinel.
  package var body: DocumentBody
  /// The sentinels, including `.delete`, with their fields. In encoding order.
  package var transforms: [(field: FieldSegments, transform: FieldTransform)] = []
  /// The databases that the value's references belong to: the first two.
  package var databases: [DatabaseIdentity] = []
  /// Why the value cannot be stored, although it could be encoded; nil if it can.
  package var validationError: Status?
}

extension EncodedDocument {
  package init(of body: DocumentBody) { self.init(body: body) }
}
