/// Writes that are committed together, or not at all.
package struct CommitRequest: Sendable {
  var mutations: [Mutation]
  /// Each mutation was checked when it was made.
  private(set) var areChecked: Bool
  /// Whether its caller waits for the completion. If not, reads that begin later wait for it. That of
  /// a transaction is awaited.
  let isAwaited: Bool
  /// Whether it counts toward the limit on writes that are not awaited. A caller that sets false
  /// bounds its own queue.
  let isCounted: Bool
  /// Whether it completes after the callbacks of this process's listeners that it concerns, or
  /// after `Acknowledgements.patience`.
  let completesAfterListeners: Bool
  /// The transaction whose reads must still be current.
  var transaction: TransactionID?

  package init(
    _ mutations: [Mutation], areChecked: Bool = false, isAwaited: Bool = true,
    isCounted: Bool = true, completesAfterListeners: Bool = true,
    in transaction: TransactionID? = nil
  ) {
    self.mutations = mutations
    self.areChecked = areChecked
    self.isAwaited = isAwaited
    self.isCounted = isCounted
    self.completesAfterListeners = completesAfterListeners
    self.transaction = transaction
  }

  /// Checks each mutation, once.
  mutating func check() throws(Status) {
    if areChecked { return }
    for mutation in mutations { try mutation.check() }
    areChecked = true
  }
}

package struct TransactionID: Hashable, Sendable {
  let number: UInt64
}
