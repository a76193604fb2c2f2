import Foundation

extension Firestore {
  public class Encoder {
    public init() {}
    func encodeDocument<T: Encodable>(_ value: T, for database: DatabaseIdentity) throws
      -> EncodedDocument
    {
      throw Status(.unimplemented, "")
    }
  }
  public class Decoder {
    public init() {}
    func decode<T: Decodable>(
      _ type: T.Type, from body: UnsafeRawBufferPointer?, in reference: DocumentReference?
    ) throws -> T {
      throw Status(.unimplemented, "")
    }
  }
}
struct EncodedDocument {
  var body: DocumentBody; var transforms: [(field: FieldSegments, transform: FieldTransform)]
}
extension Mutation {
  init(setting name: DocumentName, to encoded: EncodedDocument, merge: ParsedSet.Merge?)
    throws(Status)
  {
    try self.init(
      setting: name,
      to: try ParsedSet(encoded: encoded.body.map(), sentinels: encoded.transforms, merge: merge))
  }
}
