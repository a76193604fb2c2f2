/// What is to be explained.
package struct ExplainRequest: Sendable {
  var query: EffectiveQuery
  /// Of an aggregate query.
  var aggregations: [Aggregation]?
  /// Answers it, too, and tells what that took.
  var analyzes = false

  package init(query: EffectiveQuery, aggregations: [Aggregation]? = nil, analyzes: Bool = false) {
    self.query = query
    self.aggregations = aggregations
    self.analyzes = analyzes
  }
}

/// How a query is answered, and what that took.
public struct QueryExplanation: Sendable, CustomStringConvertible {
  /// What an answer took.
  public struct Execution: Sendable {
    /// Documents, or numbers of an aggregation.
    public var resultsReturned: Int
    public var indexEntriesTouched: Int
    public var documentsTouched: Int
    /// Keys of documents that a scan went over.
    public var keysTouched: Int
    public var duration: Duration
  }

  /// In words.
  public var plan: String
  /// The indexes that are read, as `books: author ↑, year ↓`.
  public var indexes: [String]
  /// Indexes, or names, alone tell the results: the answer costs what it returns.
  public var isServed: Bool
  /// Indexes that would serve the query, as entries of a `firestore.indexes.json`; empty if it is served.
  public var missingIndexes: [String]
  /// Nil if the query was not answered.
  public var execution: Execution?

  public var description: String {
    var lines = [plan]
    if let execution {
      let milliseconds = Double(Int(execution.duration / .microseconds(1))) / 1000
      lines.append(
        "\(execution.resultsReturned) returned in \(milliseconds) ms; touched "
          + "\(execution.indexEntriesTouched) index entries, \(execution.documentsTouched) documents, "
          + "\(execution.keysTouched) keys")
    }
    if !isServed, !missingIndexes.isEmpty {
      lines.append("An index would help: " + missingIndexes.joined(separator: ", "))
    }
    return lines.joined(separator: "\n")
  }
}
