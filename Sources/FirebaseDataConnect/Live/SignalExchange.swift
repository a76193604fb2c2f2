import DataConnectModel
import Foundation
import Hearth
internal import HearthText
import Logging
import Synchronization

/// The signals that processes with one database send each other.
///
///     _DataConnect/interests                        what the subscriptions and caches of each process
///                                                   wait for, under a lease
///     _DataConnectExecutions/<process>:<0…255>      a mutation that another process waits for, in its
///                                                   own commit
///
/// A mutation reads the interests in its write closure: it records itself if the subscription was
/// announced before its commit, and otherwise writes nothing. A process replaces its oldest record by
/// the 257th, and records expire. A reader that finds a gap in the numbers of a process's records, or
/// whose lease has ended, has missed signals, and takes them for a signal to everybody.
actor SignalExchange {
  /// A message of another process.
  enum Signal: Sendable {
    case mutated(SubscriptionHub.Mutated)
    /// Any mutations.
    case missed
  }

  /// Something that subscriptions and caches wait for.
  enum Interest: Hashable, Sendable {
    /// `movies/UpdateMovie`
    case mutation(String)
    /// The id of a collection whose rows are read by their keys, or cached.
    case table(String)
    /// A claim of the writer that conditions read.
    case claim(String)
    /// A condition reads all claims as one value.
    case allClaims
  }
  typealias Interests = Set<Interest>

  static let collection = MutationRunner.ownCollection
  static let executions = MutationRunner.ownCollection + "Executions"
  private static let interests = "interests"
  /// In seconds. A process that was killed is waited for as long.
  private static let lease: Int64 = 60

  nonisolated let process = UUID().uuidString
  /// Of the last record.
  private nonisolated let lastNumber = Mutex<Int64>(0)
  private weak var firestore: Firestore?
  private let current: @Sendable () -> Interests
  private let deliver: @Sendable (Signal) async -> Void
  /// Interests that are in the database until `leaseEnd`. While others replace them: those of both.
  private var announced = Interests()
  /// In seconds since 1970.
  private var leaseEnd: Int64 = 0
  /// Interests that `running` is writing.
  private var pending = Interests()
  /// Whether the database has had anything since the last renewal.
  private var hasLease = false
  private var running: Task<Void, any Error>?
  /// Begins after `running`, and writes what is wanted then.
  private var waiting: Task<Void, any Error>?
  private var starting: Task<Void, Never>?
  private var listening: Task<Void, Never>?
  private var renewal: Task<Void, Never>?

  /// - Parameters:
  ///   - current: The interests of the subscriptions that there are.
  ///   - deliver: Called for each signal of another process.
  init(
    _ firestore: Firestore, current: @escaping @Sendable () -> Interests,
    deliver: @escaping @Sendable (Signal) async -> Void
  ) {
    self.firestore = firestore
    self.current = current
    self.deliver = deliver
  }

  deinit {
    listening?.cancel()
    renewal?.cancel()
  }

  // MARK: Interests

  /// Returns when mutations of other processes that are committed later will be delivered. The
  /// interests are among the current ones.
  ///
  /// Throws an error of the database.
  func announce(_ interests: Interests) async throws {
    guard let firestore, !interests.isEmpty else { return }
    let starting = starting ?? Task { await listen(firestore) }
    self.starting = starting
    await starting.value
    if renewal == nil {
      renewal = Task { [weak self] in
        while (try? await Task.sleep(for: .seconds(Self.lease / 3))) != nil {
          guard let self, await self.renew() else { return }
        }
      }
    }
    if announced.isSuperset(of: interests), Self.now < leaseEnd { return }
    if pending.isSuperset(of: interests), let running { return try await running.value }
    try await publish()
  }

  /// Whether the lease will be renewed.
  var isRenewing: Bool { renewal != nil }

  /// Returns false when there is nothing to wait for any more.
  @discardableResult
  func renew() async -> Bool {
    // After an error, the next renewal tries again.
    try? await publish()
    // A subscription may have begun meanwhile.
    if firestore != nil, !announced.isEmpty || !current().isEmpty { return true }
    renewal = nil
    // A listener keeps the database open.
    listening?.cancel()
    (starting, listening) = (nil, nil)
    return false
  }

  /// Writes the interests that there are then, in one commit for all callers that wait for it.
  private func publish() async throws {
    if let waiting { return try await waiting.value }
    let earlier = running
    let task = Task {
      _ = await earlier?.result
      (running, waiting) = (waiting, nil)
      try await write()
    }
    waiting = task
    try await task.value
  }

  private func write() async throws {
    guard let firestore else { return }
    let wanted = current()
    announced.formIntersection(wanted)
    pending = wanted
    let hadLease = hasLease
    // Before the commit, whose lease begins later.
    let begin = Self.now
    let isOwn: Bool
    do {
      isOwn = try await write(wanted, to: firestore)
    } catch {
      (announced, pending) = ([], [])
      throw error
    }
    (announced, pending) = (wanted, [])
    leaseEnd = begin + Self.lease
    hasLease = !wanted.isEmpty
    // Nobody has recorded mutations since the lease ended.
    if hadLease, !isOwn { await deliver(.missed) }
  }

  /// Returns whether the process had a lease that has not ended.
  private func write(_ interests: Interests, to firestore: Firestore) async throws -> Bool {
    let document = firestore.collection(Self.collection).document(Self.interests)
    return try await firestore.write { [process] writer in
      let now = Self.now
      var row = try writer.getDocument(document, as: StoredRow?.self) ?? StoredRow()
      for name in row.names where row[name]?.expiry ?? 0 < now { row[name] = nil }
      let isOwn = row[process] != nil
      row[process] =
        interests.isEmpty ? nil : .map(StoredRow(interests, expires: now + Self.lease))
      try writer.setData(from: row, forDocument: document)
      return isOwn
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
    var awaited = Interests()
    var served: Interests = [.mutation(mutated.name)]
    for row in mutated.written.all { served.insert(.table(row.collectionID)) }
    for (name, value) in zip(row.names, row.values) where name != process {
      guard case .map(let entry) = value, value.expiry ?? 0 >= Self.now else { continue }
      let interests = Interests(entry)
      if !interests.isDisjoint(with: served) { awaited.formUnion(interests) }
    }
    guard !awaited.isEmpty else { return }
    let number = lastNumber.withLock { number in
      number += 1
      return number
    }
    let record = firestore.collection(Self.executions)
      .document("\(process):\(number % RecordNumbers.slots)")
    var stored = StoredRow(mutated, awaited)
    stored["process"] = .string(process)
    stored["number"] = .int(number)
    stored["expires"] = .timestamp(Timestamp(seconds: Self.now + Self.lease, nanoseconds: 0))
    try writer.setData(from: stored, forDocument: record)
  }

  /// Returns when the first snapshot was read.
  private func listen(_ firestore: Firestore) async {
    // In memory there is no other process, and there are no policies.
    try? await firestore.ttl.setPolicy(collectionGroup: Self.executions, field: "expires")
    let started = AsyncStream.makeStream(of: Void.self)
    listening = Task { [weak firestore, process, deliver] in
      var pause = Duration.seconds(1)
      var isAgain = false
      while let query = firestore?.collection(Self.executions), !Task.isCancelled {
        do {
          var numbers = RecordNumbers()
          var isFirst = true
          for try await snapshot in query.snapshots {
            let records = snapshot.documentChanges.filter { $0.type != .removed }
              .compactMap { try? $0.document.data(as: StoredRow.self) }
              .filter { $0["process"] != .string(process) }
            if isFirst {
              isFirst = false
              numbers = RecordNumbers(records)
              if isAgain { await deliver(.missed) }
              pause = .seconds(1)
              started.continuation.finish()
              continue
            }
            let isMissing = numbers.areMissing(before: records)
            if isMissing { await deliver(.missed) }
            for record in records.sorted(by: { $0.number < $1.number }) {
              guard let mutated = SubscriptionHub.Mutated(record) else { continue }
              await deliver(.mutated(mutated))
            }
          }
          break
        } catch {
          Logger(label: "hearth").warning(
            "Mutations of other processes do not refresh queries until the database can be read.",
            metadata: ["error": "\(error)"])
        }
        isAgain = true
        started.continuation.finish()
        guard (try? await Task.sleep(for: pause)) != nil else { return }
        pause = min(pause * 2, .seconds(60))
      }
      started.continuation.finish()
    }
    for await _ in started.stream {}
  }
}

/// Finds out whether records of other processes were replaced before they were read.
struct RecordNumbers {
  /// The number of records that a process has at most.
  static let slots: Int64 = 256

  /// Of each process.
  private var last: [String: Int64] = [:]

  init(_ records: [StoredRow] = []) { _ = areMissing(before: records) }

  /// Takes the records of a snapshot that are new since the last one.
  mutating func areMissing(before records: [StoredRow]) -> Bool {
    var isMissing = false
    for (process, records) in Dictionary(grouping: records, by: { $0.text("process") ?? "" }) {
      guard let newest = records.map(\.number).max() else { continue }
      if let last = last[process] {
        isMissing = isMissing || newest - last > Self.slots
      } else {
        // One that begins: it may have replaced its first ones.
        isMissing = isMissing || records.count >= Self.slots
      }
      last[process] = max(newest, last[process] ?? newest)
    }
    return isMissing
  }
}

extension StoredRow {
  /// Of a record.
  fileprivate var number: Int64 {
    if case .int(let number)? = self["number"] { number } else { 0 }
  }
}

extension StoredValue {
  /// Of an entry of the interests, in seconds since 1970.
  fileprivate var expiry: Int64? {
    guard case .map(let row) = self, case .timestamp(let time)? = row["expires"] else { return nil }
    return time.seconds
  }
}

extension SignalExchange.Interests {
  fileprivate init(_ row: StoredRow) {
    self.init(row.texts("mutations").map(Element.mutation))
    formUnion(row.texts("tables").map(Element.table))
    formUnion(row.texts("claims").map(Element.claim))
    if row["areAllClaims"] == .bool(true) { insert(.allClaims) }
  }
}

extension StoredRow {
  fileprivate init(_ interests: SignalExchange.Interests, expires: Int64) {
    self.init()
    func list(_ name: (SignalExchange.Interest) -> String?) -> StoredValue {
      .list(interests.compactMap(name).sorted().map { .string($0) })
    }
    self["mutations"] = list { if case .mutation(let name) = $0 { name } else { nil } }
    self["tables"] = list { if case .table(let name) = $0 { name } else { nil } }
    self["claims"] = list { if case .claim(let name) = $0 { name } else { nil } }
    self["areAllClaims"] = .bool(interests.contains(.allClaims))
    self["expires"] = .timestamp(Timestamp(seconds: expires, nanoseconds: 0))
  }

  /// Of the values of a record, and of the ids of its rows.
  private static let maximumRecordBytes = 32 << 10

  /// A record: of what is awaited, as much as fits. Values are JSON: a document cannot hold every
  /// variable.
  fileprivate init(_ mutated: SubscriptionHub.Mutated, _ awaited: SignalExchange.Interests) {
    self.init()
    self["connector"] = .string(mutated.connector)
    self["operation"] = .string(mutated.operation)
    let variables = JSON(mutated.variables).text
    let token = mutated.auth.map { auth in
      awaited.contains(.allClaims)
        ? auth.token
        : DataObject(auth.token.members.filter { awaited.contains(.claim($0.0)) })
    }
    let claims = token.map { JSON($0).text }
    let uid = mutated.auth?.uid
    let bytes = [variables, claims, uid].reduce(0) { $0 + ($1?.utf8.count ?? 0) }
    if bytes <= Self.maximumRecordBytes {
      self["variables"] = .string(variables)
      self["uid"] = uid.map { .string($0) }
      self["token"] = claims.map { .string($0) }
    }
    let rows = mutated.written.byKey.filter { awaited.contains(.table($0.collectionID)) }
    self["rows"] = Self.list(rows)
    if self["rows"] == nil {
      self["tables"] = .list(Set(rows.map(\.collectionID)).sorted().map { .string($0) })
    }
    let filtered = mutated.written.byFilter.filter { awaited.contains(.table($0.collectionID)) }
    if !filtered.isEmpty {
      self["filteredRows"] = Self.list(filtered)
      self["hasManyFilteredRows"] = .bool(self["filteredRows"] == nil)
    }
  }

  /// Nil for rows that are too many.
  private static func list(_ rows: Set<RowIdentity>) -> StoredValue? {
    let bytes = rows.reduce(0) {
      $0 + $1.collectionID.utf8.count + $1.documentID.utf8.count + 32
    }
    if bytes > maximumRecordBytes { return nil }
    return .list(
      rows.map { identity in
        var row = StoredRow()
        row["table"] = .string(identity.collectionID)
        row["id"] = .string(identity.documentID)
        return .map(row)
      })
  }
}

extension SubscriptionHub.Mutated {
  /// Nil for a document that is no record.
  fileprivate init?(_ row: StoredRow) {
    guard let connector = row.text("connector"), let operation = row.text("operation") else {
      return nil
    }
    func object(_ name: String) -> DataObject? {
      row.text(name).flatMap { try? JSONReader.read(Array($0.utf8)) }
        .flatMap { DataValue($0).fields }
    }
    let variables = object("variables")
    let auth = row.text("uid").map {
      DataConnectAuth(uid: $0, token: object("token") ?? DataObject())
    }
    func rows(_ name: String) -> Set<RowIdentity> {
      guard case .list(let values)? = row[name] else { return [] }
      var rows: Set<RowIdentity> = []
      for case .map(let row) in values {
        guard let table = row.text("table"), let id = row.text("id") else { continue }
        rows.insert(RowIdentity(table, id))
      }
      return rows
    }
    self.init(
      connector: connector, operation: operation, variables: variables ?? DataObject(), auth: auth,
      written: WrittenRows(byKey: rows("rows"), byFilter: rows("filteredRows")),
      hasManyFilteredRows: row["hasManyFilteredRows"] == .bool(true),
      tables: Set(row.texts("tables")), hasValues: variables != nil)
  }
}
