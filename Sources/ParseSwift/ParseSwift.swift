import Foundation
import Hearth
import Synchronization

/// The database of Parse objects, and the identity of requests.
///
///     try ParseSwift.initialize(at: "library.hearth")
///     let author = try Author(name: "Frank Herbert").save()
///
/// Objects are documents: see <doc:Storage>. One database at a time is the process's own;
/// `withFirestore(_:_:)` uses another one in a task.
public enum ParseSwift {
  private static let main = Mutex<Firestore?>(nil)
  @TaskLocal private static var ofTask: Firestore?

  /// Makes a database the process's own, in place of the one before.
  ///
  ///     ParseSwift.initialize(try Firestore.open(at: "library.hearth"))
  public static func initialize(_ firestore: Firestore) { main.withLock { $0 = firestore } }

  /// Opens the database in a file, and makes it the process's own. Creates the file, and its folder,
  /// if they do not exist.
  ///
  /// Throws `ParseError`: `.internalServer` if the file is no database, is damaged, or cannot be
  /// accessed, `.operationForbidden` if it is open in a way that excludes this process.
  public static func initialize(at path: String) throws {
    try reporting { initialize(try Firestore.open(at: path)) }
  }

  /// The form of Parse's SDK. There is no server: a file URL is the database's file; for any other
  /// URL the database is the file `<applicationId>.hearth` in the working directory. Ignores the
  /// keys. Throws as `initialize(at:)`.
  public static func initialize(
    applicationId: String, clientKey: String? = nil, masterKey: String? = nil, serverURL: URL
  ) throws {
    try initialize(at: serverURL.isFileURL ? serverURL.path : applicationId + ".hearth")
  }

  /// Uses another database in `body` and in the tasks that it starts, except detached ones. Does
  /// not concern queues of Dispatch. Throws the error of `body`.
  ///
  ///     let archive = try Firestore.open(at: "archive.hearth")
  ///     let old = try await ParseSwift.withFirestore(archive) { try await Book.query().find() }
  public static func withFirestore<Result>(
    _ firestore: Firestore, _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await $ofTask.withValue(firestore) { try await body() }
  }

  /// The same for a synchronous `body`.
  public static func withFirestore<Result>(
    _ firestore: Firestore, _ body: () throws -> Result
  ) rethrows -> Result {
    try $ofTask.withValue(firestore) { try body() }
  }

  @TaskLocal private static var identity: ParseIdentity?

  /// Makes the requests of `body` those of an identity: objects that it may not read do not exist
  /// for it, and a save or deletion of an object that it may not write throws
  /// `.operationForbidden`. Also in the tasks that `body` starts, except detached ones; not on
  /// queues of Dispatch. Throws the error of `body`.
  ///
  ///     let ann = ParseIdentity(user: "ann", roles: ["editors"])
  ///     let readable = try await ParseSwift.withIdentity(ann) { try await Book.query().find() }
  ///
  /// Concerns queries, counts, included objects, live queries, saves and deletions. Cascades,
  /// files, and requests of Firestore's interface are not checked.
  public static func withIdentity<Result>(
    _ identity: ParseIdentity, _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await $identity.withValue(identity) { try await body() }
  }

  /// The same for a synchronous `body`.
  public static func withIdentity<Result>(
    _ identity: ParseIdentity, _ body: () throws -> Result
  ) rethrows -> Result {
    try $identity.withValue(identity) { try body() }
  }

  /// The user of the identity, if the request has one.
  static var user: String? { identity?.user }

  static var context: QueryContext {
    get throws(ParseError) { QueryContext(firestore: try firestore, identity: identity) }
  }

  /// The database in use: that of `withFirestore(_:_:)`, else the process's own. Throws
  /// `ParseError` with `.notInitialized` if there is none.
  public static var firestore: Firestore {
    get throws(ParseError) {
      guard let firestore = ofTask ?? main.withLock(\.self) else {
        throw ParseError(.notInitialized, "Call ParseSwift.initialize before any other method.")
      }
      return firestore
    }
  }
}

/// The database of a request, and who makes it.
struct QueryContext: Sendable {
  let firestore: Firestore
  /// Nil if access is not checked.
  var identity: ParseIdentity?

  /// The types of the properties of the class that the conditions are for.
  private(set) var types: [String: any Any.Type] = [:]

  func querying<T: ParseObject>(_ type: T.Type) -> QueryContext {
    var context = self
    context.types = FieldNames.types(of: type)
    return context
  }

  /// Where a key of the class leads.
  func property(_ key: String) -> PropertyPath { PropertyPath(key, in: types) }

  /// The documents that the identity may read.
  var access: Filter? {
    guard let identity else { return nil }
    return .orFilter(
      [.notFilter(.whereField("ACL", isNotEqualTo: NSNull()))]
        + identity.entries.map { .whereField(FieldPath(["ACL", $0, "read"]), isEqualTo: true) })
  }
}

/// A value for each database, until it is released.
final class DatabaseValues<Value: Sendable>: Sendable {
  private struct Entry {
    weak var firestore: Firestore?
    var value: Value
  }

  private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

  subscript(firestore: Firestore) -> Value? {
    entries.withLock { entries in
      // Another database may have had the identifier before.
      guard let entry = entries[ObjectIdentifier(firestore)], entry.firestore === firestore
      else { return nil }
      return entry.value
    }
  }

  func update(of firestore: Firestore, _ change: (inout Value?) -> Void) {
    entries.withLock { entries in
      entries = entries.filter { $0.value.firestore != nil }
      var value = entries[ObjectIdentifier(firestore)]?.value
      change(&value)
      entries[ObjectIdentifier(firestore)] = value.map { Entry(firestore: firestore, value: $0) }
    }
  }
}
