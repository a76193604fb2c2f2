import Foundation

/// The domain of the database's errors. Coders also throw `EncodingError` and `DecodingError`; a
/// cancelled task throws `CancellationError`.
public let FirestoreErrorDomain = "FIRFirestoreErrorDomain"

/// In the `userInfo` of an error, with the value `true`: the write that failed may have been applied.
/// See ``FirestoreErrorCode/isOutcomeUnknown``.
public let FirestoreOutcomeUnknownKey = "FirestoreOutcomeUnknown"

/// In the `userInfo` of an error with ``FirestoreErrorCode/Code/failedPrecondition``, if a condition of
/// the write was not met: `"updateTime"`, `"reference"`, `"danglingReference"`, or `"documentCheck"`.
/// See ``FirestoreErrorCode/isUpdateTimeMismatch``, ``FirestoreErrorCode/isReferenced`` and
/// ``FirestoreErrorCode/isDanglingReference``.
public let FirestoreRefusalKey = "FirestoreRefusal"

/// In the `userInfo` of an error of a write that a unique index or a reference rule has refused: a
/// ``FirestoreErrorCode/Constraint``. See ``FirestoreErrorCode/constraint``.
public let FirestoreConstraintKey = "FirestoreConstraint"

/// Why an operation failed. Errors are `NSError` objects whose code is one of these.
///
///     do {
///       try await book.updateData(["title": "Dune"])
///     } catch FirestoreErrorCode.notFound {
///       try await book.setData(["title": "Dune"])
///     }
///
/// An error that is caught as `FirestoreErrorCode` has a `code` and a `userInfo`. Its description
/// contains the message:
/// `Error Domain=FIRFirestoreErrorDomain Code=5 "No document to update: books/dune"`.
public struct FirestoreErrorCode: CustomNSError, Hashable, CustomStringConvertible {
  /// The codes of gRPC, with the numbers that Firestore's libraries use. Each says when Hearth throws
  /// it, and what to do.
  public enum Code: Int, Sendable {
    /// No error. Never thrown.
    case OK = 0
    /// A transaction was rolled back while it waited. Nothing was applied. Begin it again if its result
    /// is still wanted. A cancelled task throws `CancellationError` instead.
    case cancelled = 1
    /// The commit could not be flushed to disk: it may or may not be there after a restart. Read the
    /// documents before you write again, and look at the disk.
    case unknown = 2
    /// The call cannot be right for any state of the database: a malformed path, a value above a limit,
    /// a query that is not allowed. The message names the argument. Correct the call; do not retry.
    case invalidArgument = 3
    /// A query on a server took longer than a minute: declare an index for it. The embedded database sets
    /// no time limits.
    case deadlineExceeded = 4
    /// A document to update, a file to open or read, or an index to drop does not exist. Create it, or
    /// treat it as deleted.
    case notFound = 5
    /// A document to create exists, or another document has the same value in a unique index; the
    /// message names both. Choose another id or value; do not retry.
    case alreadyExists = 6
    /// A PostgreSQL server refuses the user. Hearth itself has no security rules; clients of
    /// `hearth serve` may receive it.
    case permissionDenied = 7
    /// A limit of the machine or of a setting is reached: the disk is full,
    /// all reader slots are in use, too many bytes of writes wait, or a write concerns too many documents.
    /// Make room, raise the setting, or write less at once; then retry.
    case resourceExhausted = 8
    /// The state of the database does not allow the call: a precondition does not hold, a document is
    /// still referred to, a query requires an index, the database is closed, open for reading only, or
    /// open elsewhere. Change that state first; a retry alone fails again.
    case failedPrecondition = 9
    /// Others changed the documents that a transaction read, in each of its attempts. Nothing was
    /// applied. Retry later, with a pause.
    case aborted = 10
    /// The change log does not reach back to the time or token. Read the newest state, and go on from a
    /// new token.
    case outOfRange = 11
    /// This database, or this build, cannot do what is asked, such as a backup of a database that is not
    /// a file. Do not retry.
    case unimplemented = 12
    /// Hearth contradicts itself. Nothing was applied. Report it with its message and cause.
    case `internal` = 13
    /// The file system failed for the moment, or denied access: a file or folder cannot be opened, made
    /// or removed; or a server cannot be reached. The cause names the system's error. Repair it, then
    /// retry. Of a write see also ``FirestoreErrorCode/isOutcomeUnknown``.
    case unavailable = 14
    /// The file, or a record in it, is damaged, or is no database. Stop writing, run a check
    /// (`firestore.maintenance.check()`, `hearth check`), and restore a backup.
    case dataLoss = 15
    /// Hearth never throws it; clients of a server with keys receive it for a missing or wrong key.
    case unauthenticated = 16
  }

  /// Matches errors with ``Code/OK``.
  public static var OK: Code { .OK }
  /// Matches errors with ``Code/cancelled``.
  public static var cancelled: Code { .cancelled }
  /// Matches errors with ``Code/unknown``.
  public static var unknown: Code { .unknown }
  /// Matches errors with ``Code/invalidArgument``.
  public static var invalidArgument: Code { .invalidArgument }
  /// Matches errors with ``Code/deadlineExceeded``.
  public static var deadlineExceeded: Code { .deadlineExceeded }
  /// Matches errors with ``Code/notFound``.
  public static var notFound: Code { .notFound }
  /// Matches errors with ``Code/alreadyExists``.
  public static var alreadyExists: Code { .alreadyExists }
  /// Matches errors with ``Code/permissionDenied``.
  public static var permissionDenied: Code { .permissionDenied }
  /// Matches errors with ``Code/resourceExhausted``.
  public static var resourceExhausted: Code { .resourceExhausted }
  /// Matches errors with ``Code/failedPrecondition``.
  public static var failedPrecondition: Code { .failedPrecondition }
  /// Matches errors with ``Code/aborted``.
  public static var aborted: Code { .aborted }
  /// Matches errors with ``Code/outOfRange``.
  public static var outOfRange: Code { .outOfRange }
  /// Matches errors with ``Code/unimplemented``.
  public static var unimplemented: Code { .unimplemented }
  /// Matches errors with ``Code/internal``.
  public static var `internal`: Code { .internal }
  /// Matches errors with ``Code/unavailable``.
  public static var unavailable: Code { .unavailable }
  /// Matches errors with ``Code/dataLoss``.
  public static var dataLoss: Code { .dataLoss }
  /// Matches errors with ``Code/unauthenticated``.
  public static var unauthenticated: Code { .unauthenticated }

  private let error: NSError

  /// An error to throw in tests and doubles.
  ///
  /// - Parameters:
  ///   - code: Its number is the `code` of the `NSError`.
  ///   - userInfo: As of an `NSError`: `NSLocalizedDescriptionKey` for the message,
  ///     `NSUnderlyingErrorKey` for the cause.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    error = FirestoreNSError(
      domain: FirestoreErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  fileprivate init(_ error: NSError) {
    self.error =
      error is FirestoreNSError
      ? error
      : FirestoreNSError(domain: error.domain, code: error.code, userInfo: error.userInfo)
  }

  /// The error's code; `unknown` for a number that is none of the cases.
  public var code: Code { Code(rawValue: error.code) ?? .unknown }
  /// The message (`NSLocalizedDescriptionKey`), and the cause (`NSUnderlyingErrorKey`) if there is one.
  public var userInfo: [String: Any] { error.userInfo }
  /// Whether the write that failed may have been applied nevertheless: a flush failed, or the server
  /// could not be asked what became of a commit. All other errors of a write mean that nothing was
  /// applied. Repeat it only if it can be done twice, or after a look at the documents.
  ///
  ///     do {
  ///       try await book.updateData(["title": "Dune"])
  ///     } catch let error as FirestoreErrorCode where error.isOutcomeUnknown {
  ///       let stored = try await book.getDocument()
  ///       print(stored["title"] ?? "")
  ///     }
  public var isOutcomeUnknown: Bool { error.userInfo[FirestoreOutcomeUnknownKey] as? Bool == true }

  /// Whether a write with `WritePrecondition.lastUpdateTime` was refused because the document has
  /// another update time, or does not exist: somebody else has changed or deleted it. Read it
  /// and decide again. False for all other causes of ``Code/failedPrecondition``.
  ///
  ///     guard let seen = try await book.getDocument().updateTime else { return }
  ///     do {
  ///       try await book.updateData(["title": "Dune"], precondition: .lastUpdateTime(seen))
  ///     } catch let error as FirestoreErrorCode where error.isUpdateTimeMismatch {
  ///       print("Somebody else has changed the book. Read it again.")
  ///     }
  public var isUpdateTimeMismatch: Bool { refusal == .updateTime }

  /// Whether a deletion was refused because another document refers to the document, by a reference
  /// rule with `restrict`. False for all other causes of ``Code/failedPrecondition``, such as a
  /// database that is closed.
  ///
  ///     do {
  ///       try await book.delete()
  ///     } catch let error as FirestoreErrorCode where error.isReferenced {
  ///       print("The book is lent.")
  ///     }
  public var isReferenced: Bool { refusal == .reference }

  /// Whether a write was refused because it stores a reference to a document that does not exist, by a
  /// reference rule with `mustExist`. False for all other causes of ``Code/failedPrecondition``.
  ///
  ///     do {
  ///       try await book.updateData(["author": author])
  ///     } catch let error as FirestoreErrorCode where error.isDanglingReference {
  ///       print("There is no such author.")
  ///     }
  public var isDanglingReference: Bool { refusal == .danglingReference }

  /// The unique index or the reference rule that refused the write. Nil for other
  /// errors. The message also names the document that has the value, or the reference; this does not,
  /// so that a service can show it to its clients.
  ///
  ///     do {
  ///       try await book.setData(["isbn": "9780441013593"])
  ///     } catch let error as FirestoreErrorCode where error.constraint?.fields == ["isbn"] {
  ///       print("Another book has this number.")
  ///     }
  public var constraint: Constraint? { error.userInfo[FirestoreConstraintKey] as? Constraint }

  /// The fields of a unique index, or the field of a reference rule.
  public struct Constraint: Hashable, Sendable, CustomStringConvertible {
    /// The collection id of the index, or of the documents that refer to others.
    public let collectionID: String
    /// The paths of the fields, as in `whereField`; in the order of the index.
    public let fields: [String]

    /// Creates a constraint for `userInfo`, for errors that tests throw.
    public init(collectionID: String, fields: [String]) {
      self.collectionID = collectionID
      self.fields = fields
    }

    /// `users: email`
    public var description: String { collectionID + ": " + fields.joined(separator: ", ") }
  }

  private var refusal: Status.Refusal? {
    (error.userInfo[FirestoreRefusalKey] as? String).flatMap(Status.Refusal.init)
  }

  public var localizedDescription: String { error.localizedDescription }
  public var description: String { error.description }

  public static var errorDomain: String { FirestoreErrorDomain }
  public var errorCode: Int { error.code }
  public var errorUserInfo: [String: Any] { error.userInfo }
}

extension FirestoreErrorCode.Code {
  /// Matches errors with this code: `catch FirestoreErrorCode.notFound`.
  public static func ~= (code: FirestoreErrorCode.Code, error: any Error) -> Bool {
    let error = error as NSError
    return error.code == code.rawValue && error.domain == FirestoreErrorDomain
  }
}

#if !canImport(ObjectiveC)
  /// Lets `catch let error as FirestoreErrorCode` catch a thrown `NSError`.
  extension FirestoreErrorCode: _ObjectiveCBridgeable {
    public func _bridgeToObjectiveC() -> NSError { error }

    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSError, result: inout FirestoreErrorCode?
    ) -> Bool {
      guard source.domain == FirestoreErrorDomain else { return false }
      result = FirestoreErrorCode(source)
      return true
    }

    public static func _forceBridgeFromObjectiveC(
      _ source: NSError, result: inout FirestoreErrorCode?
    ) {
      result = FirestoreErrorCode(source)
    }

    public static func _unconditionallyBridgeFromObjectiveC(
      _ source: NSError?
    ) -> FirestoreErrorCode {
      source.map(FirestoreErrorCode.init) ?? FirestoreErrorCode(.unknown)
    }
  }
#endif

extension Status {
  /// The error as users catch it.
  package var nsError: NSError {
    var userInfo: [String: Any] = [NSLocalizedDescriptionKey: message]
    if let constraint {
      userInfo[FirestoreConstraintKey] = constraint
    } else if let cause {
      userInfo[NSUnderlyingErrorKey] = (cause as? Status)?.nsError ?? cause
    }
    if mayBeDone { userInfo[FirestoreOutcomeUnknownKey] = true }
    if let refusal { userInfo[FirestoreRefusalKey] = refusal.rawValue }
    return FirestoreNSError(
      domain: FirestoreErrorDomain, code: code.rawValue, userInfo: userInfo)
  }
}

/// Prints its message and can be hashed, like an `NSError` on Apple's platforms. On Linux, a plain
/// `NSError` prints `"(null)"`, and hashing it ends the process.
private final class FirestoreNSError: NSError, @unchecked Sendable {
  // Unchecked: adds nothing to the superclass.

  override var description: String {
    let text = "Error Domain=\(domain) Code=\(code) \"\(localizedDescription)\""
    var rest = userInfo
    rest[NSLocalizedDescriptionKey] = nil
    if rest.isEmpty { return text }
    let entries = rest.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    return text + " UserInfo={" + entries.joined(separator: ", ") + "}"
  }

  override var hash: Int {
    var hasher = Hasher()
    hasher.combine(domain)
    hasher.combine(code)
    return hasher.finalize()
  }

  /// Archived as a plain `NSError`.
  override var classForCoder: AnyClass { NSError.self }
}
