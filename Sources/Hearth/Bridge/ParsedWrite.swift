internal import HearthText

/// A write of fields, as stored bytes.
struct ParsedWrite: Sendable {
  /// The fields to write, without sentinels.
  var body: DocumentBody
  /// Nil: `body` replaces the document. Otherwise the paths that change: a path that `body` lacks
  /// is deleted, and fields of `body` outside the mask are ignored. Sorted; no path is inside
  /// another.
  var mask: [FieldSegments]?
  /// Applied after the body, never `.delete`. Sorted by field.
  var transforms: [UserDataReader.Transform]

  /// The fields that a merge changes.
  enum Merge {
    /// Every leaf of the data.
    case all
    /// These fields: strings with dots, or field paths. The rest of the data is ignored.
    case fields([Any])
  }
}

// MARK: - From users' data

extension ParsedWrite {
  /// `setData(_:)`, with `merge:` and `mergeFields:`.
  init(
    set data: [String: Any], merge: Merge? = nil, database: DatabaseIdentity?
  ) throws(Status) {
    var reader = UserDataReader(source: merge == nil ? .set : .mergeSet, database: database)
    let body = try DocumentBody(encoding: reader.readFields(data))
    try self.init(body: body, merge: merge, reader: reader)
  }

  /// `setData(from:)`, with `merge:` and `mergeFields:`: an encoded document, and the sentinels
  /// that the encoder found, with their paths.
  init(
    encoded body: DocumentBody, sentinels: [UserDataReader.Transform], merge: Merge? = nil
  ) throws(Status) {
    var reader = UserDataReader(source: merge == nil ? .set : .mergeSet, database: nil)
    try reader.readEncoded(body, sentinels: sentinels)
    try self.init(body: body, merge: merge, reader: reader)
  }

  private init(body: DocumentBody, merge: Merge?, reader: UserDataReader) throws(Status) {
    self.body = body
    transforms = reader.sortedTransforms
    switch merge {
    case nil: break
    // The data is a tree: no leaf is inside another.
    case .all: mask = reader.leaves.sorted()
    case .fields(let fields):
      let given = SortedFields(reader.leaves + transforms.map(\.field))
      var wanted: [FieldSegments] = []
      for input in fields {
        let field = try ParsedWrite.field(
          input, otherwise: "All elements in mergeFields: must be NSStrings or FIRFieldPaths.")
        guard given.containsAny(atOrInside: field) else {
          throw .invalidArgument(
            "Field '\(field.canonicalText)' is specified in your field mask "
              + "but missing from your input data.")
        }
        wanted.append(field)
      }
      let named = SortedFields(ParsedWrite.withoutOverlaps(wanted))
      transforms.removeAll { !named.containsAny(atOrAround: $0.field) }
      // A transform needs the stored value: its field must not be deleted before.
      let transformed = Set(transforms.map(\.field))
      mask = ParsedWrite.withoutOverlaps(wanted.filter { !transformed.contains($0) })
    }
  }

  /// `updateData(_:)`. The writer has to check that the document exists.
  init(update data: [AnyHashable: Any], database: DatabaseIdentity?) throws(Status) {
    var reader = UserDataReader(source: .update, database: database)
    var changes: [Change] = []
    changes.reserveCapacity(data.count)
    for (key, input) in data {
      let field = try ParsedWrite.field(
        key.base, otherwise: "Dictionary keys in updateData: must be NSStrings or FIRFieldPaths.")
      changes.append((field, try reader.readChange(of: field, input)))
    }
    changes.sort { $0.field < $1.field }
    try ParsedWrite.checkConflicts(changes)

    var values: [Entry] = []
    var mask: [FieldSegments] = []
    for (field, change) in changes {
      switch change {
      case .value(let value):
        values.append((field, value))
        mask.append(field)
      case .delete: mask.append(field)
      case .transform: break
      }
    }
    body = try DocumentBody(encoding: ParsedWrite.nest(values[...], level: 0))
    self.mask = mask
    transforms = reader.sortedTransforms
  }
}

// MARK: - Fields

extension ParsedWrite {
  private typealias Change = (field: FieldSegments, change: UserDataReader.Change)
  private typealias Entry = (field: FieldSegments, value: Value)

  private static func field(_ input: Any, otherwise sentence: String) throws(Status)
    -> FieldSegments
  {
    if let text = AnyBridge.string(input) {
      return isPlain(text) ? FieldSegments([text]) : try FieldSegments(dotted: text)
    }
    guard let path = AnyBridge.object(input) as? FieldPath else { throw .invalidArgument(sentence) }
    return try path.segments()
  }

  /// Whether the text is a single name of letters, digits and underscores, as most are.
  private static func isPlain(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0.isASCIIWord }
  }

  /// Fields that are found by a search in their order, in which a field precedes those inside it
  /// and nothing else is between them.
  private struct SortedFields {
    private let fields: [FieldSegments]

    init(_ fields: [FieldSegments]) { self.fields = fields.sorted() }

    /// Whether one is `field` or is inside it.
    func containsAny(atOrInside field: FieldSegments) -> Bool {
      let index = fields.partitioningIndex { $0 >= field }
      return index < fields.count && fields[index].hasPrefix(field)
    }

    /// Whether `field` is one of them or is inside one. None may be inside another.
    func containsAny(atOrAround field: FieldSegments) -> Bool {
      let index = fields.partitioningIndex { $0 > field }
      return index > 0 && field.hasPrefix(fields[index - 1])
    }
  }

  /// Sorted, without fields inside others: a field precedes those inside it.
  private static func withoutOverlaps(_ fields: [FieldSegments]) -> [FieldSegments] {
    var kept: [FieldSegments] = []
    kept.reserveCapacity(fields.count)
    for field in fields.sorted() {
      if let last = kept.last, field.hasPrefix(last) { continue }
      kept.append(field)
    }
    return kept
  }

  private static func checkConflicts(_ sorted: [Change]) throws(Status) {
    for index in sorted.indices.dropFirst() {
      let outer = sorted[index - 1].field
      let inner = sorted[index].field
      guard inner.hasPrefix(outer) else { continue }
      throw .invalidArgument(
        outer == inner
          ? "Field '\(outer.canonicalText)' is specified more than once in your update data."
          : "Field '\(inner.canonicalText)' in your update data is inside field "
            + "'\(outer.canonicalText)', which is specified too.")
    }
  }

  /// Nests the values in maps. Entries are sorted, and none is inside another.
  private static func nest(_ entries: ArraySlice<Entry>, level: Int) -> MapValue {
    var fields: [MapValue.Field] = []
    fields.reserveCapacity(entries.count)
    var rest = entries
    while let (field, value) = rest.first {
      let name = field.names[level]
      guard field.names.count > level + 1 else {
        fields.append(MapValue.Field(name: name, value: value))
        rest.removeFirst()
        continue
      }
      let group = rest.prefix { BytewiseString($0.field.names[level]) == BytewiseString(name) }
      fields.append(
        MapValue.Field(name: name, value: .map(nest(group, level: level + 1))))
      rest = rest.dropFirst(group.count)
    }
    return MapValue(distinct: fields)
  }
}
