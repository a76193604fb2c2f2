/// A few documents in other versions than those that are stored, for one query: what is planned and not yet put, or what
/// was there before.
///
/// Keeps the versions that can be results: with a limit, no more than so many and those that an offset skips.
struct DocumentOverlay {
  /// Which documents have other versions: what is stored of these does not count.
  enum Replaced {
    case paths(Set<ResourcePath>)
    /// Those that have changed after a sequence.
    case after(UInt64)
  }

  private(set) var replaced: Replaced
  /// How many they are.
  private(set) var count = 0
  private var versions: TopK<StoredDocument>
  private var test: ResultTest

  /// - Parameters:
  ///   - fields: A document without each of these is no result, whatever the query says.
  ///   - sequence: The versions are those after this sequence; nil for planned ones.
  init(
    for query: EffectiveQuery, requiring fields: [FieldSegments] = [],
    backTo sequence: UInt64? = nil
  ) {
    replaced = sequence.map { .after($0) } ?? .paths([])
    test = ResultTest(query, requiring: fields)
    // The nearest are looked for among all.
    versions = TopK(limit: query.nearest == nil ? query.lastWanted : nil)
  }

  var isEmpty: Bool { count == 0 }
  var keptVersions: Int { versions.elements.count }

  /// A document that the patch does not have yet; nil where it is not there.
  mutating func add(_ path: ResourcePath, _ document: StoredDocument?) throws {
    if case .paths(var paths) = replaced {
      replaced = .paths([])
      paths.insert(path)
      replaced = .paths(paths)
    }
    count += 1
    guard let document, try test.admits(document) else { return }
    try versions.add(document) { try test.compare($0, $1) }
  }

  /// The first results among its versions, in their order.
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
  /// How many results it takes to tell it, those that the offset skips included; nil for all.
  var lastWanted: Int? {
    limit.map { limit in
      let (sum, overflow) = limit.addingReportingOverflow(offset)
      return overflow ? .max : sum
    }
  }
}
