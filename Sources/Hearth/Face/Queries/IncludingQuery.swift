import Foundation

extension Query {
  /// A query whose results include other documents: those they refer to, and those that refer to
  /// them.
  ///
  ///     let books = db.collection("books").order(by: "title").limit(to: 20).including(
  ///       .reference("author", including: .reference("publisher")),
  ///       .referring(db.collection("reviews").limit(to: 3), by: "book", as: "reviews"))
  ///     for book in try await books.getDocuments().documents {
  ///       print(book["title"] ?? "", book.first("author")?["name"] ?? "")
  ///       for review in book.included("reviews") { print(review["text"] ?? "") }
  ///     }
  ///
  /// All documents are of one state of the database. Each level is read at once: a document that many
  /// results refer to is read once.
  public func including(_ inclusions: DocumentInclusion...) -> IncludingQuery {
    IncludingQuery(query: self, inclusions: inclusions)
  }

  /// The same for a list of inclusions.
  public func including(_ inclusions: [DocumentInclusion]) -> IncludingQuery {
    IncludingQuery(query: self, inclusions: inclusions)
  }
}

/// Documents that are included with a document; see `Query.including(_:)`.
public struct DocumentInclusion: Sendable {
  fileprivate enum Relation {
    case reference(Result<FieldSegments, Status>)
    case referring(Query, Result<FieldSegments, Status>, isArray: Bool)
  }

  /// The name by which `IncludingDocument` returns the documents.
  public let name: String
  fileprivate let relation: Relation
  fileprivate let inclusions: [DocumentInclusion]
  private let depth: Int

  private static let deepest = 8

  private init(_ name: String, _ relation: Relation, _ inclusions: [DocumentInclusion]) {
    self.name = name
    self.relation = relation
    let depth = 1 + (inclusions.map(\.depth).max() ?? 0)
    self.depth = depth
    self.inclusions = depth > Self.deepest ? [] : inclusions
    isTooDeep = depth > Self.deepest || inclusions.contains(where: \.isTooDeep)
  }

  /// Some of it was left out, so that no stack overflows.
  private let isTooDeep: Bool

  /// The documents that a field refers to: one `DocumentReference`, or an array of them. Dots lead into
  /// maps.
  ///
  /// - Parameters:
  ///   - field: The field of the including document.
  ///   - name: The name under which the documents are found in a result. By default the field.
  ///   - inclusions: Included with each of these documents.
  public static func reference(
    _ field: String, as name: String? = nil, including inclusions: DocumentInclusion...
  ) -> DocumentInclusion {
    reference(field, as: name, including: inclusions)
  }

  /// Same as `reference(_:as:including:)`, with a list.
  public static func reference(
    _ field: String, as name: String? = nil, including inclusions: [DocumentInclusion]
  ) -> DocumentInclusion {
    DocumentInclusion(name ?? field, .reference(.dotted(field)), inclusions)
  }

  /// The results of `query` that refer to the document by a field, in the query's order. A limit
  /// applies to each document. An index on the field, then on the query's orders, serves it.
  ///
  /// - Parameters:
  ///   - query: Selects and orders the documents that refer.
  ///   - field: Their field: a `DocumentReference`; if `isArray`, an array of them.
  ///   - isArray: Whether the field is an array.
  ///   - name: The name under which the documents are found in a result.
  ///   - inclusions: Included with each of these documents.
  public static func referring(
    _ query: Query, by field: String, isArray: Bool = false, as name: String,
    including inclusions: DocumentInclusion...
  ) -> DocumentInclusion {
    referring(query, by: field, isArray: isArray, as: name, including: inclusions)
  }

  /// Same as `referring(_:by:isArray:as:including:)`, with a list.
  public static func referring(
    _ query: Query, by field: String, isArray: Bool = false, as name: String,
    including inclusions: [DocumentInclusion]
  ) -> DocumentInclusion {
    DocumentInclusion(name, .referring(query, .dotted(field), isArray: isArray), inclusions)
  }

  fileprivate func resolved(in firestore: Firestore) throws(Status) -> Inclusion {
    if isTooDeep {
      throw .invalidArgument("Included documents include others more than 8 levels deep.")
    }
    let relation: Inclusion.Relation
    switch self.relation {
    case .reference(let field): relation = .reference(try field.get())
    case .referring(let query, let field, let isArray):
      relation = .referring(
        try query.checked(in: firestore), try field.get(), isArray: isArray)
    }
    return Inclusion(relation, including: try Self.resolved(inclusions, in: firestore))
  }

  fileprivate static func resolved(
    _ inclusions: [DocumentInclusion], in firestore: Firestore
  ) throws(Status) -> [Inclusion] {
    var resolved: [Inclusion] = []
    var names: Set<String> = []
    for inclusion in inclusions {
      guard names.insert(inclusion.name).inserted else {
        throw .invalidArgument("Two inclusions have the name '\(inclusion.name)'.")
      }
      resolved.append(try inclusion.resolved(in: firestore))
    }
    return resolved
  }
}

/// A query whose results include other documents; see `Query.including(_:)`.
public struct IncludingQuery: Sendable, Readable {
  /// The query without its inclusions.
  public let query: Query
  fileprivate let inclusions: [DocumentInclusion]

  /// Reads the results, and the documents that they include, from one state of the database.
  ///
  /// Throws `invalidArgument` for an invalid query, and what `Query.getDocuments()` throws.
  public func getDocuments() async throws -> IncludingSnapshot { try await read() }

  func request(in firestore: Firestore?) throws(Status) -> ReadRequest {
    .joined(try checked(in: firestore))
  }

  func shown(_ answer: ReadAnswer) throws -> IncludingSnapshot {
    let result = try answer.joined
    let project = query.structured.projecting
    let shown = try result.documents.map { try project?($0) ?? $0 }
    return IncludingSnapshot(
      results: QuerySnapshot(query, first: shown), query: self, stored: result.documents,
      included: result.included)
  }

  /// Calls `listener` with the results and what they include, and again after each commit that changes
  /// one of these documents, or which documents they are.
  ///
  ///     let books = db.collection("books").including(.reference("author"))
  ///     let registration = books.addSnapshotListener { snapshot, error in
  ///       for book in snapshot?.documents ?? [] { print(book.first("author")?["name"] ?? "") }
  ///     }
  ///
  /// A change of an included document is found without reading anything again. Otherwise as
  /// `Query.addSnapshotListener(_:)`.
  @discardableResult
  public func addSnapshotListener(
    isolation: isolated (any Actor)? = #isolation,
    _ listener: @escaping (IncludingSnapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    listen(query.firestore.callbackTarget(isolation), listener)
  }

  func watched() throws -> SnapshotRegistration.Watched {
    let joined = try checked()
    _ = try query.listenable()
    return (try query.firestore.database().backend, .joined(joined))
  }

  func shown(_ event: ResultEvent) -> IncludingSnapshot {
    IncludingSnapshot(
      results: QuerySnapshot(query, event), query: self, stored: event.list.documents,
      included: event.included)
  }

  func checked(in firestore: Firestore? = nil) throws(Status) -> JoinedQuery {
    let joined = JoinedQuery(
      try query.checked(in: firestore),
      including: try DocumentInclusion.resolved(inclusions, in: query.firestore))
    try joined.check()
    return joined
  }
}

/// The results of a query with the documents that they include, all of one state of the database.
public struct IncludingSnapshot: Sendable {
  /// The results without what they include: with the changes of a listener, and its token. A commit
  /// that changes only included documents leaves the results without changes.
  public let results: QuerySnapshot
  fileprivate let query: IncludingQuery
  fileprivate let stored: [StoredDocument]
  fileprivate let included: IncludedDocuments?

  /// The results, in the query's order.
  public var documents: [IncludingDocument] {
    zip(results.documents, stored).map { shown, stored in
      IncludingDocument(
        document: shown, stored: stored, inclusions: query.inclusions, level: 0, included: included)
    }
  }
}

/// A document with the documents that it includes.
public struct IncludingDocument: Sendable {
  /// The document itself.
  public let document: QueryDocumentSnapshot
  /// Before the query's projection.
  fileprivate let stored: StoredDocument
  fileprivate let inclusions: [DocumentInclusion]
  fileprivate let level: Int
  fileprivate let included: IncludedDocuments?

  /// The documents of an inclusion: those that exist, in the order of the references or of the
  /// inclusion's query. Empty for a name that the query does not include.
  public func included(_ name: String) -> [IncludingDocument] {
    guard let included, let index = inclusions.firstIndex(where: { $0.name == name }) else {
      return []
    }
    let (level, documents) = included.documents(index, of: stored, at: level)
    let firestore = document.reference.firestore
    return documents.map { found in
      IncludingDocument(
        document: QueryDocumentSnapshot(DocumentReference(firestore, found.path), found),
        stored: found, inclusions: inclusions[index].inclusions, level: level, included: included)
    }
  }

  /// The first document of an inclusion: the document that a reference refers to. Nil if it does not
  /// exist.
  public func first(_ name: String) -> IncludingDocument? { included(name).first }

  /// A field of the document; dots lead into maps. Nil if it is missing.
  public subscript(field: String) -> Any? { document[field] }

  /// The document, decoded; see `DocumentSnapshot.data(as:)`.
  public func data<Model: Decodable>(
    as type: Model.Type, decoder: Firestore.Decoder = .standard
  ) throws -> Model {
    try document.data(as: type, decoder: decoder)
  }

  /// The id of the document.
  public var documentID: String { document.documentID }
}
