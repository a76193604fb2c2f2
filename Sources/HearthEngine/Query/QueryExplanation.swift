/// A query to explain.
package struct ExplainRequest: Sendable {
  var query: EffectiveQuery
  /// The aggregations of an aggregate query; nil for others.
  var aggregations: [Aggregation]?
  /// Also runs the query and measures it.
  var analyzes = false

  package init(query: EffectiveQuery, aggregations: [Aggregation]? = nil, analyzes: Bool = false) {
    self.query = query
    self.aggregations = aggregations
    self.analyzes = analyzes
  }
}

/// The plan of a query, and the cost of running it.
public struct QueryExplanation: Sendable, CustomStringConvertible {
  /// The cost of one run.
  public struct Execution: Sendable {
    /// The number of documents, or of values of an aggregate query.
    public var resultsReturned: Int
    /// The number of index entries read, including those read to choose the plan.
    public var indexEntriesRead: Int
    /// The number of documents whose fields were read.
    public var documentsRead: Int
    /// The number of document keys that scans read.
    public var keysRead: Int
    /// The time to plan and run the query. Never zero.
    public var duration: Duration
  }

  /// The plan as text.
  public var plan: String
  /// The indexes that the plan reads, as `books: author ↑, year ↓`.
  public var indexes: [String]
  /// Whether indexes or document names alone determine the results: the cost is proportional to the
  /// number of results.
  public var isServed: Bool
  /// Indexes that would serve the query, as entries of a `firestore.indexes.json`. Empty if
  /// `isServed`.
  public var missingIndexes: [String]
  /// The cost of running the query; nil if it was only planned.
  public var execution: Execution?

  /// The plan and the cost of running it, with a hint if an index would help.
  public var description: String {
    var lines = [plan]
    if let execution {
      let milliseconds = Double(Int(execution.duration / .microseconds(1))) / 1000
      lines.append(
        "\(execution.resultsReturned) returned in \(milliseconds) ms; touched "
          + "\(execution.indexEntriesRead) index entries, \(execution.documentsRead) documents, "
          + "\(execution.keysRead) keys")
    }
    if !isServed, !missingIndexes.isEmpty {
      lines.append("An index would help: " + missingIndexes.joined(separator: ", "))
    }
    return lines.joined(separator: "\n")
  }
}
