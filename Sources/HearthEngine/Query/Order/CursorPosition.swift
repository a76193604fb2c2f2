/// A query cursor, prepared: its values in stored form.
struct CursorPosition {
  let values: [PinnedBytes]
  /// The cursor's value for the name; nil if it has none.
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

extension ResultOrder {
  /// Negative if the document is before the position, zero if at it, positive if after it.
  func compare(
    _ keys: SortKeys, _ path: () throws -> ResourcePath, to position: CursorPosition
  ) throws -> Int {
    for index in position.values.indices {
      let order: Int
      if index < fields.count {
        guard let key = keys.value(at: index) else { continue }
        order = try ValueView.compare(key, position.values[index].view)
      } else {
        guard let name = position.name else { continue }
        order = ResourcePath.compare(try path(), name)
      }
      if order != 0 { return isDescending(at: index) ? -order : order }
    }
    return 0
  }
}

/// The part of a query's results between its cursors.
struct CursorRange {
  private let start: CursorPosition?
  private let end: CursorPosition?

  init(_ query: EffectiveQuery) {
    start = query.start.map { CursorPosition($0, query.orders) }
    end = query.end.map { CursorPosition($0, query.orders) }
  }

  /// Whether a document with these keys is between the cursors.
  @inline(__always)
  func contains(
    _ keys: SortKeys, path: () throws -> ResourcePath, in order: ResultOrder
  ) throws -> Bool {
    if let start {
      let order = try order.compare(keys, path, to: start)
      guard order > 0 || (order == 0 && start.isBefore) else { return false }
    }
    if let end {
      let order = try order.compare(keys, path, to: end)
      guard order < 0 || (order == 0 && !end.isBefore) else { return false }
    }
    return true
  }
}
