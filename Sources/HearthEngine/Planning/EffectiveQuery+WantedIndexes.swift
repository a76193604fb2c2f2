/// The indexes that would serve a query: one for each branch of an OR.
///
///     genre == "sf", pages > 100, order by pages, title descending
///         ─▶ books: genre ↑, pages ↑, title ↓
///
/// Fields compared for equality come first, then the orders: a range of such an index contains the
/// results, in order.
extension EffectiveQuery {
  /// Empty if the query needs only documents in name order, or if no index would help.
  ///
  /// - Parameter fields: Fields that every result must have as well.
  func wantedIndexes(requiring fields: [FieldSegments] = []) -> [IndexDefinition] {
    guard let (collectionID, indexScope) = scope.indexed else { return [] }
    if let component = question.ranking?.indexComponent {
      return [IndexDefinition(collectionID, scope: indexScope, [component])]
    }
    let conjunctions = Conjunctions(filters)
    var wanted: [IndexDefinition] = []
    for conjunction in conjunctions.members ?? [conjunctions.common] {
      let picksNames = conjunction.contains {
        $0.field.isDocumentID && $0.isPoint
      }
      let components = cells(conjunction) ?? components(conjunction, fields)
      guard !picksNames, (1...Limits.fieldsPerIndex).contains(components.count) else { continue }
      let index = IndexDefinition(
        collectionID, scope: indexScope, components,
        isNameDescending: orders.last?.isDescending ?? false)
      if !wanted.contains(index.stored) { wanted.append(index.stored) }
    }
    return wanted
  }

  /// Whether its results must be found in order.
  ///
  /// - Parameter aggregations: Of its results; nil if these themselves are wanted.
  func needsOrder(_ aggregations: [Aggregation]?) -> Bool {
    guard let aggregations else { return isBounded || question.traits.contains(.ordered) }
    return isBounded && aggregations.contains { $0.field != nil }
  }

  /// For a point in a region.
  private func cells(
    _ conjunction: [StructuredQuery.Comparison]
  ) -> [IndexDefinition.Component]? {
    conjunction.first { $0.operator.traits.keys == .region && !$0.isNegated }.map {
      [IndexDefinition.Component(field: $0.field, kind: .cells)]
    }
  }

  private func components(
    _ conjunction: [StructuredQuery.Comparison], _ fields: [FieldSegments]
  ) -> [IndexDefinition.Component] {
    let compared = Set(conjunction.lazy.filter { !$0.isNegated }.map(\.field))
    // An index has no entries for documents without one of its fields.
    let orders = orders.filter { !$0.field.isDocumentID }.prefix {
      !$0.keepsMissing || compared.contains($0.field)
    }
    var constant: [FieldSegments] = []
    /// Bounded by a range, although the results are not ordered by them.
    var ranged: [FieldSegments] = []
    var components: [IndexDefinition.Component] = []
    for comparison in conjunction.sorted(by: { $0.field < $1.field })
    where !comparison.field.isDocumentID && !comparison.isNegated {
      switch comparison.operator.traits.keys {
      case .single: constant.append(comparison.field)
      case .points:
        // A list is not in the order of the results.
        if comparison.operator.takesList, orders.contains(where: { $0.field == comparison.field }) {
          continue
        }
        constant.append(comparison.field)
      case .prefix, .patternPrefix: ranged.append(comparison.field)
      case _ where comparison.isUnordered && comparison.operator.isInequality:
        ranged.append(comparison.field)
      case .anyElement, .everyElement:
        // An index has at most one array component.
        guard components.isEmpty else { continue }
        components.append(IndexDefinition.Component(field: comparison.field, kind: .contains))
      default: break
      }
    }
    func add(_ field: FieldSegments, isDescending: Bool = false) {
      // Beyond the limit there is no such index, however many fields follow.
      guard components.count <= Limits.fieldsPerIndex,
        !components.contains(where: { $0.field == field })
      else { return }
      components.append(
        IndexDefinition.Component(field: field, kind: isDescending ? .descending : .ascending))
    }
    for field in constant { add(field) }
    for order in orders { add(order.field, isDescending: order.isDescending) }
    for field in ranged { add(field) }
    for field in fields { add(field) }
    return components
  }
}

extension QueryPlan {
  /// Whether indexes or names alone determine the results, in order if `needsOrder`. A database
  /// with the strict policy requires this of every query.
  func isServed(_ query: EffectiveQuery, needsOrder: Bool) -> Bool {
    switch source {
    case .nothing: true
    case .entries: isExact && (isOrdered || !needsOrder)
    case .documents:
      query.picksNames
        || (query.filters.allSatisfy(\.isOfName) && (isOrdered || !needsOrder)
          && query.orders.allSatisfy(\.field.isDocumentID))
    }
  }
}

extension StructuredQuery.Scope {
  /// The collection id and the scope of indexes on its documents. Nil if there are no such indexes: the documents
  /// below a document are not a contiguous range of one.
  var indexed: (id: String, scope: IndexDefinition.Scope)? {
    switch self {
    case .collection(let path): (path.id, .collection)
    case .group(let id, let below): below.isRoot ? (id, .group) : nil
    case .subtree: nil
    }
  }
}

extension StructuredQuery.Filter {
  fileprivate var isOfName: Bool {
    guard case .comparison(let comparison) = self else { return false }
    return comparison.field.isDocumentID
  }
}
