import Foundation
import Hearth
import Synchronization

/// The database of Parse objects.
///
///     try ParseSwift.initialize(at: "library.hearth")
///     let author = try Author(name: "Frank Herbert").save()
///
/// Objects are documents: see <doc:Storage>. One database at a time is the process's own;
/// `withFirestore(_:_:)` uses another one in a task.
public enum ParseSwift {
  private static let main = Mutex<Firestore?>(nil)
  @TaskLocal private static var ofTask: Firestore?

  /// Uses a database that is open.
  public static func initialize(_ firestore: Firestore) { main.withLock { $0 = firestore } }

  /// Opens the database in a file, and creates it if it does not exist. Throws `ParseError` if the file
  /// is no database, or cannot be opened.
  public static func initialize(at path: String) throws {
    try reporting { initialize(try Firestore.open(at: path)) }
  }

  /// The form of the original. There is no server: a file URL is the database's; for any other URL the
  /// database is the file `<applicationId>.hearth` in the working directory. The keys are ignored.
  /// Throws as `initialize(at:)`.
  public static func initialize(
    applicationId: String, clientKey: String? = nil, masterKey: String? = nil, serverURL: URL
  ) throws {
    try initialize(at: serverURL.isFileURL ? serverURL.path : applicationId + ".hearth")
  }

  /// Uses another database for everything that `body` does, in the tasks that it starts, too; not on
  /// queues of Dispatch.
  public static func withFirestore<Result>(
    _ firestore: Firestore, _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await $ofTask.withValue(firestore) { try await body() }
  }

  /// Same as the async form.
  public static func withFirestore<Result>(
    _ firestore: Firestore, _ body: () throws -> Result
  ) rethrows -> Result {
    try $ofTask.withValue(firestore) { try body() }
  }

  @TaskLocal private static var identity: ParseIdentity?

  /// Makes the requests of `body` those of somebody: objects that they may not read are not there, and
  /// those that they may not write are not written. In the tasks that it starts, too; not on queues of
  /// Dispatch.
  ///
  /// Concerns queries, counts, included objects, live queries, saves and deletions. Cascades, and
  /// requests of Firestore's interface, are not checked.
  public static func withIdentity<Result>(
    _ identity: ParseIdentity, _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await $identity.withValue(identity) { try await body() }
  }

  /// Same as the async form.
  public static func withIdentity<Result>(
    _ identity: ParseIdentity, _ body: () throws -> Result
  ) rethrows -> Result {
    try $identity.withValue(identity) { try body() }
  }

  static var context: QueryContext {
    get throws(ParseError) { QueryContext(try firestore, identity) }
  }

  /// The database in use. Throws `ParseError` with `.notInitialized` if there is none.
  public static var firestore: Firestore {
    get throws(ParseError) {
      guard let firestore = ofTask ?? main.withLock(\.self) else {
        throw ParseError(.notInitialized, "Call ParseSwift.initialize before any other method.")
      }
      return firestore
    }
  }
}
