import Foundation
import Hearth

/// A database in its own temporary folder, which is removed with it.
///
///     let database = try TemporaryDatabase()
///     let books = database.firestore.collection("books")
///     try await books.document("dune").setData(["title": "Dune"])
///     try await database.reopen()
///     let dune = try await database.firestore.document("books/dune").getDocument()
///     assert(dune["title"] as? String == "Dune")
///
/// Flushes nothing to the disk. Keep it as long as its `firestore` is used: when it is released,
/// the database is terminated and its files are removed. Each one has its own folder, so that tests
/// may run in parallel.
public final class TemporaryDatabase: Sendable {
  /// The path of the database file.
  public let path: String

  private let folder: String
  private let current: Guarded<Firestore>
  // Unchecked: a private copy that never changes.
  private nonisolated(unsafe) let settings: FirestoreSettings

  /// Opens a new database.
  ///
  /// - Parameters:
  ///   - settings: The settings, except `durability`: nothing is flushed to the disk. Without
  ///     settings the map is 1 GiB.
  ///   - clock: The clock for its commits; by default the system's.
  /// - Throws: The errors of `Firestore.open(at:settings:)`.
  public init(settings: FirestoreSettings? = nil, clock: FixedClock? = nil) throws {
    let own = settings?.copy() as? FirestoreSettings ?? FirestoreSettings()
    own.durability = .unsafeWithoutFlushing
    if settings == nil { own.mapSizeBytes = 1 << 30 }
    if let clock { own.useClock(clock) }
    folder =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-testing-\(UUID().uuidString)").path
    path = folder + "/test.hearth"
    self.settings = own
    current = Guarded(try Firestore.open(at: path, settings: own))
  }

  deinit {
    let firestore = firestore
    // Open files stay usable without their names.
    try? FileManager.default.removeItem(atPath: folder)
    Task { try? await firestore.terminate() }
  }

  /// The open database; a new instance after `reopen()`.
  public var firestore: Firestore { current.withLock(\.self) }

  /// Closes the file and opens it again with the same settings and clock, like a program that restarts:
  /// later reads come from the file.
  ///
  /// The previous `firestore` and its references are terminated. Throws the errors of
  /// `Firestore.terminate()` and `Firestore.open(at:settings:)`.
  public func reopen() async throws {
    try await firestore.terminate()
    let opened = try Firestore.open(at: path, settings: settings)
    current.withLock { $0 = opened }
  }
}
