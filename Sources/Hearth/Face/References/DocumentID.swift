import Foundation
import Logging
import Synchronization

/// A type that `@DocumentID` can hold.
public protocol DocumentIDWrappable {
  /// Converts the reference of the document that is decoded.
  static func wrap(_ documentReference: DocumentReference) throws -> Self
}

extension String: DocumentIDWrappable {
  /// The document's id.
  public static func wrap(_ documentReference: DocumentReference) throws -> Self {
    documentReference.documentID
  }
}

/// A property that holds the id of the document that its value was read from.
///
///     struct Book: Codable {
///       @DocumentID var id: String?
///       var title: String
///     }
///
/// Set when a document is decoded, in nested values too; not written when it is encoded. A
/// document's field of the same name is ignored. If a type's `CodingKeys` omit the property, it
/// stays nil.
@propertyWrapper
public struct DocumentID<Value: DocumentIDWrappable & Codable>: Codable, DecodableWithoutField {
  /// The id. Set when a document is decoded.
  public var wrappedValue: Value?

  /// A value that is not nil is kept until a document is read, and never written. The first such
  /// value in a process is logged as a warning.
  public init(wrappedValue value: Value?) {
    wrappedValue = value
    if let value { SetIDWarning.log(value, unless: SetIDWarning.isLogged, to: Firestore.logger) }
  }

  /// Takes the id from the document that `Firestore.Decoder` decodes. Throws `FirestoreDecodingError` with any other
  /// decoder: a model with a `@DocumentID` is not decoded from JSON.
  public init(from decoder: any Decoder) throws {
    switch try DocumentOrigin(documentOf: decoder) {
    case .object(let reference as DocumentReference): wrappedValue = try Value.wrap(reference)
    case .path(let path, _) where Value.self == String.self:
      wrappedValue = identity(path.id, as: Value.self)
    case .path(let path, let context):
      guard let firestore = context.owner as? Firestore else {
        throw FirestoreDecodingError.decodingIsNotSupported(
          "DocumentID values can only be decoded with Firestore.Decoder")
      }
      wrappedValue = try Value.wrap(DocumentReference(firestore, path))
    default:
      throw FirestoreDecodingError.decodingIsNotSupported(
        "Could not find DocumentReference for user info key: DocumentRefUserInfoKey. "
          + "DocumentID values can only be decoded with Firestore.Decoder")
    }
  }

  /// Writes nothing: the id is not a field. Throws `FirestoreEncodingError` with another encoder than
  /// Firestore's.
  public func encode(to encoder: any Encoder) throws {
    guard DocumentSink(encoder)?.skip() == true else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "DocumentID values can only be encoded with Firestore.Encoder")
    }
  }
}

extension DocumentID: DocumentFieldCodable {
  /// Writes no field: the id is the document's name. Called by `DocumentMapWriter.write(wrapper:at:)`.
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.skip()
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    try self.init(in: reader.context)
  }

  public init(missingFrom map: borrowing DocumentMapReader) throws(UseCodable) {
    try self.init(in: map.context)
  }

  private init(in context: DocumentDecoder.Context) throws(UseCodable) {
    guard let path = (try? context.document?.path) ?? nil else { throw UseCodable() }
    if Value.self == String.self {
      wrappedValue = identity(path.id, as: Value.self)
      return
    }
    guard let firestore = context.owner as? Firestore,
      let value = try? Value.wrap(DocumentReference(firestore, path))
    else { throw UseCodable() }
    wrappedValue = value
  }
}

/// Firebase warns of every id that is set; here one warning per process is enough.
enum SetIDWarning {
  static let isLogged = Atomic<Bool>(false)

  static func log(
    _ value: Any, unless isLogged: borrowing Atomic<Bool>, to logger: @autoclosure () -> Logger
  ) {
    if isLogged.load(ordering: .relaxed) || isLogged.exchange(true, ordering: .relaxed) { return }
    logger().warning(
      """
      [I-FST000002] Attempting to initialize or set a @DocumentID property with a non-nil value: \
      "\(value)". The document ID is managed by Firestore and any initialized or set value will be \
      ignored. The ID automatically set when reading from Firestore.
      """)
  }
}

extension DocumentID: Equatable where Value: Equatable {}
extension DocumentID: Hashable where Value: Hashable {}
extension DocumentID: Sendable where Value: Sendable {}

extension KeyedDecodingContainer {
  /// Decodes without looking at the field: it may be missing, and its content is ignored.
  public func decode<Value>(
    _ type: DocumentID<Value>.Type, forKey key: Key
  ) throws -> DocumentID<Value> {
    try DocumentID(from: superDecoder(forKey: key))
  }
}

extension KeyedDecodingContainer where Key == DocumentFieldKey {
  /// The document's id.
  public func decode<Value>(wrapper key: Key) throws -> DocumentID<Value> {
    try decode(DocumentID<Value>.self, forKey: key)
  }
}
