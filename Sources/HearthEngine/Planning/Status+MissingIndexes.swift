extension Status {
  /// The message lists the indexes as JSON to paste.
  static func requires(_ indexes: [IndexDefinition]) -> Status {
    Status(
      .failedPrecondition,
      "The query requires an index. Declare it, or add it to firestore.indexes.json: "
        + indexes.map(\.json).joined(separator: ", "))
  }
}
