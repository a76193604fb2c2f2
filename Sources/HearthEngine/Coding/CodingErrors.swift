/// An error thrown when a decoder does not support a type.
public enum FirestoreDecodingError: Error {
  /// Only `Firestore.Decoder` can decode this type.
  case decodingIsNotSupported(String)
  /// Never thrown. Exists for source compatibility.
  case fieldNameConflict(String)
}

/// An error thrown when an encoder does not support a type.
public enum FirestoreEncodingError: Error {
  /// Only `Firestore.Encoder` can encode this type.
  case encodingIsNotSupported(String)
}
