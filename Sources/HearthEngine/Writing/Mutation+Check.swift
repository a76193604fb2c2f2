/// Checks that do not depend on what is stored, made on the caller's thread before a request is
/// submitted. The plan makes those that depend on the stored document (its size, its depth).
extension Mutation {
  /// The limits of a request as a whole. Throws `invalidArgument`.
  ///
  /// - Returns: Approximate memory use of the mutations, in bytes.
  @discardableResult
  static func checkTotals(_ mutations: [Mutation]) throws(Status) -> Int {
    var byteCount = 0
    var contentByteCount = 0
    var transformCount = 0
    // By their positions: an element of a loop is a copy.
    for index in mutations.indices {
      byteCount += mutations[index].byteCount
      contentByteCount += mutations[index].contentByteCount
      transformCount += mutations[index].transforms.count
    }
    try Limits.check(requestOf: contentByteCount)
    guard transformCount > Limits.transformsPerDocument else { return byteCount }
    var transformsOf: [ResourcePath: Int] = [:]
    for mutation in mutations {
      transformsOf[mutation.path, default: 0] += mutation.transforms.count
      guard transformsOf[mutation.path, default: 0] <= Limits.transformsPerDocument else {
        throw .invalidArgument(
          "A request has more than \(Limits.transformsPerDocument) transforms of one document: "
            + mutation.path.text)
      }
    }
    return byteCount
  }

  /// Throws `invalidArgument` for names, fields, values and transforms that no document can have.
  package func check() throws(Status) {
    switch operation {
    case .set(let body):
      try path.checkNames()
      try body.checkFields()
    case .patch(let body, let mask):
      try path.checkNames()
      for field in mask { try field.checkNames() }
      try body.checkFields()
    case .delete, .verify:
      try path.checkNames(forWriting: false)
      guard transforms.isEmpty else {
        throw .invalidArgument("A delete must not specify an update transform.")
      }
    }
    if !transforms.isEmpty { try checkTransforms() }
  }

  private func checkTransforms() throws(Status) {
    for (field, transform) in transforms {
      try field.checkNames()
      try transform.check()
    }
    let fields = transforms.map(\.field).sorted()
    for (field, next) in zip(fields, fields.dropFirst()) where next.hasPrefix(field) {
      guard next == field else {
        throw .invalidArgument(
          "Cannot transform property \(field.canonicalText) and its nested property at the same "
            + "time.")
      }
    }
  }
}

extension Mutation.Precondition {
  /// Throws if the document does not meet the precondition.
  ///
  /// - Parameters:
  ///   - updateTime: Update time of the stored document; nil if there is none.
  ///   - time: Commit time.
  func check(
    _ path: ResourcePath, exists: Bool, updateTime: Instant?, at time: Instant
  ) throws(Status) {
    switch self {
    case .none: break
    case .exists(true):
      guard exists else { throw Status(.notFound, "No document to update: \(path.text)") }
    case .exists(false):
      guard !exists else {
        throw Status(.alreadyExists, "Document already exists: \(path.text)")
      }
    case .updateTime(let wanted):
      guard wanted <= time else {
        throw .invalidArgument("The update time of the precondition is in the future.")
      }
      guard exists else {
        throw .refused(.updateTime, "No document to update: \(path.text)")
      }
      let found = updateTime ?? time
      guard found == wanted else {
        throw .refused(
          .updateTime,
          "the stored version (\(found.microseconds)) does not match the required base version "
            + "(\(wanted.microseconds))")
      }
    }
  }
}

extension Limits {
  static func check(requestOf byteCount: Int) throws(Status) {
    guard byteCount <= request else {
      throw .invalidArgument(
        "A request of \(byteCount) bytes is larger than the maximum of \(request) bytes.")
    }
  }
}

extension FieldTransform {
  fileprivate func check() throws(Status) {
    switch self {
    case .serverTimestamp, .delete: break
    case .increment(let operand), .minimum(let operand), .maximum(let operand):
      guard operand.typeClass == .number || operand.typeClass == .nan else {
        throw .invalidArgument("Input must be int64 or double.")
      }
    case .arrayUnion(let elements), .arrayRemove(let elements):
      try DocumentBody(encoding: MapValue([("elements", .array(elements))])).checkFields()
    }
  }
}

extension DocumentBody {
  /// Throws `invalidArgument` for names and values that Firestore does not store.
  func checkFields() throws(Status) {
    guard needsCheck else { return }
    try walkAndCheckFields()
  }

  /// Same as `checkFields`, whatever the writer of the bytes met.
  func walkAndCheckFields() throws(Status) {
    try withView { view throws(Status) in try view.check(pathCount: 0, depthLeft: Limits.nesting) }
  }
}

extension MapView {
  /// `pathCount` is the length of the path to this map in bytes, with its last dot.
  fileprivate func check(pathCount: Int, depthLeft: Int) throws(Status) {
    for index in 0..<count {
      let name = try name(at: index)
      let pathCount = pathCount + name.count
      // Only a few names need the full check: empty, long, or beginning with an underscore.
      if name.isEmpty || pathCount > Limits.fieldName || name[0] == UInt8(ascii: "_") {
        try FieldSegments.check(name: nameString(at: index))
        guard pathCount <= Limits.fieldName else {
          throw .invalidArgument("The property path is longer than \(Limits.fieldName) bytes.")
        }
      }
      try value(at: index).check(pathCount: pathCount + 1, depthLeft: depthLeft)
    }
  }
}

extension ValueView {
  fileprivate func check(pathCount: Int, depthLeft: Int) throws(Status) {
    switch try kind() {
    case .null, .boolean, .integer, .double: break
    case .string, .bytes:
      guard bytes.count > Limits.fieldValue else { return }
      let text = try stringBytes()
      let blob = try blob()
      guard (text ?? blob)?.count ?? 0 <= Limits.fieldValue else {
        throw .invalidArgument("A value is longer than \(Limits.fieldValue) bytes.")
      }
    case .timestamp:
      do throws(Status) { _ = try timestamp() } catch {
        throw .invalidArgument("A timestamp is outside the years 0001 to 9999.")
      }
    case .reference:
      guard let path = try reference() else { return }
      guard path.isDocument else {
        throw .invalidArgument("A reference is not the name of a document: \(path.text)")
      }
      try path.checkNames()
    case .geoPoint:
      try geoPoint()?.check()
    case .array:
      guard depthLeft > 0 else { throw Limits.tooDeep }
      guard var array = try array() else { return }
      for _ in 0..<array.count {
        let element = try array.next()
        switch try element.kind() {
        case .array: throw .invalidArgument("Cannot convert an array value in an array value.")
        case .vector: throw .invalidArgument("Cannot convert a vector value in an array value.")
        default: try element.check(pathCount: 0, depthLeft: depthLeft - 1)
        }
      }
    case .vector:
      guard let components = try vector() else { return }
      try StructuredQuery.check(vector: components)
      guard !components.contains(where: \.isNaN) else {
        throw .invalidArgument("Vector cannot contain NaN values.")
      }
    case .map:
      guard depthLeft > 0 else { throw Limits.tooDeep }
      try map()?.check(pathCount: pathCount, depthLeft: depthLeft - 1)
    }
  }
}
