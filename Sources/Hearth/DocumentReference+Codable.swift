extension DocumentReference: Codable {
  public convenience init(from decoder: any Decoder) throws {
    guard let decoder = DocumentDecoder.of(decoder),
      let firestore = decoder.context.owner as? Firestore
    else {
      throw FirestoreDecodingError.decodingIsNotSupported(
        "DocumentReference values can only be decoded with Firestore.Decoder")
    }
    guard let path = try decoder.decodeReference() else {
      throw decoder.mismatch(DocumentReference.self)
    }
    self.init(firestore, path)
  }

  public func encode(to encoder: any Encoder) throws {
    guard let sink = DocumentSink(encoder) else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "DocumentReference values can only be encoded with Firestore.Encoder")
    }
    if let fault { throw fault }
    try sink.encode(reference: resourcePath, of: databaseIdentity)
  }
}

extension DocumentReference: DocumentIDWrappable {
  public static func wrap(_ documentReference: DocumentReference) throws -> Self {
    Self(documentReference.firestore, documentReference.resourcePath)
  }
}
