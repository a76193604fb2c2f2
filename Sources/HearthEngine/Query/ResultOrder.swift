/// A document on its way to the result: borrowed, valid as long as the transaction.
struct Candidate {
  var entry: StoredEntry
  /// Its place among all documents that are met in the order of their names; 0 if they are not.
  var ordinal: Int
  /// The fields of the query's orders.
  var keys: SortKeys
}

/// The values a result is sorted by. The first stands apart: most queries have one at most.
struct SortKeys {
  var first: ValueView?
  var rest: [ValueView] = []

  @inline(__always)
  func value(at index: Int) -> ValueView? {
    if index == 0 { return first }
    return index <= rest.count ? rest[index - 1] : nil
  }
}

/// The effective orders of a query, prepared: takes documents' sort keys and compares them, in place.
struct ResultOrder {
  private struct Field {
    var lookup: FieldLookup
    var isDescending: Bool
  }

  /// Without the name, which always is last.
  private var fields: [Field]
  let isNameDescending: Bool

  init(_ orders: [StructuredQuery.Order]) {
    fields = orders.lazy.filter { !$0.field.isDocumentID }.map {
      Field(lookup: FieldLookup($0.field), isDescending: $0.isDescending)
    }
    isNameDescending = orders.last?.isDescending ?? false
  }

  /// Nil if the document lacks one of the fields: then it is no result.
  @inline(__always)
  mutating func keys(of body: MapView) throws(Status) -> SortKeys? {
    if fields.isEmpty { return SortKeys() }
    guard let first = try fields[0].lookup.find(in: body) else { return nil }
    var keys = SortKeys(first: first)
    for index in fields.indices.dropFirst() {
      guard let key = try fields[index].lookup.find(in: body) else { return nil }
      keys.rest.append(key)
    }
    return keys
  }

  /// Negative, zero or positive as `lhs` comes before, with or after `rhs`, names aside.
  @inline(__always)
  func compare(_ lhs: SortKeys, _ rhs: SortKeys) throws(Status) -> Int {
    for index in fields.indices {
      guard let left = lhs.value(at: index), let right = rhs.value(at: index) else { continue }
      let order = try ValueView.compare(left, right)
      if order != 0 { return fields[index].isDescending ? -order : order }
    }
    return 0
  }

  /// Where a document stands as seen from a place in the result: negative is before it.
  func compare(
    _ keys: SortKeys, _ path: () throws -> ResourcePath, to place: CursorPosition
  ) throws -> Int {
    for index in place.values.indices {
      let order: Int
      let isDescending: Bool
      if index < fields.count {
        guard let key = keys.value(at: index) else { continue }
        order = try ValueView.compare(key, place.values[index].view)
        isDescending = fields[index].isDescending
      } else {
        guard let name = place.name else { continue }
        order = ResourcePath.compare(try path(), name)
        isDescending = isNameDescending
      }
      if order != 0 { return isDescending ? -order : order }
    }
    return 0
  }
}

/// A cursor, prepared.
struct CursorPosition {
  let values: [PinnedBytes]
  /// The value for the name, if there is one.
  let name: ResourcePath?
  let isBefore: Bool

  init(_ bound: StructuredQuery.Bound, _ orders: [StructuredQuery.Order]) {
    let values = bound.values.prefix(orders.count)
    self.values = values.map(PinnedBytes.init(encoding:))
    isBefore = bound.isBefore
    if values.count == orders.count, case .reference(let path)? = values.last {
      name = path
    } else {
      name = nil
    }
  }
}

/// The first few of many, by an order: keeps at most twice as many as are wanted.
struct TopK<Element> {
  private let limit: Int
  private(set) var elements: [Element] = []
  /// No element after this one is among the first.
  private var last: Element?

  /// - Parameter limit: How many are wanted; nil for all.
  init(limit: Int?) { self.limit = limit ?? .max }

  mutating func add(_ element: Element, by compare: (Element, Element) throws -> Int) throws {
    if limit == 0 { return }
    if let last, try compare(element, last) >= 0 { return }
    elements.append(element)
    guard limit < Int.max / 2, elements.count >= max(limit * 2, 64) else { return }
    try cut(by: compare)
    last = elements.last
  }

  /// The first ones, sorted.
  mutating func finish(by compare: (Element, Element) throws -> Int) throws -> [Element] {
    try cut(by: compare)
    return elements
  }

  private mutating func cut(by compare: (Element, Element) throws -> Int) throws {
    try elements.sort { try compare($0, $1) < 0 }
    if elements.count > limit { elements.removeLast(elements.count - limit) }
  }
}
