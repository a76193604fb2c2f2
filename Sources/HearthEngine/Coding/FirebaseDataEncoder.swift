import Foundation

/// Makes dictionaries, arrays and plain values of `Encodable` ones, and back with ``FirebaseDataDecoder``.
///
///     let encoder = FirebaseDataEncoder()
///     encoder.dateEncodingStrategy = .secondsSince1970
///     let payload = try encoder.encode(event) as? [String: Any]
///
/// It begins with the strategies of `JSONEncoder`: dates encode themselves, `Data` is a base64 string. Values
/// of Firestore's mean nothing to it: a `Timestamp` is a dictionary of its parts, a `FieldValue` and a
/// `DocumentReference` are refused. `Firestore.Encoder` is the one for documents, with strategies of its own.
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
    /// As a string.
    case formatted(DateFormatter)
    /// As the closure encodes it; if it encodes nothing, as an empty map.
    case custom((Date, any Encoder) throws -> Void)
    /// As a `Timestamp`. A document stores the nearest microsecond.
    case timestamp
  }

  /// How `Data` is encoded.
  public enum DataEncodingStrategy {
    /// As `Data` encodes itself: an array of numbers.
    case deferredToData
    /// As a string.
    case base64
    /// As bytes.
    case blob
    /// As the closure encodes it; if it encodes nothing, as an empty map.
    case custom((Data, any Encoder) throws -> Void)
  }

  /// How infinity and NaN are encoded.
  public enum NonConformingFloatEncodingStrategy {
    /// Not at all: `EncodingError.invalidValue`.
    case `throw`
    /// As these strings.
    case convertToString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// How the keys of types become the names of fields. Keys of `[String: …]` stay as they are.
  public enum KeyEncodingStrategy {
    case useDefaultKeys
    /// `imageURL` becomes `image_url`.
    case convertToSnakeCase
    /// The closure is given the path to the key, the key last.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }

  open var dateEncodingStrategy: DateEncodingStrategy = .deferredToDate {
    didSet {
      datesAreTimestamps = if case .timestamp = dateEncodingStrategy { true } else { false }
    }
  }
  open var dataEncodingStrategy: DataEncodingStrategy = .base64 {
    didSet { dataIsBlob = if case .blob = dataEncodingStrategy { true } else { false } }
  }
  open var nonConformingFloatEncodingStrategy: NonConformingFloatEncodingStrategy = .throw
  open var keyEncodingStrategy: KeyEncodingStrategy = .useDefaultKeys {
    didSet {
      keysAreDefault = if case .useDefaultKeys = keyEncodingStrategy { true } else { false }
    }
  }
  /// Which values are left as they are, objects of one's own for example. Asked for every value but a `Date`,
  /// `Data`, `URL`, `Decimal`, and a dictionary with strings for keys. Not asked where a document is stored.
  open var passthroughTypeResolver: any StructureCodingPassthroughTypeResolver.Type =
    NoPassthroughTypes.self
  /// For the types that are encoded.
  open var userInfo: [CodingUserInfoKey: Any] = [:]

  // Whether the strategies are the usual ones: asked once per run, without taking them apart.
  final private(set) var datesAreTimestamps = false
  final private(set) var dataIsBlob = false
  final private(set) var keysAreDefault = true
  /// Accepts only what can be a document, also where `encode` returns `Any`.
  private let isOfDocuments: Bool

  public init() { isOfDocuments = false }

  /// For documents: with their strategies, and for values that are encoded as dictionaries only.
  package init(ofDocuments: Void) {
    isOfDocuments = true
    (dateEncodingStrategy, datesAreTimestamps) = (.timestamp, true)
    (dataEncodingStrategy, dataIsBlob) = (.blob, true)
    passthroughTypeResolver = FirestorePassthroughTypes.self
  }

  /// The value as a `[String: Any]`, an `[Any]`, or one plain value, as its type encodes itself.
  ///
  ///     let names = try FirebaseDataEncoder().encode(["Ada", "Grace"]) as? [Any]
  ///
  /// Numbers are `NSNumber`, a `Decimal` is an `NSDecimalNumber`, null is `NSNull`. Nothing is rounded.
  ///
  /// Throws `EncodingError` if the value encodes nothing, if a float is infinite or NaN and the strategy is to throw, if
  /// an integer is beyond `UInt64`, or if the value is nested deeper than 512 levels; `invalidArgument` if
  /// two keys of a dictionary are one `String` of other bytes; and what the value's own encoding throws.
  // Disfavored: to `Firestore.Encoder`, `encode` is the one that returns `[String: Any]`, whatever the context.
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

  /// The value as a dictionary; throws `EncodingError` if it is encoded as anything else.
  package final func fields<T: Encodable>(of value: T) throws -> [String: Any] {
    guard let fields = try structure(of: value) as? [String: Any] else {
      throw TopLevel.notAllowed(value)
    }
    return fields
  }

  /// The value as a document's bytes, straight.
  package func encodeDocument<T: Encodable>(_ value: T) throws -> EncodedDocument {
    try EncodingSession.encode(value, options: self)
  }
}

/// What an encoder made of a value.
package struct EncodedDocument {
  /// The fields, without those that a sentinel stands for.
  package var body: DocumentBody
  /// Sentinels and where they stood, `.delete` among them. In the order they were encoded.
  package var transforms: [(field: FieldSegments, transform: FieldTransform)] = []
  /// The databases of the references inside.
  package var databases: [DatabaseIdentity] = []
  /// What keeps the value from being stored, although it could be encoded.
  package var fault: Status?
}

@_spi(Figures)
extension FirebaseDataEncoder {
  /// For benchmarks: the document's bytes, which end with `body`.
  public func withDocumentBytes<T: Encodable, Result>(
    of value: T, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    try EncodingSession.withBytes(of: value, options: self, body)
  }

  /// For benchmarks: the document's bytes as a write owns them.
  public func documentBytes<T: Encodable>(of value: T) throws -> [UInt8] {
    try encodeDocument(value).body.bytes
  }
}
