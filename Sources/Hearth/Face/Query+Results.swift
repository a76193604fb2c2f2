import Foundation

/// What the results hold, and reading many of them.
extension Query {
  /// Results with some of their fields only; dots lead into maps.
  ///
  ///     let titles = try await books.select(["title", "author.name"]).getDocuments()
  ///
  /// `FieldPath.documentID()` alone gives documents without fields; nothing at all gives all fields.
  public func select(_ fields: [String]) -> Query {
    changed { query throws(Status) in
      query.projection = []
      for field in fields { query.projection.append(try FieldSegments(dotted: field)) }
    }
  }

  public func select(_ paths: [FieldPath]) -> Query {
    changed { query throws(Status) in
      query.projection = []
      for path in paths { query.projection.append(try path.segments()) }
    }
  }

  /// The results one after another, read page by page.
  ///
  ///     for try await book in db.collection("books").order(by: "title").documents() { … }
  ///
  /// Holds one page in memory and nothing open between pages: each page shows the database as it is
  /// when the page is read. A query for the last, or for the nearest, is one page.
  public func documents(pageSize: Int = 256) -> DocumentsSequence {
    DocumentsSequence(query: self, pageSize: max(1, pageSize))
  }

  public struct DocumentsSequence: AsyncSequence, Sendable {
    public typealias Element = QueryDocumentSnapshot
    public typealias Failure = Error

    fileprivate let query: Query
    fileprivate let pageSize: Int

    public func makeAsyncIterator() -> Iterator { Iterator(query, pageSize) }

    public struct Iterator: AsyncIteratorProtocol {
      private let query: Query
      private let pageSize: Int
      /// What is still to be read; nil after the last page.
      private var rest: StructuredQuery?
      /// The next one is last.
      private var page: [StoredDocument] = []

      fileprivate init(_ query: Query, _ pageSize: Int) {
        self.query = query
        self.pageSize = pageSize
        rest = query.structured
      }

      public mutating func next() async throws -> QueryDocumentSnapshot? {
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

  /// The next results, the last of them first, and the query for those after them.
  private func page(
    of asked: StructuredQuery, _ pageSize: Int
  ) async throws -> ([StoredDocument], StructuredQuery?) {
    try await reporting {
      _ = try checked()
      let backend = try firestore.database().backend
      guard !asked.isLimitToLast, asked.nearest == nil else {
        let documents = try await backend.documents(matching: asked)
        return (documents.reversed(), nil)
      }
      // Whole documents: where the next page begins may be told by fields nobody asked for.
      var query = asked
      query.projection = []
      let wanted = min(asked.limit ?? .max, pageSize)
      query.limit = wanted
      let documents = try await backend.documents(matching: query)
      let project = asked.projecting
      let shown = try documents.reversed().map { try project?($0) ?? $0 }
      guard let last = documents.last, documents.count == wanted, asked.limit != wanted else {
        return (shown, nil)
      }
      var rest = asked
      rest.start = try asked.place(of: last, isBefore: false)
      rest.orders = asked.effectiveOrders
      rest.offset = 0
      rest.limit = asked.limit.map { $0 - wanted }
      return (shown, rest)
    }
  }

  // MARK: Nearest

  /// The documents whose vector in `field` is nearest to one, out of those this query finds.
  ///
  ///     let similar = books.whereField("language", isEqualTo: "en")
  ///       .findNearest("embedding", to: VectorValue(question), limit: 10, measure: .cosine)
  ///
  /// Results are in the order of their distance. Only vectors of the same dimension are compared.
  /// - Parameters:
  ///   - limit: 1...1000.
  ///   - distanceResultField: Where each result tells its distance, in place of what is there.
  ///   - distanceThreshold: The largest distance; of a dot product, the smallest.
  public func findNearest(
    _ field: String, to vector: VectorValue, limit: Int, measure: DistanceMeasure,
    distanceResultField: String? = nil, distanceThreshold: Double? = nil
  ) -> Query {
    nearest(vector, limit, measure, distanceResultField, distanceThreshold) { () throws(Status) in
      try FieldSegments(dotted: field)
    }
  }

  public func findNearest(
    _ path: FieldPath, to vector: VectorValue, limit: Int, measure: DistanceMeasure,
    distanceResultField: String? = nil, distanceThreshold: Double? = nil
  ) -> Query {
    nearest(vector, limit, measure, distanceResultField, distanceThreshold) { () throws(Status) in
      try path.segments()
    }
  }

  private func nearest(
    _ vector: VectorValue, _ limit: Int, _ measure: DistanceMeasure, _ distanceField: String?,
    _ threshold: Double?, field: () throws(Status) -> FieldSegments
  ) -> Query {
    changed { query throws(Status) in
      var distance: FieldSegments?
      if let distanceField { distance = try FieldSegments(dotted: distanceField) }
      query.nearest = StructuredQuery.Nearest(
        field: try field(), vector: vector.array, limit: limit, measure: measure.engineMeasure,
        distanceField: distance, threshold: threshold)
    }
  }
}

@available(*, unavailable)
extension Query.DocumentsSequence.Iterator: Sendable {}

/// How the distance between two vectors is measured.
public enum DistanceMeasure: Sendable {
  /// The length of their difference.
  case euclidean
  /// One less the cosine of the angle between them: 0...2. Zero vectors have none.
  case cosine
  /// Their product: the larger, the nearer.
  case dotProduct

  fileprivate var engineMeasure: StructuredQuery.Nearest.Measure {
    switch self {
    case .euclidean: .euclidean
    case .cosine: .cosine
    case .dotProduct: .dotProduct
    }
  }
}
