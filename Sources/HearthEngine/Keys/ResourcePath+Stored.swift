/// Paths from stored bytes. Keys are made only from paths of documents and collections, so any
/// other path is damage.
extension ResourcePath {
  init(storedDocument text: String) throws(Status) {
    self.init(relative: text)
    try checkStoredDocument()
  }

  init(storedCollection text: String) throws(Status) {
    self.init(relative: text)
    guard isCollection else {
      throw .dataLoss("A stored path is not that of a collection: \(text)")
    }
  }

  func checkStoredDocument() throws(Status) {
    guard isDocument else { throw .dataLoss("A stored path is not that of a document: \(text)") }
  }
}
