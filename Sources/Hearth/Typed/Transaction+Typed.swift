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

  /// Replaces the document, or creates it. Throws if `model` cannot be encoded; any other error fails
  /// the transaction.
  @discardableResult
  public func set<Model>(
    _ document: TypedDocument<Model>, to model: Model
  ) throws -> Transaction {
    try setData(from: model, forDocument: document.untyped)
  }

  /// Creates the document. The transaction fails with `alreadyExists` if it exists. Throws if `model`
  /// cannot be encoded.
  @discardableResult
  public func create<Model>(
    _ document: TypedDocument<Model>, as model: Model
  ) throws -> Transaction {
    try create(from: model, forDocument: document.untyped)
  }

  /// Changes some fields. The transaction fails with `notFound` if the document does not exist. Throws
  /// `invalidArgument` if a field is changed twice, and the error of a value that cannot be encoded.
  @discardableResult
  public func update<Model>(
    _ document: TypedDocument<Model>, _ change: (inout FieldUpdates<Model>) -> Void
  ) throws -> Transaction {
    try updateData(FieldUpdates(change).checkedData(), forDocument: document.untyped)
  }

  /// Changes some fields if the precondition holds; see ``WritePrecondition``. Throws as
  /// `update(_:_:)` does.
  @discardableResult
  public func update<Model>(
    _ document: TypedDocument<Model>, precondition: WritePrecondition,
    _ change: (inout FieldUpdates<Model>) -> Void
  ) throws -> Transaction {
    try updateData(
      FieldUpdates(change).checkedData(), forDocument: document.untyped,
      precondition: precondition)
  }

  /// Deletes the document, if it exists. Collections below it stay.
  @discardableResult
  public func delete<Model>(_ document: TypedDocument<Model>) -> Transaction {
    deleteDocument(document.untyped)
  }

  /// Deletes the document if the precondition holds.
  @discardableResult
  public func delete<Model>(
    _ document: TypedDocument<Model>, precondition: WritePrecondition
  ) -> Transaction {
    deleteDocument(document.untyped, precondition: precondition)
  }
}
