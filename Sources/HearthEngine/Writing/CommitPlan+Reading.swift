/// Reads of a planned group: the file with the changes of the group, and of a request being planned.
extension CommitPlan {
  /// A document with the changes of the group and of the request.
  mutating func document(
    _ name: DocumentName, in request: inout Request
  ) throws -> StoredDocument? {
    guard let index = indexes[name] else { return try store.document(name) }
    guard let staging = documents[index].staging else {
      try verify(documents[index])
      return documents[index].version
    }
    return try version(of: &request.staged[staging], at: request.time)
  }

  enum Body {
    /// Borrowed: nothing is put while requests are planned. Nil if there is no document.
    case stored(StoredBody?)
    case planned(DocumentBody)
  }

  /// As `document`, but only the body.
  mutating func body(of name: DocumentName, in request: inout Request) throws -> Body {
    guard indexes[name] != nil else { return try store.body(of: name) }
    return try document(name, in: &request).map { .planned($0.body) } ?? .stored(nil)
  }

  /// With the changes of the group, without those of the request being planned.
  func updateTime(of name: DocumentName) throws -> Instant? {
    if let index = indexes[name] { return documents[index].version?.updateTime }
    return try store.updateTime(of: name)
  }

  /// The documents of a scope that the group or the request has changed.
  private mutating func versions(
    in scope: StructuredQuery.Scope, _ request: inout Request
  ) throws -> [PlannedVersion] {
    var versions: [PlannedVersion] = []
    for document in documents where scope.contains(document.name.path) {
      if let staging = document.staging {
        versions.append(
          (document.name.path, try version(of: &request.staged[staging], at: request.time)))
      } else if document.isChanged {
        versions.append((document.name.path, document.version))
      }
    }
    return versions
  }

  /// The answer to a request of `results` or `values`, with the changes of the group and of the request.
  mutating func answer(
    _ read: ReadRequest, in request: inout Request, _ tracing: QueryTracing = .none
  ) throws -> ReadAnswer {
    switch read {
    case .results(let query, let fields):
      let query = try resolved(query, in: &request)
      return try store.answer(
        .results(query, requiring: fields), replacing: versions(in: query.scope, &request), tracing)
    case .values(let aggregations, let query):
      let query = try resolved(query, in: &request)
      return try store.answer(
        .values(aggregations, over: query), replacing: versions(in: query.scope, &request), tracing)
    default: throw Status.otherAnswer
    }
  }

  /// The query with the values of its semi-joins, at the time of the plan.
  private mutating func resolved(
    _ query: EffectiveQuery, in request: inout Request
  ) throws -> EffectiveQuery {
    guard !query.isResolved else { return query }
    return try query.resolved(at: now).resolved { join in
      try join.values(
        of: answer(.results(join.effectiveQuery), in: &request).results)
    }
  }

  /// Whether the request has touched a document within `scope`.
  func hasStagedDocuments(in scope: StructuredQuery.Scope) -> Bool {
    documents.contains { $0.staging != nil && scope.contains($0.name.path) }
  }

  /// A document as the request leaves it so far; nil if it does not exist.
  func version(of staging: inout StagedDocument, at time: Instant) throws -> StoredDocument? {
    guard staging.exists else { return nil }
    try finish(&staging)
    let old = documents[staging.document].version
    guard staging.isChange else {
      try verify(documents[staging.document])
      return old
    }
    return StoredDocument(
      path: documents[staging.document].name.path, sequence: state.lastSequence &+ 1,
      createTime: staging.isRenewed ? time : old?.createTime ?? time, updateTime: time,
      body: staging.body)
  }
}
