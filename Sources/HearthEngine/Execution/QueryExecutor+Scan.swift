/// Plans that read the documents of the scope, without an index.
extension QueryExecutor {
  /// The state of a scan. Passed as `inout`, not captured: access to a captured variable is checked
  /// for exclusivity for every document.
  private struct Learning {
    var matcher: Matcher
    var order: ResultOrder
    var ordinal = 0
    var looked = 0
  }

  func forEachScanned(
    isLimited: Bool, _ body: (Candidate, MapView) throws -> Bool
  ) throws {
    guard let source else { return }
    // Copies, because a scan modifies them; `self` keeps the shared bytes alive.
    var learning = Learning(matcher: matchers[0], order: order)
    if case .scan(let scan) = source, !isLimited, !matchers[0].isEmpty,
      snapshot.store.configuration.scanThreads > 1, snapshot.deadline?.isSoon != true
    {
      return try forEachScannedByMany(scan, learning, body)
    }
    defer { touched.documents += learning.looked }
    if case .scan(let scan) = source {
      while let entry = try scan.nextEntry() {
        guard try take(entry, &learning, body) else { return }
      }
    } else if case .picked(let entries, _) = source {
      // Not with `next`, which would copy the rest of the list for each of them.
      for entry in entries.reversed() { guard try take(entry, &learning, body) else { return } }
    } else {
      var source = source
      while let entry = try source.next() { guard try take(entry, &learning, body) else { return } }
    }
  }

  /// Same as `forEachScanned`, with several threads if there are many documents.
  private func forEachScannedByMany(
    _ scan: CollectionScan, _ learning: Learning, _ body: (Candidate, MapView) throws -> Bool
  ) throws {
    var ordinal = 0
    func emit(_ passed: [Candidate]) throws -> Bool {
      try snapshot.deadline?.check()
      for var candidate in passed {
        ordinal += 1
        candidate.ordinal = ordinal
        guard try body(candidate, MapView(body: candidate.body)) else { return false }
      }
      return true
    }
    if let leaves = try scan.leaves() {
      struct Found {
        var passed: [Candidate] = []
        var looked = 0
        var keys = 0
      }
      return try ParallelChunks<ParallelCollectionScan.Partition, Found>.run(
        threads: snapshot.store.configuration.scanThreads, sizes: leaves.partitions(256...2048),
        work: { [self] partitions in
          var learning = learning
          var found = Found()
          // A separate copy: threads that retain and release one object wait for each other.
          let own = QueryExecutor(sharing: self)
          try leaves.forEachEntry(of: partitions, &found.keys) { entry in
            learning.looked += 1
            if let (candidate, _) = try own.accept(entry, &learning.matcher, &learning.order) {
              found.passed.append(candidate)
            }
          }
          found.looked = learning.looked
          return found
        },
        share: { [self] in try share() },
        emit: { found in
          touched.documents += found.looked
          touched.keys += found.keys
          return try emit(found.passed)
        },
        walk: leaves.forEachPartition)
    }
    try ParallelChunks<StoredEntry, [Candidate]>.run(
      threads: snapshot.store.configuration.scanThreads, sizes: 256...2048,
      work: { [self] entries in
        var learning = learning
        var passed: [Candidate] = []
        for entry in entries {
          if let (candidate, _) = try accept(entry, &learning.matcher, &learning.order) {
            passed.append(candidate)
          }
        }
        return passed
      },
      share: { [self] in try share() },
      emit: emit,
      walk: { add in
        while let entry = try scan.nextEntry() {
          touched.documents += 1
          guard try add(entry) else { return }
        }
      })
  }

  /// Other threads may read documents from now on, but must not use the transaction.
  private func share() throws { snapshot = try snapshot.withKnownNameTables() }

  @inline(__always)
  private func take(
    _ entry: StoredEntry, _ learning: inout Learning,
    _ body: (Candidate, MapView) throws -> Bool
  ) throws -> Bool {
    learning.looked += 1
    guard var found = try accept(entry, &learning.matcher, &learning.order) else { return true }
    learning.ordinal += 1
    found.candidate.ordinal = learning.ordinal
    return try body(found.candidate, found.fields)
  }
}
