/// Writes that are committed together, or not at all.
package struct CommitRequest: Sendable {
  var mutations: [Mutation]
  /// Each mutation was checked when it was made.
  package var areChecked = false
  /// The transaction whose reads must still be current.
  package var transaction: TransactionID?
  /// Whether it completes after the callbacks of this process's listeners that it concerns, or
  /// after `Acknowledgements.patience`.
  package var completesAfterListeners = true
  /// Whether its caller waits for the completion. If not, reads that begin later wait for it. That of
  /// a transaction is awaited.
  package var isAwaited: Bool
  /// Whether it counts toward the limit on writes that are not awaited. A caller that sets false
  /// bounds its own queue.
  package var isCounted = true

  package init(_ mutations: [Mutation], isAwaited: Bool = true) {
    self.mutations = mutations
    self.isAwaited = isAwaited
  }
}

package struct TransactionID: Hashable, Sendable {
  let number: UInt64
}
