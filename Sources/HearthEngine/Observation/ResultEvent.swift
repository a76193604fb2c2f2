/// An event for listeners; made once for all listeners of a materialized query.
package final class ResultEvent: Sendable {
  package let list: ResultList
  /// The values, for a listener to aggregations or groups; see `LiveAggregates.values`.
  package let values: [Value]?
  /// For a listener to a join.
  package let included: IncludedDocuments?
  private let resultChanges: ResultChanges?
  /// The state that this shows: after the change with this sequence.
  package let sequence: UInt64
  /// The listener asked to resume from a state that the log does not reach back to.
  package let isFullResync: Bool

  /// Since the event delivered before; nil if all of it is new.
  package var changes: [ResultChange]? { resultChanges?.list }

  init(
    list: ResultList = ResultList(), values: [Value]? = nil,
    included: IncludedDocuments? = nil, changes: ResultChanges? = nil, sequence: UInt64 = 0,
    isFullResync: Bool = false
  ) {
    self.list = list
    self.values = values
    self.included = included
    resultChanges = changes
    self.sequence = sequence
    self.isFullResync = isFullResync
  }

  func with(_ changes: [ResultChange]?) -> ResultEvent {
    if changes == nil, resultChanges == nil { return self }
    return ResultEvent(
      list: list, values: values, included: included,
      changes: changes.map(ResultChanges.several), sequence: sequence, isFullResync: isFullResync)
  }

  var reset: ResultEvent {
    ResultEvent(
      list: list, values: values, included: included, changes: resultChanges, sequence: sequence,
      isFullResync: true)
  }
}
