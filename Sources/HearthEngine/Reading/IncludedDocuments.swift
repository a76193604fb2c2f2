/// The documents that a joined query included, as they are in one state.
package final class IncludedDocuments: Sendable {
  private let levels: JoinLevels
  /// By level; the first one, of the results, is empty. The keys of rows begin with `key` of the
  /// document that is referred to.
  private let tables: [ResultTree]
  /// By level, in place of tables, of a query that was answered once.
  private let lists: [Lists]

  init(_ levels: JoinLevels, _ tables: [ResultTree]) {
    self.levels = levels
    self.tables = tables
    lists = []
  }

  init(_ levels: JoinLevels, _ lists: [Lists]) {
    self.levels = levels
    tables = []
    self.lists = lists
  }

  /// The documents of one inclusion, by the object of the document that includes them.
  struct Lists: Sendable {
    private var lists: [ObjectIdentifier: (StoredDocument, [StoredDocument])] = [:]

    init() {}

    init(_ pairs: some Sequence<(StoredDocument, [StoredDocument])>) {
      for (document, included) in pairs { lists[ObjectIdentifier(document)] = (document, included) }
    }

    subscript(document: StoredDocument) -> [StoredDocument] {
      lists[ObjectIdentifier(document)]?.1 ?? []
    }
  }

  /// Costs about the size of the difference. Not for a query that was answered once.
  func isSame(as other: IncludedDocuments?) -> Bool {
    guard let other, tables.count == other.tables.count else { return false }
    return zip(tables, other.tables).allSatisfy { one, other in
      let (gone, come) = one.difference(to: other)
      return gone.isEmpty && come.isEmpty
    }
  }

  /// No other key begins with it.
  static func key(_ path: ResourcePath) -> [UInt8] { Value.reference(path).componentKey }

  /// The documents of an inclusion for one document: those that exist, in the order of the
  /// references or of the inclusion's query.
  ///
  /// - Parameters:
  ///   - index: Of the inclusion, among those of its level.
  ///   - level: That of `document`; 0 for the results.
  package func documents(
    _ index: Int, of document: StoredDocument, at level: Int
  ) -> (level: Int, documents: [StoredDocument]) {
    let level = levels.levels[level].children[index]
    if tables.isEmpty { return (level, lists[level][document]) }
    let table = tables[level]
    switch levels.levels[level].relation {
    case nil: return (level, [])
    case .reference(let field):
      let paths = (try? document.references(in: field)) ?? []
      return (level, paths.compactMap { table.find(Self.key($0)).row?.document })
    case .referring(let query, _, _):
      let key = Self.key(document.path)
      var found: [StoredDocument] = []
      for index in table.find(key).index..<table.count {
        let row = table[index]
        guard row.key.starts(with: key) else { break }
        found.append(row.document)
      }
      // The rows of a limit to the last are in reverse.
      if query.isLimitToLast { found.reverse() }
      return (level, found)
    }
  }
}

/// The answer to a joined query.
package struct JoinedResult: Sendable {
  package var documents: [StoredDocument]
  package var included: IncludedDocuments
}
