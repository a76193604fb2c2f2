/// A reference to a document of a model, as a property of another model. It is stored as a
/// `DocumentReference`.
///
///     struct Review: Codable {
///       var book: Reference<Book>
///       var stars: Int
///     }
///     let review = Review(book: db.collection("books", of: Book.self).document("dune"), stars: 5)
///     let book = try await review.book.get()
///
/// It is a ``TypedDocument``: it can be read, listened to, written, and compared in queries. Nothing
/// checks that the document exists, unless a ``FirestoreReferenceRule`` does. A stored reference to a
/// document of another collection is decoded, too: only the compiler checks the model.
public typealias Reference<Model: DocumentModel> = TypedDocument<Model>

extension TypedDocument: Codable {
  /// Decodes a `DocumentReference` with `Firestore.Decoder`. Any other decoder throws
  /// `FirestoreDecodingError`.
  public init(from decoder: any Decoder) throws {
    self.init(reference: try DocumentReference(from: decoder))
  }

  /// Encodes a `DocumentReference` with `Firestore.Encoder`. Any other encoder throws
  /// `FirestoreEncodingError`.
  public func encode(to encoder: any Encoder) throws { try reference.encode(to: encoder) }
}

extension TypedDocument: ReferenceConvertible {
  package var documentReference: any DocumentReferencing { reference }
}

extension TypedDocument: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try reference.write(to: writer)
  }

  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self.init(reference: try DocumentReference(reading: reader))
  }
}

extension TypedDocument: Hashable {
  /// Whether both are the same document of the same database.
  public static func == (lhs: TypedDocument, rhs: TypedDocument) -> Bool {
    lhs.reference == rhs.reference
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(reference) }
}
