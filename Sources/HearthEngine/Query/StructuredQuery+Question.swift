extension StructuredQuery {
  /// The question of a query about the documents that its other parts select.
  ///
  ///     results             all of them, in the query's order
  ///     nearest, search     a ranking: some of them, the best first
  package indirect enum Question: Hashable, Sendable {
    case results
    case nearest(Nearest)
    case search(TextSearch)

    /// Nil for results in the query's order.
    var ranking: (any Ranking)? {
      switch self {
      case .results: nil
      case .nearest(let nearest): nearest
      case .search(let search): search
      }
    }

    package var traits: Traits { ranking?.traits ?? .all }

    /// Throws `invalidArgument` if only the newest committed state has the answer.
    func checkOtherStates() throws(Status) {
      guard traits.contains(.anyState) else { throw .onlyInNewestState }
    }

    /// The property that Firestore's explanations show for an index of the ranking; nil for others.
    package var indexProperty: String? { ranking?.indexProperty }
  }

  /// Asks a question in place of the one before. Throws `invalidArgument` if that is a ranking of another kind.
  package mutating func ask(_ question: Question) throws(Status) {
    if let asked = self.question.ranking, let ranking = question.ranking,
      type(of: asked) != type(of: ranking)
    {
      throw .searchHasItsOrder
    }
    self.question = question
  }
}

extension StructuredQuery.Question {
  /// The properties of the documents that answer a question.
  package struct Traits: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// They are in the query's order: a cursor may begin at any of them.
    package static let ordered = Traits(rawValue: 1 << 0)
    /// They may include other documents, be included, and have the values of conditions on results.
    static let joined = Traits(rawValue: 1 << 1)
    /// They may be aggregated and grouped.
    static let aggregated = Traits(rawValue: 1 << 2)
    /// One call may write to all of them.
    package static let written = Traits(rawValue: 1 << 3)
    /// Listeners may follow them.
    package static let live = Traits(rawValue: 1 << 4)
    /// Listeners may follow them if there are conditions on other results or on relative times.
    package static let liveConditions = Traits(rawValue: 1 << 5)
    /// Listeners may follow their aggregations and groups.
    package static let liveAggregations = Traits(rawValue: 1 << 6)
    /// Every state has them, not only the newest committed one.
    static let anyState = Traits(rawValue: 1 << 7)
    /// They depend on no document that does not meet the query's conditions.
    static let selective = Traits(rawValue: 1 << 8)

    static let all = Traits(rawValue: .max)
  }
}

/// A question whose documents have an order of their own: the best come first.
protocol Ranking: Sendable {
  var traits: StructuredQuery.Question.Traits { get }

  /// The component of an index that serves the ranking alone, whatever the query's conditions are; nil if there is
  /// no such index.
  var indexComponent: IndexDefinition.Component? { get }

  /// See `Question.indexProperty`.
  var indexProperty: String? { get }

  /// Throws `invalidArgument` for a ranking that the query cannot ask for.
  func check(in query: StructuredQuery) throws(Status)
}

extension StructuredQuery.Nearest: Ranking {
  var traits: StructuredQuery.Question.Traits { [.anyState, .selective] }
  var indexComponent: IndexDefinition.Component? { nil }
  var indexProperty: String? { "\(field.canonicalText) VECTOR<\(vector.count)>" }
}

extension TextSearch: Ranking {
  /// Every document of the scope is in the statistics, which are those of the newest state.
  var traits: StructuredQuery.Question.Traits { [.aggregated, .written, .live] }
  var indexComponent: IndexDefinition.Component? { .init(words: fields) }
  var indexProperty: String? { nil }

  func check(in query: StructuredQuery) throws(Status) {
    if let field = scoreField {
      for name in field.names where ResourcePath.isReserved(name) {
        throw .invalidArgument("The name of a score's field, \"\(name)\", is reserved.")
      }
      try StructuredQuery.check(field: field)
    }
    guard query.orders.isEmpty, query.start == nil, query.end == nil, !query.isLimitToLast else {
      throw .searchHasItsOrder
    }
  }
}

extension Status {
  static var onlyInNewestState: Status {
    .invalidArgument(
      "A search for words reads the newest committed state: not one in the past, and not one with the "
        + "writes of a transaction.")
  }

  static var searchHasItsOrder: Status {
    .invalidArgument(
      "The results of a search for words are in the order of their scores: no other order, no cursor, "
        + "no limit to the last, and no vector search.")
  }
}
