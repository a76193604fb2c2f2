/// The source of a read. There is no server: all three values read the database.
public enum FirestoreSource: UInt, Sendable {
  /// Reads the database. In an app, the server's data, or else the cache's.
  case `default`
  /// Reads the database.
  case server
  /// Reads the database.
  case cache
}

/// The source of an aggregation. There is no server: `server` reads the database.
public enum AggregateSource: UInt, Sendable {
  /// Reads the database.
  case server
}
