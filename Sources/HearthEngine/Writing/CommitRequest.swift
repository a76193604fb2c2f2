/// Writes that are done together, or not at all.
package struct CommitRequest: Sendable {
  var mutations: [Mutation]
  /// Each of them was checked when it was made.
  package var areChecked = false
  /// The transaction whose reads have to hold.
  package var transaction: TransactionID?
  /// It completes after the callbacks of this process's listeners that it concerns, or after
  /// `Acknowledgements.patience`.
  package var tellsListenersFirst = true
  /// Takes part in the limit on what nobody awaits; others bound by themselves what waits.
  package var isCounted = true

  package init(_ mutations: [Mutation]) { self.mutations = mutations }
}

package struct TransactionID: Hashable, Sendable {
  let number: UInt64
}
