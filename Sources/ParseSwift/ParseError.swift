import Foundation
import Hearth

/// The error of every call.
public struct ParseError: Error, Equatable, Sendable, LocalizedError, CustomStringConvertible {
  /// The codes of Parse that have a meaning here.
  public enum Code: Int, Sendable {
    /// No code fits; see `underlyingError`.
    case unknownError = -1
    /// The database failed: its file is damaged, full, or was closed.
    case internalServer = 1
    /// `ParseSwift.initialize` was not called.
    case notInitialized = 100
    case objectNotFound = 101
    case invalidQuery = 102
    case invalidClassName = 103
    case missingObjectId = 104
    case invalidKeyName = 105
    case invalidPointer = 106
    case invalidJSON = 107
    case incorrectType = 111
    case objectTooLarge = 116
    case operationForbidden = 119
    case timeout = 124
    case duplicateValue = 137
    case validationFailed = 142
    case duplicateRequest = 159
    case invalidValue = 162
    case aggregateError = 600
  }

  public var code: Code
  public var message: String
  /// The error of the database.
  public var underlyingError: (any Error)?

  init(_ code: Code, _ message: String, _ underlyingError: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlyingError = underlyingError
  }

  /// Two errors are equal if their codes and messages are.
  public static func == (lhs: ParseError, rhs: ParseError) -> Bool {
    lhs.code == rhs.code && lhs.message == rhs.message
  }

  public var errorDescription: String? { message }
  public var description: String { "ParseError \(code.rawValue): \(message)" }

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
      case FirestoreErrorCode.deadlineExceeded, FirestoreErrorCode.cancelled, is CancellationError:
        .timeout
      case FirestoreErrorCode.resourceExhausted: .objectTooLarge
      case FirestoreErrorCode.dataLoss, FirestoreErrorCode.internal,
        FirestoreErrorCode.unavailable:
        .internalServer
      case is EncodingError, is DecodingError: .incorrectType
      default: .unknownError
      }
    self.init(code, Self.message(of: error), error)
  }

  private static func message(of error: any Error) -> String {
    switch error {
    case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
      DecodingError.keyNotFound(_, let context), DecodingError.dataCorrupted(let context):
      text(context.debugDescription, context.codingPath)
    case EncodingError.invalidValue(_, let context):
      text(context.debugDescription, context.codingPath)
    default: error.localizedDescription
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
