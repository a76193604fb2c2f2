internal import HearthText

/// Reads users' data. Refuses what cannot be stored, with the messages of Firebase's SDK.
///
/// One reader reads one write or one argument. It tracks the current path, for messages and for the
/// mask; there are no paths inside arrays.
struct UserDataReader {
  /// The use of the data, which decides what sentinels and names are allowed.
  enum Source {
    case set, mergeSet, update
    /// An element of `arrayUnion` or `arrayRemove`.
    case element
    /// A query's or cursor's value, which is never stored.
    case argument
    /// As `argument`, with elements that may be arrays.
    case arrayArgument

    var acceptsSentinels: Bool { self == .set || self == .mergeSet || self == .update }
    var isStored: Bool { acceptsSentinels || self == .element }
  }

  typealias Transform = (field: FieldSegments, transform: FieldTransform)

  private let source: Source
  /// Nil if references may point to any database.
  private let database: DatabaseIdentity?
  private var path: [String] = []
  /// The number of arrays around the current value. No path leads into an array.
  private var arrays = 0

  /// In a merge: the path of every leaf, including deleted ones. An empty map is a leaf.
  private(set) var leaves: [FieldSegments] = []
  private var transforms: [Transform] = []
  /// By their fields.
  var sortedTransforms: [Transform] {
    transforms.count < 2 ? transforms : transforms.sorted { $0.field < $1.field }
  }
  /// The database of the references that were read so far.
  private(set) var referencedDatabase: DatabaseIdentity?

  init(source: Source, database: DatabaseIdentity?) {
    self.source = source
    self.database = database
  }

  /// The change of one field in an update.
  enum Change {
    case value(Value)
    case delete
    /// The change is among `transforms`.
    case transform
  }

  /// Reads one field of an update.
  mutating func readChange(of field: FieldSegments, _ input: Any) throws(Status) -> Change {
    try enter(field)
    let kind = try AnyBridge.kind(of: input)
    if case .sentinel(let sentinel) = kind, case .delete = sentinel.transform { return .delete }
    let value = try read(kind, depth: field.names.count - 1, isElement: false)
    return value.map(Change.value) ?? .transform
  }

  /// A value for a query or a cursor. Maps may have any names here, but no sentinels.
  ///
  /// - Parameter allowsNestedArrays: True for `in` and `notIn`, whose elements may be arrays.
  static func argument(
    _ input: Any, database: DatabaseIdentity?, allowsNestedArrays: Bool = false
  ) throws(Status) -> Value {
    var reader = UserDataReader(
      source: allowsNestedArrays ? .arrayArgument : .argument, database: database)
    // A sentinel, the only input without a value, has been refused.
    return try reader.read(AnyBridge.kind(of: input), depth: 0, isElement: false) ?? .null
  }

  /// Nil for a sentinel.
  private mutating func read(
    _ kind: AnyBridge.Kind, depth: Int, isElement: Bool
  ) throws(Status) -> Value? {
    switch kind {
    case .scalar(let value):
      noteLeaf()
      return value
    case .dictionary(let dictionary):
      if dictionary.isEmpty { noteLeaf() }
      return .map(try readFields(dictionary, depth: depth + 1))
    case .scalars(let values):
      try checkArray(isElement: isElement)
      try checkDepth(depth + 1)
      noteLeaf()
      return .array(values)
    case .array(let elements):
      try checkArray(isElement: isElement)
      noteLeaf()
      return .array(try readArray(elements, depth: depth + 1))
    case .reference(let reference):
      if let validationError = reference.validationError { throw validationError }
      try checkDatabase(reference.databaseIdentity)
      noteLeaf()
      return .reference(reference.resourcePath)
    case .sentinel(let sentinel):
      try note(sentinel)
      return nil
    case .tooLarge(let digits):
      throw .invalidArgument("NSNumber (\(digits)) is too large\(position)")
    case .decimalNaN:
      throw .invalidArgument("Unsupported value: Decimal.nan. Use Double.nan\(position)")
    case .unsupported(let typeName):
      throw .invalidArgument("Unsupported type: \(typeName)\(position)")
    case .unsupportedKey(let typeName):
      throw .invalidArgument(
        "Invalid data. Keys of a map must be strings, but one is of type: \(typeName)\(position)")
    case .repeatedKey(let name):
      throw .invalidArgument(
        "Invalid data. Two keys of a map are the String \"\(name)\"\(position)")
    }
  }

  /// Reads a whole document, or a map in it.
  mutating func readFields(
    _ dictionary: [String: Any], depth: Int = 0
  ) throws(Status) -> MapValue {
    try checkDepth(depth)
    var fields: [MapValue.Field] = []
    fields.reserveCapacity(dictionary.count)
    for (name, input) in dictionary {
      path.append(name)
      try check(name)
      if let value = try read(AnyBridge.kind(of: input), depth: depth, isElement: false) {
        fields.append(MapValue.Field(name: name, value: value))
      }
      path.removeLast()
    }
    return MapValue(distinct: fields)
  }

  mutating func readArray(_ elements: [Any], depth: Int = 0) throws(Status) -> [Value] {
    try checkDepth(depth)
    arrays += 1
    var values: [Value] = []
    values.reserveCapacity(elements.count)
    for element in elements {
      // A sentinel, the only input without a value, is refused inside arrays.
      let value = try read(AnyBridge.kind(of: element), depth: depth, isElement: true)
      values.append(value ?? .null)
    }
    arrays -= 1
    return values
  }

  private mutating func noteLeaf() {
    if source == .mergeSet, arrays == 0 { leaves.append(FieldSegments(path)) }
  }

  /// A sentinel at `path`.
  private mutating func note(_ sentinel: FieldValue) throws(Status) {
    let method = sentinel.transform.methodName
    guard source.acceptsSentinels else {
      throw .invalidArgument(
        "\(method) can only be used with updateData() and setData()\(position)")
    }
    guard arrays == 0 else {
      throw .invalidArgument("\(method) is not currently supported inside arrays")
    }
    if let validationError = sentinel.validationError { throw validationError }
    if let database = sentinel.database { try checkDatabase(database) }
    try note(sentinel.transform)
  }

  private mutating func note(_ transform: FieldTransform) throws(Status) {
    guard case .delete = transform else {
      transforms.append((FieldSegments(path), transform))
      return
    }
    switch source {
    case .mergeSet: noteLeaf()
    case .update:
      throw .invalidArgument(
        "\(transform.methodName) can only appear at the top level of your update data\(position)")
    default:
      throw .invalidArgument(
        "\(transform.methodName) can only be used with updateData() "
          + "and setData() with merge:true\(position)")
    }
  }

  /// Moves to a field, and checks its names.
  private mutating func enter(_ field: FieldSegments) throws(Status) {
    path = field.names
    for name in field.names { try check(name) }
    try checkDepth(field.names.count - 1)
  }

  // MARK: - Checks

  /// `name` is part of `path`.
  private func check(_ name: String) throws(Status) {
    guard !name.isEmpty else {
      throw .invalidArgument("Invalid data. Document fields must not be empty\(position)")
    }
    guard !(source.isStored && UserDataReader.isReserved(name)) else {
      throw .invalidArgument(
        "Invalid data. Document fields cannot begin and end with \"__\"\(position)")
    }
  }

  /// `__x__`, and `__` itself.
  private static func isReserved(_ name: String) -> Bool {
    let underscore = UInt8(ascii: "_")
    return name.utf8.first == underscore && name.utf8.count >= 2
      && name.utf8.prefix(2).allSatisfy { $0 == underscore }
      && name.utf8.suffix(2).allSatisfy { $0 == underscore }
  }

  /// Called before each deeper level, so that deeply nested data cannot overflow the stack.
  private func checkDepth(_ depth: Int) throws(Status) {
    guard depth <= Value.deepestNesting else {
      let subject = path.first.map { "Property \($0)" } ?? "The value"
      throw .invalidArgument(
        "\(subject) contains an invalid nested entity. "
          + "Maps and arrays may be nested \(Value.deepestNesting) levels deep.")
    }
  }

  private func checkArray(isElement: Bool) throws(Status) {
    guard !isElement || source == .arrayArgument else {
      throw .invalidArgument("Nested arrays are not supported\(position)")
    }
  }

  private mutating func checkDatabase(_ other: DatabaseIdentity) throws(Status) {
    if let expected = database ?? referencedDatabase, expected != other {
      throw .invalidArgument(
        "Document Reference is for database \(other.name) "
          + "but should be for database \(expected.name)\(position)")
    }
    referencedDatabase = other
  }

  /// The current path, for the end of a message.
  private var position: String {
    path.isEmpty || arrays > 0 ? "" : " (found in field \(FieldSegments(path).canonicalText))"
  }
}

// MARK: - Encoded documents

extension UserDataReader {
  /// Reads an encoded document, and the sentinels that the encoder found, with the same checks,
  /// leaves and transforms as for a dictionary.
  mutating func readEncoded(
    _ document: DocumentBody, sentinels: [Transform]
  ) throws(Status) {
    for (field, transform) in sentinels {
      try enter(field)
      try note(transform)
    }
    path = []
    let fields = sentinels.map(\.field).sorted()[...]
    try document.withView { map throws(Status) in try readEncoded(map, around: fields, depth: 0) }
  }

  /// - Parameter sentinels: those at or below `path`, sorted.
  private mutating func readEncoded(
    _ map: MapView, around sentinels: ArraySlice<FieldSegments>, depth: Int
  ) throws(Status) {
    try checkDepth(depth)
    // A map that had only sentinels is not a leaf.
    if map.count == 0, sentinels.isEmpty, !path.isEmpty { noteLeaf() }
    for index in 0..<map.count {
      let name = try map.nameString(at: index)
      path.append(name)
      try check(name)
      try readEncoded(map.value(at: index), around: sentinels, depth: depth, isElement: false)
      path.removeLast()
    }
  }

  private mutating func readEncoded(
    _ value: ValueView, around sentinels: ArraySlice<FieldSegments>, depth: Int, isElement: Bool
  ) throws(Status) {
    if let map = try value.map() {
      let here = FieldSegments(path)
      // A field precedes those inside it, and nothing else is between them.
      let inner = sentinels[sentinels.partitioningIndex { $0 >= here }...]
      let end = inner.partitioningIndex { !$0.hasPrefix(here) }
      try readEncoded(map, around: inner[..<end], depth: depth + 1)
      return
    }
    noteLeaf()
    guard var elements = try value.array() else { return }
    try checkArray(isElement: isElement)
    try checkDepth(depth + 1)
    arrays += 1
    for _ in 0..<elements.count {
      try readEncoded(elements.next(), around: [], depth: depth + 1, isElement: true)
    }
    arrays -= 1
  }
}
