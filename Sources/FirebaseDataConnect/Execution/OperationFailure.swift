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
  init(_ error: any Error) {
    if let failure = error as? OperationFailure {
      self = failure
      return
    }
    let isOfDatabase = (error as NSError).domain == FirestoreErrorDomain
    self.init(isOfDatabase ? error.localizedDescription : "\(error)", cause: error)
  }

  static func invalid(_ what: String) -> OperationFailure { OperationFailure(what) }

  static func check(_ message: String) -> OperationFailure {
    var failure = OperationFailure(message)
    failure.isCheck = true
    return failure
  }
}
