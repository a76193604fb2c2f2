/// Versions of a few documents that replace the stored ones for one query: planned versions that
/// are not yet put, or earlier versions.
///
/// Keeps only the versions that can be results. With a limit, keeps at most twice `limit + offset`
/// of them, or 64 if that is more. For a ranking that is not selective it keeps all: each may change the
/// whole answer.
struct DocumentOverlay {
  /// The replaced documents: their stored versions are ignored.
  enum Replaced {
    case paths(Set<ResourcePath>)
    /// Documents that changed after a sequence.
    case after(UInt64)
  }

  private(set) var replaced: Replaced
  /// The number of replaced documents.
  private(set) var count = 0
  private var versions: TopK<StoredDocument>
  /// Every version; empty if the question is selective.
  private(set) var all: [(path: ResourcePath, document: StoredDocument?)] = []
  private let isSelective: Bool
  private var test: ResultTest

  /// - Parameters:
  ///   - fields: Fields that every result must have, in addition to the query's conditions.
  ///   - sequence: Earlier versions replace documents changed after this sequence; nil for planned
  ///     versions.
  init(
    for query: EffectiveQuery, requiring fields: [FieldSegments] = [],
    backTo sequence: UInt64? = nil
  ) {
    replaced = sequence.map { .after($0) } ?? .paths([])
    test = ResultTest(query, requiring: fields)
    isSelective = query.question.traits.contains(.selective)
    versions = TopK(limit: query.lastWanted)
  }

  var isEmpty: Bool { count == 0 }
  var keptVersions: Int { versions.elements.count }

  /// Adds a document that the overlay does not have yet; nil if it does not exist in that version.
  mutating func add(_ path: ResourcePath, _ document: StoredDocument?) throws {
    if case .paths(var paths) = replaced {
      replaced = .paths([])
      paths.insert(path)
      replaced = .paths(paths)
    }
    count += 1
    guard isSelective else { return all.append((path, document)) }
    guard let document, try test.admits(document) else { return }
    try versions.add(document) { try test.compare($0, $1) }
  }

  /// The first results among the versions, in result order.
  mutating func results() throws -> [StoredDocument] {
    try versions.finish { try test.compare($0, $1) }
  }

  mutating func precedes(_ one: StoredDocument, _ other: StoredDocument) throws -> Bool {
    try test.compare(one, other) < 0
  }
}

extension DocumentOverlay.Replaced {
  func contains(_ stored: StoredDocument) -> Bool {
    switch self {
    case .paths(let paths): paths.contains(stored.path)
    case .after(let sequence): stored.sequence > sequence
    }
  }
}

extension EffectiveQuery {
  /// The number of results to find, including those that the offset skips; nil for all.
  var lastWanted: Int? { limit.map { $0.adding(saturating: offset) } }
}
