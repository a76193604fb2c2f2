import Dispatch
import Foundation
import Hearth

/// Changes of an object that do not depend on the values that were read: relations, counters, sets.
///
///     let saved = try book.operation
///       .increment("copies", by: 1)
///       .addUnique("tags", objects: ["classic"])
///       .save()
///
/// A value: each method returns a copy with one more operation, and `save()` executes all of them
/// in one commit. Operations of one kind on one key compose in their order: two increments are their
/// sum. A `set` or `unset` replaces those before it on its key. Any other second operation on a key
/// is an error, `.operationForbidden`: an increment after a `set` or an `unset`, or an `add` after
/// an increment. So is an empty key, `objectId`, `createdAt` and `updatedAt`: `.invalidKeyName`.
/// Methods that do not throw keep their error, and `save()` throws the first one.
public struct ParseOperation<T: ParseObject>: Sendable {
  private enum Change: Sendable {
    case set(Constant)
    case unset
    case increment(Int64)
    case incrementByFraction(Double)
    case list(ListChange, [Constant])
    case edges(Relations.Rules, [(child: any ParseObject, isAdded: Bool)])
  }

  private enum ListChange: Sendable { case append, union, removal }

  private let target: T
  /// By key, in the order in which keys were first used.
  private var changes: [(key: String, change: Change)] = []

  /// The first error of a method that does not throw.
  private var failure: ParseError?

  /// The beginning of a chain of operations on an object; see `ParseObject.operation`.
  public init(target: T) { self.target = target }

  // MARK: Relations

  /// Relates objects to the target by the key. Objects that are not saved are saved in the same
  /// commit, and so is the target. Throws `ParseError`: `.invalidKeyName` for an invalid key, which
  /// is empty or contains `/` or `:`, `.operationForbidden` after another operation of the key,
  /// `.incorrectType` after objects of another class.
  public func addRelation<Child: ParseObject>(
    _ key: String, objects: [Child]
  ) throws(ParseError) -> ParseOperation {
    try relating(key, objects, isAdded: true)
  }

  /// Removes objects from the relation. Throws as `addRelation(_:objects:)`, and `.missingObjectId`
  /// for an unsaved object.
  public func removeRelation<Child: ParseObject>(
    _ key: String, objects: [Child]
  ) throws(ParseError) -> ParseOperation {
    try relating(key, objects, isAdded: false)
  }

  private func relating<Child: ParseObject>(
    _ key: String, _ objects: [Child], isAdded: Bool
  ) throws(ParseError) -> ParseOperation {
    let rules = Relations.Rules(
      relation: try RelationKey(key, of: T.self), child: Child.className)
    if !isAdded { for object in objects { _ = try object.savedId() } }
    let edges = objects.map { (child: $0 as any ParseObject, isAdded: isAdded) }
    return try changing(key, .edges(rules, edges))
  }

  // MARK: Values

  /// Sets a property, whatever its value is. `save()` throws `ParseError` with `.incorrectType` if
  /// the value cannot be encoded, or is not of the property's type.
  public func set<Value: Encodable & Sendable>(
    _ key: String, value: Value
  ) throws(ParseError) -> ParseOperation {
    try changing(key, .set(Constant(value)))
  }

  /// Sets a property, unless the target has the value already and the chain does not change it. Nil
  /// removes it.
  ///
  ///     let saved = try book.operation.set(("title", \.title), to: "Dune Messiah").save()
  public func set<Value: Encodable & Equatable & Sendable>(
    _ key: (String, WritableKeyPath<T, Value?>), to value: Value?
  ) throws(ParseError) -> ParseOperation {
    let isUnchanged = !changes.contains { $0.key == key.0 } && target[keyPath: key.1] == value
    return isUnchanged ? self : try forceSet(key, value: value)
  }

  /// Sets a property, also if the target has the value. Nil removes it.
  public func forceSet<Value: Encodable & Sendable>(
    _ key: (String, WritableKeyPath<T, Value?>), value: Value?
  ) throws(ParseError) -> ParseOperation {
    guard let value else { return try changing(key.0, .unset) }
    return try set(key.0, value: value)
  }

  /// Removes a property, in place of the operations before it on the key.
  public func unset(_ key: String) -> ParseOperation {
    composed(key, .unset)
  }

  /// Adds to a number; a property without a value becomes `amount`. `save()` throws `ParseError` with
  /// `.incorrectType` if the sum is not of the property's type. The same error is that of
  /// increments of one key that overflow 64 bits, `.invalidValue`, and of one after an increment by
  /// a `Double`, `.operationForbidden`.
  public func increment(_ key: String, by amount: Int) -> ParseOperation {
    composed(key, .increment(Int64(amount)))
  }

  /// Adds to a number; a property without a value becomes `amount`. `save()` throws `ParseError` with
  /// `.incorrectType` if the sum is not of the property's type. So it does after an
  /// increment by an `Int`, with `.operationForbidden`.
  public func increment(_ key: String, by amount: Double) -> ParseOperation {
    composed(key, .incrementByFraction(amount))
  }

  /// Adds elements at the end of an array, also those that it has already. A property without a value
  /// becomes an array. `save()` throws `ParseError` with `.incorrectType` if the elements, or the array,
  /// are not of the property's type.
  public func add<Value: Encodable & Sendable>(
    _ key: String, objects: [Value]
  ) -> ParseOperation {
    composed(key, .list(.append, objects.map { Constant($0) }))
  }

  /// Adds the elements that an array does not have at its end. A property without a value becomes an
  /// array. `save()` throws as for `add(_:objects:)`.
  public func addUnique<Value: Encodable & Sendable>(
    _ key: String, objects: [Value]
  ) -> ParseOperation {
    composed(key, .list(.union, objects.map { Constant($0) }))
  }

  /// Removes every element that equals one of these from an array. A property without a value becomes an
  /// empty array. `save()` throws as for `add(_:objects:)`.
  public func remove<Value: Encodable & Sendable>(
    _ key: String, objects: [Value]
  ) -> ParseOperation {
    composed(key, .list(.removal, objects.map { Constant($0) }))
  }

  // MARK: Key paths

  /// Same as `set(_:to:)`, under Parse's name.
  public func set<Value: Encodable & Equatable & Sendable>(
    _ key: (String, WritableKeyPath<T, Value?>), value: Value?
  ) throws(ParseError) -> ParseOperation {
    try set(key, to: value)
  }

  /// Sets a property, unless the target has the value already and the chain does not change it. Nil
  /// removes it. The key is the one that an encoder writes for the property.
  ///
  ///     let saved = try book.operation.set(\.title, to: "Dune Messiah").save()
  public func set<Value: Encodable & Equatable & Sendable>(
    _ keyPath: WritableKeyPath<T, Value?>, to value: Value?
  ) -> ParseOperation {
    guard let some = value ?? target[keyPath: keyPath] else { return self }
    var result = self
    do {
      return try set((Self.key(of: keyPath, some), keyPath), to: value)
    } catch {
      result.failure = failure ?? ParseError(error)
      return result
    }
  }

  /// Same as `set(_:to:)`, under Parse's name.
  public func set<Value: Encodable & Equatable & Sendable>(
    _ keyPath: WritableKeyPath<T, Value?>, value: Value?
  ) -> ParseOperation {
    set(keyPath, to: value)
  }

  /// The key of a property: the only one that an object with nothing but a value of it has.
  private static func key<Value>(
    of keyPath: WritableKeyPath<T, Value?>, _ value: Value
  ) throws(ParseError) -> String {
    var (without, with) = (T(), T())
    without[keyPath: keyPath] = nil
    with[keyPath: keyPath] = value
    let keys = Set(Description.fields(of: with).keys)
      .subtracting(Description.fields(of: without).keys)
    guard keys.count == 1, let key = keys.first else {
      throw ParseError(.invalidKeyName, "The key of the property is not known: use set(_:value:).")
    }
    return key
  }

  /// Same as `unset(_:)`; the key path only names the property's type.
  public func unset<Value>(_ key: (String, WritableKeyPath<T, Value?>)) -> ParseOperation {
    unset(key.0)
  }

  /// Same as `add(_:objects:)`; the compiler checks the type of the elements.
  public func add<Value: Encodable & Sendable>(
    _ key: (String, WritableKeyPath<T, [Value]?>), objects: [Value]
  ) -> ParseOperation {
    add(key.0, objects: objects)
  }

  /// Same as `addUnique(_:objects:)`; the compiler checks the type of the elements.
  public func addUnique<Value: Encodable & Sendable>(
    _ key: (String, WritableKeyPath<T, [Value]?>), objects: [Value]
  ) -> ParseOperation {
    addUnique(key.0, objects: objects)
  }

  /// Same as `remove(_:objects:)`; the compiler checks the type of the elements.
  public func remove<Value: Encodable & Sendable>(
    _ key: (String, WritableKeyPath<T, [Value]?>), objects: [Value]
  ) -> ParseOperation {
    remove(key.0, objects: objects)
  }

  // MARK: Composing

  /// The chain with one more operation. Keeps its error.
  private func composed(_ key: String, _ change: Change) -> ParseOperation {
    do { return try changing(key, change) } catch {
      var result = self
      result.failure = failure ?? error
      return result
    }
  }

  private func changing(_ key: String, _ change: Change) throws(ParseError) -> ParseOperation {
    guard !key.isEmpty, !["objectId", "createdAt", "updatedAt"].contains(key) else {
      throw ParseError(.invalidKeyName, "'\(key)' is not the key of a property.")
    }
    var result = self
    guard let index = changes.firstIndex(where: { $0.key == key }) else {
      result.changes.append((key, change))
      return result
    }
    switch (changes[index].change, change) {
    case (.edges(let rules, let first), .edges(let other, let more)):
      guard rules == other else { throw rules.relation.mismatch(rules.child, other.child) }
      result.changes[index].change = .edges(rules, first + more)
    case (.edges, _), (_, .edges):
      throw ParseError(.operationForbidden, "'\(key)' is a relation, and not a property.")
    case (_, .set), (_, .unset): result.changes[index].change = change
    case (.increment(let one), .increment(let other)):
      let (sum, overflow) = one.addingReportingOverflow(other)
      guard !overflow else {
        throw ParseError(.invalidValue, "The increments of '\(key)' are larger than an integer.")
      }
      result.changes[index].change = .increment(sum)
    case (.incrementByFraction(let one), .incrementByFraction(let other)):
      result.changes[index].change = .incrementByFraction(one + other)
    case (.list(let kind, let one), .list(let same, let other)) where kind == same:
      result.changes[index].change = .list(kind, one + other)
    default:
      throw ParseError(
        .operationForbidden, "The operations on '\(key)' do not compose. Save the first one before."
      )
    }
    return result
  }

  // MARK: Saving

  /// Executes the operations in one commit, which also creates a target that is not saved. Returns
  /// the target as it is stored then. The first relation of a key to a class also declares its
  /// rules and indexes, before the commit.
  ///
  /// Throws as `ParseObject.save()`, and `ParseError`: `.objectNotFound` if an object to relate has an
  /// id and does not exist or may not be read by the identity, `.incorrectType` if the relation has
  /// objects of another class, or if the operations would leave an object that cannot be read, such as
  /// a number in a property of type `String`. Nothing is written then.
  @discardableResult
  public func save() throws(ParseError) -> T {
    try reporting {
      if let failure { throw failure }
      let context = try ParseSwift.context
      for rules in rules { try Relations.declare(rules, in: context.firestore) }
      let saving = try Saving(self, context)
      try saving.commit.run()
      return try saving.saved(context.firestore.blocking.getAll(saving.documents))
    }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  @discardableResult
  public func save() async throws(ParseError) -> T {
    try await reporting {
      if let failure { throw failure }
      let context = try ParseSwift.context
      for rules in rules { try await Relations.declare(rules, in: context.firestore) }
      let saving = try Saving(self, context)
      try await saving.commit.run()
      return try saving.saved(await context.firestore.getAll(saving.documents))
    }
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func save(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<T, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await save() }
  }

  private var rules: [Relations.Rules] {
    changes.compactMap { if case .edges(let rules, _) = $0.change { rules } else { nil } }
  }

  /// One execution: the objects that are created, and the writes.
  private struct Saving {
    let operation: ParseOperation<T>
    let context: QueryContext
    let parent: DocumentReference
    let isNew: Bool
    let graph: ObjectGraph
    /// The values of properties, by key: one for each value of the change.
    private var values: [String: [Any]] = [:]
    /// A write of an edge.
    private struct Edge {
      var document: DocumentReference
      /// Nil for an edge that ends.
      var related: DocumentReference?
      /// Whether the related object is created by this commit.
      var isNew: Bool
    }

    private var edges: [Edge] = []

    init(_ operation: ParseOperation<T>, _ context: QueryContext) throws {
      self.operation = operation
      self.context = context
      graph = ObjectGraph(context.firestore)
      isNew = operation.target.objectId == nil
      parent =
        isNew
        ? try graph.add(operation.target)
        : try operation.target.toPointer().reference(in: context.firestore)
      for case (_, .edges(let rules, let changes)) in operation.changes {
        // The last of the changes of one edge counts.
        var last: [String: Edge] = [:]
        for (child, isAdded) in changes {
          let related = try graph.reference(to: child)
          let edge = rules.relation.edge(from: parent, to: related, in: context.firestore)
          last[edge.path] = Edge(
            document: edge, related: isAdded ? related : nil, isNew: child.objectId == nil)
        }
        edges += last.sorted { $0.key < $1.key }.map(\.value)
      }
      for (key, change) in operation.changes {
        let constants: [Constant] =
          switch change {
          case .set(let value): [value]
          case .list(_, let values): values
          case .unset, .increment, .incrementByFraction, .edges: []
          }
        values[key] = try constants.map { try $0.stored(in: graph) }
      }
    }

    var commit: GuardedCommit {
      // An array with more elements is written as a whole.
      let appends = operation.changes.contains {
        if case .list(.append, _) = $0.change { true } else { false }
      }
      let related = edges.compactMap { $0.isNew ? nil : $0.related }
      return GuardedCommit(
        context: context, changed: isNew ? [] : [parent], named: related,
        dependsOnFields: appends, files: graph.files, write: write)
    }

    private func write(to batch: WriteBatch, _ state: GuardedCommit.State) throws -> Bool {
      graph.write(to: batch, state)
      let fields = try fields(state)
      // A new target has its times.
      if !isNew || fields.count > 1 {
        batch.updateData(fields, forDocument: parent, precondition: state.precondition(parent))
        ObjectReading.requireReadable(parent, as: T.self, in: batch)
      }
      for edge in edges {
        guard let related = edge.related else {
          batch.deleteDocument(edge.document)
          continue
        }
        // Changes nothing, and fails if the object does not exist.
        if !edge.isNew {
          batch.updateData([:], forDocument: related, precondition: state.precondition(related))
        }
        batch.setData(["owner": parent, "related": related], forDocument: edge.document)
      }
      return true
    }

    private func fields(_ state: GuardedCommit.State) throws -> [AnyHashable: Any] {
      var fields: [AnyHashable: Any] = [FieldPath(["updatedAt"]): FieldValue.serverTimestamp()]
      for (key, change) in operation.changes {
        let names = try QueryConstraint.names(key)
        let path = FieldPath(names)
        let values = values[key] ?? []
        switch change {
        case .set: fields[path] = values.first
        case .unset: fields[path] = FieldValue.delete()
        case .increment(let amount): fields[path] = FieldValue.increment(amount)
        case .incrementByFraction(let amount): fields[path] = FieldValue.increment(amount)
        case .list(.append, _):
          let stored =
            isNew ? graph.valueOfNew(parent, at: names) : state.documents[parent.path]?.get(path)
          fields[path] = (stored as? [Any] ?? []) + values
        case .list(.union, _): fields[path] = FieldValue.arrayUnion(values)
        case .list(.removal, _): fields[path] = FieldValue.arrayRemove(values)
        case .edges: break
        }
      }
      return fields
    }

    /// The documents to read after the commit.
    var documents: [DocumentReference] { isNew ? graph.documents : [parent] }

    /// The target. Checks no access: the operation may have removed that of the caller.
    func saved(_ documents: [DocumentSnapshot]) throws -> T {
      if isNew { return try graph.object(parent, documents, context) }
      guard documents[0].exists else { throw ObjectGraph.notFound }
      return try ObjectReading.object(documents[0], as: T.self, context)
    }
  }
}

extension ParseObject {
  /// The beginning of a chain of operations on the object.
  public var operation: ParseOperation<Self> { ParseOperation(target: self) }
}

/// The rules of relations that were declared, by database.
enum Relations {
  struct Rules: Hashable, Sendable {
    var relation: RelationKey
    /// The class of the related objects.
    var child: String

    fileprivate func firstEdge(in firestore: Firestore) -> Hearth.Query {
      relation.edges(in: firestore).limit(to: 1)
    }

    /// Throws if the related objects are of another class.
    ///
    /// - Parameter edges: The first one, if there are any.
    fileprivate func check(_ edges: QuerySnapshot) throws(ParseError) {
      guard let related = edges.documents.first?["related"] as? DocumentReference,
        related.parent.collectionID != child
      else { return }
      throw relation.mismatch(related.parent.collectionID, child)
    }
  }

  private static let declared = DatabaseValues<Set<Rules>>()

  static func declare(_ rules: Rules, in firestore: Firestore) throws {
    if isDeclared(rules, in: firestore) { return }
    try rules.check(firestore.blocking.getDocuments(rules.firstEdge(in: firestore)))
    try firestore.blocking.declare(rules.relation.rules(to: rules.child))
    try firestore.blocking.declare(rules.relation.indexes)
    note(rules, in: firestore)
  }

  static func declare(_ rules: Rules, in firestore: Firestore) async throws {
    if isDeclared(rules, in: firestore) { return }
    try rules.check(await rules.firstEdge(in: firestore).getDocuments())
    try await firestore.references.declare(rules.relation.rules(to: rules.child))
    try await firestore.indexes.declare(rules.relation.indexes)
    note(rules, in: firestore)
  }

  private static func isDeclared(_ rules: Rules, in firestore: Firestore) -> Bool {
    declared[firestore]?.contains(rules) == true
  }

  private static func note(_ rules: Rules, in firestore: Firestore) {
    declared.update(of: firestore) { $0 = ($0 ?? []).union([rules]) }
  }
}
