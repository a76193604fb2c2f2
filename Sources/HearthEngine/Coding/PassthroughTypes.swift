/// Says which values a ``FirebaseDataEncoder`` and a ``FirebaseDataDecoder`` leave as they are.
///
///     struct Icons: StructureCodingPassthroughTypeResolver {
///       static func isPassthroughType<T>(_ t: T) -> Bool { t is Icon }
///     }
///     encoder.passthroughTypeResolver = Icons.self
public protocol StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ t: T) -> Bool
}

/// What `FirebaseDataEncoder` and `FirebaseDataDecoder` begin with.
struct NoPassthroughTypes: StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ t: T) -> Bool { false }
}

/// What `Firestore.Encoder` and `Firestore.Decoder` begin with: the types that documents know.
struct FirestorePassthroughTypes: StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ t: T) -> Bool {
    guard let object = AnyBridge.object(t) else { return false }
    return object is Timestamp || object is GeoPoint || object is VectorValue
      || object is any DocumentReferencing || object is FieldValue
  }
}
