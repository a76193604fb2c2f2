/// Reads one range list of an index: the entries that pass the plan's tests and that every joined
/// index also has, in index order or backwards.
///
/// In a join, an index that is behind seeks to the position of the others. Entries that one index
/// skips are not read in the others.
final class IndexJoin {
  private let plan: EntryPlan
  private let bounds: [KeyRange]
  private let whole: EntryRange
  private var base: EntryRange
  /// Reads the documents and the values of entries.
  let scan: EntryScan
  /// Faster than the plan's names and tests, for many values.
  private let names: PointSet?
  private let values: [PointSet?]
  private let joined: [EntryScan]
  /// The current entry of each joined index; nil before its first step.
  private var heads: [ScannedEntry?]
  /// In reverse: the next range is the last element.
  private var ranges: [KeyRange] = []
  private var isAtEnd = false

  /// - Parameter collection: Nil for a collection group.
  init(
    _ plan: EntryPlan, _ bounds: [KeyRange], in snapshot: StoreSnapshot,
    collection: ResourcePath?, touched: ReadCounters
  ) throws {
    self.plan = plan
    names = plan.names.flatMap(PointSet.init)
    values = plan.tests.map { PointSet($0.ranges) }
    self.bounds = bounds
    func range(_ index: StoredIndex, _ fixed: [[UInt8]]) -> EntryRange {
      EntryRange(index, in: collection).fixed(fixed)
    }
    func scan(_ range: EntryRange) throws -> EntryScan {
      try EntryScan(range, in: snapshot, isBackwards: plan.isBackward, touched: touched)
    }
    whole = EntryRange(plan.index, in: collection)
    base = whole.fixed(plan.fixed)
    self.scan = try scan(base)
    joined = try plan.joined.map { try scan(range($0.index, $0.fixed)) }
    heads = joined.map { _ in nil }
    begin()
  }

  /// Begins again with other values of the fixed components. The plan joins no other index.
  func restart(fixed: [[UInt8]]) {
    precondition(joined.isEmpty && fixed.count == plan.fixed.count, "One index is read.")
    base = whole.fixed(fixed)
    begin()
  }

  private func begin() {
    ranges = plan.isBackward ? bounds : bounds.reversed()
    isAtEnd = false
    goOn()
  }

  /// Moves to the next range.
  private func goOn() {
    guard let next = ranges.popLast() else {
      isAtEnd = true
      return
    }
    scan.restart(base.part(next))
  }

  /// Borrowed until the next step.
  func next() throws -> ScannedEntry? {
    while !isAtEnd {
      guard let entry = try scan.next() else {
        goOn()
        continue
      }
      guard try passes(entry), try isJoined(entry) else { continue }
      return entry
    }
    return nil
  }

  /// The number of all entries, or `most` if there are more. Nil if they have to be read to be counted.
  /// Afterwards there is no next one.
  func count(upTo most: Int) throws -> Int? {
    guard plan.tests.isEmpty, plan.names == nil, joined.isEmpty else { return nil }
    var count = 0
    while !isAtEnd, count < most {
      guard let found = try scan.count(upTo: most - count) else { return nil }
      count += found
      goOn()
    }
    return count
  }

  /// The number of entries in each range, until there are `limit` in them together.
  func counts(upTo limit: Int) throws -> [Int] {
    var counts: [Int] = []
    var sum = 0
    while !isAtEnd, sum < limit {
      var count = 0
      while sum + count < limit, let entry = try scan.next() {
        if try passes(entry), try isJoined(entry) { count += 1 }
      }
      counts.append(count)
      sum += count
      goOn()
    }
    return counts
  }

  /// Passes the component's key, ascending. False for an array. The component is not fixed.
  func withKey(
    of component: Int, in entry: ScannedEntry, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Bool {
    let components = plan.index.definition.components
    var reader = KeyReader(entry.suffix)
    for before in components[plan.fixed.count..<component] {
      try reader.skipValue(descending: before.isDescending)
    }
    let start = reader.offset
    let isDescending = components[component].isDescending
    try reader.skipValue(descending: isDescending)
    let key = UnsafeRawBufferPointer(rebasing: entry.suffix[start..<reader.offset])
    let tag = key.first.map { isDescending ? ~$0 : $0 }
    if tag == Value.TypeClass.array.rawValue { return false }
    if isDescending {
      try key.map { ~$0 }.withUnsafeBytes(body)
    } else {
      try body(key)
    }
    return true
  }

  /// The name at the end of the entry's key, which identifies the document.
  func name(of entry: ScannedEntry) throws -> UnsafeRawBufferPointer {
    var reader = KeyReader(entry.suffix)
    for component in plan.index.definition.components[plan.fixed.count...] {
      try reader.skipValue(descending: component.isDescending)
    }
    return reader.rest
  }

  private func passes(_ entry: ScannedEntry) throws -> Bool {
    if let ranges = plan.names {
      let name = try name(of: entry)
      guard names?.contains(name) ?? ranges.contains(name) else { return false }
    }
    if plan.tests.isEmpty { return true }
    let components = plan.index.definition.components
    var reader = KeyReader(entry.suffix)
    var position = plan.fixed.count
    for (test, points) in zip(plan.tests, values) {
      while position < test.component {
        try reader.skipValue(descending: components[position].isDescending)
        position += 1
      }
      let start = reader.offset
      try reader.skipValue(descending: components[position].isDescending)
      position += 1
      let value = UnsafeRawBufferPointer(rebasing: entry.suffix[start..<reader.offset])
      guard points?.contains(value) ?? test.ranges.contains(value) else { return false }
    }
    return true
  }

  /// Whether all joined indexes have the entry. If one does not, the scan continues at its
  /// position.
  private func isJoined(_ entry: ScannedEntry) throws -> Bool {
    for index in joined.indices {
      let target = entry.suffix
      if heads[index].map({ isBehind($0.suffix, target) }) ?? true {
        joined[index].seek(to: target)
        heads[index] = try joined[index].next()
      }
      guard let head = heads[index] else {
        isAtEnd = true
        return false
      }
      guard UTF8Order.compare(head.suffix, target) == 0 else {
        scan.seek(to: head.suffix)
        return false
      }
    }
    return true
  }

  private func isBehind(
    _ suffix: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer
  ) -> Bool {
    let order = UTF8Order.compare(suffix, target)
    return plan.isBackward ? order > 0 : order < 0
  }
}

extension EntryRange {
  /// The part whose keys are in a range behind the prefix.
  func part(_ keys: KeyRange) -> EntryRange {
    let bounds = keys.behind(prefix)
    var part = self
    part.raise(to: bounds.lower)
    if let upper = bounds.upper { part.lower(to: upper) }
    return part
  }
}
