/// A document, or a query of any kind, for listeners and sequences.
protocol Watchable<Snapshot>: Sendable {
  associatedtype Snapshot: Sendable

  /// The target of a listener, and its backend. Throws `Status`; an invalid query does not need a
  /// database.
  func watched() throws -> SnapshotRegistration.Watched

  func shown(_ event: ResultEvent) -> Snapshot
}

extension Watchable {
  /// Calls `listener` on the target with each snapshot, or with the error that ends the listener.
  func listen(
    _ callbackTarget: CallbackTarget, since token: ChangeToken? = nil,
    _ listener: @escaping (Snapshot?, Error?) -> Void
  ) -> ListenerRegistration {
    let callback = Callback(splitting: listener)
    return SnapshotRegistration(watched, since: token, callbackTarget.way) { result in
      callback.call(result.map(shown).mapError { $0.nsError })
    }
  }
}
