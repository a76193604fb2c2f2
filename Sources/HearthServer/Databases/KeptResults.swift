#if Server
  import HearthEngine

  /// The results that are not written yet, of the whole server: a cache of bounded size.
  ///
  ///     a page is read ─▶ kept ─┬──────────────────────────▶ written, part by part ─▶ the next page
  ///                             └─ too many bytes: dropped ─▶ read again
  ///
  /// Nobody waits for room. Beyond the limit, the pages that were read first are dropped, and read again when their
  /// client takes them. All pages of a result are of one state, that of its read time.
  final class KeptResults: Sendable {
    fileprivate final class Content: @unchecked Sendable {
      // Unchecked: protected by the state of all results.

      /// The next one is the last.
      var documents: [StoredDocument] = []
      var bytes = 0
      /// The place among the results that have documents.
      var place: Int?
    }

    private struct State {
      var bytes = 0
      /// Those with documents, the first read first.
      var results = Line<Content>()
    }

    fileprivate let limit: Int
    private let state = Guarded(State())

    init(limit: Int) { self.limit = limit }

    /// Bytes of documents that are kept.
    var bytes: Int { state.withLock(\.bytes) }

    /// Bytes of the documents that are read at once, if there are more.
    fileprivate var partBytes: Int { max(1, limit / 16) }

    /// How many documents are a page, if so many have these bytes.
    fileprivate func pageCount(_ count: Int, bytes: Int) -> Int {
      max(1, partBytes / max(1, bytes / max(1, count)))
    }

    /// Keeps documents of a result that has none, and returns their bytes.
    fileprivate func keep(_ documents: [StoredDocument], in content: Content) -> Int {
      let bytes = documents.reduce(0) { $0 + $1.memoryBytes }
      if documents.isEmpty { return 0 }
      let reversed = Array(documents.reversed())
      // Freed after the lock.
      let dropped: [[StoredDocument]] = state.withLock { state in
        content.documents = reversed
        content.bytes = bytes
        state.bytes += bytes
        content.place = state.results.append(content)
        var dropped: [[StoredDocument]] = []
        // The newest one stays, however large: it is in memory, and its client may read it now.
        while state.bytes > limit, let first = state.results.first?.element, first !== content {
          dropped.append(Self.drop(first, &state))
        }
        return dropped
      }
      withExtendedLifetime(dropped) {}
      return bytes
    }

    private static func drop(_ content: Content, _ state: inout State) -> [StoredDocument] {
      if let place = content.place.take() { state.results.remove(place) }
      state.bytes -= content.bytes
      content.bytes = 0
      defer { content.documents = [] }
      return content.documents
    }

    fileprivate func drop(_ content: Content) {
      let dropped = state.withLock { Self.drop(content, &$0) }
      withExtendedLifetime(dropped) {}
    }

    /// The number of the next documents that are a part: about 64 KiB, or one document.
    fileprivate static func part(_ documents: some Sequence<StoredDocument>) -> (
      count: Int, bytes: Int
    ) {
      var part = (count: 0, bytes: 0)
      for document in documents {
        if part.count > 0, part.bytes + document.answerBytes > StreamGuard.partBytes { break }
        part.count += 1
        part.bytes += document.answerBytes
      }
      return part
    }

    /// The size of the next part; nil if the result was dropped.
    fileprivate func nextBytes(_ content: Content) -> Int? {
      state.withLock { _ in
        content.documents.isEmpty ? nil : Self.part(content.documents.reversed()).bytes
      }
    }

    /// Takes the next part; nil if the result was dropped.
    fileprivate func take(_ content: Content) -> [StoredDocument]? {
      state.withLock { state in
        if content.documents.isEmpty { return nil }
        let count = Self.part(content.documents.reversed()).count
        let part = Array(content.documents.suffix(count).reversed())
        content.documents.removeLast(count)
        let bytes = part.reduce(0) { $0 + $1.memoryBytes }
        content.bytes -= bytes
        state.bytes -= bytes
        if content.documents.isEmpty { _ = Self.drop(content, &state) }
        return part
      }
    }
  }

  /// The documents of one result that are not written yet. Used by one call.
  final class KeptResult: Sendable {
    /// Where the documents are read again.
    enum Source: Sendable {
      case query(StructuredQuery)
      /// All of them exist.
      case paths([ResourcePath])
    }

    private struct Position: Sendable {
      /// Documents that were taken.
      var taken = 0
      /// The last of them.
      var last: ResourcePath?
      /// Documents of the whole result, once that is known.
      var end: Int?
      /// Documents that the next page has at most. Its bytes are limited too, but not those of versions that have
      /// changed since the read time, nor by every store.
      var pageCount: Int
    }

    let isEmpty: Bool
    private let all: KeptResults
    private let content = KeptResults.Content()
    private let source: Source
    private let position: Guarded<Position>

    /// Keeps documents, all of a result or its first part, until they are written, or nothing has the result any
    /// more. Called where they are read: then no more are in memory than threads that read.
    init(
      _ documents: [StoredDocument], of source: Source, areAll: Bool = true, in all: KeptResults
    ) {
      self.all = all
      self.source = source
      let count = documents.count
      isEmpty = count == 0
      let bytes = all.keep(documents, in: content)
      position = Guarded(
        Position(
          end: areAll ? count : nil,
          pageCount: areAll ? all.pageCount(count, bytes: bytes) : 2 * count))
    }

    /// Documents of the whole result; nil as long as that is not known.
    var count: Int? { position.withLock(\.end) }

    deinit { all.drop(content) }

    /// Takes the next documents, about 64 KiB. Empty after the last.
    ///
    /// - Parameters:
    ///   - room: Of the call, in which the part has room then.
    ///   - time: Of the state that the result was read at.
    func next(
      _ room: AnswerRoom, in database: ServedDatabase, at time: Timestamp
    ) async throws -> [StoredDocument] {
      let former = position.withLock(\.self)
      if former.taken == former.end { return [] }
      // How many bytes a document has that is not in memory is not known.
      try await room.take(all.nextBytes(content) ?? StreamGuard.partBytes)
      let part: [StoredDocument]
      if let kept = all.take(content) {
        part = kept
      } else {
        part = try await page(after: former, in: database, at: time)
      }
      position.withLock { position in
        position.taken += part.count
        position.last = part.last?.path
      }
      return part
    }

    /// Reads the next page, keeps it, and takes its first part.
    private func page(
      after position: Position, in database: ServedDatabase, at time: Timestamp
    ) async throws -> [StoredDocument] {
      let count = min(position.pageCount, (position.end ?? .max) - position.taken)
      let part: [StoredDocument]
      do {
        switch source {
        case .paths(let paths):
          let page = Array(paths.dropFirst(position.taken).prefix(count))
          part = try await database.read(.past(time), .documents(at: page)) {
            self.keep(try $0.documents.compactMap(\.self)[...], of: count)
          }.0
        case .query(let query) where query.hasPages:
          var page = query.inPages
          // One more than the page has shows whether it is the last.
          page.limit = min(query.limit.map { $0 - position.taken } ?? .max, position.pageCount + 1)
          if let last = position.last {
            let document = try await database.documents(at: [last], .past(time))[0]
            guard let document else { throw Self.hasChanged }
            page.start = .init(values: try document.values(of: page.orders), isBefore: false)
            page.offset = 0
          }
          let request = ReadRequest.part(of: EffectiveQuery(page), bytes: all.partBytes)
          part = try await database.read(.past(time), request) { answer in
            let (found, isLast) = try answer.part
            let page = found.prefix(position.pageCount)
            return self.keep(
              try query.projected(Array(page))[...], after: position.taken,
              isLast: isLast && page.count == found.count, isFull: !isLast)
          }.0
        case .query(let query):
          part = try await database.read(.past(time), .results(EffectiveQuery(query))) {
            self.keep(try $0.results.dropFirst(position.taken).prefix(count), of: count)
          }.0
        }
      } catch let status as Status where status.code == .failedPrecondition {
        throw Self.hasChanged
      }
      if part.isEmpty { throw Self.hasChanged }
      return part
    }

    /// Keeps a page of so many documents, and takes its first part. Called where it is read.
    private func keep(
      _ page: ArraySlice<StoredDocument>, of count: Int
    ) -> [StoredDocument] {
      // A transaction reads the newest state, whose time is not known exactly.
      page.count == count ? keep(page) : []
    }

    private func keep(
      _ page: ArraySlice<StoredDocument>, after taken: Int, isLast: Bool, isFull: Bool
    ) -> [StoredDocument] {
      let count = taken + page.count
      let isSame = position.withLock { position in
        if isLast, position.end == nil { position.end = count }
        // See above.
        return isLast ? position.end == count : position.end.map { count < $0 } ?? true
      }
      return isSame ? keep(page, isFull: isFull) : []
    }

    /// - Parameter isFull: It ended at the limit of its bytes.
    private func keep(
      _ page: ArraySlice<StoredDocument>, isFull: Bool = false
    ) -> [StoredDocument] {
      let first = Array(page.prefix(KeptResults.part(page).count))
      let bytes = all.keep(Array(page.dropFirst(first.count)), in: content)
      let next = isFull ? .max : all.pageCount(page.count, bytes: bytes)
      position.withLock { $0.pageCount = min(2 * page.count, next) }
      return first
    }

    /// The change log does not reach back so far.
    private static let hasChanged = Status(
      .aborted,
      "Documents of the result have changed while the client read it slowly, and their former versions "
        + "are no longer there. Try again.")
  }

  extension StructuredQuery {
    /// Whether a page may begin after a document of the one before.
    fileprivate var hasPages: Bool {
      question.traits.contains(.ordered) && !isLimitToLast
        && !orders.contains(where: \.keepsMissing)
    }

    /// Whole documents, in an order in which each has a place of its own.
    fileprivate var inPages: StructuredQuery {
      var query = self
      query.orders = effectiveOrders
      query.projection = []
      return query
    }

    fileprivate func projected(_ found: [StoredDocument]) throws -> [StoredDocument] {
      guard let project = projecting else { return found }
      return try found.map(project)
    }
  }

  extension StoredDocument {
    /// Its values of the fields of orders, which are its place among others.
    func values(of orders: [StructuredQuery.Order]) throws(Status) -> [Value] {
      try orders.map { order throws(Status) in
        order.field.isDocumentID ? .reference(path) : try value(of: order.field) ?? .null
      }
    }
  }

  extension ServedDatabase {
    /// Reads the documents at these paths, which are kept, and the paths that have none.
    func result(
      at paths: [ResourcePath], _ consistency: Consistency, in results: KeptResults
    ) async throws -> Reading<(KeptResult, missing: [ResourcePath])> {
      try await read(consistency, .documents(at: paths)) { answer in
        let found = try answer.documents
        let documents = found.compactMap(\.self)
        return (
          KeptResult(documents, of: .paths(documents.map(\.path)), in: results),
          missing: zip(paths, found).compactMap { $1 == nil ? $0 : nil }
        )
      }
    }

    /// Reads the result of a query, which is kept: whole, or its first part.
    ///
    /// - Parameter isMeasured: The cost of the query, and how many documents there are, comes with the result.
    func result(
      matching query: StructuredQuery, _ consistency: Consistency, isMeasured: Bool,
      in results: KeptResults
    ) async throws -> Reading<KeptResult> {
      try await checkIndexes(query)
      // A transaction records all that it has read.
      let isWhole = !query.hasPages || isMeasured || consistency.isTransaction
      let request: ReadRequest =
        isWhole
        ? .results(EffectiveQuery(query))
        : .part(of: EffectiveQuery(query.inPages), bytes: results.partBytes)
      return try await read(consistency, request, isMeasured: isMeasured) { answer in
        if isWhole { return KeptResult(try answer.results, of: .query(query), in: results) }
        let (found, isLast) = try answer.part
        return KeptResult(
          try query.projected(found), of: .query(query), areAll: isLast, in: results)
      }
    }
  }
#endif
