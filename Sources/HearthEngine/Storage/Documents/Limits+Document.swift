/// Checks the limits of a whole document before it is stored.
extension Limits {
  /// Throws `invalidArgument` for a document that Firestore refuses as too large.
  static func check(_ body: DocumentBody, at path: ResourcePath) throws(Status) {
    // By the size rules a value counts for at most about eight times its stored bytes: a small body
    // needs no counting.
    guard body.bytes.count >= document / 16 else { return }
    let size = Limits.size(ofDocument: path, fields: try body.map())
    guard size <= document else {
      throw .invalidArgument(
        "Document '\(path.text)' cannot be written because its size (\(size) bytes) exceeds the "
          + "maximum allowed size of \(document) bytes.")
    }
  }

  /// Throws `invalidArgument` if maps and arrays nest deeper than a document may.
  static func checkNesting(_ fields: MapValue) throws(Status) {
    for field in fields.fields { try checkNesting(field.value) }
  }

  /// The same check, for the value of one field.
  static func checkNesting(_ value: Value) throws(Status) {
    try checkNesting(value, left: nesting)
  }

  private static func checkNesting(_ value: Value, left: Int) throws(Status) {
    switch value {
    case .array(let elements):
      guard left > 0 else { throw tooDeep }
      for element in elements { try checkNesting(element, left: left - 1) }
    case .map(let map):
      guard left > 0 else { throw tooDeep }
      for field in map.fields { try checkNesting(field.value, left: left - 1) }
    default: break
    }
  }

  static var tooDeep: Status {
    .invalidArgument("Maps and arrays can be at most \(nesting) levels deep.")
  }
}
