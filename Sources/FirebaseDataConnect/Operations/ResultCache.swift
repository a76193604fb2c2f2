import Foundation
import Hearth

/// The cached results of a connector's queries, for one user: documents of a database of their own.
///
///     results/<hash of the request>    the result's tree, with references to rows, and its time
///     rows/<key of the row>            the columns of a row that any result has
///
/// A row is there once, however many results have it: a result that brings new values changes them all.
final class ResultCache: RowCache {
  private let firestore: Firestore

  /// Throws an error of opening the database.
  ///
  /// - Parameter folder: Of a persistent cache. Nil: the cache is in memory.
  convenience init(
    _ settings: CacheSettings, _ config: ConnectorConfig, in folder: String?,
    _ auth: DataConnectAuth?
  ) throws {
    let user = auth.map { Self.hash($0.uid) } ?? "anonymous"
    let name = "\(config.serviceId)-\(config.connector)-\(user).cache.hearth"
    let options = FirestoreSettings()
    // A result that is lost is read again.
    options.durability = .lastCommitMayBeLost
    var path = NSTemporaryDirectory() + UUID().uuidString + name
    if settings.storage == .persistent, let folder {
      path = (folder as NSString).appendingPathComponent(name)
    } else {
      options.cacheSettings = MemoryCacheSettings()
    }
    self.init(try Firestore.open(at: path, settings: options))
  }

  private init(_ firestore: Firestore) { self.firestore = firestore }

  /// Later calls throw.
  func close() async throws { try await firestore.terminate() }

  private var results: CollectionReference { firestore.collection("results") }
  private var rows: CollectionReference { firestore.collection("rows") }

  struct Found: Sendable {
    let fields: DataObject
    /// In seconds. Infinite for a result with a row that a mutation has written since.
    let age: TimeInterval
  }

  /// Nil if the result of the request is not cached.
  func result(_ request: String) async throws -> Found? {
    try await firestore.read { [results, rows] reader in
      let result = try reader.getDocument(
        results.document(Self.hash(request)), as: StoredRow?.self)
      guard let result, result.text("request") == request, let text = result.text("tree"),
        let tree = try? DataValue(json: text),
        case .timestamp(let time)? = result["time"]
      else { return nil }
      var known: [String: DataObject] = [:]
      let fields = try Self.hydrated(tree) { id in
        if let row = known[id] { return row }
        let stored = try reader.getDocument(Self.document(id, rows), as: StoredRow?.self)
        let row = try stored?.text("values").flatMap { try DataValue(json: $0).fields }
        known[id] = row
        return row
      }
      guard let fields = fields?.fields else { return nil }
      let age = Date().timeIntervalSince(time.dateValue())
      return Found(fields: fields, age: result["isStale"] == .bool(true) ? .infinity : max(0, age))
    }
  }

  /// Keeps a result whose rows have `Projection.rowMember`. Returns the requests of other results
  /// that have changed with it.
  func store(_ response: DataObject, for request: String) async throws -> [String] {
    var changes: [String: DataObject] = [:]
    let tree = Self.dehydrated(.object(response), &changes)
    let now = Timestamp()
    return try await firestore.write { [results, rows, changes] writer in
      var changed: [String] = []
      for (id, values) in changes {
        let document = Self.document(id, rows)
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
      let own = results.document(Self.hash(request))
      var requests: [String] = []
      if !changed.isEmpty {
        let concerned = results.whereFilter(
          .orFilter(changed.map { .whereField("rows", arrayContains: $0) }))
        for document in try writer.getDocuments(concerned).documents
        where document.documentID != own.documentID {
          if let request = document["request"] as? String { requests.append(request) }
        }
      }
      var result = StoredRow()
      result["request"] = .string(request)
      result["tree"] = .string(tree.json)
      result["time"] = .timestamp(now)
      result["isStale"] = .bool(false)
      result["rows"] = .list(changes.keys.sorted().map { .string($0) })
      try writer.setData(from: result, forDocument: own)
      return requests
    }
  }

  /// Makes the results with these rows too old.
  func invalidate(_ rows: Set<RowIdentity>) async throws {
    let ids = rows.map { Projection.entityID($0.collectionID, $0.documentID) }
    guard !ids.isEmpty else { return }
    try await firestore.write { [results] writer in
      for start in stride(from: 0, to: ids.count, by: 100) {
        let some = ids[start..<min(start + 100, ids.count)]
        let query = results.whereFilter(
          .orFilter(some.map { .whereField("rows", arrayContains: $0) }))
        for document in try writer.getDocuments(query).documents {
          try writer.updateData(["isStale": true], forDocument: document.reference)
        }
      }
    }
  }

  /// Makes all results too old.
  func invalidateAll() async throws {
    for document in try await results.getDocuments().documents {
      try await document.reference.updateData(["isStale": true])
    }
  }

  private static func document(_ id: String, _ rows: CollectionReference) -> DocumentReference {
    rows.document(RowKey.documentID([.string(id)]))
  }

  /// 128 bits of FNV-1a, in two halves. The request is stored beside it.
  private static func hash(_ text: String) -> String {
    func half(_ basis: UInt64) -> String {
      let hash = text.utf8.reduce(basis) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
      let digits = String(hash, radix: 16)
      return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
    return half(0xCBF2_9CE4_8422_2325) + half(0x8422_2325_CBF2_9CE4)
  }

  // MARK: Rows

  // Members of an object in place of a row. Response keys do not begin with "@".
  private static let row = Projection.rowMember
  private static let names = "@names"
  private static let columns = "@columns"

  /// Replaces the columns of rows by their ids.
  private static func dehydrated(
    _ value: DataValue, _ rows: inout [String: DataObject]
  ) -> DataValue {
    switch value {
    case .list(let values): return .list(values.map { dehydrated($0, &rows) })
    case .object(let object):
      guard let mark = object[row], case .string(let id)? = mark["id"],
        case .object(let columns)? = mark["columns"]
      else {
        return .object(DataObject(object.members.map { ($0, dehydrated($1, &rows)) }))
      }
      var values = rows[id] ?? DataObject()
      var rest = DataObject()
      for (name, value) in object.members where name != row {
        if case .string(let column)? = columns[name] {
          values[column] = value
        } else {
          rest[name] = dehydrated(value, &rows)
        }
      }
      rows[id] = values
      rest[row] = .string(id)
      rest[Self.names] = .list(object.names.filter { $0 != row }.map { .string($0) })
      rest[Self.columns] = .object(columns)
      return .object(rest)
    default: return value
    }
  }

  /// Nil if a row is not there.
  private static func hydrated(
    _ value: DataValue, _ find: (String) throws -> DataObject?
  ) throws -> DataValue? {
    switch value {
    case .list(let values):
      var found: [DataValue] = []
      for value in values {
        guard let value = try hydrated(value, find) else { return nil }
        found.append(value)
      }
      return .list(found)
    case .object(let object):
      var found = DataObject()
      guard case .string(let id)? = object[row], case .list(let names)? = object[Self.names] else {
        for (name, value) in object.members {
          guard let value = try hydrated(value, find) else { return nil }
          found[name] = value
        }
        return .object(found)
      }
      guard let values = try find(id) else { return nil }
      for case .string(let name) in names {
        if case .string(let column)? = object[Self.columns]?[name] {
          guard let value = values[column] else { return nil }
          found[name] = value
        } else {
          guard let value = try hydrated(object[name] ?? .null, find) else { return nil }
          found[name] = value
        }
      }
      return .object(found)
    default: return value
    }
  }
}

extension DataValue {
  /// Without `Projection.rowMember`.
  var withoutRowMembers: DataValue {
    switch self {
    case .list(let values): .list(values.map(\.withoutRowMembers))
    case .object(let object):
      if let columns = object[Projection.rowMember]?["columns"] {
        // The value of a column may have a member of this name.
        .object(
          DataObject(
            object.members.compactMap { name, value in
              name == Projection.rowMember
                ? nil : (name, columns[name] == nil ? value.withoutRowMembers : value)
            }))
      } else {
        .object(DataObject(object.members.map { ($0, $1.withoutRowMembers) }))
      }
    default: self
    }
  }
}
