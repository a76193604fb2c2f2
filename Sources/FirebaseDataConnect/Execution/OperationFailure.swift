import Foundation
import Hearth

/// The failure of a field, or of a whole operation.
struct OperationFailure: Error {
  var message: String
  /// Below the root field.
  var path: [DataConnectPathSegment]
  /// A failed `@check`, which ends a mutation.
  var isCheck = false
  /// The error of the database.
  var cause: (any Error)?

  init(_ message: String, path: [DataConnectPathSegment] = [], cause: (any Error)? = nil) {
    self.message = message
    self.path = path
    self.cause = cause
  }

  /// From any error. One of the database has a sentence, for example that the disk is full.
  init(_ error: any Error, in plan: ConnectorPlan) {
    if let failure = error as? OperationFailure {
      self = failure
      return
    }
    guard (error as NSError).domain == FirestoreErrorDomain else {
      self.init("\(error)", cause: error)
      return
    }
    let cause = error.withoutRows(of: plan)
    self.init(cause.localizedDescription, cause: cause)
  }

  static func invalid(_ what: String) -> OperationFailure { OperationFailure(what) }

  static func check(_ message: String) -> OperationFailure {
    var failure = OperationFailure(message)
    failure.isCheck = true
    return failure
  }
}
