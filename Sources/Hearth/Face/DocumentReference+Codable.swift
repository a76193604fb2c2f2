extension DocumentReference: Codable {
  public convenience init(from decoder: any Decoder) throws {
    if let reference = StructureDecoder.of(decoder)?.reference as? DocumentReference {
      self.init(reference.firestore, reference.resourcePath, fault: reference.fault)
      return
    }
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
    guard let sink = DocumentSink(encoder, for: self) else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "DocumentReference values can only be encoded with Firestore.Encoder")
    }
    try sink.encode(self)
  }
}

extension DocumentReference: DocumentIDWrappable {
  public static func wrap(_ documentReference: DocumentReference) throws -> Self {
    Self(documentReference.firestore, documentReference.resourcePath)
  }
}
