/// A value was asked of a decoder that cannot give it.
public enum FirestoreDecodingError: Error {
  /// Only `Firestore.Decoder` can decode this type.
  case decodingIsNotSupported(String)
  /// Kept for source compatibility; nothing throws it.
  case fieldNameConflict(String)
}

/// A value was handed to an encoder that cannot take it.
public enum FirestoreEncodingError: Error {
  /// Only `Firestore.Encoder` can encode this type.
  case encodingIsNotSupported(String)
}
