extension DocumentReference: Codable {
  /// Decodes a reference with `Firestore.Decoder`. Any other decoder throws
  /// `FirestoreDecodingError`.
  public convenience init(from decoder: any Decoder) throws {
    switch try DocumentOrigin(referenceIn: decoder, as: Self.self) {
    case .object(let reference as DocumentReference):
      self.init(
        reference.firestore, reference.resourcePath, validationError: reference.validationError)
    case .path(let path, let context):
      guard let firestore = context.owner as? Firestore else { fallthrough }
      self.init(firestore, path)
    default:
      throw FirestoreDecodingError.decodingIsNotSupported(
        "DocumentReference values can only be decoded with Firestore.Decoder")
    }
  }

  /// Encodes the reference with `Firestore.Encoder`. Any other encoder throws
  /// `FirestoreEncodingError`.
  public func encode(to encoder: any Encoder) throws {
    guard let sink = DocumentSink(encoder, for: self) else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "DocumentReference values can only be encoded with Firestore.Encoder")
    }
    try sink.encode(self)
  }
}

extension DocumentReference: DocumentValueCodable {
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    guard validationError == nil else { throw UseCodable() }
    try writer.value(.reference(resourcePath), of: databaseIdentity)
  }

  public convenience init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    guard let firestore = reader.context.owner as? Firestore else { throw UseCodable() }
    self.init(firestore, try reader.reference())
  }
}

extension DocumentReference: DocumentIDWrappable {
  /// A reference to the same document.
  public static func wrap(_ documentReference: DocumentReference) throws -> Self {
    Self(documentReference.firestore, documentReference.resourcePath)
  }
}
