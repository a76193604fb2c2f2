import Foundation

/// The writes of a ``WriteBatch`` or a ``Transaction``: they are committed together, or not at all.
///
/// Writes are applied in order; a document may be written several times. If a write is invalid, or if
/// the database refuses it, the commit fails with its error and applies nothing: `WriteBatch.commit`
/// reports that error, and a transaction fails with it.
public class DocumentWrites: NSObject {
  let firestore: Firestore
  private(set) final var mutations: [Mutation] = []
  /// The first error among the writes.
  private var validationError: Status?

  init(_ firestore: Firestore) { self.firestore = firestore }

  /// Adds a write, or the error for which it cannot be made. Each subclass refuses writes after its end.
  func add(_ write: @autoclosure () throws -> Mutation) -> Self {
    do {
      let mutation = try write()
      try mutation.check()
      mutations.append(consume mutation)
    } catch {
      note(Status(writingFailed: error))
    }
    return self
  }

  final func note(_ status: Status) { validationError = validationError ?? status }

  /// The writes, each of them checked. Throws the first error.
  final func checked() throws(Status) -> [Mutation] {
    if let validationError { throw validationError }
    return mutations
  }

  /// A transaction refuses updates of documents that it knows to be missing.
  func update(
    of document: DocumentReference, with fields: [AnyHashable: Any]
  ) throws -> Mutation {
    try Mutation(updating: document, with: fields, in: firestore)
  }

  /// Replaces the document, or creates it.
  @discardableResult
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) -> Self {
    add(try Mutation(setting: document, to: data, in: firestore))
  }

  /// If `merge` is true, merges the data into the document: maps field by field, everything else as
  /// a whole. Otherwise as `setData(_:forDocument:)`.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> Self {
    add(try Mutation(setting: document, to: data, merge: merge ? .all : nil, in: firestore))
  }

  /// Merges only these fields, strings or `FieldPath`s. If one is not in the data, the commit fails with
  /// `invalidArgument`.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> Self {
    add(try Mutation(setting: document, to: data, merge: .fields(mergeFields), in: firestore))
  }

  /// Replaces the document with an encoded value, or creates it. Throws if `value` cannot be
  /// encoded; any other error fails the commit.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = .standard
  ) throws -> Self {
    let encoded = try encoder.encodedForWriting(value)
    return add(try Mutation(setting: document, to: encoded, in: firestore))
  }

  /// If `merge` is true, merges an encoded value into the document. Throws as
  /// `setData(from:forDocument:)` does.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = .standard
  ) throws -> Self {
    let encoded = try encoder.encodedForWriting(value)
    return add(
      try Mutation(setting: document, to: encoded, merge: merge ? .all : nil, in: firestore))
  }

  /// Merges only these fields of an encoded value. Throws as `setData(from:forDocument:)` does.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = .standard
  ) throws -> Self {
    let encoded = try encoder.encodedForWriting(value)
    return add(
      try Mutation(setting: document, to: encoded, merge: .fields(mergeFields), in: firestore))
  }

  /// Changes fields of a document that exists. Keys are strings, whose dots lead into maps, or
  /// `FieldPath`s.
  ///
  /// The commit fails with `notFound` if the document does not exist. A transaction fails with
  /// `invalidArgument` if it has already read that, or has deleted the document.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> Self {
    add(try update(of: document, with: fields))
  }

  /// Deletes the document, if it exists. Collections below it stay.
  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> Self {
    add(try Mutation(deleting: document, in: firestore))
  }

  // MARK: With preconditions

  /// Creates the document. The commit fails with `alreadyExists` if it exists.
  @discardableResult
  public func create(_ data: [String: Any], forDocument document: DocumentReference) -> Self {
    add(try Mutation(setting: document, to: data, in: firestore).creating())
  }

  /// Creates the document from an encoded value. Throws if `value` cannot be encoded; any other
  /// error fails the commit.
  @discardableResult
  public func create<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = .standard
  ) throws -> Self {
    let encoded = try encoder.encodedForWriting(value)
    return add(try Mutation(setting: document, to: encoded, in: firestore).creating())
  }

  /// Replaces the document, or creates it, if the precondition holds.
  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) -> Self {
    add(try Mutation(setting: document, to: data, in: firestore).requiring(precondition))
  }

  /// Changes fields of the document if the precondition holds.
  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) -> Self {
    add(try update(of: document, with: fields).requiring(precondition))
  }

  /// Changes fields of the document as the update says, if the precondition holds.
  @discardableResult
  package func updateData(
    _ update: EncodedUpdate, forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) -> Self {
    add(try Mutation(updating: document, with: update, in: firestore).requiring(precondition))
  }

  /// Deletes the document if the precondition holds.
  @discardableResult
  public func deleteDocument(
    _ document: DocumentReference, precondition: WritePrecondition
  ) -> Self {
    add(try Mutation(deleting: document, in: firestore).requiring(precondition))
  }
}
