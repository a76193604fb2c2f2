import Foundation

/// The policy for creating indexes.
package enum IndexingPolicy: Sendable {
  /// Declared indexes, plus indexes learned from queries that read much and return little.
  case automatic
  /// Declared indexes only.
  case declared
  /// Declared indexes only; a query that needs another index is refused.
  case strict
}

/// Learns from queries which indexes are missing and which are unused.
///
///     query ─▶ the index that would serve it, documents read, results returned
///                └─▶ often enough, many read, and far more than returned: create it
///
/// Thresholds: three runs that each read more than 1,000 documents and entries, and more than ten
/// times the number of results. At most ten learned indexes for one collection id.
final class IndexAdvisor: Sendable {
  static let documentsRead = 1000
  static let timesReturned = 10
  static let runs = 3
  static let learnedPerCollectionID = 10
  /// The number of wanted indexes remembered at a time.
  private static let queryLimit = 1000

  private struct State {
    var isLearning: Bool
    var runs: [IndexDefinition: Int] = [:]
    var lastUses: [UInt32: Instant] = [:]
    var want: @Sendable (IndexDefinition) -> Void = { _ in }
  }

  private let state: Guarded<State>

  init(isLearning: Bool) { state = Guarded(State(isLearning: isLearning)) }

  /// Whether `note(missing:touched:returned:)` counts queries.
  var isLearning: Bool {
    get { state.withLock(\.isLearning) }
    set { state.withLock { $0.isLearning = newValue } }
  }

  /// Sets the function to call when enough queries have needed an index.
  func onMissingIndex(_ want: @escaping @Sendable (IndexDefinition) -> Void) {
    state.withLock { $0.want = want }
  }

  /// Records that a query ran which this index would have served.
  ///
  /// - Parameters:
  ///   - touched: The number of documents and entries read.
  ///   - returned: The number of results, including those that an offset skipped.
  func note(missing definition: IndexDefinition, touched: Int, returned: Int) {
    guard touched > Self.documentsRead, touched / Self.timesReturned > returned else { return }
    let stored = definition.stored
    let want: (@Sendable (IndexDefinition) -> Void)? = state.withLock { state in
      guard state.isLearning else { return nil }
      if state.runs.count >= Self.queryLimit { state.runs = [:] }
      let runs = state.runs[stored, default: 0] + 1
      state.runs[stored] = runs == Self.runs ? 0 : runs
      return runs == Self.runs ? state.want : nil
    }
    want?(definition)
  }

  /// Records that a query read this index.
  func note(use index: StoredIndex) {
    guard index.origin == .learned else { return }
    let now = Instant.now()
    state.withLock { $0.lastUses[index.number] = now }
  }

  /// The last time a query of this process read the index.
  func lastUse(of number: UInt32) -> Instant? { state.withLock { $0.lastUses[number] } }
}
