#if DEBUG
  @testable import HearthEngine

  /// A database in dictionaries, as simple as possible: the reference for the embedded engine.
  struct MemoryState: Sendable {
    var documents: [ResourcePath: StoredDocument] = [:]
    /// The change with sequence n is at n - 1.
    private(set) var log = MemoryLog()
    private(set) var lastTime = Instant(microseconds: 0)
    /// Declared indexes. Only their constraints have an effect.
    var indexes: [MemoryIndex] = []

    var sequence: UInt64 { UInt64(log.count) }

    // MARK: Writing

    /// The time for a commit that is made now.
    func time(_ now: Instant) -> Instant {
      max(now, Instant(microseconds: lastTime.microseconds + 1))
    }

    /// Applies all of a request, or throws and changes nothing.
    mutating func commit(
      _ mutations: [Mutation], at time: Instant
    ) throws(Status) -> CommitResult {
      let earliest = mutations.latestCopiedTime
      var staged = StagedRequest(
        self, at: max(time, earliest ?? time), isCopy: earliest != nil)
      for mutation in mutations { try staged.write(mutation) }
      return try staged.end(in: &self)
    }

    /// A request that is being made: its reads see its writes.
    struct StagedRequest {
      let time: Instant
      private(set) var base: MemoryState
      /// Paths in the order of their first writes. `fields` has nil for a document that was deleted.
      private(set) var order: [ResourcePath] = []
      private(set) var fields: [ResourcePath: MapValue?] = [:]
      /// Deleted during the request.
      private var renewed: Set<ResourcePath> = []
      /// The times of copied documents.
      private var copied: [ResourcePath: CopiedTimes] = [:]
      /// It has copied documents: constraints do not apply.
      let isCopy: Bool
      /// It does more than verify.
      private var hasWrites = false
      private var results: [(path: ResourcePath, result: MutationResult)] = []
      /// Changed by reference rules.
      var cascaded: [ResourcePath] = []
      /// The bytes that the bodies of `cascaded` had before the request.
      var cascadedBytes = 0
      /// Those that existed when the request deleted them.
      private(set) var wasDeleted: [ResourcePath] = []
      /// Those that rules have deleted, and nothing has created again.
      var deletedByRule: Set<ResourcePath> = []
      /// A deletion changes too much: the request cannot be committed.
      var failure: Status?

      init(_ base: MemoryState, at time: Instant? = nil, isCopy: Bool = false) {
        self.base = base
        self.isCopy = isCopy
        self.time = time ?? Instant(microseconds: base.lastTime.microseconds + 1)
      }

      /// Applies a write, and all that reference rules do after it.
      mutating func write(_ mutation: Mutation) throws(Status) {
        if let failure { throw failure }
        let deletions = wasDeleted.count
        results.append((mutation.path, try apply(mutation)))
        if wasDeleted.count == deletions || isCopy { return }
        do throws(Status) { try followDeletion(of: mutation.path) } catch {
          failure = error
          throw error
        }
      }

      mutating func apply(_ mutation: Mutation) throws(Status) -> MutationResult {
        let path = mutation.path
        let stored = base.documents[path]
        let known = fields[path]
        let before: MapValue? = if let known { known } else { try stored?.body.map() }
        do throws(Status) {
          try mutation.precondition.check(
            path, exists: before != nil || deletedByRule.contains(path) && mutation.storesNothing,
            updateTime: stored?.updateTime, at: time)
        } catch {
          guard case .verify = mutation.operation else { throw error }
          var contention = error
          contention.isContention = true
          throw contention
        }
        var result = MutationResult()
        var after = before
        switch mutation.operation {
        case .verify: break
        case .delete:
          if before != nil { wasDeleted.append(path) }
          after = nil
          renewed.insert(path)
        case .set(let body): after = try body.map()
        case .patch(let body, let mask):
          let values = try body.map()
          var merged = before ?? MapValue()
          for field in mask { merged.set(values.value(at: field.names), at: field.names) }
          after = merged
        }
        if !mutation.transforms.isEmpty {
          var transformed = after ?? MapValue()
          for (field, transform) in mutation.transforms {
            let (value, returned) = transform.apply(
              to: transformed.value(at: field.names), at: time)
            transformed.set(value, at: field.names)
            result.transformResults.append(returned)
          }
          after = transformed
        }
        if let after {
          try Limits.checkNesting(after)
          deletedByRule.remove(path)
        }
        // Nothing throws from here on, except a check, which writes of a closure do not have.
        if !mutation.onlyVerifies { hasWrites = true }
        copied[path] = mutation.copied
        if fields.updateValue(after, forKey: path) == nil { order.append(path) }
        if let check = mutation.documentCheck { try check.run(try document(path), at: path) }
        return result
      }

      /// The document after the writes so far.
      func document(_ path: ResourcePath) throws(Status) -> StoredDocument? {
        guard let known = fields[path] else { return base.documents[path] }
        guard let known else { return nil }
        return version(of: path, try DocumentBody(encoding: known), sequence: base.sequence + 1)
      }

      /// Every document, after the writes so far.
      func documents() throws(Status) -> [StoredDocument] {
        var documents = base.documents.values.filter { fields[$0.path] == nil }
        for path in order { if let document = try document(path) { documents.append(document) } }
        return documents
      }

      private func version(
        of path: ResourcePath, _ body: DocumentBody, sequence: UInt64
      ) -> StoredDocument {
        let old = base.documents[path]
        let copied = copied[path]
        if let old, old.body == body, !renewed.contains(path), copied.map(old.has) ?? true {
          return old
        }
        return StoredDocument(
          path: path, sequence: sequence,
          createTime: copied?.createTime
            ?? (renewed.contains(path) ? time : old?.createTime ?? time),
          updateTime: copied?.updateTime ?? time, body: body)
      }

      mutating func end(in state: inout MemoryState) throws(Status) -> CommitResult {
        if let failure { throw failure }
        try enforceConstraints()
        var next = base
        for path in order {
          let old = base.documents[path]
          var new: StoredDocument?
          if let after = fields[path].flatMap(\.self) {
            let body = try DocumentBody(encoding: after)
            try Limits.check(body, at: path)
            new = version(of: path, body, sequence: next.sequence + 1)
          }
          guard new !== old else { continue }
          guard time <= .latest else { throw .commitTime(time, after: .latest) }
          next.documents[path] = new
          next.log.append(
            LoggedChange(
              sequence: next.sequence + 1,
              kind: old == nil ? .created : (new == nil ? .deleted : .updated), path: path,
              commitTime: time, endsCommit: false, before: old, after: new))
        }
        // A time of its own, even if nothing has changed.
        if hasWrites, time <= .latest { next.lastTime = time }
        if next.sequence > base.sequence { next.log[next.log.count - 1].endsCommit = true }
        state = next
        return CommitResult(
          commitTime: state.lastTime, sequence: state.sequence,
          results: results.map { path, result in
            var result = result
            result.updateTime = next.documents[path]?.updateTime
            return result
          }, cascaded: cascaded)
      }
    }

    // MARK: Reading

    /// The state after the change with this sequence.
    func asOf(_ sequence: UInt64) -> MemoryState {
      var past = self
      while past.sequence > sequence, let change = past.log.popLast() {
        past.documents[change.path] = change.before
      }
      past.lastTime = past.log.last?.commitTime ?? Instant(microseconds: 0)
      return past
    }
  }

  /// Evaluates a query on documents.
  struct MemoryAnswer {
    let query: EffectiveQuery
    private let reference: ReferenceQuery

    init(_ query: EffectiveQuery) {
      self.query = query
      reference = ReferenceQuery(query: query.structured)
    }

    /// Whole documents, in the order of the results; for a nearest-neighbour query, with the
    /// distance.
    func whole(_ documents: some Sequence<StoredDocument>) throws -> [StoredDocument] {
      if query.filters.hasSemiJoins { return try resolved(documents).whole(documents) }
      switch query.question {
      case .results: return try results(documents).map(\.document)
      case .nearest(let nearest): return try ranked(nearest, documents)
      case .search(let search): return try ranked(search, documents)
      }
    }

    /// In the query's order.
    private func results(
      _ documents: some Sequence<StoredDocument>
    ) throws -> [(document: StoredDocument, fields: ReferenceQuery.Document)] {
      var byPath: [ResourcePath: StoredDocument] = [:]
      var candidates: [ReferenceQuery.Document] = []
      for document in documents where query.scope.contains(document.path) {
        byPath[document.path] = document
        candidates.append(ReferenceQuery.Document((document.path, try document.body.map())))
      }
      let found = reference.results(among: candidates)
      try candidates.checkTests()
      return found.compactMap { fields in byPath[fields.path].map { ($0, fields) } }
    }

    private func ranked(
      _ nearest: StructuredQuery.Nearest, _ documents: some Sequence<StoredDocument>
    ) throws -> [StoredDocument] {
      var measured: [(document: StoredDocument, distance: Double)] = []
      for (document, fields) in try results(documents) {
        guard case .vector(let vector)? = fields.find(nearest.field)?.value,
          let distance = nearest.distance(to: vector)
        else { continue }
        let returned =
          try nearest.distanceField.map { try document.setting($0, to: .double(distance)) }
          ?? document
        measured.append((returned, distance))
      }
      let isProduct = nearest.measure == .dotProduct
      measured.sort { one, other in
        if one.distance != other.distance {
          return isProduct ? one.distance > other.distance : one.distance < other.distance
        }
        return ResourcePath.compare(one.document.path, other.document.path) < 0
      }
      return measured.prefix(nearest.limit).map(\.document)
    }

    /// Every match of a search, and the statistics of all documents of its scope.
    func matches(
      of search: TextSearch, _ documents: some Sequence<StoredDocument>
    ) throws -> (found: [(document: StoredDocument, match: TextMatch)], statistics: TextStatistics)
    {
      var all = EffectiveQuery(StructuredQuery(query.scope))
      all.filters = query.filters
      let reference = ReferenceQuery(query: all.structured)
      let words = TextMatcher(search)
      var statistics = TextStatistics(search)
      var found: [(document: StoredDocument, match: TextMatch)] = []
      for document in documents where query.scope.contains(document.path) {
        let (match, isMatch) = try document.body.withBytes { try words.find(in: MapView(body: $0)) }
        statistics.add(match)
        let candidate = ReferenceQuery.Document((document.path, try document.body.map()))
        if isMatch, !reference.results(among: [candidate]).isEmpty {
          found.append((document, match))
        }
        try [candidate].checkTests()
      }
      return (found, statistics)
    }

    private func ranked(
      _ search: TextSearch, _ documents: some Sequence<StoredDocument>
    ) throws -> [StoredDocument] {
      let (found, statistics) = try matches(of: search, documents)
      let ranking = TextRanking(search, statistics)
      let scored = found.map { (document: $0.document, score: ranking.score($0.match)) }
        .sorted { one, other in
          if one.score != other.score { return one.score > other.score }
          return ResourcePath.compare(one.document.path, other.document.path) < 0
        }
      return try scored.dropFirst(query.offset).prefix(query.limit ?? .max)
        .map { try search.scored($0.document, $0.score) }
    }

    /// With the values of semi-joins.
    private func resolved(_ documents: some Sequence<StoredDocument>) throws -> MemoryAnswer {
      MemoryAnswer(
        try query.resolved { join in
          try join.values(of: MemoryAnswer(join.effectiveQuery).whole(documents))
        })
    }

    func documents(_ documents: some Sequence<StoredDocument>) throws -> [StoredDocument] {
      let found = try whole(documents)
      if query.projection.isEmpty { return found }
      var shown: [StoredDocument] = []
      for document in found {
        let fields = reference.projected(try document.body.map())
        shown.append(
          StoredDocument(
            path: document.path, sequence: document.sequence, createTime: document.createTime,
            updateTime: document.updateTime, body: try DocumentBody(encoding: fields)))
      }
      return shown
    }

    func aggregate(
      _ aggregations: [Aggregation], _ documents: some Sequence<StoredDocument>
    ) throws -> [Value] {
      if query.filters.hasSemiJoins {
        return try resolved(documents).aggregate(aggregations, documents)
      }
      guard case .results = query.question else {
        let plain = EffectiveQuery(StructuredQuery(query.scope))
        return try MemoryAnswer(plain).aggregate(aggregations, whole(documents))
      }
      var candidates: [ReferenceQuery.Document] = []
      for document in documents where query.scope.contains(document.path) {
        candidates.append(ReferenceQuery.Document((document.path, try document.body.map())))
      }
      let values = reference.aggregate(aggregations, candidates)
      try candidates.checkTests()
      return values
    }
  }

  extension EffectiveQuery {
    /// A structured query with the same results.
    fileprivate var structured: StructuredQuery {
      var query = StructuredQuery(scope)
      query.filters = filters
      query.orders = orders
      query.start = start
      query.end = end
      query.limit = limit
      query.offset = offset
      query.isLimitToLast = isReversed
      query.projection = projection
      guard isReversed else { return query }
      for index in query.orders.indices { query.orders[index].isDescending.toggle() }
      (query.start, query.end) = (end?.turned, start?.turned)
      return query
    }
  }

  extension StructuredQuery.Nearest {
    /// Nil for a vector of another dimension, without a distance, or beyond the threshold.
    fileprivate func distance(to other: [Double]) -> Double? {
      guard other.count == vector.count else { return nil }
      let product = zip(vector, other).reduce(0) { $0 + $1.0 * $1.1 }
      let distance: Double
      switch measure {
      case .dotProduct: distance = product
      case .euclidean:
        distance = zip(vector, other).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }.squareRoot()
      case .cosine:
        let lengths =
          vector.reduce(0) { $0 + $1 * $1 }.squareRoot()
          * other.reduce(0) { $0 + $1 * $1 }.squareRoot()
        guard lengths > 0 else { return nil }
        distance = 1 - product / lengths
      }
      guard let threshold else { return distance }
      return measure == .dotProduct
        ? (distance >= threshold ? distance : nil) : (distance <= threshold ? distance : nil)
    }
  }
#endif
