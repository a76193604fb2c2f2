/// The values a result is sorted by. The first is separate: most queries have at most one.
struct SortKeys {
  var first: ValueView?
  var rest: [ValueView] = []

  @inline(__always)
  func value(at index: Int) -> ValueView? {
    if index == 0 { return first }
    return index <= rest.count ? rest[index - 1] : nil
  }
}

/// The effective orders of a query, prepared: finds the sort keys of documents and compares them in
/// place. `SortKeyEncoder` encodes the same keys as bytes, for results that are kept.
struct ResultOrder {
  struct Field {
    var lookup: FieldLookup
    var isDescending: Bool
    var keepsMissing: Bool

    @inline(__always)
    mutating func find(in body: MapView) throws(Status) -> ValueView? {
      if let value = try lookup.find(in: body) { return value }
      return keepsMissing ? ResultOrder.null.view : nil
    }
  }

  /// The value of a missing field, where that is one.
  private static let null = PinnedBytes(encoding: .null)

  /// Without the name, which is always last.
  private(set) var fields: [Field]
  let isNameDescending: Bool

  init(_ orders: [StructuredQuery.Order]) {
    fields = orders.lazy.filter { !$0.field.isDocumentID }.map {
      Field(
        lookup: FieldLookup($0.field), isDescending: $0.isDescending, keepsMissing: $0.keepsMissing)
    }
    isNameDescending = orders.last?.isDescending ?? false
  }

  /// For an index past the fields, whether names are descending.
  @inline(__always)
  func isDescending(at index: Int) -> Bool {
    index < fields.count ? fields[index].isDescending : isNameDescending
  }

  /// Nil if the document lacks one of the fields that it must have: then it is not a result.
  @inline(__always)
  mutating func keys(of body: MapView) throws(Status) -> SortKeys? {
    if fields.isEmpty { return SortKeys() }
    guard let first = try fields[0].find(in: body) else { return nil }
    var keys = SortKeys(first: first)
    for index in fields.indices.dropFirst() {
      guard let key = try fields[index].find(in: body) else { return nil }
      keys.rest.append(key)
    }
    return keys
  }

  /// Negative, zero or positive if `lhs` comes before, with or after `rhs`. Ignores names.
  @inline(__always)
  func compare(_ lhs: SortKeys, _ rhs: SortKeys) throws(Status) -> Int {
    for index in fields.indices {
      guard let left = lhs.value(at: index), let right = rhs.value(at: index) else { continue }
      let order = try ValueView.compare(left, right)
      if order != 0 { return fields[index].isDescending ? -order : order }
    }
    return 0
  }
}
