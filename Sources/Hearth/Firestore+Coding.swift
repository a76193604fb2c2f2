import Foundation

extension Firestore {
  /// Writes `Encodable` values as documents.
  ///
  /// Dates become timestamps and `Data` becomes bytes, unless a strategy says otherwise.
  public class Encoder: FirebaseDataEncoder {
    public override init() {
      super.init()
      dateEncodingStrategy = .timestamp
      dataEncodingStrategy = .blob
    }
  }

  /// Reads `Decodable` values from documents.
  public class Decoder: FirebaseDataDecoder {
    public override init() {
      super.init()
      dateDecodingStrategy = .timestamp
      dataDecodingStrategy = .blob
    }
  }
}
