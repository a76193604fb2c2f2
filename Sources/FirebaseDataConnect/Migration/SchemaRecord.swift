import DataConnectModel
import Foundation
import Hearth
internal import HearthText
import Logging

/// The schema that the rows of a database have, and how far a migration to another one is.
///
///     _DataConnect/schema:<service>
///       schema    JSON; the first operation on a new database stores it
///       target    JSON of the schema of a migration that has begun
///       tables    ids of the collections that are migrated
///       table     the one that is being migrated
///       last      the id of its last document that is
///       earlier   fingerprints of the schemas before `schema`, the oldest first
struct SchemaRecord: Sendable {
  var schema: Schema
  var target: Schema?
  private(set) var earlier: [String] = []
  var tables: [String] = []
  var table: String?
  var last: String?

  init(_ schema: Schema) { self.schema = schema }

  private static let maximumEarlier = 1000

  /// The record after a migration to the schema.
  func migrated(to new: Schema) throws -> SchemaRecord {
    var record = SchemaRecord(new)
    record.earlier = earlier
    if schema != new { record.earlier.append(try Self.fingerprint(schema)) }
    let own = try Self.fingerprint(new)
    record.earlier.removeAll { $0 == own }
    record.earlier = record.earlier.suffix(Self.maximumEarlier)
    return record
  }

  /// The record at the begin of a migration to the schema.
  func begun(to new: Schema) -> SchemaRecord {
    var record = SchemaRecord(schema)
    record.earlier = earlier
    record.target = new
    return record
  }

  /// Whether a program with the schema may declare rules and indexes: not if the database had the
  /// schema before its own, nor if it is being migrated to another one. Rules that the
  /// migration has dropped would come back.
  func allowsDeclarations(of other: Schema) throws -> Bool {
    if let target { return target == other }
    return !earlier.contains(try Self.fingerprint(other))
  }

  private static func fingerprint(_ schema: Schema) throws -> String {
    FNV1a.longDigits(try text(schema))
  }

  private static func text(_ schema: Schema) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(schema), as: UTF8.self)
  }

  static func document(_ service: String, in firestore: Firestore) -> DocumentReference {
    firestore.collection(MutationRunner.ownCollection)
      .document(RowKey.documentID([.string("schema"), .string(service)]))
  }

  /// Nil if no schema is stored. Throws `DataConnectInternalError` for another document.
  static func read(
    _ document: DocumentReference, _ reader: ReadTransaction
  ) throws -> SchemaRecord? {
    try reader.getDocument(document, as: StoredRow?.self).map { try SchemaRecord($0) }
  }

  /// Stores the schema if none is stored.
  static func begin(_ schema: Schema, _ service: String, in firestore: Firestore) async {
    let document = document(service, in: firestore)
    do {
      let isStored = try await firestore.read {
        try $0.getDocument(document, as: StoredRow?.self) != nil
      }
      if isStored { return }
      try await firestore.write { writer in
        guard try writer.getDocument(document, as: StoredRow?.self) == nil else { return }
        try SchemaRecord(schema).write(to: document, writer)
      }
    } catch {
      // Operations need no record; one on a full disk, for example, may still read.
      Logger(label: "hearth").warning(
        "The schema is not stored in the database.", metadata: ["error": "\(error)"])
    }
  }

  private init(_ row: StoredRow) throws {
    func decoded(_ name: String) throws -> Schema? {
      try row.text(name).map { try JSONDecoder().decode(Schema.self, from: Data($0.utf8)) }
    }
    do {
      guard let schema = try decoded("schema") else {
        throw DataConnectCodecError(.decodingFailed, "There is no schema.")
      }
      self.schema = schema
      target = try decoded("target")
    } catch {
      throw DataConnectInternalError(
        .internalError, "The schema that the database has for the service is damaged.", error)
    }
    tables = row.texts("tables")
    earlier = row.texts("earlier")
    table = row.text("table")
    last = row.text("last")
  }

  func write(to document: DocumentReference, _ writer: WriteTransaction) throws {
    var row = StoredRow()
    row["schema"] = .string(try Self.text(schema))
    row["target"] = try target.map { .string(try Self.text($0)) }
    row["earlier"] = earlier.isEmpty ? nil : .list(earlier.map { .string($0) })
    row["tables"] = target == nil ? nil : .list(tables.map { .string($0) })
    row["table"] = table.map { .string($0) }
    row["last"] = last.map { .string($0) }
    try writer.setData(from: row, forDocument: document)
  }
}
