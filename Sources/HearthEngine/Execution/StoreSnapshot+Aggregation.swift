extension StoreSnapshot {
  /// The results of the aggregations, in order. Includes only documents that have every aggregated
  /// field.
  ///
  /// - Parameter overlay: The versions that replace stored ones; nil for none.
  func aggregate(
    _ aggregations: [Aggregation], over query: EffectiveQuery,
    with overlay: DocumentOverlay? = nil, trace: QueryTrace = QueryTrace()
  ) throws -> [Value] {
    if let ranking = ranking(of: query) {
      return try totals(aggregations, of: ranking.documents(with: overlay, trace))
    }
    guard overlay != nil || aggregations.contains(where: { $0.field != nil }) else {
      let most = aggregations.map(\.countLimit).max() ?? .max
      let count = try count(query, upTo: Int(clamping: most), trace: trace)
      return aggregations.map { .integer($0.counted(Int64(count))) }
    }
    var totals = AggregationTotals(aggregations, isLive: false)
    if let overlay {
      try forEachResult(of: query, requiring: totals.fields, with: overlay, trace) { document in
        try document.body.withBytes { try totals.add(MapView(body: $0)) }
        return true
      }
      return totals.values
    }
    let run = try run(
      query, requiring: totals.fields, needsOrder: query.isBounded, countsOnly: true, trace: trace)
    if !query.isBounded, let carriers = totals.carriers(in: run.plan) {
      try run.forEachEntry { branch, stream, entry in
        try totals.add(stream, entry, carriers[branch])
        return true
      }
    } else {
      try run.forEachUnordered { _, fields in
        try totals.add(fields)
        return true
      }
    }
    trace.found = Int(totals.counted)
    return totals.values
  }

  /// The results of the aggregations over `documents`.
  func totals(
    _ aggregations: [Aggregation], of documents: [StoredDocument]
  ) throws -> [Value] {
    var totals = AggregationTotals(aggregations, isLive: false)
    for document in documents {
      try document.body.withBytes { bytes in
        let fields = try MapView(body: bytes)
        if try totals.fields.allSatisfy({ try fields.value(at: $0) != nil }) {
          try totals.add(fields)
        }
      }
    }
    return totals.values
  }

  /// The running state of aggregations over all results of a query without a limit or an offset.
  func totals(
    of aggregations: [Aggregation], over query: EffectiveQuery, trace: QueryTrace
  ) throws -> AggregationTotals {
    var totals = AggregationTotals(aggregations, isLive: true)
    if totals.fields.isEmpty {
      totals.counted = Int64(try count(query, upTo: .max, trace: trace))
      return totals
    }
    let run = try run(query, requiring: totals.fields, needsOrder: false, trace: trace)
    try run.forEachUnordered { _, fields in
      try totals.add(fields)
      return true
    }
    trace.found = Int(clamping: totals.counted)
    return totals
  }

  /// The number of results of the query, counted up to `most`.
  private func count(_ query: EffectiveQuery, upTo most: Int, trace: QueryTrace) throws -> Int {
    // The count does not depend on order: count without limit and offset, then subtract the offset.
    var all = query
    all.limit = nil
    all.offset = 0
    let wanted = min(most, query.limit ?? .max)
    let enough = query.offset.adding(saturating: wanted)
    var count = 0
    defer { trace.found = count }
    if wanted == 0 { return 0 }
    if case .collection(let path) = query.scope, query.isWholeCollection {
      trace.touched.keys += 1
      count = Int(clamping: try documentCount(inCollection: path))
    } else {
      let run = try run(all, needsOrder: false, countsOnly: true, trace: trace)
      if let known = run.knownCount {
        count = min(known, enough)
      } else if run.plan.isExact {
        count = try run.countEntries(upTo: enough)
      } else {
        try run.forEachUnordered(isLimited: enough < .max) { _, _ in
          count += 1
          return count < enough
        }
      }
    }
    return min(max(0, count - query.offset), wanted)
  }
}

extension EffectiveQuery {
  /// Every document of the collection is a result.
  var isWholeCollection: Bool {
    filters.isEmpty && isOrderedByName && start == nil && end == nil
  }
}
