import Foundation

/// An error of Data Connect.
public protocol DataConnectError: Error, CustomStringConvertible, CustomDebugStringConvertible,
  Sendable
{
  var message: String { get }
  /// The error that led to it.
  var underlyingError: (any Error)? { get }
}

extension DataConnectError {
  public var description: String { message }

  public var debugDescription: String {
    underlyingError.map { "\(message) (\($0))" } ?? message
  }
}

/// An error with a code of its domain.
public protocol DataConnectDomainError: DataConnectError {
  associatedtype Code: Sendable

  var code: Code { get }
}

/// Any error of Data Connect, as subscriptions deliver it.
public struct AnyDataConnectError: Error, CustomStringConvertible, Sendable {
  public let dataConnectError: any DataConnectError

  public init(dataConnectError: any DataConnectError) { self.dataConnectError = dataConnectError }

  public var description: String { dataConnectError.description }
}

/// The connector cannot be used: its compiled form is damaged, or no database is open.
public struct DataConnectInitError: DataConnectDomainError {
  public enum Code: Sendable {
    case appNotConfigured, grpcNotConfigured
    /// The compiled form is of a newer version, or damaged.
    case invalidConnector
  }

  public let code: Code
  public let message: String
  public let underlyingError: (any Error)?

  init(_ code: Code, _ message: String, _ underlyingError: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlyingError = underlyingError
  }
}

/// A value does not have the form that its type demands.
public struct DataConnectCodecError: DataConnectDomainError {
  public enum Code: Sendable {
    case encodingFailed, decodingFailed, invalidUUID, invalidTimestampFormat
    case invalidLocalDateFormat
  }

  public let code: Code
  public let message: String
  public let underlyingError: (any Error)?

  init(_ code: Code, _ message: String, _ underlyingError: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlyingError = underlyingError
  }
}

/// The database failed, or the emulator.
public struct DataConnectInternalError: DataConnectDomainError {
  public enum Code: Sendable {
    case internalError, sqliteError
    /// No emulator answers. Nothing was executed.
    case emulatorUnavailable
    /// The emulator ended before its answer: the mutation may have been executed.
    case unknownOutcome
  }

  public let code: Code
  public let message: String
  /// The error of the database.
  public let underlyingError: (any Error)?

  init(_ code: Code, _ message: String, _ underlyingError: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlyingError = underlyingError
  }
}

/// An operation failed, as a whole or in part.
public struct DataConnectOperationError: DataConnectError {
  /// All messages of the response.
  public let message: String
  /// The error of decoding, if the parts of the result that exist do not have the type of the result.
  public let underlyingError: (any Error)?
  /// The errors, and the parts of the result that exist.
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
  /// One error.
  public struct ErrorInfo: Hashable, Sendable, CustomStringConvertible {
    public let message: String
    /// The field that failed. Nil if the error concerns all.
    public let path: [DataConnectPathSegment]?

    public init(message: String, path: [DataConnectPathSegment]? = nil) {
      self.message = message
      self.path = path
    }

    public var description: String {
      guard let path, !path.isEmpty else { return message }
      return path.map(\.description).joined(separator: ".") + ": " + message
    }
  }

  /// The result as JSON: null where a field failed.
  public var rawJsonData: String { value.json }
  public let errors: [ErrorInfo]
  private let value: DataValue
  private let decoded: (any Sendable)?

  init(errors: [ErrorInfo], value: DataValue, decoded: (any Sendable)?) {
    self.errors = errors
    self.value = value
    self.decoded = decoded
  }

  /// The parts of the result that exist. Nil if they cannot be decoded.
  public func data<Value: Sendable>(asType type: Value.Type = Value.self) -> Value? {
    decoded as? Value
  }
}

/// A step to a field of a result.
public enum DataConnectPathSegment: Hashable, Sendable, CustomStringConvertible {
  case field(String)
  case listIndex(Int)

  public var description: String {
    switch self {
    case .field(let name): name
    case .listIndex(let index): String(index)
    }
  }
}
