import Foundation

/// The indexes of a database.
///
///     try await db.indexes.declare(
///       FirestoreIndex("books", .ascending("author"), .descending("year")))
///     try await db.indexes.waitUntilReady()
///
/// Indexes change the cost of a query, never its results. A declared index is stored in the file
/// and built in the background; queries use it as soon as it is ready.
/// `FirestoreSettings.indexPolicy` decides whether there are also learned indexes, which are
/// created automatically.
public struct FirestoreIndexes: Sendable {
  let firestore: Firestore

  /// An index and its current state.
  public typealias IndexInfo = HearthEngine.IndexInfo

  /// Declares indexes in addition to the existing ones. Returns when this is durable, before they
  /// are built.
  ///
  /// An index that is already declared stays unchanged. Throws `invalidArgument` for an invalid
  /// index, and `resourceExhausted` for more than 1,000 indexes.
  public func declare(_ indexes: FirestoreIndex...) async throws { try await declare(indexes) }

  /// Same as `declare(_:)` with the indexes as arguments.
  public func declare(_ indexes: [FirestoreIndex]) async throws {
    try await reporting {
      try await firestore.database().backend.asIndexed().declare(
        indexes.map { try $0.definition() })
    }
  }

  /// Drops indexes, declared or learned. Ignores indexes that do not exist.
  public func drop(_ indexes: FirestoreIndex...) async throws {
    try await reporting {
      try await firestore.database().backend.asIndexed().drop(indexes.map { try $0.definition() })
    }
  }

  /// Returns every index, as of the newest commit.
  public func list() async throws -> [IndexInfo] {
    try reporting { try firestore.database().backend.asIndexed().indexList() }
  }

  /// Waits until no index is being built. Throws the error that keeps one from being built, and
  /// `CancellationError`.
  public func waitUntilReady() async throws {
    try await reporting { try await firestore.database().backend.asIndexed().waitForIndexes() }
  }

  /// Returns the declared and learned indexes as a `firestore.indexes.json` for Firebase's command
  /// line. Indexes on one field are listed as overrides of the field.
  public func configurationJSON() async throws -> String {
    try reporting { try firestore.file().indexConfiguration() }
  }

  /// Replaces the declared indexes with those of a `firestore.indexes.json`. Declared indexes that
  /// it does not name are dropped. Learned indexes stay.
  ///
  /// A field override declares the indexes that it lists, and prevents all others on the field from
  /// being learned. Vector indexes, text indexes and TTL settings are kept and returned by
  /// `configurationJSON()`, but have no effect. Throws `invalidArgument` with the position of the
  /// error.
  public func setConfigurationJSON(_ json: String) async throws {
    try await reporting { try await firestore.file().declare(onlyThoseIn: json) }
  }
}

extension Firestore {
  /// Declares, lists and drops indexes.
  public var indexes: FirestoreIndexes { FirestoreIndexes(firestore: self) }

  /// Same as `indexes.setConfigurationJSON(_:)`; calls `completion` afterwards or with an error.
  public func setIndexConfiguration(
    _ json: String, isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)? = nil
  ) {
    answer(isolation, completion, begun()) {
      try await $0.checkedFile().declare(onlyThoseIn: json)
    }
  }

  /// Same as `indexes.setConfigurationJSON(_:)`.
  public func setIndexConfiguration(_ json: String) async throws {
    try await indexes.setConfigurationJSON(json)
  }

  /// Same as `indexes.setConfigurationJSON(_:)`, with the content of a stream; calls `completion`
  /// afterwards or with an error.
  public func setIndexConfiguration(
    _ stream: InputStream, isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)? = nil
  ) {
    setIndexConfiguration(Self.readAll(stream), isolation: isolation, completion: completion)
  }

  /// Same as `indexes.setConfigurationJSON(_:)`, with the content of a stream.
  public func setIndexConfiguration(_ stream: InputStream) async throws {
    try await indexes.setConfigurationJSON(Self.readAll(stream))
  }

  private static func readAll(_ stream: InputStream) -> String {
    stream.open()
    defer { stream.close() }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = stream.read(&buffer, maxLength: buffer.count)
      guard count > 0 else { return String(decoding: data, as: UTF8.self) }
      data.append(contentsOf: buffer[..<count])
    }
  }
}
