/// The plan of a query, and the cost of running it.
public struct QueryExplanation: Sendable, CustomStringConvertible {
  /// The cost of one run.
  public struct Execution: Sendable {
    /// The number of documents, of groups, or of values of an aggregate query.
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
  /// The cost of running the query, without its parts; nil if it was only planned.
  public var execution: Execution?
  /// The other reads, in order: the query of each condition on the results of another query, then
  /// each inclusion of an `IncludingQuery`, an outer one before those in it. Their plans say which.
  /// Empty for a database on a PostgreSQL server, and for one that is held in memory.
  public var parts: [QueryExplanation] = []

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
    for part in parts {
      lines += part.description.split(separator: "\n").map { "  \($0)" }
    }
    return lines.joined(separator: "\n")
  }
}
