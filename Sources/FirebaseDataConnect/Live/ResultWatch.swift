import DataConnectModel
import Foundation
import Hearth

/// Listeners to everything that a query reads: for a connector whose subscriptions follow the data.
///
/// A listener decides from a change whether it alters the rows, without running the query again. Some
/// parts of queries have no listener: counts of related rows, groups of a relation, similarities, orders
/// by referred rows, and searches with other rows. With such a part, each change of the connector's
/// tables is a signal.
struct ResultWatch: Sendable {
  /// Begins a listener, which calls the closure at each snapshot, with its error if it ends.
  private typealias Begin =
    @Sendable (_ event: @escaping @Sendable ((any Error)?) -> Void) -> any ListenerRegistration

  private var listeners: [Begin] = []
  private var isOfAllTables = false
  private let plan: ConnectorPlan
  private let firestore: Firestore

  /// Throws what the query itself throws: then it has no rows to follow.
  init(_ roots: [RootField], _ runner: QueryRunner) throws {
    plan = runner.execution.plan
    firestore = runner.execution.firestore
    for root in roots where runner.execution.isIncluded(root.modifiers) {
      if try !add(root, runner) { isOfAllTables = true }
    }
  }

  /// Returns false for a root field without a listener of its own.
  private mutating func add(_ root: RootField, _ runner: QueryRunner) throws -> Bool {
    guard root.action != .typename else { return true }
    let execution = runner.execution
    let layout = try execution.plan.layout(root.table)
    let builder = FilterBuilder(execution: execution, reader: runner.reader)
    if Self.counts(root.arguments, root.selections, execution) { return false }
    if root.action == .list,
      let reader = GroupReader(layout, root.arguments, root.selections, execution)
    {
      if let page = try reader.query(runner.reader) {
        listeners.append { event in page.addSnapshotListener { event($1) } }
      }
      return true
    }
    let projection = try Projection(root.selections, of: layout, execution, runner.reader)
    let first = execution.argument("first", root.arguments)
    let orders = first?["orderBy"] ?? execution.argument("orderBy", root.arguments)
    guard root.action != .similarity, !projection.hasGroups else { return false }
    let order = try RowOrder(layout, orders, execution.plan)
    guard order.isStored else { return false }
    switch root.action {
    case .search:
      guard projection.inclusions.isEmpty,
        let page = try runner.searchPage(root, layout, projection)
      else { return false }
      listeners.append { event in page.addSnapshotListener { event($1) } }
    case .lookup where first != nil:
      let query = try builder.query(layout, builder.filters(layout, first?["where"]))
      listen(to: order.ordered(query).limit(to: 1), projection)
    case .lookup:
      guard let id = try runner.documentID(root, layout) else { return true }
      listen(
        to: layout.collection(firestore).whereField(FieldPath.documentID(), isEqualTo: id),
        projection)
    default:
      if let page = try builder.page(layout, root.arguments) { listen(to: page, projection) }
    }
    return true
  }

  private mutating func listen(to query: Query, _ projection: Projection) {
    let query = query.including(projection.inclusions)
    listeners.append { event in query.addSnapshotListener { event($1) } }
  }

  /// Whether a filter counts related rows.
  private static func counts(
    _ arguments: [Literal.Member], _ selections: [Selection], _ execution: Execution
  ) -> Bool {
    func has(_ value: DataValue?) -> Bool {
      switch value {
      case .list(let values)?: values.contains(where: has)
      case .object(let object)?: object["count"] != nil || object.values.contains(where: has)
      default: false
      }
    }
    return has(execution.argument("where", arguments))
      || has(execution.argument("first", arguments)?["where"])
      || selections.contains { counts($0.arguments, $0.selections, execution) }
  }

  /// Returns when every later change is a signal. Throws the error of a listener.
  ///
  /// - Parameter failed: Called when a listener ends with an error later: then changes are no signals
  ///   any more. May be called for each listener.
  /// - Returns: Closures that stop the listeners.
  func start(
    _ changed: @escaping @Sendable () -> Void,
    failed: @escaping @Sendable (any Error) -> Void
  ) async throws -> [@Sendable () -> Void] {
    var stops: [@Sendable () -> Void] = []
    do {
      for begin in listeners { stops.append(try await Self.listen(changed, failed, to: begin)) }
      if isOfAllTables {
        let tables = plan.collectionIDs
        let changes = firestore.changes(since: try await firestore.changeToken())
        let task = Task {
          do {
            for try await change in changes
            where tables.contains(change.document.parent.collectionID) {
              changed()
            }
          } catch {
            if !Task.isCancelled { failed(error) }
          }
        }
        stops.append { task.cancel() }
      }
    } catch {
      for stop in stops { stop() }
      throw error
    }
    return stops
  }

  /// Returns after the first snapshot.
  static func listen(
    _ changed: @escaping @Sendable () -> Void, _ failed: @escaping @Sendable (any Error) -> Void,
    to begin: (_ event: @escaping @Sendable ((any Error)?) -> Void) -> any ListenerRegistration
  ) async throws -> @Sendable () -> Void {
    let (events, continuation) = AsyncThrowingStream.makeStream(of: Void.self)
    let hasBegun = Flag()
    let registration = begin { error in
      // A listener begins with a snapshot of what is there: nothing has changed yet.
      if hasBegun.set() {
        if let error { failed(error) } else { changed() }
        return
      }
      if let error { continuation.finish(throwing: error) } else { continuation.yield() }
    }
    do {
      var iterator = events.makeAsyncIterator()
      _ = try await iterator.next()
    } catch {
      registration.remove()
      throw error
    }
    return { registration.remove() }
  }
}
