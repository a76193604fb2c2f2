import DataConnectModel
import Foundation
import Hearth
import HearthCEL
import Logging
import Synchronization

/// The subscriptions to the queries on a database, of all connectors, and the signals that refresh them.
///
/// A mutation refreshes a subscription once, however many of its signals match. While a subscription is
/// being refreshed, further signals are one more refresh after it.
final class SubscriptionHub: Sendable {
  /// A mutation, after its commit.
  struct Mutated: Sendable {
    let connector: String
    let operation: String
    let variables: DataObject
    let auth: DataConnectAuth?
    /// Those that were written by a filter refresh no subscription: caches have them no more.
    var written = WrittenRows()
    /// Whether those that were written by a filter were too many for the record of another process.
    var hasManyFilteredRows = false
    /// Tables of which any row may have been written: too many for the record of another process.
    var tables: Set<String> = []
    /// Whether the variables and the user are known. They may be too large for a record.
    var hasValues = true

    var name: String { "\(connector)/\(operation)" }
  }

  /// The signals that a subscription waits for.
  struct Interest: Sendable {
    let connector: String
    let operation: Operation
    let variables: DataObject
    let auth: DataConnectAuth?
    let rows: Set<RowIdentity>
    let plan: ConnectorPlan

    /// The mutations that `@refresh` names: `movies/UpdateMovie`. A name without a connector is one of
    /// the same.
    fileprivate var mutations: [String] {
      operation.refreshes.compactMap { refresh in
        guard case .onMutationExecuted(let name, _) = refresh else { return nil }
        return qualified(name)
      }
    }

    private func qualified(_ name: String) -> String {
      name.contains("/") ? name : "\(connector)/\(name)"
    }

    /// The interests that a process announces for it.
    fileprivate var announced: SignalExchange.Interests {
      var interests = SignalExchange.Interests(mutations.map { .mutation($0) })
      interests.formUnion(rows.map { .table($0.collectionID) })
      for case .onMutationExecuted(_, let condition?) in operation.refreshes {
        for path in (try? plan.expression(condition))?.paths ?? [] {
          let names = path.components
          if names.starts(with: ["mutation", "auth", "token"]), names.count > 3 {
            interests.insert(.claim(names[3]))
          } else if ["mutation", "auth", "token"].starts(with: names) {
            interests.insert(.allClaims)
          }
        }
      }
      return interests
    }

    /// Whether a condition for the mutation holds.
    fileprivate func matches(_ mutated: Mutated) -> Bool {
      operation.refreshes.contains { refresh in
        guard case .onMutationExecuted(let name, let condition) = refresh,
          qualified(name) == mutated.name
        else { return false }
        guard let condition, mutated.hasValues else { return true }
        return holds(condition, mutated)
      }
    }

    /// An error is no.
    private func holds(_ condition: String, _ mutated: Mutated) -> Bool {
      func side(_ variables: CELValue, _ auth: DataConnectAuth?) -> CELValue {
        .map(["variables": variables, "auth": CELValue(auth)])
      }
      let environment = CELEnvironment(
        variables: [
          "request": side(CELValue(variables, of: operation.variables), auth),
          "mutation": side(CELValue(mutated.variables), mutated.auth),
        ], nullMembers: ["request.auth", "mutation.auth"])
      guard let expression = try? plan.expression(condition) else { return false }
      return (try? expression.evaluateCondition(in: environment)) ?? false
    }
  }

  private struct Subscription {
    let interest: Interest
    let refresher: Refresher
  }

  private struct State {
    var subscriptions: [Int: Subscription] = [:]
    /// By the rows that they read by their keys.
    var ofRow: [RowIdentity: Set<Int>] = [:]
    /// By the mutations that `@refresh` names.
    var ofMutation: [String: Set<Int>] = [:]
    var nextNumber = 0

    mutating func add(_ subscription: Subscription, _ number: Int) {
      subscriptions[number] = subscription
      for row in subscription.interest.rows { ofRow[row, default: []].insert(number) }
      for name in subscription.interest.mutations { ofMutation[name, default: []].insert(number) }
    }

    /// Returns what is to be released outside of the lock.
    mutating func remove(_ number: Int) -> Subscription? {
      guard let subscription = subscriptions.removeValue(forKey: number) else { return nil }
      for row in subscription.interest.rows {
        ofRow[row]?.remove(number)
        if ofRow[row]?.isEmpty == true { ofRow[row] = nil }
      }
      for name in subscription.interest.mutations {
        ofMutation[name]?.remove(number)
        if ofMutation[name]?.isEmpty == true { ofMutation[name] = nil }
      }
      return subscription
    }
  }

  private let state = Mutex(State())
  let caches = RowCaches()
  private let exchange = Mutex<SignalExchange?>(nil)

  private init() {}

  private static func make(for firestore: Firestore) -> SubscriptionHub {
    let hub = SubscriptionHub()
    let exchange = SignalExchange(firestore) { [weak hub] in
      hub?.interests ?? []
    } deliver: { [weak hub] signal in
      await hub?.receive(signal)
    }
    hub.exchange.withLock { $0 = exchange }
    return hub
  }

  private var interests: SignalExchange.Interests {
    let all = state.withLock { Array($0.subscriptions.values) }
    let cached = SignalExchange.Interests(caches.tables.map { .table($0) })
    return all.reduce(into: cached) { $0.formUnion($1.interest.announced) }
  }

  // MARK: One for each database

  private struct Entry {
    weak var firestore: Firestore?
    let hub: SubscriptionHub
  }

  private static let hubs = Mutex<[Entry]>([])

  static func shared(for firestore: Firestore) -> SubscriptionHub {
    hubs.withLock { hubs in
      hubs.removeAll { $0.firestore == nil }
      if let known = hubs.first(where: { $0.firestore === firestore }) { return known.hub }
      let hub = make(for: firestore)
      hubs.append(Entry(firestore: firestore, hub: hub))
      return hub
    }
  }

  // MARK: Signals

  /// From another process.
  func receive(_ signal: SignalExchange.Signal) async {
    switch signal {
    case .mutated(let mutated):
      if mutated.tables.isEmpty, !mutated.hasManyFilteredRows {
        await caches.invalidate(mutated.written.all)
      } else {
        await caches.invalidateAll()
      }
      refresh(mutated)
    case .missed:
      await caches.invalidateAll()
      let waiting = state.withLock { state in
        state.subscriptions.values.filter { !$0.interest.announced.isEmpty }
      }
      for subscription in waiting { subscription.refresher.refresh() }
    }
  }

  /// Returns when signals of all processes refresh the subscription. Throws an error of the database.
  ///
  /// - Parameter body: Runs the query, and delivers its result.
  func subscribe(
    _ interest: Interest, _ body: @escaping @Sendable () async -> Void
  ) async throws -> Refresher {
    let refresher = add(interest, body)
    do {
      try await exchange.withLock(\.self)?.announce(interest.announced)
    } catch {
      refresher.cancel()
      throw error
    }
    return refresher
  }

  /// In the closure of the mutation: records it, if another process waits for it.
  func record(
    _ mutated: Mutated, in writer: WriteTransaction, _ firestore: Firestore
  ) throws {
    try exchange.withLock(\.self)?.record(mutated, in: writer, firestore)
  }

  private func add(
    _ interest: Interest, _ body: @escaping @Sendable () async -> Void
  ) -> Refresher {
    let intervals = interest.operation.refreshes.compactMap { refresh in
      if case .every(let milliseconds) = refresh { milliseconds } else { nil }
    }
    return state.withLock { state in
      let number = state.nextNumber
      state.nextNumber += 1
      let refresher = Refresher(every: intervals, body) { [weak self] in
        _ = self?.state.withLock { $0.remove(number) }
      }
      state.add(Subscription(interest: interest, refresher: refresher), number)
      return refresher
    }
  }

  /// The number of active subscriptions.
  var count: Int { state.withLock { $0.subscriptions.count } }

  /// After the commit of a mutation. Costs the subscriptions that it might concern, however many there
  /// are.
  func refresh(_ mutated: Mutated) {
    // Evaluated and released outside of the lock.
    let (ofRows, ofMutation) = state.withLock { state in
      var numbers: Set<Int> = []
      for row in mutated.written.byKey { numbers.formUnion(state.ofRow[row] ?? []) }
      if !mutated.tables.isEmpty {
        for (row, others) in state.ofRow where mutated.tables.contains(row.collectionID) {
          numbers.formUnion(others)
        }
      }
      let named = (state.ofMutation[mutated.name] ?? []).subtracting(numbers)
      return (
        numbers.compactMap { state.subscriptions[$0] }, named.compactMap { state.subscriptions[$0] }
      )
    }
    for subscription in ofRows { subscription.refresher.refresh() }
    for subscription in ofMutation where subscription.interest.matches(mutated) {
      subscription.refresher.refresh()
    }
  }

  // MARK: Caches

  /// Returns when rows of these tables that other processes write later are invalidated in the
  /// caches. Throws an error of the database.
  func announceCaches(of tables: Set<String>) async throws {
    try await exchange.withLock(\.self)?.announce(.init(tables.map { .table($0) }))
  }
}
