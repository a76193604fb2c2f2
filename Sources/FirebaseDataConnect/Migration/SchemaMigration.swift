import DataConnectModel
import Hearth

/// Gives the rows of a database the form of a connector's schema, in bounded commits.
///
///     compare ─▶ rehearse or refuse ─▶ drop old rules and indexes ─▶ rows, `batchCount` in a commit
///             ─▶ declare new rules and indexes ─▶ store the schema
///
/// A commit contains its progress, so that a migration that ended early goes on where it ended.
struct SchemaMigration {
  let service: ConnectorService
  var batchCount = 200
  /// After which it ends early. For tests.
  var maximumBatches = Int.max

  private var firestore: Firestore { service.firestore }
  private var schema: Schema { service.plan.connector.schema }

  private var document: DocumentReference {
    SchemaRecord.document(service.config.serviceId, in: firestore)
  }

  init(_ service: ConnectorService) { self.service = service }

  /// The changes of the schema that the database has. None on a database without one.
  func changes() async throws -> [SchemaChange] {
    guard let record = try await record() else { return [] }
    return try SchemaComparison(from: plan(record), to: service.plan).changes
  }

  /// Returns the changes that were made.
  func run(allowingDestructive: Bool) async throws -> [SchemaChange] {
    guard let record = try await record() else {
      try await service.prepare()
      return []
    }
    if record.schema == schema, record.target == nil { return [] }
    let old = try plan(record)
    let comparison = try SchemaComparison(from: old, to: service.plan)
    let refused = comparison.changes.filter { $0.kind == .destructive }
    guard refused.isEmpty || allowingDestructive else {
      throw DataConnectOperationError(
        "The migration would remove values:\n"
          + refused.map(\.description).joined(separator: "\n"))
    }
    for table in comparison.tables where table.canFail {
      guard record.target != schema || !record.tables.contains(table.collectionID) else { continue }
      try await rehearse(table)
    }
    try await update { [schema] record in
      if record.target == schema { return }
      record = record.begun(to: schema)
    }
    // Deletions of rows would follow them.
    let (rules, indexes) = (Set(service.plan.rules), Set(service.plan.indexes))
    for rule in old.rules where !rules.contains(rule) || comparison.isEmptied(rule.target) {
      try await firestore.references.drop(rule)
    }
    for index in old.indexes where !indexes.contains(index) {
      try await firestore.indexes.drop(index)
    }
    var batches = 0
    for table in comparison.tables {
      while try await migrateBatch(table) {
        batches += 1
        if batches >= maximumBatches { throw CancellationError() }
      }
    }
    try await service.declare(service.plan.rules)
    try await update { [schema] in $0 = try $0.migrated(to: schema) }
    return comparison.changes
  }

  private func record() async throws -> SchemaRecord? {
    try await firestore.read { [document] in try SchemaRecord.read(document, $0) }
  }

  private func plan(_ record: SchemaRecord) throws -> ConnectorPlan {
    try ConnectorPlan(service.plan.connector.with(record.schema))
  }

  private func update(
    _ change: @escaping @Sendable (inout SchemaRecord) throws -> Void
  ) async throws {
    try await firestore.write { [document, schema] writer in
      var record = try SchemaRecord.read(document, writer) ?? SchemaRecord(schema)
      try change(&record)
      try record.write(to: document, writer)
    }
  }

  private func rows(_ table: SchemaComparison.TableChange, after id: String?) -> Query {
    let ordered = firestore.collection(table.collectionID).order(by: FieldPath.documentID())
    let rest = id.map { ordered.start(after: [$0]) } ?? ordered
    return rest.limit(to: batchCount)
  }

  // MARK: Steps

  /// Migrates the rows in closures that commit nothing. Throws `DataConnectOperationError` for a row
  /// that has no form in the new schema.
  private func rehearse(_ table: SchemaComparison.TableChange) async throws {
    struct Rehearsed: Error {
      /// Nil at the end.
      let last: String?
    }
    guard let new = table.new else { return }
    let execution = try execution()
    var last: String?
    repeat {
      let query = rows(table, after: last)
      do {
        try await firestore.write { [batchCount] writer in
          let documents = try writer.getDocuments(query).documents
          var runner = MutationRunner(execution, writer)
          for document in documents {
            try Self.checkRequired(document, table, new)
            try Self.migrate(document, table, to: new, &runner)
          }
          throw Rehearsed(
            last: documents.count < batchCount ? nil : documents.last?.documentID)
        }
      } catch let rehearsed as Rehearsed {
        last = rehearsed.last
      }
    } while last != nil
  }

  /// Throws `DataConnectOperationError` for a row without a value that it must have.
  private static func checkRequired(
    _ document: QueryDocumentSnapshot, _ table: SchemaComparison.TableChange, _ new: TableLayout
  ) throws {
    if table.required.isEmpty { return }
    let row = try document.data(as: StoredRow.self)
    for name in table.required.sorted() {
      let stored = new.column(name).flatMap { row[$0.reference ?? name] } ?? .null
      guard stored == .null || table.reset.contains(name) else { continue }
      throw DataConnectOperationError(
        "\(new.table.typeName).\(name) must have a value, and the row \(document.documentID) has "
          + "none: give the column a @default, or let it be null.")
    }
  }

  private static func migrate(
    _ document: QueryDocumentSnapshot, _ table: SchemaComparison.TableChange,
    to new: TableLayout, _ runner: inout MutationRunner
  ) throws {
    do {
      try runner.migrate(
        document.reference, try document.data(as: StoredRow.self), table, to: new)
    } catch let failure as OperationFailure {
      throw DataConnectOperationError(
        "The row \(document.documentID) of \(new.table.typeName) cannot be migrated: "
          + failure.message, failure.cause)
    }
  }

  private func execution() throws -> Execution {
    try Execution(
      Operation(kind: .mutation, name: "migrate", fields: []), [:], nil, in: service.plan, firestore
    )
  }

  /// Returns false when the table is done.
  private func migrateBatch(_ table: SchemaComparison.TableChange) async throws -> Bool {
    let execution = try execution()
    return try await firestore.write { [document, schema, batchCount, self] writer in
      guard var record = try SchemaRecord.read(document, writer), record.target == schema else {
        throw DataConnectOperationError("Another migration has begun.")
      }
      let id = table.collectionID
      if record.tables.contains(id) { return false }
      let last = record.table == id ? record.last : nil
      let documents = try writer.getDocuments(rows(table, after: last)).documents
      var runner = MutationRunner(execution, writer)
      for document in documents {
        guard let new = table.new else {
          try writer.deleteDocument(document.reference)
          continue
        }
        try Self.migrate(document, table, to: new, &runner)
      }
      let isDone = documents.count < batchCount
      if isDone { record.tables.append(id) }
      record.table = isDone ? nil : id
      record.last = isDone ? nil : documents.last?.documentID
      try record.write(to: document, writer)
      return !isDone
    }
  }
}

extension CompiledConnector {
  /// The connector with another schema, without operations.
  func with(_ schema: Schema) -> CompiledConnector {
    var connector = self
    connector.schema = schema
    connector.operations = []
    return connector
  }
}
