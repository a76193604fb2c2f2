/// Why an operation failed, in the engine's terms: a canonical gRPC code and a message.
///
/// `nsError` is the error that users catch. `cause` is the underlying error, if any.
package struct Status: Error, Sendable, CustomStringConvertible {
  package typealias Code = FirestoreErrorCode.Code

  package var code: Code
  package var message: String
  var cause: (any Error)?
  /// The operation may have been applied although it failed: do not retry it.
  package var mayBeDone = false
  /// Data that was read has changed since: a retry from the start may succeed.
  package var isContention = false
  /// Which condition of the write was not met, of those that share a code with other causes.
  package var refusal: Refusal?

  /// See ``FirestoreErrorCode/constraint``. It is kept as the cause: a `Status` is part of every
  /// `Result`, and as a property of its own it makes the decoding of a document a tenth slower.
  package var constraint: FirestoreErrorCode.Constraint? {
    get { (cause as? Violation)?.constraint }
    set { cause = newValue.map(Violation.init) }
  }

  private struct Violation: Error {
    let constraint: FirestoreErrorCode.Constraint
  }

  /// See ``FirestoreErrorCode/isUpdateTimeMismatch``, ``FirestoreErrorCode/isReferenced`` and
  /// ``FirestoreErrorCode/isDanglingReference``.
  package enum Refusal: String, Sendable {
    case updateTime
    case reference
    case danglingReference
    /// The cause is the error that the caller's check has thrown.
    case documentCheck
  }

  /// The error that users catch: that of their own check, or `nsError`.
  package var thrown: any Error {
    guard refusal == .documentCheck, let cause else { return nsError }
    return (cause as? Status)?.nsError ?? cause
  }

  package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  static func refused(_ refusal: Refusal, _ message: String) -> Status {
    var status = Status(.failedPrecondition, message)
    status.refusal = refusal
    return status
  }

  package static func invalidArgument(_ message: String) -> Status {
    Status(.invalidArgument, message)
  }
  static func dataLoss(_ message: String) -> Status { Status(.dataLoss, message) }

  package var description: String {
    guard let cause, !(cause is Violation) else { return "\(code): \(message)" }
    return "\(code): \(message) (\(cause))"
  }
}

/// Called once, with the result of an operation.
package typealias Completion<Answer> = @Sendable (Result<Answer, Status>) -> Void
