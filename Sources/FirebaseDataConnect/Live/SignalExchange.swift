import DataConnectModel
import Foundation
import Hearth
import Logging

/// The signals that processes with one database send each other.
///
///     _DataConnect/interests          what the subscriptions of each process wait for, under a lease
///     _DataConnectExecutions/<id>     a mutation that another process waits for, in its own commit
///
/// A mutation reads the interests in its write closure: it records itself if the subscription was
/// announced before its commit, and otherwise writes nothing. Records expire.
actor SignalExchange {
  /// The mutations, the tables and the claims that subscriptions wait for.
  struct Interests: Sendable, Equatable {
    /// `movies/UpdateMovie`
    var mutations: Set<String> = []
    /// Ids of the collections whose rows are read by their keys.
    var tables: Set<String> = []
    /// The claims of the writer that conditions read.
    var claims: Set<String> = []

    mutating func formUnion(_ other: Interests) {
      mutations.formUnion(other.mutations)
      tables.formUnion(other.tables)
      claims.formUnion(other.claims)
    }

    func contains(_ other: Interests) -> Bool {
      mutations.isSuperset(of: other.mutations) && tables.isSuperset(of: other.tables)
        && claims.isSuperset(of: other.claims)
    }
  }

  static let collection = MutationRunner.ownCollection
  static let executions = MutationRunner.ownCollection + "Executions"
  private static let interests = "interests"
  /// In seconds. A process that was killed is waited for as long.
  private static let lease: Int64 = 60

  nonisolated let process = UUID().uuidString
  private weak var firestore: Firestore?
  private let current: @Sendable () -> Interests
  private let deliver: @Sendable (SubscriptionHub.Mutated) async -> Void
  private var announced = Interests()
  private var isListening = false
  private var listening: Task<Void, Never>?
  private var renewal: Task<Void, Never>?

  /// - Parameters:
  ///   - current: The interests of the subscriptions that there are.
  ///   - deliver: Called for each mutation of another process.
  init(
    _ firestore: Firestore, current: @escaping @Sendable () -> Interests,
    deliver: @escaping @Sendable (SubscriptionHub.Mutated) async -> Void
  ) {
    self.firestore = firestore
    self.current = current
    self.deliver = deliver
  }

  deinit {
    listening?.cancel()
    renewal?.cancel()
  }

  /// Returns when mutations of other processes that are committed later will be delivered.
  ///
  /// Throws an error of the database.
  func announce(_ interests: Interests) async throws {
    guard let firestore, !announced.contains(interests) else { return }
    if !isListening {
      isListening = true
      await listen(firestore)
    }
    announced.formUnion(interests)
    try await write(announced, to: firestore)
    if renewal == nil {
      renewal = Task { [weak self] in
        while (try? await Task.sleep(for: .seconds(Self.lease / 3))) != nil {
          guard let self, await self.renew() else { return }
        }
      }
    }
  }

  /// Returns false when there is nothing to wait for any more.
  private func renew() async -> Bool {
    guard let firestore else { return false }
    let wanted = current()
    announced = wanted
    // The next renewal tries again.
    try? await write(wanted, to: firestore)
    if wanted == Interests() {
      renewal = nil
      return false
    }
    return true
  }

  private func write(_ interests: Interests, to firestore: Firestore) async throws {
    let document = firestore.collection(Self.collection).document(Self.interests)
    let entry = StoredRow(interests, expires: Self.now + Self.lease)
    try await firestore.write { [process] writer in
      var row = try writer.getDocument(document, as: StoredRow?.self) ?? StoredRow()
      for name in row.names where row[name]?.expiry ?? 0 < Self.now { row[name] = nil }
      row[process] = interests == Interests() ? nil : .map(entry)
      try writer.setData(from: row, forDocument: document)
    }
  }

  private static var now: Int64 { Int64(Date().timeIntervalSince1970) }

  // MARK: Records

  /// Records a mutation in its own commit, if another process waits for it.
  nonisolated func record(
    _ mutated: SubscriptionHub.Mutated, in writer: WriteTransaction, _ firestore: Firestore
  ) throws {
    let document = firestore.collection(Self.collection).document(Self.interests)
    guard let row = try writer.getDocument(document, as: StoredRow?.self) else { return }
    var claims: Set<String> = []
    var isWanted = false
    for (name, value) in zip(row.names, row.values) where name != process {
      guard case .map(let entry) = value, value.expiry ?? 0 >= Self.now else { continue }
      let interests = Interests(entry)
      guard
        interests.mutations.contains(mutated.name)
          || mutated.rows.contains(where: { interests.tables.contains($0.collectionID) })
      else { continue }
      isWanted = true
      claims.formUnion(interests.claims)
    }
    guard isWanted else { return }
    let record = firestore.collection(Self.executions).document()
    try writer.create(
      from: StoredRow(mutated, process, claims, expires: Self.now + Self.lease),
      forDocument: record)
  }

  /// Returns when the first snapshot was read.
  private func listen(_ firestore: Firestore) async {
    // In memory there is no other process, and there are no policies.
    try? await firestore.ttl.setPolicy(collectionGroup: Self.executions, field: "expires")
    let snapshots = firestore.collection(Self.executions).snapshots
    let started = AsyncStream.makeStream(of: Void.self)
    listening = Task { [process, deliver] in
      var isFirst = true
      do {
        for try await snapshot in snapshots {
          if isFirst {
            isFirst = false
            started.continuation.finish()
            continue
          }
          for change in snapshot.documentChanges where change.type == .added {
            guard let row = try? change.document.data(as: StoredRow.self),
              let mutated = SubscriptionHub.Mutated(row), row["process"] != .string(process)
            else { continue }
            await deliver(mutated)
          }
        }
      } catch {
        Logger(label: "hearth").warning(
          "Mutations of other processes no longer refresh queries.",
          metadata: ["error": "\(error)"])
      }
      started.continuation.finish()
    }
    for await _ in started.stream {}
  }
}

extension StoredValue {
  /// Of an entry of the interests, in seconds since 1970.
  fileprivate var expiry: Int64? {
    guard case .map(let row) = self, case .timestamp(let time)? = row["expires"] else { return nil }
    return time.seconds
  }

  fileprivate var texts: Set<String> {
    guard case .list(let values) = self else { return [] }
    return Set(
      values.compactMap { value in
        if case .string(let text) = value { text } else { nil }
      })
  }
}

extension SignalExchange.Interests {
  fileprivate init(_ row: StoredRow) {
    mutations = row["mutations"]?.texts ?? []
    tables = row["tables"]?.texts ?? []
    claims = row["claims"]?.texts ?? []
  }
}

extension StoredRow {
  fileprivate init(_ interests: SignalExchange.Interests, expires: Int64) {
    self.init()
    func list(_ texts: Set<String>) -> StoredValue { .list(texts.sorted().map { .string($0) }) }
    self["mutations"] = list(interests.mutations)
    self["tables"] = list(interests.tables)
    self["claims"] = list(interests.claims)
    self["expires"] = .timestamp(Timestamp(seconds: expires, nanoseconds: 0))
  }

  /// A record. Values are JSON: a document cannot hold every variable.
  fileprivate init(
    _ mutated: SubscriptionHub.Mutated, _ process: String, _ claims: Set<String>, expires: Int64
  ) {
    self.init()
    self["process"] = .string(process)
    self["connector"] = .string(mutated.connector)
    self["operation"] = .string(mutated.operation)
    self["variables"] = .string(DataValue.object(mutated.variables).json)
    if let auth = mutated.auth {
      self["uid"] = .string(auth.uid)
      let token = DataObject(auth.token.members.filter { claims.contains($0.0) })
      self["token"] = .string(DataValue.object(token).json)
    }
    self["rows"] = .list(
      mutated.rows.map { identity in
        var row = StoredRow()
        row["table"] = .string(identity.collectionID)
        row["id"] = .string(identity.documentID)
        return .map(row)
      })
    self["expires"] = .timestamp(Timestamp(seconds: expires, nanoseconds: 0))
  }

}

extension SubscriptionHub.Mutated {
  /// Nil for a document that is no record.
  fileprivate init?(_ row: StoredRow) {
    guard let connector = row.text("connector"), let operation = row.text("operation"),
      let json = row.text("variables"), let variables = try? DataValue(json: json).fields
    else { return nil }
    var auth: DataConnectAuth?
    if let uid = row.text("uid") {
      let token = row.text("token").flatMap { try? DataValue(json: $0) }
      auth = DataConnectAuth(uid: uid, token: token?.fields ?? DataObject())
    }
    var rows: Set<RowIdentity> = []
    if case .list(let values)? = row["rows"] {
      for case .map(let row) in values {
        guard let table = row.text("table"), let id = row.text("id") else { continue }
        rows.insert(RowIdentity(table, id))
      }
    }
    self.init(
      connector: connector, operation: operation, variables: variables, auth: auth, rows: rows)
  }
}
