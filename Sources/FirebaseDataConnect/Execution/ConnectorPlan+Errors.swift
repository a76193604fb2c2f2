import DataConnectModel
import Foundation
import Hearth
import Logging

/// Errors of the database, as callers of operations may see them.
///
/// A caller is a user of an app. A message of the database may name documents, which are rows of other
/// users: then callers get the table and its fields, and the log has the message.
extension Error {
  /// An error of the database with the same code, whose message names no row.
  func withoutRows(of plan: ConnectorPlan) -> NSError {
    let error = self as NSError
    let code = FirestoreErrorCode.Code(rawValue: error.code) ?? .unknown
    var userInfo: [String: Any] = [:]
    for key in [FirestoreRefusalKey, FirestoreConstraintKey, FirestoreOutcomeUnknownKey] {
      userInfo[key] = error.userInfo[key]
    }
    let constraint = error.userInfo[FirestoreConstraintKey] as? FirestoreErrorCode.Constraint
    guard constraint != nil || plan.isRow(in: error) else { return error }
    userInfo[NSLocalizedDescriptionKey] =
      constraint.map { plan.message(for: $0, FirestoreErrorCode(code, userInfo: userInfo)) }
      ?? plan.message(for: code)
    Logger(label: "hearth").log(
      level: constraint == nil ? .error : .debug, "An operation failed.",
      metadata: ["error": "\(error.localizedDescription)"])
    return FirestoreErrorCode(code, userInfo: userInfo) as NSError
  }
}

extension ConnectorPlan {
  /// Whether an error, or one of its causes, names documents of the connector's tables.
  fileprivate func isRow(in error: NSError) -> Bool {
    let text = error.description
    return collectionIDs.contains { text.contains($0 + "/") }
  }

  fileprivate func message(
    for constraint: FirestoreErrorCode.Constraint, _ error: FirestoreErrorCode
  ) -> String {
    let table = typeName(of: constraint.collectionID)
    let fields = constraint.fields.map { "\(table).\($0)" }.joined(separator: " and ")
    if error.isDanglingReference { return "\(fields) refers to a row that does not exist." }
    if error.code == .alreadyExists {
      return constraint.fields.count == 1
        ? "\(fields) must be unique: another row has this value."
        : "\(fields) must be unique together: another row has these values."
    }
    return "A row cannot be deleted: a row of \(table) refers to it in \(fields)."
  }

  fileprivate func message(for code: FirestoreErrorCode.Code) -> String {
    switch code {
    case .dataLoss: "A row is damaged. The log names it."
    case .resourceExhausted:
      "The database has no room, or the operation changes too many rows. The log has the reason."
    default: "The database refused the operation. The log has the reason."
    }
  }
}
