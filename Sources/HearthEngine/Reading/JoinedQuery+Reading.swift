/// A joined query that is answered once.
///
///     results ─▶ one request for each inclusion ─▶ one for each inclusion inside of it ─▶ …
extension JoinedQuery {
  /// The result in the state that `fetch` reads.
  func read(_ fetch: (ReadRequest) throws -> ReadAnswer) throws -> JoinedResult {
    try read(results: { try fetch(.results($0)).results }, fetch)
  }

  /// The same.
  ///
  /// - Parameters:
  ///   - results: Reads whole documents.
  ///   - before: Called with each level of `JoinLevels` before it is read.
  func read(
    results: (EffectiveQuery) throws -> [StoredDocument], before: (Int) -> Void = { _ in },
    _ fetch: (ReadRequest) throws -> ReadAnswer
  ) throws -> JoinedResult {
    let results = try results(EffectiveQuery(whole: query))
    let plan = JoinLevels(inclusions)
    var members = plan.levels.map { _ in [StoredDocument]() }
    members[0] = results
    var lists = plan.levels.map { _ in IncludedDocuments.Lists() }
    // A level comes before those below it.
    for (level, parents) in plan.levels.enumerated() {
      for child in parents.children {
        guard let relation = plan.levels[child].relation else { continue }
        before(child)
        let found =
          switch relation {
          case .reference(let field): try read(field, of: members[level], fetch)
          case .referring: try read(relation, to: members[level], fetch)
          }
        lists[child] = IncludedDocuments.Lists(zip(members[level], found))
        if plan.levels[child].children.isEmpty { continue }
        var seen: Set<ObjectIdentifier> = []
        members[child] = found.joined().filter { seen.insert(ObjectIdentifier($0)).inserted }
      }
    }
    return JoinedResult(documents: results, included: IncludedDocuments(plan, lists))
  }

  /// The documents that a field of each document refers to. Each of them is read once.
  private func read(
    _ field: FieldSegments, of documents: [StoredDocument],
    _ fetch: (ReadRequest) throws -> ReadAnswer
  ) throws -> [[StoredDocument]] {
    var positions: [ResourcePath: Int] = [:]
    var paths: [ResourcePath] = []
    let references = try documents.map { document in
      try document.references(in: field).map { path in
        let position = positions[path, default: paths.count]
        if position == paths.count {
          positions[path] = position
          paths.append(path)
        }
        return position
      }
    }
    if paths.isEmpty { return documents.map { _ in [] } }
    let found = try fetch(.documents(at: paths)).documents
    guard found.count == paths.count else { throw Status.otherAnswer }
    return references.map { $0.compactMap { found[$0] } }
  }

  /// The documents that refer to each document.
  private func read(
    _ relation: Inclusion.Relation, to documents: [StoredDocument],
    _ fetch: (ReadRequest) throws -> ReadAnswer
  ) throws -> [[StoredDocument]] {
    if documents.isEmpty { return [] }
    let results = try fetch(.referring(relation, to: documents.map(\.path))).several
    guard results.count == documents.count else { throw Status.otherAnswer }
    // An array may refer to several documents: each of its versions is one object.
    var known: [ResourcePath: StoredDocument] = [:]
    return try results.map { result in
      let found = try result.results
      guard case .referring(_, _, isArray: true) = relation else { return found }
      return found.map { document in
        let first = known[document.path] ?? document
        known[document.path] = first
        return first
      }
    }
  }
}
