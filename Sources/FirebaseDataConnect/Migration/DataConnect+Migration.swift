extension DataConnect {
  /// The changes from the schema that the database's rows have to that of this connector.
  ///
  /// The first operation on a new database stores the schema, and `migrate` the newer one. None on a
  /// database without a stored schema. Throws `DataConnectError`.
  public func schemaChanges() async throws -> [SchemaChange] {
    try await SchemaMigration(migrated()).changes()
  }

  /// Gives the rows the form of this connector's schema, and returns the changes.
  ///
  ///     try await connector.dataConnect.migrate()
  ///
  /// Rows get the defaults of new columns, or null. Commits are bounded and contain their progress: call it
  /// again after it ended early. Nothing is changed if it throws `DataConnectOperationError`: for
  /// destructive changes without permission, and for rows that lack a value without a default. Throws
  /// other errors of the database.
  ///
  /// - Parameter allowingDestructive: Removes columns, tables and values that the schema has no more.
  @discardableResult
  public func migrate(allowingDestructive: Bool = false) async throws -> [SchemaChange] {
    try await SchemaMigration(migrated()).run(allowingDestructive: allowingDestructive)
  }

  private func migrated() throws -> ConnectorService {
    guard let service = try executor() as? ConnectorService else {
      throw DataConnectOperationError(
        "The database of an emulator is migrated with hearth dataconnect migrate.")
    }
    return service
  }
}
