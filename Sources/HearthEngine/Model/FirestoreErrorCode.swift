import Foundation

/// The domain of the database's errors. Coders also throw `EncodingError` and `DecodingError`; a
/// cancelled task throws `CancellationError`.
public let FirestoreErrorDomain = "FIRFirestoreErrorDomain"

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
  public enum Code: Int, Sendable {
    case OK = 0
    case cancelled = 1
    case unknown = 2
    case invalidArgument = 3
    case deadlineExceeded = 4
    case notFound = 5
    case alreadyExists = 6
    case permissionDenied = 7
    case resourceExhausted = 8
    case failedPrecondition = 9
    case aborted = 10
    case outOfRange = 11
    case unimplemented = 12
    case `internal` = 13
    case unavailable = 14
    case dataLoss = 15
    case unauthenticated = 16
  }

  public static var OK: Code { .OK }
  public static var cancelled: Code { .cancelled }
  public static var unknown: Code { .unknown }
  public static var invalidArgument: Code { .invalidArgument }
  public static var deadlineExceeded: Code { .deadlineExceeded }
  public static var notFound: Code { .notFound }
  public static var alreadyExists: Code { .alreadyExists }
  public static var permissionDenied: Code { .permissionDenied }
  public static var resourceExhausted: Code { .resourceExhausted }
  public static var failedPrecondition: Code { .failedPrecondition }
  public static var aborted: Code { .aborted }
  public static var outOfRange: Code { .outOfRange }
  public static var unimplemented: Code { .unimplemented }
  public static var `internal`: Code { .internal }
  public static var unavailable: Code { .unavailable }
  public static var dataLoss: Code { .dataLoss }
  public static var unauthenticated: Code { .unauthenticated }

  private let error: NSError

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
  public var userInfo: [String: Any] { error.userInfo }
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
    if let cause { userInfo[NSUnderlyingErrorKey] = (cause as? Status)?.nsError ?? cause }
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
