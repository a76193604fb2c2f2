import Dispatch
import Foundation
import Hearth

extension Sequence where Element: ParseObject {
  // MARK: Saving

  /// Saves the objects, each with every unsaved object in its properties. Returns one result for each,
  /// in order.
  ///
  ///     let results = try [dune, emma].saveAll()
  ///     let saved = try results.map { try $0.get() }
  ///
  /// They are one commit if all of them can be saved. Otherwise each is a commit of its own, so
  /// that those without an error are saved. If it is unknown whether the commit was applied, it is
  /// not repeated. An error of an object is in its result; an object that was saved and cannot be
  /// read has an error, too. The call throws
  /// `ParseError` only with `.notInitialized`, and for `transaction`.
  ///
  /// - Parameters:
  ///   - batchLimit: The largest number of objects in a commit. Nil: all of them.
  ///   - transaction: True saves all of them, or none: then the call throws the error that
  ///     prevents it, or `.operationForbidden` for more objects than `batchLimit`. False by
  ///     default.
  @discardableResult
  public func saveAll(
    batchLimit: Int? = nil, transaction: Bool = false
  ) throws(ParseError) -> [Result<Element, ParseError>] {
    try saving(.save, batchLimit, transaction)
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  @discardableResult
  public func saveAll(
    batchLimit: Int? = nil, transaction: Bool = false
  ) async throws(ParseError) -> [Result<Element, ParseError>] {
    try await saving(.save, batchLimit, transaction)
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func saveAll(
    batchLimit: Int? = nil, transaction: Bool = false, callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<[Result<Element, ParseError>], ParseError>) -> Void
  ) {
    let objects = Array(self)
    completing(on: callbackQueue, completion) {
      try await objects.saveAll(batchLimit: batchLimit, transaction: transaction)
    }
  }

  /// Saves new objects, as `ParseObject.create()` does. The commits, the results and the errors are
  /// those of `saveAll(batchLimit:transaction:)`.
  @discardableResult
  public func createAll(
    batchLimit: Int? = nil, transaction: Bool = false
  ) throws(ParseError) -> [Result<Element, ParseError>] {
    try saving(.create, batchLimit, transaction)
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  @discardableResult
  public func createAll(
    batchLimit: Int? = nil, transaction: Bool = false
  ) async throws(ParseError) -> [Result<Element, ParseError>] {
    try await saving(.create, batchLimit, transaction)
  }

  /// Replaces objects that exist, as `ParseObject.replace()` does. The commits, the results and the
  /// errors are those of `saveAll(batchLimit:transaction:)`.
  @discardableResult
  public func replaceAll(
    batchLimit: Int? = nil, transaction: Bool = false
  ) throws(ParseError) -> [Result<Element, ParseError>] {
    try saving(.replace, batchLimit, transaction)
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  @discardableResult
  public func replaceAll(
    batchLimit: Int? = nil, transaction: Bool = false
  ) async throws(ParseError) -> [Result<Element, ParseError>] {
    try await saving(.replace, batchLimit, transaction)
  }

  private func saving(
    _ mode: ObjectGraph.Mode, _ batchLimit: Int?, _ transaction: Bool
  ) throws(ParseError) -> [Result<Element, ParseError>] {
    try reporting {
      let context = try ParseSwift.context
      var graph = ObjectGraph(context.firestore)
      return try committed(batchLimit, transaction, { $0.explained($1) }) { objects in
        let next = ObjectGraph(after: graph)
        let references = try objects.map { try next.add($0, mode) }
        try next.commit(context).run()
        graph = next
        // Saved: what fails now is the reading of an object.
        do {
          let saved = next.results(try context.firestore.blocking.getAll(next.documents), context)
          graph.keep(saved)
          return references.map { Element.result($0, saved) }
        } catch {
          return references.map { _ in .failure(ParseError(error)) }
        }
      }
    }
  }

  private func saving(
    _ mode: ObjectGraph.Mode, _ batchLimit: Int?, _ transaction: Bool
  ) async throws(ParseError) -> [Result<Element, ParseError>] {
    try await reporting {
      let context = try ParseSwift.context
      var graph = ObjectGraph(context.firestore)
      return try await committed(batchLimit, transaction, { $0.explained($1) }) { objects in
        let next = ObjectGraph(after: graph)
        let references = try objects.map { try next.add($0, mode) }
        try await next.commit(context).run()
        graph = next
        // Saved: what fails now is the reading of an object.
        do {
          let saved = next.results(try await context.firestore.getAll(next.documents), context)
          graph.keep(saved)
          return references.map { Element.result($0, saved) }
        } catch {
          return references.map { _ in .failure(ParseError(error)) }
        }
      }
    }
  }

  // MARK: Commits

  /// Commits up to `batchLimit` objects at a time, and each of them alone after a refusal.
  private func committed<Value>(
    _ batchLimit: Int?, _ transaction: Bool,
    _ explained: @escaping (Element, any Error) -> ParseError,
    _ commit: (ArraySlice<Element>) throws -> [Result<Value, ParseError>]
  ) throws -> [Result<Value, ParseError>] {
    var parts = try CommitParts<Element, Value>(Array(self), batchLimit, transaction, explained)
    while let objects = parts.next() {
      do { parts.add(try commit(objects)) } catch { try parts.fail(error) }
    }
    return parts.results
  }

  /// Same as the synchronous form.
  private func committed<Value>(
    _ batchLimit: Int?, _ transaction: Bool,
    _ explained: @escaping (Element, any Error) -> ParseError,
    _ commit: (ArraySlice<Element>) async throws -> [Result<Value, ParseError>]
  ) async throws -> [Result<Value, ParseError>] {
    var parts = try CommitParts<Element, Value>(Array(self), batchLimit, transaction, explained)
    while let objects = parts.next() {
      do { parts.add(try await commit(objects)) } catch { try parts.fail(error) }
    }
    return parts.results
  }

  // MARK: Fetching

  /// Reads the objects as they are stored, all from one state of the database. Returns one result
  /// for each, in order: `.objectNotFound` for an object that does not exist, `.missingObjectId`
  /// for one that was not saved, `.incorrectType` for one that cannot be read. Throws as
  /// `Query.findReadable()`.
  ///
  /// - Parameter includeKeys: Keys of objects to read with them; see `Query.include(_:)`.
  public func fetchAll(
    includeKeys: [String]? = nil
  ) throws(ParseError) -> [Result<Element, ParseError>] {
    try fetched(query(includeKeys).findReadable())
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func fetchAll(
    includeKeys: [String]? = nil
  ) async throws(ParseError) -> [Result<Element, ParseError>] {
    try await fetched(query(includeKeys).findReadable())
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func fetchAll(
    includeKeys: [String]? = nil, callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<[Result<Element, ParseError>], ParseError>) -> Void
  ) {
    let objects = Array(self)
    completing(on: callbackQueue, completion) {
      try await objects.fetchAll(includeKeys: includeKeys)
    }
  }

  private func query(_ includeKeys: [String]?) -> Query<Element> {
    Element.query(containedIn(key: "objectId", array: compactMap { try? $0.savedId() }))
      .include(includeKeys ?? [])
  }

  /// Throws the error of an included object that cannot be read: it is that of no element.
  private func fetched(
    _ found: ReadableObjects<Element>
  ) throws(ParseError) -> [Result<Element, ParseError>] {
    let ids = Set(compactMap(\.objectId))
    var failures: [String: ParseError] = [:]
    for failure in found.failures {
      guard failure.className == Element.className, let id = failure.objectId, ids.contains(id)
      else { throw failure }
      failures[id] = failure
    }
    let objects = found.byID
    return map { object in
      Result { () throws(ParseError) in
        let id = try object.savedId()
        if let found = objects[id] { return found }
        throw failures[id] ?? ObjectGraph.notFound
      }
    }
  }

  // MARK: Deleting

  /// Deletes the objects, and their edges in relations. Returns one result for each, in order. The
  /// commits and the errors are those of `saveAll(batchLimit:transaction:)`.
  ///
  ///     for result in try [dune, emma].deleteAll() { try result.get() }
  @discardableResult
  public func deleteAll(
    batchLimit: Int? = nil, transaction: Bool = false
  ) throws(ParseError) -> [Result<Void, ParseError>] {
    try reporting {
      let context = try ParseSwift.context
      return try committed(batchLimit, transaction, { ParseError($1) }) { objects in
        try Element.deletion(objects.map { try $0.savedId() }, context).run()
        return objects.map { _ in .success(()) }
      }
    }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  @discardableResult
  public func deleteAll(
    batchLimit: Int? = nil, transaction: Bool = false
  ) async throws(ParseError) -> [Result<Void, ParseError>] {
    try await reporting {
      let context = try ParseSwift.context
      return try await committed(batchLimit, transaction, { ParseError($1) }) { objects in
        try await Element.deletion(objects.map { try $0.savedId() }, context).run()
        return objects.map { _ in .success(()) }
      }
    }
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func deleteAll(
    batchLimit: Int? = nil, transaction: Bool = false, callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<[Result<Void, ParseError>], ParseError>) -> Void
  ) {
    let objects = Array(self)
    completing(on: callbackQueue, completion) {
      try await objects.deleteAll(batchLimit: batchLimit, transaction: transaction)
    }
  }
}

/// The objects that are committed together, one part after another, and their results.
private struct CommitParts<Object, Value> {
  /// Last first.
  private var rest: [ArraySlice<Object>]
  private var current: ArraySlice<Object> = []
  private(set) var results: [Result<Value, ParseError>] = []
  private let isTransaction: Bool
  private let explained: (Object, any Error) -> ParseError

  init(
    _ objects: [Object], _ limit: Int?, _ isTransaction: Bool,
    _ explained: @escaping (Object, any Error) -> ParseError
  ) throws(ParseError) {
    let size = max(1, limit ?? objects.count)
    guard !isTransaction || objects.count <= size else {
      throw ParseError(
        .operationForbidden, "\(objects.count) objects are more than the \(size) of a transaction.")
    }
    rest = stride(from: 0, to: objects.count, by: size)
      .map { objects[$0..<min($0 + size, objects.count)] }.reversed()
    self.isTransaction = isTransaction
    self.explained = explained
  }

  mutating func next() -> ArraySlice<Object>? {
    guard let part = rest.popLast() else { return nil }
    current = part
    return part
  }

  mutating func add(_ results: [Result<Value, ParseError>]) { self.results += results }

  /// Throws the error of a transaction. After a refusal of several objects, each of them is a part. A
  /// commit that may have been applied is not repeated.
  mutating func fail(_ error: any Error) throws {
    if isTransaction { throw error }
    if current.count > 1, (error as? FirestoreErrorCode)?.isOutcomeUnknown != true {
      rest += current.reversed().map { [$0] }
    } else {
      results += current.map {
        .failure(current.count == 1 ? explained($0, error) : ParseError(error))
      }
    }
  }
}
