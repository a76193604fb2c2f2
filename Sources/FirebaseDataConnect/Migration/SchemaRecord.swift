import DataConnectModel
import Foundation
import Hearth
import Logging

/// The schema that the rows of a database have, and how far a migration to another one is.
///
///     _DataConnect/schema:<service>
///       schema    JSON; the first operation on a new database stores it
///       target    JSON of the schema of a migration that has begun
///       tables    ids of the collections that are migrated
///       table     the one that is being migrated
///       last      the id of its last document that is
struct SchemaRecord: Sendable {
  var schema: Schema
  var target: Schema?
  var tables: [String] = []
  var table: String?
  var last: String?

  init(_ schema: Schema) { self.schema = schema }

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
    if case .list(let values)? = row["tables"] {
      for case .string(let id) in values { tables.append(id) }
    }
    table = row.text("table")
    last = row.text("last")
  }

  func write(to document: DocumentReference, _ writer: WriteTransaction) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    func text(_ schema: Schema) throws -> StoredValue {
      .string(String(decoding: try encoder.encode(schema), as: UTF8.self))
    }
    var row = StoredRow()
    row["schema"] = try text(schema)
    row["target"] = try target.map(text)
    row["tables"] = target == nil ? nil : .list(tables.map { .string($0) })
    row["table"] = table.map { .string($0) }
    row["last"] = last.map { .string($0) }
    try writer.setData(from: row, forDocument: document)
  }
}
