import Foundation

extension Firestore {
  /// Makes dictionaries of `Encodable` values, and says how ``DocumentReference/setData(from:encoder:completion:)``
  /// and its kin store them.
  ///
  ///     var fields = try Firestore.Encoder().encode(book)
  ///     fields["added"] = FieldValue.serverTimestamp()
  ///     try await dune.setData(fields)
  ///
  /// Dates become timestamps and `Data` stays as it is, unless a strategy says otherwise. `Timestamp`, `GeoPoint`,
  /// `VectorValue`, `DocumentReference` and `FieldValue` are the same objects in the dictionary.
  public class Encoder: FirebaseDataEncoder {
    public override init() { super.init(ofDocuments: ()) }

    /// The value's fields, as `setData(_:)` takes them: numbers are `NSNumber`, a `Decimal` is an
    /// `NSDecimalNumber`, null is `NSNull`, `@ServerTimestamp` that is nil is `FieldValue.serverTimestamp()`.
    ///
    /// The dictionary holds the value as it is: times to the nanosecond, arrays in arrays, any name. Only writing
    /// it cuts times to microseconds, makes doubles of decimals, and refuses what documents cannot hold.
    ///
    /// Throws `EncodingError` if the value is not encoded as a dictionary, and for what else
    /// ``FirebaseDataEncoder/encode(_:)`` throws it; `invalidArgument` if a date is not in the years 0001 to
    /// 9999, and if two names of a map are one `String` of other bytes: `setData(from:)` takes such a value,
    /// a dictionary cannot hold it.
    public func encode<T: Encodable>(_ value: T) throws -> [String: Any] {
      try fields(of: value)
    }
  }

  /// Makes `Decodable` values of dictionaries, and says how ``DocumentSnapshot/data(as:with:decoder:)`` and its
  /// kin read documents.
  ///
  ///     let book = try Firestore.Decoder().decode(Book.self, from: ["title": "Dune"])
  ///
  /// What `Firestore.Encoder` made comes back as it was.
  public class Decoder: FirebaseDataDecoder {
    public override init() { super.init(ofDocuments: ()) }

    /// As from the document that `reference` names: its id goes to `@DocumentID`.
    ///
    ///     let book = try Firestore.Decoder().decode(Book.self, from: fields, in: db.document("books/dune"))
    ///
    /// Throws as ``FirebaseDataDecoder/decode(_:from:)`` does.
    public func decode<T: Decodable>(
      _ type: T.Type, from container: Any, in reference: DocumentReference?
    ) throws -> T {
      try decodeStructure(type, from: container, document: reference)
    }
  }
}
