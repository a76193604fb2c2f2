import DataConnectModel
import Foundation
import Hearth
import Synchronization

/// A connector on a database: runs operations, and refreshes subscriptions.
///
///     query     ─▶ read closure  ─▶ response
///     mutation  ─▶ write closure ─▶ response
///                      │ commit
///                      └─▶ Mutated ─▶ SubscriptionHub ─▶ queries run again
final class ConnectorService: OperationExecutor {
  let plan: ConnectorPlan
  let firestore: Firestore
  let config: ConnectorConfig
  private let hub: SubscriptionHub
  private let settings: DataConnectSettings
  /// The ids of the connector's collections.
  private let tables: Set<String>
  /// By whether they are strict, and whether they refresh on changes.
  private let others = Mutex<[[Bool]: ConnectorService]>([:])
  /// Of indexes and rules. Nil once it is done.
  private let preparation = Mutex<Preparation>(.due)

  private enum Preparation {
    /// Next: `running`.
    case due
    /// Next: `done`, or `due` if it failed.
    case running(Task<Void, any Error>)
    case done
  }

  init(
    _ plan: ConnectorPlan, _ firestore: Firestore, _ config: ConnectorConfig,
    _ settings: DataConnectSettings = DataConnectSettings()
  ) {
    self.plan = plan
    self.settings = settings
    self.firestore = firestore
    self.config = config
    tables = plan.collectionIDs
    hub = SubscriptionHub.shared(for: firestore)
  }

  /// The same connector, for a program with settings of its own.
  func with(isStrict: Bool, refreshesOnChange: Bool) -> ConnectorService {
    if isStrict == settings.isStrict, refreshesOnChange == settings.refreshesOnChange {
      return self
    }
    return others.withLock { others in
      let key = [isStrict, refreshesOnChange]
      if let known = others[key] { return known }
      var settings = settings
      settings.isStrict = isStrict
      settings.refreshesOnChange = refreshesOnChange
      let service = ConnectorService(plan, firestore, config, settings)
      others[key] = service
      return service
    }
  }

  private func operation(
    _ name: String, _ kind: Operation.Kind
  ) throws(DataConnectOperationError) -> Operation {
    guard let operation = plan.operation(name), operation.kind == kind else {
      throw DataConnectOperationError(
        "The connector \(config.connector) has no \(kind.rawValue) \(name).")
    }
    return operation
  }

  /// Declares indexes and rules, and stores the schema of a new database, once.
  func prepare() async throws {
    let task: Task<Void, any Error>? = preparation.withLock { preparation in
      switch preparation {
      case .done: return nil
      case .running(let task): return task
      case .due:
        let task = Task {
          if try await declareIfCurrent() { try await withdrawIfMigrated() }
          await SchemaRecord.begin(plan.connector.schema, config.serviceId, in: firestore)
        }
        preparation = .running(task)
        return task
      }
    }
    guard let task else { return }
    do {
      try await task.value
      preparation.withLock { $0 = .done }
    } catch {
      preparation.withLock { $0 = .due }
      // The error of a unique index may name rows.
      let error =
        (error as NSError).domain == FirestoreErrorDomain ? error.withoutRows(of: plan) : error
      throw DataConnectInternalError(
        .internalError, "The indexes of the connector cannot be declared: \(error)", error)
    }
  }

  /// Declares the indexes and rules of the schema, unless the database has been migrated from it to
  /// another one. Returns whether it has declared them.
  private func declareIfCurrent() async throws -> Bool {
    let schema = plan.connector.schema
    guard let record = try await schemaRecord(), schema != record.target ?? record.schema else {
      try await declare(plan.rules)
      return true
    }
    guard try record.allowsDeclarations(of: schema) else { return false }
    // Until a migration, the database's own rule of a reference holds.
    let known = try ConnectorPlan(plan.connector.with(record.schema))
    try await declare(plan.rules(notIn: known))
    return true
  }

  /// A migration may have begun while rules and indexes were declared, and dropped them before.
  func withdrawIfMigrated() async throws {
    guard let record = try await schemaRecord(),
      try !record.allowsDeclarations(of: plan.connector.schema)
    else { return }
    let current = try ConnectorPlan(plan.connector.with(record.target ?? record.schema))
    let (rules, indexes) = (Set(current.rules), Set(current.indexes))
    for rule in plan.rules where !rules.contains(rule) {
      try await firestore.references.drop(rule)
    }
    for index in plan.indexes where !indexes.contains(index) {
      try await firestore.indexes.drop(index)
    }
    if !current.rules.isEmpty { try await firestore.references.declare(current.rules) }
  }

  /// Nil for a new database. A damaged one counts as none: a migration reports it.
  private func schemaRecord() async throws -> SchemaRecord? {
    let document = SchemaRecord.document(config.serviceId, in: firestore)
    do {
      return try await firestore.read { try SchemaRecord.read(document, $0) }
    } catch is DataConnectInternalError {
      return nil
    }
  }

  /// Declares rules, and the indexes of the schema.
  func declare(_ rules: [FirestoreReferenceRule]) async throws {
    let indexes = plan.indexes
    if !rules.isEmpty { try await firestore.references.declare(rules) }
    if !indexes.isEmpty { try await firestore.indexes.declare(indexes) }
  }

  var databaseName: String { firestore.path }
  /// Nil for a database in memory, which leaves no file.
  var cacheFolder: String? {
    if isInMemory { return nil }
    return (firestore.path as NSString).deletingLastPathComponent
  }

  func changeToken() async throws -> ChangeToken? { try await firestore.changeToken() }

  /// No other process has the database then.
  private var isInMemory: Bool { firestore.settings.cacheSettings is MemoryCacheSettings }

  func add(_ cache: ResultCache) { hub.caches.add(cache, of: isInMemory ? [] : tables) }

  func announceCaches() async throws {
    if !isInMemory { try await hub.announceCaches(of: tables) }
  }

  /// A query costs less than more changes.
  private static let maximumChanges = 10_000

  func hasSameRows(_ old: ChangeToken, _ new: ChangeToken) async throws -> Bool {
    if old == new { return true }
    // Of another object with the same cache. The changes would never reach the second state.
    guard old.precedes(new) else { return false }
    var count = 0
    for try await change in firestore.changes(since: old) {
      if tables.contains(change.document.parent.collectionID) { return false }
      if change.token == new { return true }
      count += 1
      if count == Self.maximumChanges { return false }
    }
    throw CancellationError()
  }

  // MARK: Queries

  /// - Parameter marksRows: Rows have `Projection.rowMember`.
  func query(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?, marksRows: Bool = false
  ) async throws -> OperationResponse {
    let operation = try operation(name, .query)
    try await prepare()
    do {
      var execution = try Execution(operation, variables, auth, in: plan, firestore)
      execution.marksRows = marksRows
      try execution.checkAccess(isStrict: settings.isStrict)
      let fields = try await firestore.read { [execution] reader in
        try QueryRunner(execution: execution, reader: reader).fields()
      }
      try execution.check(operation.checks, .object(fields.all))
      var response = OperationResponse(fields: fields.shown)
      response.misfits = execution.misfits.sentences
      if marksRows { response.lookups = lookups(execution) }
      return response
    } catch {
      return OperationResponse(failed: OperationFailure(error, in: plan), operation.fields)
    }
  }

  /// The rows that the query reads by their keys, if it reads nothing else. They may not exist.
  private func rows(_ execution: Execution) -> Set<RowIdentity> {
    let fields = execution.operation.fields
    let hasOthers = fields.contains { !$0.isLookupByKey && $0.action != .typename }
    return hasOthers ? [] : lookups(execution)
  }

  /// The rows that root fields read by their keys. They may not exist.
  private func lookups(_ execution: Execution) -> Set<RowIdentity> {
    let builder = FilterBuilder(execution: execution, reader: nil)
    var rows: Set<RowIdentity> = []
    for root in execution.operation.fields where root.isLookupByKey {
      guard let layout = try? plan.layout(root.table),
        let key = try? builder.key(layout, root.arguments)
      else { continue }
      rows.insert(layout.row(RowKey.documentID(key)))
    }
    return rows
  }

  // MARK: Mutations

  func mutate(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?
  ) async throws -> OperationResponse {
    let operation = try operation(name, .mutation)
    try await prepare()
    let execution: Execution
    do {
      execution = try Execution(operation, variables, auth, in: plan, firestore)
      try execution.checkAccess(isStrict: settings.isStrict)
    } catch {
      return OperationResponse(failed: OperationFailure(error, in: plan), operation.fields)
    }
    // One that is left out stays where a check of it is not reached: its execution fails.
    let roots = operation.fields.filter {
      execution.isIncluded($0.modifiers) || $0.requiredCheck != nil
    }
    // A check of the operation decides before anything is committed.
    var outcome =
      operation.isTransaction || roots.count == 1 || !operation.checks.isEmpty
      ? await together(roots, execution) : await oneByOne(roots, execution)
    outcome.response.misfits = execution.misfits.sentences
    if outcome.responses != nil {
      await hub.caches.invalidate(outcome.written.all)
      hub.refresh(mutated(execution, outcome.written))
    }
    return outcome.response
  }

  private func mutated(
    _ execution: Execution, _ written: WrittenRows
  ) -> SubscriptionHub.Mutated {
    SubscriptionHub.Mutated(
      connector: config.connector, operation: execution.operation.name,
      variables: execution.variables, auth: execution.auth, written: written)
  }

  private struct Outcome: Sendable {
    var response = OperationResponse(fields: DataObject())
    var written = WrittenRows()
    /// The responses of committed root fields, for the checks of later ones; nil if nothing was committed.
    var responses: DataObject?
    /// Whether a check has failed.
    var isRefused = false
  }

  /// All root fields in one commit.
  private func together(_ roots: [RootField], _ execution: Execution) async -> Outcome {
    /// The field that failed.
    struct Stop: Error {
      let index: Int
      let failure: OperationFailure
    }
    do {
      return try await firestore.write { [self] writer -> Outcome in
        var runner = MutationRunner(execution, writer)
        var response = OperationResponse(fields: DataObject())
        for (index, root) in roots.enumerated() {
          do {
            let value = try runner.run(root)
            if !root.modifiers.isRedacted { response.fields[root.responseKey] = value }
          } catch {
            throw Stop(index: index, failure: OperationFailure(error, in: plan))
          }
        }
        let responses = runner.execution.responses
        try runner.execution.check(execution.operation.checks, .object(responses))
        try hub.record(mutated(execution, runner.written), in: writer, firestore)
        return Outcome(response: response, written: runner.written, responses: responses)
      }
    } catch let stop as Stop {
      var outcome = Outcome(isRefused: stop.failure.isCheck)
      for (index, root) in roots.enumerated() {
        let failure =
          index == stop.index
          ? stop.failure : OperationFailure(index < stop.index ? "(rolled back)" : "(aborted)")
        outcome.response.add(failure, of: root)
      }
      outcome.response.cause = stop.failure.cause
      return outcome
    } catch {
      // Of the commit: a value that must occur once, a database that is full. Or a check of the operation.
      var failure = OperationFailure(error, in: plan)
      if roots.count == 1, !failure.isCheck { failure.path = [.field(roots[0].responseKey)] }
      return Outcome(
        response: OperationResponse(failed: failure, roots), isRefused: failure.isCheck)
    }
  }

  /// Each root field in a commit of its own. A failed check ends the mutation; another failure does not.
  private func oneByOne(_ roots: [RootField], _ execution: Execution) async -> Outcome {
    var outcome = Outcome()
    var execution = execution
    for root in roots {
      if outcome.isRefused {
        outcome.response.add(OperationFailure("(aborted)"), of: root)
        continue
      }
      let one = await together([root], execution)
      if let responses = one.responses { execution.responses = responses }
      for (name, value) in one.response.fields.members { outcome.response.fields[name] = value }
      outcome.response.errors += one.response.errors
      outcome.response.cause = outcome.response.cause ?? one.response.cause
      outcome.written.formUnion(one.written)
      outcome.responses = one.responses ?? outcome.responses
      outcome.isRefused = one.isRefused
    }
    return outcome
  }

  // MARK: Subscriptions

  func subscribe(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?,
    _ refresh: @escaping @Sendable () async -> Void
  ) async throws -> Refresher {
    let operation = try operation(name, .query)
    let execution = try? Execution(operation, variables, auth, in: plan, firestore)
    let refresher = try await hub.subscribe(
      SubscriptionHub.Interest(
        connector: config.connector, operation: operation,
        variables: execution?.variables ?? variables, auth: auth,
        rows: execution.map(rows) ?? [], plan: plan),
      refresh)
    if settings.refreshesOnChange, let execution {
      await watch(refresher) { [weak self] changed, failed in
        guard let self else { return [] }
        return try await stops(execution, changed, failed)
      }
    }
    return refresher
  }

  /// The listeners to everything that an execution reads.
  private func stops(
    _ execution: Execution, _ changed: @escaping @Sendable () -> Void,
    _ failed: @escaping @Sendable (any Error) -> Void
  ) async throws -> [@Sendable () -> Void] {
    try await prepare()
    let watch = try await firestore.read { reader in
      try ResultWatch(
        execution.operation.fields, QueryRunner(execution: execution, reader: reader))
    }
    return try await watch.start(changed, failed: failed)
  }

  /// Signals each change that alters the result. A query that cannot be followed reports its own error.
  private func watch(
    _ refresher: Refresher, _ start: @escaping WatchKeeper.Start
  ) async {
    let keeper = WatchKeeper(start) { [weak refresher] in refresher?.refresh() }
    refresher.add { keeper.stop() }
    await keeper.begin()
  }
}

extension RootField {
  fileprivate var isLookupByKey: Bool { action == .lookup && argument("first") == nil }
}

extension OperationResponse {
  /// Nothing was executed, or nothing of it remained.
  init(failed failure: OperationFailure, _ roots: [RootField]) {
    self.init(fields: DataObject(roots.map { ($0.responseKey, DataValue.null) }))
    errors = [.init(message: failure.message, path: failure.path.isEmpty ? nil : failure.path)]
    cause = failure.cause
  }

  /// The field is null, and has an error.
  mutating func add(_ failure: OperationFailure, of root: RootField) {
    fields[root.responseKey] = .null
    errors.append(.init(message: failure.message, path: [.field(root.responseKey)] + failure.path))
  }
}
