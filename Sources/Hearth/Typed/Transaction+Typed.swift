/// Documents of models in transactions.
extension Transaction {
  /// Reads a document of a model; blocks while it reads. Nil if it does not exist.
  ///
  ///     let books = db.collection("books", of: Book.self)
  ///     try await db.runTransaction { transaction in
  ///       let dune = try transaction.get(books.document("dune"))
  ///       try transaction.update(books.document("emma")) { $0.pages = dune?.pages ?? 0 }
  ///     }
  ///
  /// Throws `DecodingError` if the document does not match the model, and what `getDocument` throws.
  public func get<Model>(_ document: TypedDocument<Model>) throws -> Model? {
    try getDocument(document.untyped).data(as: Model?.self)
  }

  /// Reads all documents that the query finds; blocks while it reads. The commit succeeds only if the
  /// query still finds the same documents, in the same versions.
  ///
  /// Throws `DecodingError` if a document does not match the model, and what `getDocument` throws.
  public func getDocuments<Model>(_ query: some TypedQueryable<Model>) throws -> [Model] {
    try getDocuments(query.untyped).documents.map { try $0.data(as: Model.self) }
  }
}
