/// A collection whose documents are of one model. It is also the query for all of them.
///
///     let books = db.collection("books", of: Book.self)
///     try await books.document("dune").set(Book(title: "Dune", pages: 412))
///     let long = try await books.where { $0.pages > 400 }.getDocuments()
public struct TypedCollection<Model: DocumentModel>: TypedQueryable {
  /// The same collection without the model. Same as `untyped`.
  public let reference: CollectionReference

  /// The same collection without the model.
  public var untyped: CollectionReference { reference }

  /// The document with that id. The first operation on it reports an id that is empty or contains
  /// `/`, as `invalidArgument`: an id is no path, and does not lead out of the collection.
  public func document(_ id: String) -> TypedDocument<Model> {
    TypedDocument(reference: reference.document(id: id))
  }

  /// A document with a new random id.
  public func document() -> TypedDocument<Model> {
    TypedDocument(reference: reference.document())
  }

  /// Adds a document with a new random id, and returns when it is durable.
  @discardableResult
  public func add(_ model: Model) async throws -> TypedDocument<Model> {
    TypedDocument(reference: try await reference.addDocument(committing: model))
  }
}

/// A document of a model.
public struct TypedDocument<Model: DocumentModel>: Sendable {
  /// The same document without the model. Same as `untyped`.
  public let reference: DocumentReference

  /// The same document without the model.
  public var untyped: DocumentReference { reference }

  /// The id of the document.
  public var documentID: String { reference.documentID }

  /// Reads the document. Nil if it does not exist. Throws `DecodingError` if it does not match the
  /// model.
  public func get() async throws -> Model? {
    try await reference.getDocument(as: Model?.self)
  }

  /// Replaces the document, and returns when it is durable.
  public func set(_ model: Model) async throws {
    try await reference.setData(committing: model)
  }

  /// Creates the document. Throws `alreadyExists` if it exists.
  public func create(_ model: Model) async throws {
    try await reference.create(committing: model)
  }

  /// Changes some fields, and returns when the change is durable. Throws `notFound` if the document
  /// does not exist.
  ///
  ///     try await dune.update { $0.pages += 6 }
  public func update(_ change: (inout FieldUpdates<Model>) -> Void) async throws {
    try await reference.updateData(FieldUpdates(change).checkedData())
  }

  /// Changes some fields if the precondition holds. Otherwise throws; see ``WritePrecondition``.
  ///
  ///     guard let seen = try await dune.untyped.getDocument().updateTime else { return }
  ///     try await dune.update(precondition: .lastUpdateTime(seen)) { $0.pages += 6 }
  public func update(
    precondition: WritePrecondition, _ change: (inout FieldUpdates<Model>) -> Void
  ) async throws {
    try await reference.updateData(
      FieldUpdates(change).checkedData(), precondition: precondition)
  }

  /// Deletes the document.
  public func delete() async throws { try await reference.delete() }

  /// Deletes the document if the precondition holds. Otherwise throws; see ``WritePrecondition``.
  public func delete(precondition: WritePrecondition) async throws {
    try await reference.delete(precondition: precondition)
  }

  /// The document, and its new state after each commit that changes it; nil while it does not
  /// exist. See `DocumentReference.snapshots`.
  public var snapshots: TypedDocumentSnapshots<Model> {
    TypedDocumentSnapshots(reference: reference)
  }
}

extension Firestore {
  /// The collection at a path, with documents of a model.
  public func collection<Model: DocumentModel>(
    _ path: String, of model: Model.Type
  ) -> TypedCollection<Model> {
    TypedCollection(reference: collection(path))
  }

  /// All collections with an id, with documents of a model.
  public func collectionGroup<Model: DocumentModel>(
    _ id: String, of model: Model.Type
  ) -> TypedQuery<Model> {
    TypedQuery(collectionGroup(id))
  }
}

extension CollectionReference {
  /// This collection, with documents of a model.
  public func of<Model: DocumentModel>(_ model: Model.Type) -> TypedCollection<Model> {
    TypedCollection(reference: self)
  }
}

extension Query {
  // Disfavored, so that the compiler's messages are about the collection's.
  /// This query, with documents of a model.
  @_disfavoredOverload
  public func of<Model: DocumentModel>(_ model: Model.Type) -> TypedQuery<Model> {
    TypedQuery(self)
  }
}

extension DocumentReference {
  /// This document, of a model.
  public func of<Model: DocumentModel>(_ model: Model.Type) -> TypedDocument<Model> {
    TypedDocument(reference: self)
  }

  /// A collection below this document, with documents of a model.
  public func collection<Model: DocumentModel>(
    _ path: String, of model: Model.Type
  ) -> TypedCollection<Model> {
    TypedCollection(reference: collection(path))
  }
}
