import Foundation

extension DocumentReference {
  /// A snapshot of the document with fields that `DocumentSnapshot.encodedFields` gave before. Reads
  /// nothing. The snapshot's times of creation and update are 1970-01-01T00:00:00Z, because the fields
  /// do not contain them.
  ///
  /// Throws `dataLoss` if the bytes are not those of a document, and `invalidArgument` for an invalid
  /// path.
  public func snapshot(ofEncodedFields fields: Data) throws -> DocumentSnapshot {
    try reporting {
      DocumentSnapshot(
        self, try StoredDocument(path: path(in: firestore), encoded: [UInt8](fields)))
    }
  }
}
