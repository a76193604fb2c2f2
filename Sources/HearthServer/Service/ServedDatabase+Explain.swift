#if Server
  import FirestoreProtocol
  import HearthEngine
  import SwiftProtobuf

  /// How queries are answered, in the form of Firestore's explain metrics.
  extension ServedDatabase {
    func metrics(
      _ query: StructuredQuery, _ aggregations: [Aggregation]? = nil, analyzes: Bool
    ) async throws -> ProtoExplainMetrics {
      let request = ExplainRequest(
        query: EffectiveQuery(query, aggregating: aggregations ?? []), aggregations: aggregations,
        analyzes: analyzes)
      let explanation = try await backend.read(.explanation(request)).explanation
      return .with {
        $0.planSummary.indexesUsed = [
          .with {
            $0.fields = [
              "query_scope": .init(stringValue: query.scopeName),
              "properties": .init(stringValue: query.indexProperties),
            ]
          }
        ]
        if let execution = explanation.execution { $0.executionStats = .init(execution) }
      }
    }
  }

  extension ProtoExplainMetrics {
    /// The results that are sent: they may be of another state than the one that was measured.
    mutating func setResults(_ count: Int) { executionStats.set(results: count) }
  }

  extension ProtoExecutionStats {
    fileprivate init(_ execution: QueryExplanation.Execution) {
      self.init()
      let (seconds, attoseconds) = execution.duration.components
      executionDuration = .init(
        seconds: seconds, nanos: Int32(max(attoseconds / 1_000_000_000, 1)))
      debugStats.fields = [
        "documents_scanned": .init(stringValue: "\(execution.documentsRead)"),
        "index_entries_scanned": .init(
          stringValue: "\(execution.indexEntriesRead + execution.keysRead)"),
      ]
      set(results: execution.resultsReturned)
    }

    fileprivate mutating func set(results: Int) {
      resultsReturned = Int64(results)
      readOperations = Int64(max(results, 1))
      debugStats.fields["billing_details"] = .init(
        structValue: .init(fields: [
          "documents_billable": .init(stringValue: "\(results)"),
          "index_entries_billable": .init(stringValue: "0"),
          "small_ops": .init(stringValue: "0"),
          "min_query_cost": .init(stringValue: "0"),
        ]))
    }
  }

  extension StructuredQuery {
    fileprivate var scopeName: String {
      switch scope {
      case .collection: "Collection"
      case .group, .subtree: "Collection group"
      }
    }

    /// The properties of the index that Firestore would use: those with an equality, then the
    /// orders.
    fileprivate var indexProperties: String {
      let orders = effectiveOrders
      var equal: [FieldSegments] = []
      for comparison in comparisons
      where comparison.isEquality && !equal.contains(comparison.field)
        && !orders.contains(where: { $0.field == comparison.field })
      {
        equal.append(comparison.field)
      }
      var properties = equal.sorted().map { "\($0.canonicalText) ASC" }
      properties += orders.map { "\($0.field.canonicalText) \($0.isDescending ? "DESC" : "ASC")" }
      if let nearest {
        properties.append("\(nearest.field.canonicalText) VECTOR<\(nearest.vector.count)>")
      }
      return "(\(properties.joined(separator: ", ")))"
    }
  }
#endif
