import Foundation

/// An error of Data Connect. Its types are `DataConnectOperationError`, `DataConnectCodecError`,
/// `DataConnectInitError` and `DataConnectInternalError`.
public protocol DataConnectError: Error, CustomStringConvertible, CustomDebugStringConvertible,
  Sendable
{
  /// The reason, in a sentence for developers.
  var message: String { get }
  /// The error that led to this one. Nil if there is none.
  var underlyingError: (any Error)? { get }
}

extension DataConnectError {
  /// The message.
  public var description: String { message }

  /// The message, with the underlying error in parentheses.
  public var debugDescription: String {
    underlyingError.map { "\(message) (\($0))" } ?? message
  }
}

/// An error with a code that programs can compare.
public protocol DataConnectDomainError: DataConnectError {
  /// The reasons that a program can distinguish.
  associatedtype Code: Sendable

  /// The reason.
  var code: Code { get }
}

/// Any error of Data Connect, as subscriptions deliver it.
public struct AnyDataConnectError: Error, CustomStringConvertible, Sendable {
  /// The error that was wrapped. Cast it to a concrete type, such as `DataConnectOperationError`.
  public let dataConnectError: any DataConnectError

  /// Wraps an error.
  public init(dataConnectError: any DataConnectError) { self.dataConnectError = dataConnectError }

  /// The message of the wrapped error.
  public var description: String { dataConnectError.description }
}

/// The connector cannot be used: its compiled form is damaged or of a newer version, or the
/// emulator does not serve it.
public struct DataConnectInitError: DataConnectDomainError {
  /// The reasons for a connector that cannot be used.
  public enum Code: Sendable {
    /// No Firebase app is configured. Exists for source compatibility; never thrown here.
    case appNotConfigured
    /// No connection to a server. Exists for source compatibility; never thrown here.
    case grpcNotConfigured
    /// The compiled form is damaged or of a newer version, or the emulator has no such connector.
    case invalidConnector
  }

  /// The reason. Always `.invalidConnector`.
  public let code: Code
  /// The reason, with the remedy: generate the package again, or update Hearth.
  public let message: String
  /// The error of decoding the compiled form. Nil if it can be decoded and cannot be used.
  public let underlyingError: (any Error)?

  init(_ code: Code, _ message: String, _ underlyingError: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlyingError = underlyingError
  }
}

/// A value does not have the form of its type: a variable, a value of a result, or a text.
public struct DataConnectCodecError: DataConnectDomainError {
  /// The steps that can fail, and for a text the form that it should have.
  public enum Code: Sendable {
    /// Variables cannot be encoded, or are not encoded as an object.
    case encodingFailed
    /// A value of a result is not of the Swift type, or a text is no JSON.
    case decodingFailed
    /// A text is no UUID.
    case invalidUUID
    /// A text is no timestamp as in RFC 3339, or is outside the years 1 to 9999.
    case invalidTimestampFormat
    /// A text is no date `YYYY-MM-DD`, or the day does not exist.
    case invalidLocalDateFormat
  }

  /// The step that failed.
  public let code: Code
  /// A sentence that contains the value, or names the type.
  public let message: String
  /// The error of `Codable` or of the JSON parser. Nil if there is none.
  public let underlyingError: (any Error)?

  init(_ code: Code, _ message: String, _ underlyingError: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlyingError = underlyingError
  }
}

/// The database or the emulator failed.
public struct DataConnectInternalError: DataConnectDomainError {
  /// The places where the failure came from.
  public enum Code: Sendable {
    /// The database failed outside of an operation: for example, indexes cannot be declared. See
    /// `underlyingError`. A failure in an operation is a `DataConnectOperationError`.
    case internalError
    /// A cache in SQLite failed. Exists for source compatibility; never thrown here.
    case sqliteError
    /// The emulator does not answer, or ends connections. Nothing was executed.
    case emulatorUnavailable
    /// The connection to the emulator ended before its answer: the mutation may have been executed.
    case unknownOutcome
  }

  /// The place where the failure came from.
  public let code: Code
  /// The reason, with the address of an emulator.
  public let message: String
  /// The error of the database. Nil for errors of an emulator.
  public let underlyingError: (any Error)?

  init(_ code: Code, _ message: String, _ underlyingError: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlyingError = underlyingError
  }
}

/// An operation failed, as a whole or in part.
///
///     do {
///       try await connector.listMoviesByGenreQuery.execute(genre: "Sci-Fi", offset: -1)
///     } catch let error as DataConnectOperationError {
///       for failure in error.response?.errors ?? [] { print(failure) }
///     }
///
/// A query that fails has no result. The fields of a mutation without `@transaction` are executed
/// one by one: `response` has the results of those that did not fail.
///
/// On a full disk mutations fail and queries do not; `underlyingError` is the database's then:
///
///     do {
///       try await connector.createMovieMutation.execute(
///         title: "Dune", releaseYear: 2021, genre: "Sci-Fi", rating: 5)
///     } catch let error as DataConnectOperationError {
///       if let cause = error.underlyingError, FirestoreErrorCode.resourceExhausted ~= cause {
///         print("Make room, and repeat: \(error.message)")
///       }
///     }
public struct DataConnectOperationError: DataConnectError {
  /// All errors of the response, each as its `description` with its path, one in a line; or the reason,
  /// without a response.
  public let message: String
  /// The first underlying error of a field, of the database or of an expression. One of the database
  /// has its code and, for a unique index or a reference rule, its `constraint`; its message names no
  /// row, which may be another user's: the log does. Without one, the error of decoding, if the result type requires a field that failed. Nil otherwise.
  public let underlyingError: (any Error)?
  /// The errors, and the parts of the result that exist. Nil if the operation was not executed,
  /// because the connector does not have it, for example.
  public let response: OperationFailureResponse?

  init(
    _ message: String, _ underlyingError: (any Error)? = nil,
    response: OperationFailureResponse? = nil
  ) {
    self.message = message
    self.underlyingError = underlyingError
    self.response = response
  }
}

/// The response of an operation that failed.
public struct OperationFailureResponse: Sendable {
  /// One error of a response.
  public struct ErrorInfo: Hashable, Sendable, CustomStringConvertible {
    /// The reason, such as `permission denied` or `(rolled back)`.
    public let message: String
    /// The steps from the result to the field that failed. Nil if the error concerns the whole
    /// operation.
    public let path: [DataConnectPathSegment]?

    /// Creates an error, by default of the whole operation.
    public init(message: String, path: [DataConnectPathSegment]? = nil) {
      self.message = message
      self.path = path
    }

    /// The path with dots, and the message: `movie_insertMany.1: …`.
    public var description: String {
      guard let path, !path.isEmpty else { return message }
      return path.map(\.description).joined(separator: ".") + ": " + message
    }
  }

  /// The result as a JSON object: null where a field failed.
  public var rawJsonData: String { value.json }
  /// The errors, in the order of the fields. Never empty.
  public let errors: [ErrorInfo]
  private let value: DataValue
  private let decoded: (any Sendable)?

  init(errors: [ErrorInfo], value: DataValue, decoded: (any Sendable)?) {
    self.errors = errors
    self.value = value
    self.decoded = decoded
  }

  /// The parts of the result that exist, as the `Data` type of the operation. Nil if `Value` is
  /// another type, or if the type requires a value for a field that failed.
  ///
  ///     let partial = error.response?.data(asType: CreateMovieMutation.Data.self)
  public func data<Value: Sendable>(asType type: Value.Type = Value.self) -> Value? {
    decoded as? Value
  }
}

/// A step on the path to a field of a result.
public enum DataConnectPathSegment: Hashable, Sendable, CustomStringConvertible {
  /// A field, by its name in the response.
  case field(String)
  /// An element of a list, from 0 on.
  case listIndex(Int)

  /// The name, or the index as a number.
  public var description: String {
    switch self {
    case .field(let name): name
    case .listIndex(let index): String(index)
    }
  }
}
