extension StoredDocument {
  /// The document in the form of Firestore's REST interface, on one line; see ExportFormat.md.
  package func jsonLine() throws(Status) -> String {
    var text: [UInt8] = []
    try body.withView { fields throws(Status) in
      try DocumentJSON.append(path, fields, created: createTime, updated: updateTime, to: &text)
    }
    return String(decoding: text, as: UTF8.self)
  }
}
