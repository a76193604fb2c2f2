import Foundation
import Hearth
internal import HearthText
import Synchronization

/// The cached results of a connector's queries, for one user: documents of a database of their own.
///
///     results/<hash of the request>    the result's tree, with references to rows, and its time
///     rows/<key of the row>            the columns of a row that any result has
///
/// A row is there once, however many results have it: a result that brings new values changes them all.
///
///     beginReading() ─▶ query of the database ─▶ store(_:for:_:)
///                            │ a mutation writes rows of the result: invalidate(_:)
///                            └─▶ nothing is stored: the result may be older than the rows
///
/// Nobody invalidates a persistent cache while it is not open. So a result of an earlier session is
/// young only if the rows' database has the rows of the state that the result was read from.
final class ResultCache: RowCache {
  private let firestore: Firestore
  /// The user whose results these are. Nil: nobody.
  let user: String?
  /// Distinguishes this object's results from those of earlier sessions.
  private let session = UUID().uuidString
  /// The executor on the rows' database.
  private let source: @Sendable () -> (any OperationExecutor)?
  /// Whether results outlive the object.
  private let isPersistent: Bool
  private let known = Mutex(KnownStates())
  private let opening = Mutex<Task<ChangeToken?, Never>?>(nil)
  private let reads = Mutex(Reads())

  /// A query that is executed, and whose result will be stored.
  struct Reading: Sendable {
    fileprivate let number: Int
    /// Whether later writes of other processes are known.
    fileprivate let isFollowed: Bool
    fileprivate let token: ChangeToken?
  }

  /// Which states of the rows' database have the rows of the opening: all from some state on.
  struct KnownStates: Sendable {
    /// The oldest one known to have them.
    private(set) var same: ChangeToken?
    /// The newest one known to have others.
    private var other: ChangeToken?

    /// Nil: unknown.
    func isSame(_ token: ChangeToken) -> Bool? {
      if let same, !token.precedes(same) { return true }
      if let other, !other.precedes(token) { return false }
      return nil
    }

    mutating func add(_ token: ChangeToken, isSame: Bool) {
      switch self.isSame(token) {
      case nil where isSame: same = token
      case nil: other = token
      default: break
      }
    }
  }

  private struct Reads {
    var lastNumber = 0
    var active: Set<Int> = []
    /// The last reading that had begun before the row was written. Empty while nothing is read.
    var written: [RowIdentity: Int] = [:]
    var allWritten = 0

    mutating func end(_ number: Int) {
      active.remove(number)
      if active.isEmpty { written = [:] }
    }
  }

  /// Throws an error of opening the database.
  ///
  /// - Parameters:
  ///   - executor: Has the folder of a persistent cache, and the state of the database.
  ///   - isPersistent: Whether the cache is a file, if the executor has a folder.
  init(
    _ config: ConnectorConfig, _ executor: any OperationExecutor, isPersistent: Bool,
    _ auth: DataConnectAuth?
  ) throws {
    let options = FirestoreSettings()
    // A result that is lost is read again.
    options.durability = .lastCommitMayBeLost
    let folder = isPersistent ? executor.cacheFolder : nil
    let path: String
    if let folder {
      let name = Self.fileName(config, executor.databaseName, auth)
      path = (folder as NSString).appendingPathComponent(name)
    } else {
      options.cacheSettings = MemoryCacheSettings()
      path = NSTemporaryDirectory() + "\(UUID().uuidString).cache.hearth"
    }
    firestore = try Firestore.open(at: path, settings: options)
    user = auth?.uid
    self.isPersistent = folder != nil
    source = { [weak executor] in executor }
  }

  /// Of a persistent cache: one for each database of the folder, connector and user.
  static func fileName(
    _ config: ConnectorConfig, _ databasePath: String, _ auth: DataConnectAuth?
  ) -> String {
    let database = (databasePath as NSString).lastPathComponent
    let parts = [database, config.serviceId, config.connector] + [auth?.uid].compactMap(\.self)
    let digest = FNV1a.longDigits(DataValue.list(parts.map { .string($0) }).json)
    return "\(config.serviceId)-\(config.connector)-\(digest).cache.hearth"
  }

  var hasSource: Bool { source() != nil }

  /// Whether these are results of the executor.
  func isOf(_ executor: any OperationExecutor) -> Bool { source() === executor }

  /// Later calls throw.
  func close() async throws { try await firestore.terminate() }

  private var results: CollectionReference { firestore.collection("results") }
  private var rows: CollectionReference { firestore.collection("rows") }

  struct Found: Sendable {
    let fields: DataObject
    /// In seconds. Infinite for a result with a row that a mutation has written since.
    let age: TimeInterval
  }

  // MARK: Sessions

  /// The state of the rows' database. Nil if results do not outlive the object.
  private func state() async -> ChangeToken? {
    isPersistent ? try? await source()?.changeToken() : nil
  }

  /// The state of the rows' database when this cache was opened, after it was registered for
  /// invalidations: the mutations since are known. Nil without a state.
  private func tokenOfOpening() async -> ChangeToken? {
    guard isPersistent else { return nil }
    let task = opening.withLock { task in
      if let task { return task }
      let new = Task { await announced() ? await state() : nil }
      task = new
      return new
    }
    let token = await task.value
    // After an error, the next call tries again.
    if token == nil { opening.withLock { if $0 == task { $0 = nil } } }
    return token
  }

  /// Begins to execute a query. Follow it by `store(_:for:_:)` or `endReading(_:)`.
  func beginReading() async -> Reading {
    _ = await tokenOfOpening()
    let isFollowed = await announced()
    let token = await state()
    return reads.withLock { reads in
      reads.lastNumber += 1
      reads.active.insert(reads.lastNumber)
      return Reading(number: reads.lastNumber, isFollowed: isFollowed, token: token)
    }
  }

  /// Returns when mutations of all processes invalidate results; false after an error.
  private func announced() async -> Bool {
    (try? await source()?.announceCaches()) != nil
  }

  /// Whether the rows' database has had the rows of a state when this cache was opened.
  private func isOfOpening(_ bytes: Data) async -> Bool {
    guard let opening = await tokenOfOpening(), let token = try? ChangeToken(bytes: bytes) else {
      return false
    }
    // Of another object with the same cache.
    if opening.precedes(token) { return false }
    let known = known.withLock(\.self)
    if let isSame = known.isSame(token) { return isSame }
    // An error, or a cancelled task, says nothing about the next time.
    guard let isSame = try? await source()?.hasSameRows(token, known.same ?? opening) else {
      return false
    }
    self.known.withLock { $0.add(token, isSame: isSame) }
    return isSame
  }

  /// The result of the query is not stored.
  func endReading(_ reading: Reading) { reads.withLock { $0.end(reading.number) } }

  /// Whether a mutation has written one of the rows since the reading began.
  private func isOvertaken(_ reading: Reading, _ rows: some Sequence<RowIdentity>) -> Bool {
    reads.withLock { reads in
      reading.number <= reads.allWritten
        || rows.contains { reading.number <= reads.written[$0] ?? 0 }
    }
  }

  // MARK: Results

  private static func document(
    ofRequest request: String, _ results: CollectionReference
  ) -> DocumentReference {
    results.document(FNV1a.longDigits(request))
  }

  /// Nil if the result of the request is not cached.
  func result(_ request: String) async throws -> Found? {
    // The state of the rows' database is nil for a result of this session.
    let stored = try await firestore.read {
      [results, rows, session] reader -> (found: Found, state: Data?)? in
      let result = try reader.getDocument(
        Self.document(ofRequest: request, results), as: StoredRow?.self)
      guard let result,
        result.text("request").map({ BytewiseString($0) }) == BytewiseString(request),
        let text = result.text("tree"),
        let tree = try? DataValue(json: text),
        case .timestamp(let time)? = result["time"]
      else { return nil }
      var known: [BytewiseString: DataObject] = [:]
      let hydrated: DataValue
      do {
        hydrated = try Self.hydrated(tree) { id in
          if let row = known[BytewiseString(id)] { return row }
          let stored = try reader.getDocument(Self.document(id, rows), as: StoredRow?.self)
          let row = try stored?.text("values").flatMap { try DataValue(json: $0).fields }
          known[BytewiseString(id)] = row
          return row
        }
      } catch is MissingRow {
        return nil
      }
      guard let fields = hydrated.fields else { return nil }
      var state: Data?
      if result.text("session") != session {
        state = Data()
        if case .bytes(let bytes)? = result["state"] { state = bytes }
      }
      let isStale = result["isStale"] == .bool(true)
      let age = isStale ? .infinity : max(0, Date().timeIntervalSince(time.dateValue()))
      return (Found(fields: fields, age: age), state)
    }
    guard let (found, state) = stored else { return nil }
    guard found.age < .infinity, let state, await !isOfOpening(state) else { return found }
    return Found(fields: found.fields, age: .infinity)
  }

  /// Keeps a result whose rows have `Projection.rowMember`, unless a mutation has written one of them
  /// since the reading began. Returns the requests of other results that have changed with it.
  ///
  /// - Parameter lookups: The rows that were read by their keys. One that is missing in the result may
  ///   be inserted.
  func store(
    _ response: DataObject, lookups: Set<RowIdentity> = [], for request: String,
    _ reading: Reading
  ) async throws -> [String] {
    defer { endReading(reading) }
    guard reading.isFollowed else { return [] }
    var changes: [BytewiseString: DataObject] = [:]
    let tree = Self.dehydrated(.object(response), &changes)
    let identities = changes.keys.compactMap { RowIdentity(entityID: $0.string) } + lookups
    let ids = Set(changes.keys).union(lookups.map { BytewiseString($0.entityID) })
    let now = Timestamp()
    return try await firestore.write { [results, rows, changes, session, self] writer in
      // An invalidation after this marks the result that is stored here.
      if isOvertaken(reading, identities) { return [] }
      var changed: [BytewiseString] = []
      for (id, values) in changes {
        let document = Self.document(id.string, rows)
        let stored = try writer.getDocument(document, as: StoredRow?.self)?.text("values")
        let old = try stored.flatMap { try DataValue(json: $0).fields } ?? DataObject()
        var new = old
        for (name, value) in values.members { new[name] = value }
        // As text: a timestamp is text once it was stored.
        let text = DataValue.object(new).canonicalText
        if text == DataValue.object(old).canonicalText { continue }
        changed.append(id)
        var row = StoredRow()
        row["values"] = .string(text)
        try writer.setData(from: row, forDocument: document)
      }
      let own = Self.document(ofRequest: request, results)
      let requests = try Self.results(with: changed, results, writer)
        .filter { $0.documentID != own.documentID }
        .compactMap { $0["request"] as? String }
      var result = StoredRow()
      result["request"] = .string(request)
      result["tree"] = .string(tree.json)
      result["time"] = .timestamp(now)
      result["isStale"] = .bool(false)
      result["rows"] = .list(ids.sorted().map { .string($0.string) })
      result["session"] = .string(session)
      result["state"] = reading.token.map { .bytes($0.bytes) }
      try writer.setData(from: result, forDocument: own)
      return requests
    }
  }

  /// Makes the results with these rows too old.
  func invalidate(_ rows: Set<RowIdentity>) async throws {
    guard !rows.isEmpty else { return }
    reads.withLock { reads in
      if reads.active.isEmpty { return }
      for row in rows { reads.written[row] = reads.lastNumber }
    }
    let ids = rows.map { BytewiseString($0.entityID) }
    try await firestore.write { [results] writer in
      for document in try Self.results(with: ids, results, writer) {
        try writer.updateData(["isStale": true], forDocument: document.reference)
      }
    }
  }

  /// Firestore's limit of the alternatives of a query.
  private static let maximumAlternatives = 30

  /// The results with one of the rows.
  private static func results(
    with ids: [BytewiseString], _ results: CollectionReference, _ reader: ReadTransaction
  ) throws -> [QueryDocumentSnapshot] {
    if ids.isEmpty { return [] }
    if ids.count <= maximumAlternatives {
      let filter = Filter.orFilter(ids.map { .whereField("rows", arrayContains: $0.string) })
      return try reader.getDocuments(results.whereFilter(filter)).documents
    }
    // All of them once, instead of a query for each part of the ids.
    let wanted = Set(ids)
    return try reader.getDocuments(results.select(["rows", "request"])).documents.filter { result in
      (result["rows"] as? [Any])?.contains { id in
        (id as? String).map { wanted.contains(BytewiseString($0)) } ?? false
      } ?? false
    }
  }

  /// Makes all results too old.
  func invalidateAll() async throws {
    reads.withLock { $0.allWritten = $0.lastNumber }
    for document in try await results.getDocuments().documents {
      try await document.reference.updateData(["isStale": true])
    }
  }

  private static func document(_ id: String, _ rows: CollectionReference) -> DocumentReference {
    rows.document(RowKey.documentID([.string(id)]))
  }

  // MARK: Rows

  // Members of an object in place of a row. Response keys do not begin with "@".
  private static let row = Projection.rowMember
  private static let names = "@names"
  private static let columns = "@columns"

  /// Replaces the columns of rows by their ids.
  private static func dehydrated(
    _ value: DataValue, _ rows: inout [BytewiseString: DataObject]
  ) -> DataValue {
    guard case .object(let object) = value, let mark = object[row],
      case .string(let id)? = mark["id"], case .object(let columns)? = mark["columns"]
    else { return value.mapParts { dehydrated($0, &rows) } }
    var values = rows[BytewiseString(id)] ?? DataObject()
    var rest = DataObject()
    for (name, value) in object.members where name != row {
      if case .string(let column)? = columns[name] {
        values[column] = value
      } else {
        rest[name] = dehydrated(value, &rows)
      }
    }
    rows[BytewiseString(id)] = values
    rest[row] = .string(id)
    rest[Self.names] = .list(object.names.filter { $0 != row }.map { .string($0) })
    rest[Self.columns] = .object(columns)
    return .object(rest)
  }

  /// A result has a row, or a column of it, that is not there.
  private struct MissingRow: Error {}

  /// Throws `MissingRow`, and the error of `find`.
  private static func hydrated(
    _ value: DataValue, _ find: (String) throws -> DataObject?
  ) throws -> DataValue {
    guard case .object(let object) = value, case .string(let id)? = object[row],
      case .list(let names)? = object[Self.names]
    else { return try value.mapParts { try hydrated($0, find) } }
    guard let values = try find(id) else { throw MissingRow() }
    var found = DataObject()
    for case .string(let name) in names {
      if case .string(let column)? = object[columns]?[name] {
        guard let value = values[column] else { throw MissingRow() }
        found[name] = value
      } else {
        found[name] = try hydrated(object[name] ?? .null, find)
      }
    }
    return .object(found)
  }
}

extension ChangeToken {
  /// Of one database, whether this state is older.
  func precedes(_ other: ChangeToken) -> Bool { bytes.lexicographicallyPrecedes(other.bytes) }
}

extension DataValue {
  /// Without `Projection.rowMember`.
  var withoutRowMembers: DataValue {
    guard case .object(let object) = self,
      let columns = object[Projection.rowMember]?["columns"]
    else { return mapParts(\.withoutRowMembers) }
    // The value of a column may have a member of this name.
    return .object(
      DataObject(
        object.members.compactMap { name, value in
          name == Projection.rowMember
            ? nil : (name, columns[name] == nil ? value.withoutRowMembers : value)
        }))
  }
}
