import Foundation

/// Decodes `Decodable` values from dictionaries, arrays and plain values, as
/// ``FirebaseDataEncoder`` makes them.
///
///     let decoder = FirebaseDataDecoder()
///     decoder.dateDecodingStrategy = .secondsSince1970
///     let event = try decoder.decode(Event.self, from: payload)
///
/// The initial strategies are those of `JSONDecoder`. To decode documents, use `Firestore.Decoder`,
/// which has strategies of its own.
open class FirebaseDataDecoder {
  /// How a `Date` is decoded.
  public enum DateDecodingStrategy {
    /// As `Date` decodes itself.
    case deferredToDate
    /// From a number of seconds.
    case secondsSince1970
    /// From a number of milliseconds.
    case millisecondsSince1970
    /// From a string: `2019-03-27T08:15:30Z`.
    case iso8601
    /// From a string, by the formatter.
    case formatted(DateFormatter)
    /// By the closure.
    case custom((any Decoder) throws -> Date)
    /// From a `Timestamp` or a `Date`.
    case timestamp
  }

  /// How `Data` is decoded.
  public enum DataDecodingStrategy {
    /// As `Data` decodes itself: from an array of numbers.
    case deferredToData
    /// From a base64 string.
    case base64
    /// From bytes, or from a base64 string.
    case blob
    /// By the closure.
    case custom((any Decoder) throws -> Data)
  }

  /// How infinity and NaN are decoded from strings.
  public enum NonConformingFloatDecodingStrategy {
    /// Never: a string where a number is expected throws `DecodingError.typeMismatch`.
    case `throw`
    /// From these strings.
    case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// How field names become coding keys. The keys of a `[String: …]` are never converted.
  public enum KeyDecodingStrategy {
    /// The key is the field name.
    case useDefaultKeys
    /// `image_url` becomes `imageUrl`.
    case convertFromSnakeCase
    /// By the closure, which gets the path to the field, its name last.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }

  /// How a `Date` is decoded. Initially `deferredToDate`.
  open var dateDecodingStrategy: DateDecodingStrategy = .deferredToDate {
    didSet {
      datesAreTimestamps = if case .timestamp = dateDecodingStrategy { true } else { false }
    }
  }
  /// How `Data` is decoded. Initially `base64`.
  open var dataDecodingStrategy: DataDecodingStrategy = .base64 {
    didSet { dataIsBlob = if case .blob = dataDecodingStrategy { true } else { false } }
  }
  /// How infinity and NaN are decoded. Initially `throw`.
  open var nonConformingFloatDecodingStrategy: NonConformingFloatDecodingStrategy = .throw
  /// How field names become coding keys. Initially `useDefaultKeys`.
  open var keyDecodingStrategy: KeyDecodingStrategy = .useDefaultKeys {
    didSet {
      keysAreDefault = if case .useDefaultKeys = keyDecodingStrategy { true } else { false }
    }
  }
  /// Decides which values are returned as they are, if they have exactly the decoded type. Not used
  /// when a stored document is decoded.
  open var passthroughTypeResolver: any StructureCodingPassthroughTypeResolver.Type =
    NoPassthroughTypes.self
  /// Context for the types being decoded, as their decoders' `userInfo`.
  open var userInfo: [CodingUserInfoKey: Any] = [:]
  /// A value for types that are decoded without `Codable`, which read it as
  /// `DocumentValueReader.configuration`: the fields that are wanted, for example. Several threads may
  /// use it, unlike `userInfo`.
  final public var configuration: (any Sendable)?

  // Whether the strategies are the common ones: checked once per run, without a switch per value.
  final private(set) var datesAreTimestamps = false
  final private(set) var dataIsBlob = false
  final private(set) var keysAreDefault = true

  /// Makes a decoder with the strategies of `JSONDecoder`.
  public init() {}

  /// Makes a decoder with the strategies for documents.
  package init(ofDocuments: Void) {
    (dateDecodingStrategy, datesAreTimestamps) = (.timestamp, true)
    (dataDecodingStrategy, dataIsBlob) = (.blob, true)
    passthroughTypeResolver = FirestorePassthroughTypes.self
  }

  /// Makes a copy, for other threads, of a decoder that is free of user code. A decoder is not
  /// `Sendable`: its owner may change it while they decode.
  package init(copying other: FirebaseDataDecoder) {
    (dateDecodingStrategy, datesAreTimestamps) =
      (other.dateDecodingStrategy, other.datesAreTimestamps)
    (dataDecodingStrategy, dataIsBlob) = (other.dataDecodingStrategy, other.dataIsBlob)
    nonConformingFloatDecodingStrategy = other.nonConformingFloatDecodingStrategy
    passthroughTypeResolver = other.passthroughTypeResolver
    configuration = other.configuration
  }

  /// Decodes a value of type `T` from a structure: a `[String: Any]`, an `[Any]`, or one plain
  /// value.
  ///
  ///     let names = try FirebaseDataDecoder().decode([String].self, from: ["Ada", "Grace"])
  ///
  /// Accepts numbers as `NSNumber` or as Swift types, and nil and `NSNull` as null. Rounds no
  /// number that `T` can hold exactly.
  ///
  /// Throws `DecodingError` if the structure does not fit the type, or if a decoded part is nested
  /// deeper than 512 levels. Rethrows errors of the type's own decoding.
  open func decode<T: Decodable>(_ type: T.Type, from structure: Any) throws -> T {
    try decodeStructure(type, from: structure, document: nil)
  }

  package final func decodeStructure<T: Decodable>(
    _ type: T.Type, from structure: Any, document: (any DocumentReferencing)?
  ) throws -> T {
    do {
      return try StructureDecoder.decode(type, from: structure, options: self, document: document)
    } catch let status as Status {
      throw status.nsError
    }
  }

  /// True if decoding calls no user code but the types' own: several threads may then decode
  /// `Sendable` types at the same time. Objects in `userInfo`, and closures, may belong to one
  /// thread.
  package final var isFreeOfUserCode: Bool {
    guard userInfo.isEmpty, keysAreDefault else { return false }
    switch dateDecodingStrategy {
    case .custom, .formatted: return false
    default: break
    }
    if case .custom = dataDecodingStrategy { return false }
    return true
  }
}
