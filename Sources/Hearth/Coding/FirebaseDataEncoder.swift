import Foundation

/// How `Encodable` values become data. `Firestore.Encoder` is the one that writes documents.
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
    /// As a `Timestamp`, to the nearest microsecond.
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

  open var dateEncodingStrategy: DateEncodingStrategy = .deferredToDate
  open var dataEncodingStrategy: DataEncodingStrategy = .base64
  open var nonConformingFloatEncodingStrategy: NonConformingFloatEncodingStrategy = .throw
  open var keyEncodingStrategy: KeyEncodingStrategy = .useDefaultKeys
  /// For the types that are encoded.
  open var userInfo: [CodingUserInfoKey: Any] = [:]

  public init() {}

  /// The value as a document's bytes, straight.
  func encodeDocument<T: Encodable>(_ value: T) throws -> EncodedDocument {
    try EncodingSession.encode(value, options: self)
  }
}

/// What an encoder made of a value.
struct EncodedDocument {
  /// The fields, without those that a sentinel stands for.
  var body: DocumentBody
  /// Sentinels and where they stood, `.delete` among them. In the order they were encoded.
  var transforms: [(field: FieldSegments, transform: FieldTransform)] = []
  /// The databases of the references inside.
  var databases: [DatabaseIdentity] = []
  /// What keeps the value from being stored, although it could be encoded.
  var fault: Status?
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
