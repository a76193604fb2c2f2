import Dispatch
import Foundation
import Hearth

/// The synchronous forms block their thread, and wait for nothing that needs a thread of Swift's
/// concurrency.
extension ParseObject {
  // MARK: Saving

  /// Saves the object and every unsaved object in its properties, in one commit: all or nothing.
  ///
  ///     let book = try Book(title: "Dune", isbn: ISBN(value: "978-0441013593")).save()
  ///     print(book.isbn?.objectId ?? "")  // saved, too
  ///
  /// Returns the object as it is stored, with its id, its times, and the same objects in its
  /// properties. An object that has an id is updated: only properties that differ from what was read
  /// are written, each as a whole. A map keeps the keys that were read and that its type does not
  /// know. An object in a property that has an id is referred to, and not saved itself.
  ///
  /// Throws `ParseError`: `.duplicateValue` if a unique index refuses it, `.objectNotFound` if the
  /// object has an id and does not exist (`create()` saves a new object with an id), or the
  /// identity may not read it, `.operationForbidden` if the identity may not write it,
  /// `.incorrectType` for a property that cannot be encoded, or if an object that exists could not
  /// be read afterwards, because another writer has changed the type of a property; then nothing is
  /// written. `.invalidValue` for a property that the database refuses, `.invalidClassName`, and
  /// `.notInitialized`.
  @discardableResult
  public func save() throws(ParseError) -> Self { try saving(.save) }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  @discardableResult
  public func save() async throws(ParseError) -> Self { try await saving(.save) }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func save(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Self, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await save() }
  }

  /// Saves a new object, with the id that it has, or with a new one.
  ///
  ///     let book = try Book(objectId: "dune", title: "Dune").create()
  ///
  /// Throws as `save()`, and `.duplicateValue` if an object with the id exists.
  @discardableResult
  public func create() throws(ParseError) -> Self { try saving(.create) }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  @discardableResult
  public func create() async throws(ParseError) -> Self { try await saving(.create) }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func create(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Self, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await create() }
  }

  /// Writes all properties of an object that exists, and removes those that are nil, also if other
  /// writers changed them since it was read. Throws as `save()`, and `.missingObjectId` if it was
  /// not saved.
  @discardableResult
  public func replace() throws(ParseError) -> Self { try saving(.replace) }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  @discardableResult
  public func replace() async throws(ParseError) -> Self { try await saving(.replace) }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func replace(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Self, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await replace() }
  }

  /// The error of a save, which says how to save a new object that has an id of its own.
  func explained(_ error: any Error) -> ParseError {
    var error = ParseError(error)
    if error.code == .objectNotFound, objectId != nil, createdAt == nil, originalData == nil {
      error.message =
        "There is no object with this id. To save a new object with an id of its own, call create()."
    }
    return error
  }

  private func saving(_ mode: ObjectGraph.Mode) throws(ParseError) -> Self {
    do {
      let context = try ParseSwift.context
      let graph = ObjectGraph(context.firestore)
      let reference = try graph.add(self, mode)
      try graph.commit(context).run()
      let documents = try context.firestore.blocking.getAll(graph.documents)
      return try graph.object(reference, documents, context)
    } catch {
      throw explained(error)
    }
  }

  private func saving(_ mode: ObjectGraph.Mode) async throws(ParseError) -> Self {
    do {
      let context = try ParseSwift.context
      let graph = ObjectGraph(context.firestore)
      let reference = try graph.add(self, mode)
      try await graph.commit(context).run()
      let documents = try await context.firestore.getAll(graph.documents)
      return try graph.object(reference, documents, context)
    } catch {
      throw explained(error)
    }
  }

  /// One of the objects that a commit has saved, of which others may have failed.
  static func result(
    _ reference: DocumentReference, _ results: [String: Result<any ParseObject, any Error>]
  ) -> Result<Self, ParseError> {
    Result { () throws(ParseError) in
      try reporting {
        guard let object = try results[reference.path]?.get() as? Self else {
          throw ObjectGraph.notFound
        }
        return object
      }
    }
  }

  // MARK: Fetching

  /// Reads the object as it is stored.
  ///
  ///     let current = try book.fetch(includeKeys: ["isbn"])
  ///
  /// Throws `ParseError`: `.objectNotFound` if it does not exist, or the identity may not read it,
  /// `.missingObjectId` if it was not saved, `.incorrectType` if a stored value is not of the
  /// property's type.
  ///
  /// - Parameter includeKeys: Keys of objects to read with it; see `Query.include(_:)`.
  public func fetch(includeKeys: [String]? = nil) throws(ParseError) -> Self {
    try Self.query("objectId" == savedId()).include(includeKeys ?? []).first()
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func fetch(includeKeys: [String]? = nil) async throws(ParseError) -> Self {
    try await Self.query("objectId" == savedId()).include(includeKeys ?? []).first()
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func fetch(
    includeKeys: [String]? = nil, callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Self, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await fetch(includeKeys: includeKeys) }
  }

  func savedId() throws(ParseError) -> String {
    guard let objectId else {
      throw ParseError(.missingObjectId, "The object was not saved: it has no id.")
    }
    try ObjectGraph.checkID(objectId)
    return objectId
  }

  // MARK: Deleting

  /// Deletes the object, and its edges in relations. Objects in its properties stay.
  ///
  /// Throws `ParseError`: `.objectNotFound` if it does not exist, or the identity may not read it,
  /// `.operationForbidden` if a rule of a reference or the ACL forbids it, `.missingObjectId` if it
  /// was not saved.
  public func delete() throws(ParseError) {
    try reporting { try Self.deletion([savedId()], ParseSwift.context).run() }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func delete() async throws(ParseError) {
    try await reporting { try await Self.deletion([savedId()], ParseSwift.context).run() }
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func delete(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Void, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await delete() }
  }

  static func deletion(_ ids: [String], _ context: QueryContext) throws -> GuardedCommit {
    let references = try ids.map {
      try ObjectGraph.reference(Self.self, $0, in: context.firestore)
    }
    return GuardedCommit(context: context, changed: references) { batch, state in
      for reference in references {
        batch.deleteDocument(reference, precondition: state.precondition(reference))
      }
      return true
    }
  }
}
