/// The errors of writes that a unique index or a reference rule refuses.
extension Status {
  static func duplicate(
    of other: ResourcePath, at path: ResourcePath, _ index: IndexDefinition
  ) -> Status {
    var status = Status(
      .alreadyExists,
      "\(path.text) cannot be written: \(other.text) has the same values, which the index "
        + "\(index) allows only once.")
    status.constraint = index.publicConstraint
    return status
  }

  static func referenced(
    _ path: ResourcePath, by other: ResourcePath, _ index: IndexDefinition
  ) -> Status {
    var status = refused(
      .reference,
      "\(path.text) cannot be deleted: \(other.text) refers to it in "
        + "\(index.components[0].field.canonicalText), which the rule \(index) forbids. Delete or change "
        + "that document before or in the same commit.")
    status.constraint = index.publicConstraint
    return status
  }

  static func dangling(
    _ target: ResourcePath, in path: ResourcePath, _ rule: IndexDefinition
  ) -> Status {
    var status = refused(
      .danglingReference,
      "\(path.text) cannot be written: it refers to \(target.text) in "
        + "\(rule.components[0].field.canonicalText), which does not exist. The rule \(rule) demands "
        + "that it does. Create it before or in the same commit.")
    status.constraint = rule.publicConstraint
    return status
  }

  static func tooManyReferences(to path: ResourcePath) -> Status {
    Status(
      .resourceExhausted,
      "\(path.text) cannot be deleted: more than \(Limits.cascadedDocuments) documents, or "
        + "\(Limits.cascadedBytes >> 20) MiB, would be changed with it. Delete or change some of them "
        + "first.")
  }
}

extension IndexDefinition {
  /// The constraint in the form that users' errors have.
  fileprivate var publicConstraint: FirestoreErrorCode.Constraint {
    FirestoreErrorCode.Constraint(
      collectionID: collectionID, fields: components.map(\.field.canonicalText))
  }
}
