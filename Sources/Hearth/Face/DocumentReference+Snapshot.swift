import Foundation

extension DocumentReference {
  /// A snapshot of the document with fields that `DocumentSnapshot.encodedFields` gave before. Reads
  /// nothing; the times of the snapshot are those of the epoch.
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
