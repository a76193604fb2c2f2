/// Writes that are done together, or not at all.
struct CommitRequest: Sendable {
  var mutations: [Mutation]
  /// Each of them was checked when it was made.
  var areChecked = false
  /// The transaction whose reads have to hold.
  var transaction: TransactionID?
  /// It completes after the callbacks of this process's listeners that it concerns, or after
  /// `Acknowledgements.patience`.
  var tellsListenersFirst = true
  /// Takes part in the limit on what nobody awaits; others bound by themselves what waits.
  var isCounted = true

  init(_ mutations: [Mutation]) { self.mutations = mutations }
}

struct TransactionID: Hashable, Sendable {
  let number: UInt64
}
