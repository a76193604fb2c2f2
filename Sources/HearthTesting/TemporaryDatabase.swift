import Foundation
import Hearth

/// A database in a folder of its own, which is gone with it.
///
///     let database = try TemporaryDatabase()
///     let books = database.firestore.collection("books")
///     try await books.document("dune").setData(["title": "Dune"])
///     try await database.reopen()
///     let dune = try await database.firestore.document("books/dune").getDocument()
///     assert(dune["title"] as? String == "Dune")
///
/// Flushes nothing to the disk. Keep it as long as its `firestore` is used: when
/// it is released, the database is terminated and its files are removed. Every one has a folder of its
/// own, so that tests may run side by side.
public final class TemporaryDatabase: Sendable {
  /// Where the database file is.
  public let path: String

  private let folder: String
  private let current: Guarded<Firestore>
  private let settings: Guarded<Settings>

  private struct Settings: @unchecked Sendable {
    // Unchecked: a copy of our own, which nobody changes.
    let value: FirestoreSettings
  }

  /// Opens a new database.
  ///
  /// `settings` count but for `durability`: nothing is flushed to the disk. `clock` is the time its
  /// commits see; by default the system's. Throws what `Firestore.open` throws.
  public init(settings: FirestoreSettings? = nil, clock: FixedClock? = nil) throws {
    let own = settings?.copy() as? FirestoreSettings ?? FirestoreSettings()
    own.durability = .unsafeWithoutFlushing
    if settings == nil { own.mapSizeBytes = 1 << 30 }
    if let clock { own.useClock(clock) }
    folder =
      FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-testing-\(UUID().uuidString)").path
    path = folder + "/test.hearth"
    self.settings = Guarded(Settings(value: own))
    current = Guarded(try Firestore.open(at: path, settings: own))
  }

  deinit {
    let firestore = firestore
    // Open files outlive their names.
    try? FileManager.default.removeItem(atPath: folder)
    Task { try? await firestore.terminate() }
  }

  /// The database, as it is open now.
  public var firestore: Firestore { current.withLock(\.self) }

  /// Closes the file and opens it again, as a program does that is started anew: what is read then comes
  /// from the file. The `firestore` before, and its references, are terminated.
  public func reopen() async throws {
    try await firestore.terminate()
    let opened = try Firestore.open(at: path, settings: settings.withLock(\.value))
    current.withLock { $0 = opened }
  }
}
