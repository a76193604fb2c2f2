import Foundation

/// Who decides which indexes there are.
package enum IndexingPolicy: Sendable {
  /// Queries that read much and return little get their index.
  case automatic
  /// Only what is declared.
  case declared
  /// Only what is declared, and a query without its index is refused.
  case strict
}

/// Learns from queries which indexes are missing, and which are not used.
///
///     query ─▶ the index that would serve it, what it read, what it returned
///                └─▶ often enough, much, and far more than it returned: make it
///
/// Thresholds: three runs that each read more than 1,000 documents and more than ten times what they
/// returned. At most ten learned indexes for one collection id.
final class IndexAdvisor: Sendable {
  static let documentsRead = 1000
  static let timesReturned = 10
  static let runs = 3
  static let learnedPerCollectionID = 10
  /// Shapes that are remembered at a time.
  private static let shapeLimit = 1000

  private struct State {
    var isLearning: Bool
    var runs: [IndexDefinition: Int] = [:]
    var lastUses: [UInt32: Instant] = [:]
    var want: @Sendable (IndexDefinition) -> Void = { _ in }
  }

  private let state: Guarded<State>

  init(isLearning: Bool) { state = Guarded(State(isLearning: isLearning)) }

  /// Whether queries are listened to.
  var isLearning: Bool {
    get { state.withLock(\.isLearning) }
    set { state.withLock { $0.isLearning = newValue } }
  }

  /// `want` is called when queries have asked for an index often enough.
  func tell(_ want: @escaping @Sendable (IndexDefinition) -> Void) {
    state.withLock { $0.want = want }
  }

  /// A query ran that this index would have served.
  ///
  /// - Parameters:
  ///   - touched: Documents and entries that were looked at.
  ///   - returned: Results, those that an offset skipped included.
  func note(missing definition: IndexDefinition, touched: Int, returned: Int) {
    guard touched > Self.documentsRead, touched / Self.timesReturned > returned else { return }
    let stored = definition.stored
    let want: (@Sendable (IndexDefinition) -> Void)? = state.withLock { state in
      guard state.isLearning else { return nil }
      if state.runs.count >= Self.shapeLimit { state.runs = [:] }
      let runs = state.runs[stored, default: 0] + 1
      state.runs[stored] = runs == Self.runs ? 0 : runs
      return runs == Self.runs ? state.want : nil
    }
    want?(definition)
  }

  /// A query read this index.
  func note(use index: StoredIndex) {
    guard index.origin == .learned else { return }
    let now = Instant.now()
    state.withLock { $0.lastUses[index.number] = now }
  }

  /// When queries of this process read the index last.
  func lastUse(of number: UInt32) -> Instant? { state.withLock { $0.lastUses[number] } }
}
