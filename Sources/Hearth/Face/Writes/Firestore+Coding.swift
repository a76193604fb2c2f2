extension Firestore {
  /// Encodes `Encodable` values as dictionaries. An encoder that is passed to
  /// `DocumentReference.setData(from:encoder:)` or a similar method decides how the
  /// value is stored.
  ///
  ///     var fields = try Firestore.Encoder().encode(book)
  ///     fields["added"] = FieldValue.serverTimestamp()
  ///     try await dune.setData(fields)
  ///
  /// Dates become timestamps and `Data` is unchanged, unless a strategy says otherwise.
  /// `Timestamp`, `GeoPoint`, `VectorValue`, `DocumentReference` and `FieldValue` are the same
  /// objects in the dictionary.
  public class Encoder: FirebaseDataEncoder {
    /// Creates an encoder with the strategies for documents.
    public override init() { super.init(ofDocuments: ()) }

    /// The encoder of calls whose caller gives none.
    // Unchecked: nobody outside has it, and encoding only reads it.
    @usableFromInline nonisolated(unsafe) static let standard = Firestore.Encoder()

    /// Returns the value's fields, as `setData(_:)` takes them.
    ///
    /// Numbers are `NSNumber`, a `Decimal` is an `NSDecimalNumber`, null is `NSNull`, a
    /// `@ServerTimestamp` that is nil is `FieldValue.serverTimestamp()`.
    ///
    /// The dictionary holds the unrounded value: times to the nanosecond, arrays in arrays, any
    /// name. Only writing it rounds times down to microseconds, converts decimals to doubles, and
    /// refuses what documents cannot hold.
    ///
    /// Throws `EncodingError` if the value is not encoded as a dictionary, and in the cases of
    /// ``FirebaseDataEncoder/encode(_:)``. Throws `invalidArgument` if a date is not in the years
    /// 0001 to 9999, or if two names of a map are one `String` with different bytes:
    /// `setData(from:)` accepts such a map, but a dictionary cannot hold it.
    public func encode<T: Encodable>(_ value: T) throws -> [String: Any] {
      try fields(of: value)
    }
  }

  /// Decodes `Decodable` values from dictionaries. A decoder that is passed to
  /// ``DocumentSnapshot/data(as:with:decoder:)`` or a similar method decides how the document is
  /// read.
  ///
  ///     let book = try Firestore.Decoder().decode(Book.self, from: ["title": "Dune"])
  ///
  /// Reverses `Firestore.Encoder`: an encoded value is decoded unchanged.
  public class Decoder: FirebaseDataDecoder {
    /// Creates a decoder with the strategies for documents.
    public override init() { super.init(ofDocuments: ()) }

    /// The decoder of calls whose caller gives none: making one for each call would take longer than finding a
    /// document.
    // Unchecked: nobody outside has it, and decoding only reads it.
    @usableFromInline nonisolated(unsafe) static let standard = Firestore.Decoder()

    /// Decodes the fields of the document at `reference`, whose id is assigned to `@DocumentID`.
    ///
    ///     let book = try Firestore.Decoder().decode(
    ///       Book.self, from: fields, in: db.document("books/dune"))
    ///
    /// Throws the errors of ``FirebaseDataDecoder/decode(_:from:)``.
    public func decode<T: Decodable>(
      _ type: T.Type, from container: Any, in reference: DocumentReference?
    ) throws -> T {
      try decodeStructure(type, from: container, document: reference)
    }
  }
}
