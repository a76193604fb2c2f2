/// Documents of models in batches and transactions.
extension DocumentWrites {
  /// Replaces the document, or creates it. Throws if `model` cannot be encoded; any other error fails
  /// the commit.
  ///
  ///     let books = db.collection("books", of: Book.self)
  ///     let batch = db.batch()
  ///     try batch.set(books.document("dune"), to: Book(title: "Dune", pages: 412))
  ///     try batch.update(books.document("emma")) { $0.pages += 6 }
  ///     try await batch.commit()
  @discardableResult
  public func set<Model>(_ document: TypedDocument<Model>, to model: Model) throws -> Self {
    try setData(from: model, forDocument: document.untyped)
  }

  /// Creates the document. The commit fails with `alreadyExists` if it exists. Throws if `model` cannot
  /// be encoded.
  @discardableResult
  public func create<Model>(
    _ document: TypedDocument<Model>, as model: Model
  ) throws -> Self {
    try create(from: model, forDocument: document.untyped)
  }

  /// Changes some fields. The commit fails with `notFound` if the document does not exist. Throws
  /// `invalidArgument` if a field is changed twice, and the error of a value that cannot be encoded.
  @discardableResult
  public func update<Model>(
    _ document: TypedDocument<Model>, _ change: (inout FieldUpdates<Model>) -> Void
  ) throws -> Self {
    try updateData(FieldUpdates(change).checkedData(), forDocument: document.untyped)
  }

  /// Changes some fields if the precondition holds; see ``WritePrecondition``. Throws as
  /// `update(_:_:)` does.
  @discardableResult
  public func update<Model>(
    _ document: TypedDocument<Model>, precondition: WritePrecondition,
    _ change: (inout FieldUpdates<Model>) -> Void
  ) throws -> Self {
    try updateData(
      FieldUpdates(change).checkedData(), forDocument: document.untyped,
      precondition: precondition)
  }

  /// Deletes the document, if it exists. Collections below it stay.
  @discardableResult
  public func delete<Model>(_ document: TypedDocument<Model>) -> Self {
    deleteDocument(document.untyped)
  }

  /// Deletes the document if the precondition holds; see ``WritePrecondition``.
  @discardableResult
  public func delete<Model>(
    _ document: TypedDocument<Model>, precondition: WritePrecondition
  ) -> Self {
    deleteDocument(document.untyped, precondition: precondition)
  }
}
