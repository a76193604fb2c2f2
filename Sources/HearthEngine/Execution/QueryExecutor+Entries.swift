internal import HearthText

/// Plans that read index entries.
extension QueryExecutor {
  /// The results among the entries of one range list.
  final class Stream {
    private let run: QueryExecutor
    let entries: IndexJoin
    private var matcher: Matcher
    private var order: ResultOrder

    init(_ run: QueryExecutor, _ entries: IndexJoin, _ matcher: Matcher) {
      self.run = run
      self.entries = entries
      self.matcher = matcher
      order = run.order
    }

    func next() throws -> (candidate: Candidate, fields: MapView)? {
      while let entry = try entries.next() {
        let stored = try entries.scan.document(of: entry)
        run.touched.documents += 1
        if let found = try run.accept(stored, &matcher, &order) { return found }
      }
      return nil
    }
  }

  func streams(_ branches: [EntryPlan]) throws -> [Stream] {
    try zip(branches, matchers).flatMap { branch, matcher in
      try branch.rangeLists.map { Stream(self, try entries(of: branch, in: $0), matcher) }
    }
  }

  /// The entries of one range list.
  func entries(of branch: EntryPlan, in rangeList: [KeyRange]) throws -> IndexJoin {
    try IndexJoin(
      branch, rangeList, in: snapshot, collection: query.scope.collection, touched: touched)
  }

  func forEachMet(
    _ streams: [Stream], _ body: (Candidate, MapView) throws -> Bool
  ) throws {
    let mayRepeat = plan.mayRepeat
    var met: Set<[UInt8]> = []
    for stream in streams {
      while let (candidate, fields) = try stream.next() {
        if mayRepeat, !met.insert(Array(candidate.entry.key)).inserted { continue }
        guard try body(candidate, fields) else { return }
      }
    }
  }

  /// Merges the streams: repeatedly takes the first of their next results.
  func forEachMerged(
    _ streams: [Stream], _ body: (Candidate, MapView) throws -> Bool
  ) throws {
    // In reverse order: the next result is the last element.
    var heads: [(candidate: Candidate, stream: Stream)] = []
    func add(_ stream: Stream) throws {
      guard let (candidate, _) = try stream.next() else { return }
      let index = try heads.partitioningIndex { try compare($0.candidate, candidate) <= 0 }
      heads.insert((candidate, stream), at: index)
    }
    for stream in streams { try add(stream) }
    var emitted: Candidate?
    while let (candidate, stream) = heads.popLast() {
      try add(stream)
      if let emitted, try compare(emitted, candidate) == 0 { continue }
      emitted = candidate
      guard try body(candidate, MapView(body: candidate.body)) else { return }
    }
  }

  /// Calls `body` with one entry for every result, until it returns false. The plan must be exact.
  func forEachEntry(
    _ body: (_ branch: Int, IndexJoin, ScannedEntry) throws -> Bool
  ) throws {
    precondition(plan.isExact, "Only exact plans return results from entries alone.")
    guard case .entries(let branches) = plan.source else { return }
    let mayRepeat = plan.mayRepeat
    var met: Set<[UInt8]> = []
    for (index, branch) in branches.enumerated() {
      for rangeList in branch.rangeLists {
        let stream = try entries(of: branch, in: rangeList)
        while let entry = try stream.next() {
          if mayRepeat, !met.insert(Array(try stream.name(of: entry))).inserted { continue }
          guard try body(index, stream, entry) else { return }
        }
      }
    }
  }

  /// The number of results of an exact plan, or `most` if there are more.
  func countEntries(upTo most: Int) throws -> Int {
    // To find the pages takes as long as some steps.
    let few = 64
    func countBySteps(upTo most: Int) throws -> Int {
      var count = 0
      try forEachEntry { _, _, _ in
        count += 1
        return count < most
      }
      return count
    }
    let count = try countBySteps(upTo: min(most, few))
    if count < few || count == most { return count }
    return try countByPages(upTo: most) ?? countBySteps(upTo: most)
  }

  /// Nil if entries have to be read to be counted.
  private func countByPages(upTo most: Int) throws -> Int? {
    guard !plan.mayRepeat, case .entries(let branches) = plan.source else { return nil }
    var count = 0
    for branch in branches {
      for rangeList in branch.rangeLists {
        let found = try entries(of: branch, in: rangeList).count(upTo: most - count)
        guard let found else { return nil }
        count += found
      }
    }
    return count
  }
}
