extension DataConnect {
  /// The differences between the schema that the database has stored and that of this connector,
  /// for `migrate(allowingDestructive:)` to make. Empty if they are equal, and on a database
  /// without a stored schema: the first operation on a new database stores one. Changes nothing.
  ///
  ///     for change in try await connector.dataConnect.schemaChanges() { print(change) }
  ///
  /// Throws `DataConnectOperationError` on an emulator, `DataConnectInternalError` if the stored
  /// schema is damaged, `DataConnectInitError` for a damaged connector, and other errors of the
  /// database.
  public func schemaChanges() async throws -> [SchemaChange] {
    try await SchemaMigration(migrated()).changes()
  }

  /// Gives the rows the form of this connector's schema, and returns the changes.
  ///
  ///     try await connector.dataConnect.migrate()
  ///
  /// Rows get the defaults of new columns, or null. Commits up to 200 rows at a time, each commit
  /// with its progress: call it again after it ended early. On a database without a stored schema,
  /// stores this one.
  ///
  /// Throws `DataConnectOperationError` for destructive changes without permission, and for a row
  /// that lacks a value of a column without a default, before it changes anything; on an emulator;
  /// and if another migration has begun. Throws `DataConnectInternalError` if the stored schema is
  /// damaged, `DataConnectInitError` for a damaged connector, and other errors of the database.
  ///
  /// - Parameter allowingDestructive: Whether columns, tables and values that the schema no longer
  ///   has are removed. False by default.
  /// - Returns: The changes that were made. Empty if the schemas are equal.
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
