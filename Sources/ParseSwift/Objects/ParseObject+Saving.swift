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
  ///     book.isbn?.objectId     // saved, too
  ///
  /// Returns the object as it is stored, with its id, its times, and the same objects in its
  /// properties. An object that has an id is updated: only properties that differ from what was read
  /// are written. An object in a property that has an id is referred to, and not saved itself.
  ///
  /// Throws `ParseError`: `.duplicateValue` if a unique index refuses it, `.objectNotFound` if an
  /// object with an id does not exist.
  @discardableResult
  public func save() throws(ParseError) -> Self { try saving(.save) }

  /// The form that suspends.
  @discardableResult
  public func save() async throws(ParseError) -> Self { try await saving(.save) }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
  public func save(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Self, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await save() }
  }

  /// Saves a new object, with the id that it has, or with a new one. Throws as `save()`, and
  /// `.duplicateValue` if there is an object with the id.
  @discardableResult
  public func create() throws(ParseError) -> Self { try saving(.create) }

  /// The form that suspends.
  @discardableResult
  public func create() async throws(ParseError) -> Self { try await saving(.create) }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
  public func create(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Self, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await create() }
  }

  /// Writes all properties of an object that exists, and removes those that are nil, whatever was read.
  /// Throws as `save()`.
  @discardableResult
  public func replace() throws(ParseError) -> Self { try saving(.replace) }

  /// The form that suspends.
  @discardableResult
  public func replace() async throws(ParseError) -> Self { try await saving(.replace) }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
  public func replace(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<Self, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await replace() }
  }

  private func saving(_ mode: ObjectGraph.Mode) throws(ParseError) -> Self {
    try reporting {
      let context = try ParseSwift.context
      var graph = ObjectGraph(context.firestore)
      let reference = try graph.add(self, mode)
      try graph.commit(context).run()
      let documents = try context.firestore.blocking.getAll(graph.documents)
      return try Self.object(reference, graph.objects(documents, context))
    }
  }

  private func saving(_ mode: ObjectGraph.Mode) async throws(ParseError) -> Self {
    try await reporting {
      let context = try ParseSwift.context
      var graph = ObjectGraph(context.firestore)
      let reference = try graph.add(self, mode)
      try await graph.commit(context).run()
      let documents = try await context.firestore.getAll(graph.documents)
      return try Self.object(reference, graph.objects(documents, context))
    }
  }

  static func object(
    _ reference: DocumentReference, _ objects: [String: any ParseObject]
  ) throws -> Self {
    guard let object = objects[reference.path] as? Self else { throw ObjectGraph.notFound }
    return object
  }

  // MARK: Fetching

  /// Reads the object as it is stored. Throws `ParseError`: `.objectNotFound` if it does not exist,
  /// `.missingObjectId` if it was not saved.
  ///
  /// - Parameter includeKeys: Keys of objects to read with it; see `Query.include(_:)`.
  public func fetch(includeKeys: [String]? = nil) throws(ParseError) -> Self {
    try Self.query("objectId" == savedId()).include(includeKeys ?? []).first()
  }

  /// The form that suspends.
  public func fetch(includeKeys: [String]? = nil) async throws(ParseError) -> Self {
    try await Self.query("objectId" == savedId()).include(includeKeys ?? []).first()
  }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
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
    return objectId
  }

  // MARK: Deleting

  /// Deletes the object, and its edges in relations. Throws `ParseError`: `.objectNotFound` if it does
  /// not exist, `.operationForbidden` if a rule of its references forbids it.
  public func delete() throws(ParseError) {
    try reporting { try Self.deletion([savedId()], ParseSwift.context).run() }
  }

  /// The form that suspends.
  public func delete() async throws(ParseError) {
    try await reporting { try await Self.deletion([savedId()], ParseSwift.context).run() }
  }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
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
    return GuardedCommit(context: context, changed: references) { state in
      let batch = context.firestore.batch()
      for reference in references {
        batch.deleteDocument(reference, precondition: state.precondition(reference))
      }
      return batch
    }
  }
}
