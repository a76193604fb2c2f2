import Foundation
import Logging
import Synchronization

/// A type that `@DocumentID` can hold.
public protocol DocumentIDWrappable {
  static func wrap(_ documentReference: DocumentReference) throws -> Self
}

extension String: DocumentIDWrappable {
  public static func wrap(_ documentReference: DocumentReference) throws -> Self {
    documentReference.documentID
  }
}

/// The id of the document that a value was read from.
///
///     struct Book: Codable {
///       @DocumentID var id: String?
///       var title: String
///     }
///
/// Filled in when a document is decoded, in nested values too; left out when it is encoded. A field of
/// the same name is ignored. A type whose `CodingKeys` leave the property out never asks for the id: it
/// stays nil.
@propertyWrapper
public struct DocumentID<Value: DocumentIDWrappable & Codable>: Codable, DecodableWithoutField {
  public var wrappedValue: Value?

  /// A value that is not nil is kept until a document is read, and never written: told once as a warning.
  public init(wrappedValue value: Value?) {
    wrappedValue = value
    if let value { SetIDWarning.tell(value, unless: SetIDWarning.isTold, to: Firestore.logger) }
  }

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

  public func encode(to encoder: any Encoder) throws {
    guard DocumentSink(encoder)?.skip() == true else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "DocumentID values can only be encoded with Firestore.Encoder")
    }
  }
}

/// Firebase warns of every id that is set; once in a process is enough to know.
enum SetIDWarning {
  static let isTold = Atomic<Bool>(false)

  static func tell(
    _ value: Any, unless isTold: borrowing Atomic<Bool>, to logger: @autoclosure () -> Logger
  ) {
    if isTold.load(ordering: .relaxed) || isTold.exchange(true, ordering: .relaxed) { return }
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
  /// The field need not be there, and is not looked at if it is.
  public func decode<Value>(
    _ type: DocumentID<Value>.Type, forKey key: Key
  ) throws -> DocumentID<Value> {
    try DocumentID(from: superDecoder(forKey: key))
  }
}
