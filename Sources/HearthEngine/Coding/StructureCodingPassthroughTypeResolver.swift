/// Decides which values a ``FirebaseDataEncoder`` or ``FirebaseDataDecoder`` leaves as they are.
///
///     struct Icons: StructureCodingPassthroughTypeResolver {
///       static func isPassthroughType<T>(_ t: T) -> Bool { t is Icon }
///     }
///     encoder.passthroughTypeResolver = Icons.self
public protocol StructureCodingPassthroughTypeResolver {
  /// Returns true if `t` is to be left as it is.
  static func isPassthroughType<T>(_ t: T) -> Bool
}

/// The initial resolver of `FirebaseDataEncoder` and `FirebaseDataDecoder`.
struct NoPassthroughTypes: StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ t: T) -> Bool { false }
}

/// The initial resolver of `Firestore.Encoder` and `Firestore.Decoder`: passes Firestore types
/// through.
struct FirestorePassthroughTypes: StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ t: T) -> Bool {
    guard let object = AnyBridge.object(t) else { return false }
    return object is Timestamp || object is GeoPoint || object is VectorValue
      || object is any DocumentReferencing || object is FieldValue
  }
}
