import Foundation
import Hearth
import Logging

/// The error of every call, with a code of Parse.
///
///     do {
///       let book = try Book.query("title" == "Dune").first()
///       print(book.id)
///     } catch where error.code == .objectNotFound {
///       print("There is no such book.")
///     }
public struct ParseError: Error, Equatable, Sendable, LocalizedError, CustomStringConvertible,
  CustomDebugStringConvertible
{
  /// The codes of Parse. Raw values are those of Parse's server.
  public enum Code: Int, Sendable {
    /// No other code fits; see `underlyingError`. The task was cancelled, which is a
    /// `CancellationError` there; or it is unknown whether a commit was applied; or
    /// `ParseObject.get(_:)` finds no value.
    case unknownError = -1
    /// The database failed: its file is damaged, or cannot be opened or read.
    case internalServer = 1
    /// `ParseSwift.initialize` was not called.
    case notInitialized = 100
    /// The object, its file, or a result does not exist, or the identity may not read it.
    case objectNotFound = 101
    /// The query contradicts itself: a second search for words, a relative time of another form, a
    /// cursor with an order by distance.
    case invalidQuery = 102
    /// The name of a class is empty, contains `/`, or begins with `_`.
    case invalidClassName = 103
    /// An object that must have an id was not saved, or an id is empty or contains `/`.
    case missingObjectId = 104
    /// A key is empty, contains an empty part, or is one that the operation does not take.
    case invalidKeyName = 105
    /// The JSON of a pointer is damaged, or is that of a pointer to another class. A stored pointer to
    /// another class is an `incorrectType`.
    case invalidPointer = 106
    /// JSON is damaged. Never thrown here: there is no server that receives JSON.
    case invalidJSON = 107
    /// A value cannot be encoded, or a stored value is not of the property's type; an operation would
    /// store such a value, and is refused; a relation has objects of another class.
    case incorrectType = 111
    /// An object is too large. Never thrown here: one of more than 1 MiB is an `invalidValue`, and a
    /// full disk is `exceededQuota`.
    case objectTooLarge = 116
    /// A rule of a reference, an ACL or the state of the database forbids it: it is read-only,
    /// closed, or open in another way. Also for requests that have no equivalent here.
    case operationForbidden = 119
    /// The time of the request is over. A task that was cancelled is `unknownError`.
    case timeout = 124
    /// A unique index has the value, or an object with the id exists.
    case duplicateValue = 137
    /// There is no room: on the disk, in the user's quota of it, in the map of the file, or for more
    /// writes that wait. Make room and repeat; objects can be read meanwhile.
    case exceededQuota = 140
    /// A validation failed. Never thrown here: validations in functions of a server do not exist.
    case validationFailed = 142
    /// A request came twice. Never thrown here: requests have no ids.
    case duplicateRequest = 159
    /// The database refuses a value: it is out of range or too large.
    case invalidValue = 162
    /// Groups are asked of a query with an order, a limit, or results to skip.
    case aggregateError = 600
  }

  /// The code of Parse for the reason.
  public var code: Code
  /// The reason, in a sentence for developers.
  public var message: String
  /// The error of the database, or of coding. Nil for errors of this module.
  public var underlyingError: (any Error)?
  /// The class of the object that cannot be read, or whose write is refused because it could not be read
  /// afterwards. Nil for other errors.
  public internal(set) var className: String?
  /// The id of that object. Nil for other errors, and for a value of a group.
  public internal(set) var objectId: String?
  /// The property of that object, with dots into its value: `tags.2`. Nil if it is not known.
  public internal(set) var key: String?

  /// Creates an error of a program's own.
  ///
  ///     throw ParseError(code: .validationFailed, message: "A book has a title.")
  public init(code: Code, message: String) { self.init(code, message) }

  init(_ code: Code, _ message: String, _ underlyingError: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlyingError = underlyingError
  }

  /// Compares codes and messages, and not underlying errors.
  public static func == (lhs: ParseError, rhs: ParseError) -> Bool {
    lhs.code == rhs.code && lhs.message == rhs.message
  }

  /// The message.
  public var errorDescription: String? { message }
  /// The code as a number, and the message: `ParseError 101: Object not found.`
  public var description: String { "ParseError \(code.rawValue): \(message)" }
  /// Same as `description`.
  public var debugDescription: String { description }

  /// From any error of Hearth, or of coding.
  init(_ error: any Error) {
    if let error = error as? ParseError {
      self = error
      return
    }
    let code: Code =
      switch error {
      case FirestoreErrorCode.notFound: .objectNotFound
      case FirestoreErrorCode.alreadyExists: .duplicateValue
      case FirestoreErrorCode.invalidArgument: .invalidValue
      case FirestoreErrorCode.failedPrecondition, FirestoreErrorCode.permissionDenied,
        FirestoreErrorCode.unimplemented:
        .operationForbidden
      case FirestoreErrorCode.deadlineExceeded: .timeout
      // Parse has no code for it: its requests report the cancellation of the system as unknown.
      case FirestoreErrorCode.cancelled, is CancellationError: .unknownError
      case FirestoreErrorCode.resourceExhausted: .exceededQuota
      case FirestoreErrorCode.dataLoss, FirestoreErrorCode.internal,
        FirestoreErrorCode.unavailable:
        .internalServer
      case is EncodingError, is DecodingError: .incorrectType
      default: .unknownError
      }
    self.init(code, Self.message(of: error), error)
  }

  /// The error for a document that cannot be read as an object of its class.
  init(_ error: any Error, reading document: DocumentReference) {
    self.init(error)
    name(document, underlyingError ?? error)
  }

  /// The error for a write after which the object could not be read.
  init(_ error: any Error, refusing document: DocumentReference) {
    self.init(error)
    code = .incorrectType
    name(document, underlyingError ?? error)
    message = "Nothing is written: the object could not be read afterwards. " + message
  }

  /// The error for the value of a group that is not of the type it is read as.
  init(_ error: any Error, groupOf className: String) {
    self.init(error)
    self.className = className
    key = Self.key(of: error)
    message = "A value of the class \(className) cannot be read. " + message
  }

  /// Reports the error of an object that a live query goes on without.
  func log() {
    Logger(label: "hearth").error(
      "An object cannot be read: the live query goes on without it.",
      metadata: ["error": "\(self)"])
  }

  private mutating func name(_ document: DocumentReference, _ error: any Error) {
    // The error of an included object has its names already.
    guard className == nil else { return }
    className = document.parent.collectionID
    objectId = document.documentID
    key = Self.key(of: error)
    // An error of decoding names its document.
    if !(error is DecodingError) { message = "\(document.path) cannot be read: \(message)" }
  }

  private static func key(of error: any Error) -> String? {
    let path: [any CodingKey]
    switch error {
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.dataCorrupted(let context):
      path = context.codingPath
    case DecodingError.keyNotFound(let key, let context): path = context.codingPath + [key]
    default: return nil
    }
    if path.isEmpty { return nil }
    return path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
  }

  private static func message(of error: any Error) -> String {
    switch error {
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
      text(context.debugDescription, context.codingPath)
    case EncodingError.invalidValue(_, let context):
      text(context.debugDescription, context.codingPath)
    default: FileError.sentence(for: error) ?? error.localizedDescription
    }
  }

  private static func text(_ description: String, _ path: [any CodingKey]) -> String {
    path.isEmpty ? description : "\(path.map(\.stringValue).joined(separator: ".")): \(description)"
  }
}

/// Runs `body`; its error becomes a `ParseError`.
func reporting<Result>(_ body: () throws -> Result) throws(ParseError) -> Result {
  do { return try body() } catch { throw ParseError(error) }
}

/// Same as the synchronous form.
func reporting<Result>(_ body: () async throws -> Result) async throws(ParseError) -> Result {
  do { return try await body() } catch { throw ParseError(error) }
}

/// Calls `completion` once, on `queue` or, without one, where the task runs: never on the main queue by
/// itself, which a service may not drain.
func completing<Answer: Sendable>(
  on queue: DispatchQueue?,
  _ completion: @escaping @Sendable (Result<Answer, ParseError>) -> Void,
  _ body: @escaping @Sendable () async throws -> Answer
) {
  Task {
    let result: Result<Answer, ParseError>
    do { result = .success(try await body()) } catch { result = .failure(ParseError(error)) }
    guard let queue else { return completion(result) }
    queue.async { completion(result) }
  }
}
