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
      let isDescending: Bool
      if index < fields.count {
        guard let key = keys.value(at: index) else { continue }
        order = try ValueView.compare(key, position.values[index].view)
        isDescending = fields[index].isDescending
      } else {
        guard let name = position.name else { continue }
        order = ResourcePath.compare(try path(), name)
        isDescending = isNameDescending
      }
      if order != 0 { return isDescending ? -order : order }
    }
    return 0
  }
}
