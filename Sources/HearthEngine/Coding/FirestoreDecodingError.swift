/// An error thrown when a decoder does not support a type.
public enum FirestoreDecodingError: Error {
  /// Only `Firestore.Decoder` can decode this type.
  case decodingIsNotSupported(String)
  /// Never thrown. Exists for source compatibility.
  case fieldNameConflict(String)
}
