extension DocumentSnapshot {
  /// The document in the form of Firestore's REST interface, on one line, as exports have it; see
  /// <doc:ExportFormat>. Nil if it does not exist. Throws `dataLoss` for a damaged document.
  package var jsonLine: String? {
    get throws { try reporting { try stored?.jsonLine() } }
  }

  /// The fields. Nil if the document does not exist. Throws `dataLoss` for a damaged document.
  package var fieldValues: MapValue? {
    get throws { try reporting { try stored?.body.map() } }
  }
}
