import Foundation

/// Makes `Decodable` values of dictionaries, arrays and plain values, as ``FirebaseDataEncoder`` gives them.
///
///     let decoder = FirebaseDataDecoder()
///     decoder.dateDecodingStrategy = .secondsSince1970
///     let event = try decoder.decode(Event.self, from: payload)
///
/// It begins with the strategies of `JSONDecoder`. `Firestore.Decoder` is the one for documents, with
/// strategies of its own.
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
    /// From a string.
    case formatted(DateFormatter)
    /// As the closure decodes it.
    case custom((any Decoder) throws -> Date)
    /// From a `Timestamp`.
    case timestamp
  }

  /// How `Data` is decoded.
  public enum DataDecodingStrategy {
    /// As `Data` decodes itself: from an array of numbers.
    case deferredToData
    /// From a string.
    case base64
    /// From bytes, or from a base64 string.
    case blob
    /// As the closure decodes it.
    case custom((any Decoder) throws -> Data)
  }

  /// How infinity and NaN are decoded from strings.
  public enum NonConformingFloatDecodingStrategy {
    /// Not at all.
    case `throw`
    /// From these strings.
    case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
  }

  /// How the names of fields become the keys of types. Keys of `[String: …]` stay as they are.
  public enum KeyDecodingStrategy {
    case useDefaultKeys
    /// `image_url` becomes `imageUrl`.
    case convertFromSnakeCase
    /// The closure is given the path to the field, its name last.
    case custom((_ codingPath: [any CodingKey]) -> any CodingKey)
  }

  open var dateDecodingStrategy: DateDecodingStrategy = .deferredToDate {
    didSet {
      datesAreTimestamps = if case .timestamp = dateDecodingStrategy { true } else { false }
    }
  }
  open var dataDecodingStrategy: DataDecodingStrategy = .base64 {
    didSet { dataIsBlob = if case .blob = dataDecodingStrategy { true } else { false } }
  }
  open var nonConformingFloatDecodingStrategy: NonConformingFloatDecodingStrategy = .throw
  open var keyDecodingStrategy: KeyDecodingStrategy = .useDefaultKeys {
    didSet {
      keysAreDefault = if case .useDefaultKeys = keyDecodingStrategy { true } else { false }
    }
  }
  /// Which values are left as they are, if they are just of the type that is decoded. Not asked where a stored
  /// document is read.
  open var passthroughTypeResolver: any StructureCodingPassthroughTypeResolver.Type =
    NoPassthroughTypes.self
  /// For the types that are decoded.
  open var userInfo: [CodingUserInfoKey: Any] = [:]

  // Whether the strategies are the usual ones: asked once per run, without taking them apart.
  final private(set) var datesAreTimestamps = false
  final private(set) var dataIsBlob = false
  final private(set) var keysAreDefault = true

  public init() {}

  /// For documents: with their strategies.
  package init(ofDocuments: Void) {
    (dateDecodingStrategy, datesAreTimestamps) = (.timestamp, true)
    (dataDecodingStrategy, dataIsBlob) = (.blob, true)
    passthroughTypeResolver = FirestorePassthroughTypes.self
  }

  /// The value of that type that a structure holds: a `[String: Any]`, an `[Any]`, or one plain value.
  ///
  ///     let names = try FirebaseDataDecoder().decode([String].self, from: ["Ada", "Grace"])
  ///
  /// Numbers may be `NSNumber` or Swift's own, nil and `NSNull` are null. Nothing is rounded that the type can
  /// hold.
  ///
  /// Throws `DecodingError` if the structure does not fit the type, or is nested deeper than 512 levels where
  /// it is decoded; and what the type's own decoding throws.
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

  /// Whether decoding calls nothing of the user's but the types themselves: then several threads may decode
  /// `Sendable` types at once. Objects in `userInfo`, and closures, may belong to one thread.
  package final var isFreeOfUserCode: Bool {
    guard userInfo.isEmpty, keysAreDefault else { return false }
    switch dateDecodingStrategy {
    case .custom, .formatted: return false
    default: break
    }
    if case .custom = dataDecodingStrategy { return false }
    return true
  }

  /// Decodes straight from where a document is stored. Nil stands for a document that does not exist: `T?`
  /// gives nil, other types `DecodingError.valueNotFound` with the document's path.
  func decodeDocument<T: Decodable>(
    _ type: T.Type, from body: StoredBody?,
    context: DocumentDecoder.Context = DocumentDecoder.Context()
  ) throws -> T {
    guard body == nil, let document = context.document else {
      return try DecodingSession.decode(type, from: body, options: self, context: context)
    }
    do {
      return try DecodingSession.decode(type, from: nil, options: self, context: context)
    } catch let error as DecodingError {
      throw error.adding("The document \(try document.path.text) does not exist.")
    }
  }

  /// As `decodeDocument` with a context.
  ///
  /// - Parameter owner: The database that references belong to, in the face's terms.
  package func decodeDocument<T: Decodable>(
    _ type: T.Type, from body: StoredBody?, named name: StoredName, of owner: AnyObject
  ) throws -> T {
    try decodeDocument(
      type, from: body, context: DocumentDecoder.Context(document: name, owner: owner))
  }

  /// Decodes a value, a whole body or any other.
  func decodeDocument<T: Decodable>(
    _ type: T.Type, from bytes: UnsafeRawBufferPointer,
    context: DocumentDecoder.Context = DocumentDecoder.Context()
  ) throws -> T {
    try decodeDocument(type, from: StoredBody(bytes), context: context)
  }
}

extension DecodingError {
  /// The same error, whose description ends with a further sentence.
  fileprivate func adding(_ sentence: String) -> DecodingError {
    func extended(_ context: Context) -> Context {
      Context(
        codingPath: context.codingPath,
        debugDescription: context.debugDescription + " " + sentence,
        underlyingError: context.underlyingError)
    }
    return switch self {
    case .typeMismatch(let type, let context): .typeMismatch(type, extended(context))
    case .valueNotFound(let type, let context): .valueNotFound(type, extended(context))
    case .keyNotFound(let key, let context): .keyNotFound(key, extended(context))
    case .dataCorrupted(let context): .dataCorrupted(extended(context))
    @unknown default: self
    }
  }
}

@_spi(Figures)
extension FirebaseDataDecoder {
  /// For benchmarks: decodes a document's bytes.
  public func decode<T: Decodable>(
    _ type: T.Type, documentBytes: UnsafeRawBufferPointer
  ) throws -> T {
    try decodeDocument(type, from: documentBytes)
  }
}
