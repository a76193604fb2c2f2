/// An error thrown when an encoder does not support a type.
public enum FirestoreEncodingError: Error {
  /// Only `Firestore.Encoder` can encode this type.
  case encodingIsNotSupported(String)
}
