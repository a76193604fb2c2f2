import Foundation

/// The indexes of a database.
///
///     try await db.indexes.declare(
///       FirestoreIndex("books", .ascending("author"), .descending("year")))
///     try await db.indexes.waitUntilReady()
///
/// Results of queries never depend on indexes, only what they cost. A declared index is kept in the file and
/// built in the background; queries use it as soon as it is ready. Which indexes there are besides is up to
/// `FirestoreSettings.indexPolicy`.
public struct FirestoreIndexes: Sendable {
  let firestore: Firestore

  /// One index as it is now.
  public typealias Listing = IndexInfo

  /// Declares indexes, beside those that were. Nothing happens to those that exist. Returns when this is
  /// durable, before they are built.
  ///
  /// Throws `invalidArgument` for what cannot be indexed, and `resourceExhausted` beyond 1,000 indexes.
  public func declare(_ indexes: FirestoreIndex...) async throws { try await declare(indexes) }

  /// As `declare` with a list of arguments.
  public func declare(_ indexes: [FirestoreIndex]) async throws {
    try await reporting {
      try await firestore.file().declare(indexes.map { try $0.definition() })
    }
  }

  /// Drops indexes, declared or learned. Those that do not exist are dropped already.
  public func drop(_ indexes: FirestoreIndex...) async throws {
    try await reporting {
      try await firestore.file().drop(indexes.map { try $0.definition() })
    }
  }

  /// Every index, as the newest commit has it.
  public func list() async throws -> [Listing] {
    try reporting { try firestore.file().indexList() }
  }

  /// Waits until no index is being built.
  ///
  /// Throws what keeps one from being built, and `CancellationError`.
  public func waitUntilReady() async throws {
    try await reporting { try await firestore.file().waitForIndexes() }
  }

  /// What was declared, and what was learned, as a `firestore.indexes.json` for Firebase's command line.
  ///
  /// Indexes on one field are listed as overrides of the field.
  public func configuration() async throws -> String {
    try reporting { try firestore.file().indexConfiguration() }
  }

  /// Takes the content of a `firestore.indexes.json` instead of everything declared before: what it does not
  /// name is dropped. Learned indexes stay.
  ///
  /// A field override declares the indexes that it lists, and keeps every other from being learned for the
  /// field. Vector indexes and times to live are kept and told again, and do nothing. Throws
  /// `invalidArgument` with the place of what is wrong.
  public func setConfiguration(_ json: String) async throws {
    try await reporting { try await firestore.file().declare(onlyThoseIn: json) }
  }
}

extension Firestore {
  /// Declares, lists and drops indexes.
  public var indexes: FirestoreIndexes { FirestoreIndexes(firestore: self) }

  /// As `indexes.setConfiguration`.
  public func setIndexConfiguration(
    _ json: String, isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)? = nil
  ) {
    answer(isolation, completion) { try await $0.indexes.setConfiguration(json) }
  }

  /// As `indexes.setConfiguration`.
  public func setIndexConfiguration(_ json: String) async throws {
    try await indexes.setConfiguration(json)
  }

  /// As `indexes.setConfiguration`.
  public func setIndexConfiguration(
    _ stream: InputStream, isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)? = nil
  ) {
    setIndexConfiguration(Self.readAll(stream), isolation: isolation, completion: completion)
  }

  /// As `indexes.setConfiguration`.
  public func setIndexConfiguration(_ stream: InputStream) async throws {
    try await indexes.setConfiguration(Self.readAll(stream))
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

  /// Carries out what the index manager is asked.
  func carryOut(_ command: PersistentCacheIndexManager.Command) throws {
    let file = try file()
    switch command {
    case .enableAutoCreation: file.learnIndexes(true)
    case .disableAutoCreation: file.learnIndexes(false)
    case .deleteAll: try file.dropLearnedIndexes()
    }
  }
}
