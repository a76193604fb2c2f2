/// Documents of models in closures.
extension ReadTransaction {
  /// Reads a document of a model. Nil if it does not exist. Throws `DecodingError` if it does not match
  /// the model.
  ///
  ///     let books = db.collection("books", of: Book.self)
  ///     let (dune, long) = try await db.read { tx in
  ///       (try tx.get(books.document("dune")), try tx.getDocuments(books.where(\.pages > 400)))
  ///     }
  public func get<Model>(_ document: TypedDocument<Model>) throws -> Model? {
    try getDocument(document.untyped, as: Model?.self)
  }

  /// Reads all documents that the query finds, one after another. Throws `DecodingError` if one does
  /// not match the model.
  public func getDocuments<Model>(_ query: some TypedQueryable<Model>) throws -> [Model] {
    try getDocuments(query.untyped, as: Model.self)
  }

  /// Reads all documents that the query finds, many of them on several threads at once; see
  /// `FirestoreSettings.maxQueryThreads`. Throws `DecodingError` if one does not match the model.
  public func getDocuments<Model: Sendable & SendableMetatype>(
    _ query: some TypedQueryable<Model>
  ) throws -> [Model] {
    try getDocuments(query.untyped, as: Model.self)
  }
}

extension WriteTransaction {
  /// Replaces the document, or creates it. Throws if the value cannot be encoded or stored.
  ///
  ///     try await db.write { tx in
  ///       try tx.set(books.document("dune"), to: Book(title: "Dune", pages: 412))
  ///       try tx.update(books.document("emma")) { $0.pages += 6 }
  ///     }
  public func set<Model>(_ document: TypedDocument<Model>, to model: Model) throws {
    try setData(from: model, forDocument: document.untyped)
  }

  /// Creates the document. Throws `alreadyExists` if it exists.
  public func create<Model>(_ document: TypedDocument<Model>, as model: Model) throws {
    try create(from: model, forDocument: document.untyped)
  }

  /// Changes some fields. Throws `notFound` if the document does not exist.
  public func update<Model>(
    _ document: TypedDocument<Model>, _ change: (inout FieldUpdates<Model>) -> Void
  ) throws {
    try updateData(FieldUpdates(change).checkedData(), forDocument: document.untyped)
  }

  /// Changes some fields if the precondition holds; see ``WritePrecondition``.
  public func update<Model>(
    _ document: TypedDocument<Model>, precondition: WritePrecondition,
    _ change: (inout FieldUpdates<Model>) -> Void
  ) throws {
    try updateData(
      FieldUpdates(change).checkedData(), forDocument: document.untyped,
      precondition: precondition)
  }

  /// Deletes the document, if it exists. Collections below it stay.
  public func delete<Model>(_ document: TypedDocument<Model>) throws {
    try deleteDocument(document.untyped)
  }

  /// Deletes the document if the precondition holds.
  public func delete<Model>(
    _ document: TypedDocument<Model>, precondition: WritePrecondition
  ) throws {
    try deleteDocument(document.untyped, precondition: precondition)
  }
}
