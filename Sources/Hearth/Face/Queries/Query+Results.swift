import Foundation

/// Fields of the results, pages, and vector search.
extension Query {
  /// Returns only these fields of each result; dots lead into maps.
  ///
  ///     let titles = try await books.select(["title", "author.name"]).getDocuments()
  ///
  /// `FieldPath.documentID()` alone gives documents without fields. An empty array gives all
  /// fields.
  public func select(_ fields: [String]) -> Query { select(fields.map { .dotted($0) }) }

  /// Returns only these fields of each result; see `select(_:)`.
  public func select(_ paths: [FieldPath]) -> Query { select(paths.map { .path($0) }) }

  private func select(_ fields: [Result<FieldSegments, Status>]) -> Query {
    changed { query throws(Status) in
      query.projection = try fields.map { field throws(Status) in try field.get() }
    }
  }

  /// The results as an asynchronous sequence, which reads them in pages.
  ///
  ///     for try await book in db.collection("books").order(by: "title").documents() {
  ///       print(book.documentID)
  ///     }
  ///
  /// Holds one page in memory, and keeps nothing open between pages: each page shows the database
  /// at the time when it is read. A query with `limit(toLast:)` or `findNearest` is read as one
  /// page.
  ///
  /// - Parameter pageSize: The number of results in a page; at least 1.
  public func documents(pageSize: Int = 256) -> DocumentsSequence {
    DocumentsSequence(query: self, pageSize: max(1, pageSize))
  }

  /// The sequence that `documents(pageSize:)` returns.
  public struct DocumentsSequence: AsyncSequence, Sendable {
    public typealias Element = QueryDocumentSnapshot
    public typealias Failure = Error

    fileprivate let query: Query
    fileprivate let pageSize: Int

    public func makeAsyncIterator() -> Iterator {
      Iterator(query: query, pageSize: pageSize, rest: query.structured)
    }

    /// Reads a page when the one before has been used up.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let query: Query
      fileprivate let pageSize: Int
      /// The query for the results still to be read; nil after the last page.
      fileprivate var rest: StructuredQuery?
      /// The unread results of the current page, in reverse order.
      fileprivate var page: [StoredDocument] = []

      /// The next result; nil after the last one. Throws as `getDocuments` does.
      public mutating func next() async throws -> QueryDocumentSnapshot? {
        try await next(isolation: #isolation)
      }

      /// Same as `next()`. `for await` calls it, and stays on the actor of its caller.
      public mutating func next(
        isolation actor: isolated (any Actor)?
      ) async throws -> QueryDocumentSnapshot? {
        if page.isEmpty, let asked = rest {
          rest = nil
          (page, rest) = try await query.page(of: asked, pageSize)
        }
        return page.popLast().map {
          QueryDocumentSnapshot(DocumentReference(query.firestore, $0.path), $0)
        }
      }
    }
  }

  /// The next results in reverse order, and the query for the results after them.
  private func page(
    of asked: StructuredQuery, _ pageSize: Int
  ) async throws -> ([StoredDocument], StructuredQuery?) {
    try await reporting {
      _ = try checked()
      let backend = try firestore.database().backend
      guard !asked.isLimitToLast, asked.question.traits.contains(.ordered) else {
        let documents = try await backend.read(.results(EffectiveQuery(asked))).results
        return (documents.reversed(), nil)
      }
      // Whole documents: the start of the next page may depend on fields outside the projection.
      var query = asked
      query.projection = []
      let wanted = min(asked.limit ?? .max, pageSize)
      query.limit = wanted
      let documents = try await backend.read(.results(EffectiveQuery(query))).results
      let project = asked.projecting
      let shown = try documents.reversed().map { try project?($0) ?? $0 }
      guard let last = documents.last, documents.count == wanted, asked.limit != wanted else {
        return (shown, nil)
      }
      var rest = asked
      rest.start = try asked.position(of: last, isBefore: false)
      rest.orders = asked.effectiveOrders
      rest.offset = 0
      rest.limit = asked.limit.map { $0 - wanted }
      return (shown, rest)
    }
  }

  // MARK: Nearest

  /// Finds the documents whose vectors in `vectorField` are nearest to `queryVector`, among the
  /// results of this query. The labels are those of Firebase's other SDKs.
  ///
  ///     let similar = books.whereField("language", isEqualTo: "en")
  ///       .findNearest(
  ///         vectorField: "embedding", queryVector: VectorValue(question), limit: 10,
  ///         distanceMeasure: .cosine)
  ///
  /// Results are ordered by distance, the nearest first. Only vectors of the same dimension are
  /// compared.
  ///
  /// - Parameters:
  ///   - field: The field with a vector, with dots into maps.
  ///   - vector: The vector to compare with.
  ///   - limit: The largest number of results: 1...1000, otherwise the query fails with
  ///     `invalidArgument`.
  ///   - measure: The distance between two vectors.
  ///   - distanceResultField: The field of each result that contains its distance. Replaces a
  ///     stored field of the same name.
  ///   - distanceThreshold: The largest distance of a result; for a dot product, the smallest.
  public func findNearest(
    vectorField field: String, queryVector vector: VectorValue, limit: Int,
    distanceMeasure measure: DistanceMeasure,
    distanceResultField: String? = nil, distanceThreshold: Double? = nil
  ) -> Query {
    nearest(.dotted(field), vector, limit, measure, distanceResultField, distanceThreshold)
  }

  /// Finds the documents with the nearest vectors; see `findNearest(vectorField:queryVector:limit:distanceMeasure:)`.
  public func findNearest(
    vectorField path: FieldPath, queryVector vector: VectorValue, limit: Int,
    distanceMeasure measure: DistanceMeasure,
    distanceResultField: String? = nil, distanceThreshold: Double? = nil
  ) -> Query {
    nearest(.path(path), vector, limit, measure, distanceResultField, distanceThreshold)
  }

  private func nearest(
    _ field: Result<FieldSegments, Status>, _ vector: VectorValue, _ limit: Int,
    _ measure: DistanceMeasure, _ distanceField: String?, _ threshold: Double?
  ) -> Query {
    changed { query throws(Status) in
      let distance = try distanceField.map(FieldSegments.init(dotted:))
      try query.ask(
        .nearest(
          StructuredQuery.Nearest(
            field: field.get(), vector: vector.array, limit: limit, measure: measure,
            distanceField: distance, threshold: threshold)))
    }
  }
}

@available(*, unavailable)
extension Query.DocumentsSequence.Iterator: Sendable {}
