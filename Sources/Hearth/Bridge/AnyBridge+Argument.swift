/// Reads arguments of queries, with the values inside them.
extension AnyBridge {
  /// A value for a query or a cursor. Maps may have any names here, but no sentinels.
  ///
  /// - Parameter allowsNestedArrays: True for `in` and `notIn`, whose elements may be arrays.
  static func value(
    _ input: Any, database: DatabaseIdentity?, allowsNestedArrays: Bool = false
  ) throws(Status) -> Value {
    var reader = UserDataReader(
      source: allowsNestedArrays ? .arrayArgument : .argument, database: database)
    return try reader.readArgument(input)
  }
}
