/// Targets that are listened to as one: what a commit changes in several of them is told together, with the state that
/// all of them are in then. As Firestore's `Listen`.
///
///     set.add(1, .document(author))
///     set.add(2, .results(of: books))       ─▶ [.result(1, …)]  [.result(2, …), .current(token)]
///     batch that changes both               ─▶ [.result(1, …), .result(2, …), .current(token)]
///
/// Targets come and go while it listens. Writes do not wait for it.
package final class TargetSet: Sendable {
  package enum Event: Sendable {
    /// All of a target's result at first, then what changed.
    case result(Int, ResultEvent)
    /// The target is gone.
    case failure(Int, Status)
    /// Every target's newest result is of this state.
    case current(ChangeToken)
  }

  private struct Member {
    let target: Listener.Target
    let listener: Listener
    var hasResult = false
  }

  private struct State {
    var members: [Int: Member] = [:]
    var observer: Int?
    var isClosed = false
    /// Of the newest state that all have been told to be in.
    var current: UInt64?
  }

  private let backend: any Backend
  private let tell: @Sendable ([Event]) -> Void
  private let state = Guarded(State())

  /// - Parameter tell: Called with what belongs together, on a thread that must not be blocked, once at a time.
  package init(on backend: any Backend, _ tell: @escaping @Sendable ([Event]) -> Void) {
    self.backend = backend
    self.tell = tell
    let observer = backend.addSyncObserver { [weak self] in self?.collect(upTo: $0) }
    state.withLock { $0.observer = observer }
  }

  deinit { close() }

  /// Begins to listen to a target, in place of the one that had this id. With a token, the first result's changes are
  /// those since then.
  package func add(_ id: Int, _ target: Listener.Target, from token: ChangeToken? = nil) {
    // What it is posted is taken when all have been posted theirs.
    let listener = Listener(.ask {}) { _ in }
    let (former, isClosed): (Member?, Bool) = state.withLock { state in
      guard !state.isClosed else { return (nil, true) }
      state.current = nil
      return (
        state.members.updateValue(Member(target: target, listener: listener), forKey: id), false
      )
    }
    if let former { backend.stopListening(to: former.target, former.listener) }
    if !isClosed { backend.listen(to: target, from: token, listener) }
  }

  /// Nothing more is told of it, once a call that is under way has returned.
  package func remove(_ id: Int) {
    let member = state.withLock { $0.members.removeValue(forKey: id) }
    if let member { backend.stopListening(to: member.target, member.listener) }
  }

  package func close() {
    let (members, observer) = state.withLock { state in
      defer { state.members = [:] }
      state.isClosed = true
      return (Array(state.members.values), state.observer.take())
    }
    if let observer { backend.removeSyncObserver(observer) }
    for member in members { backend.stopListening(to: member.target, member.listener) }
  }

  /// All listeners have been posted what there is up to a sequence, and nobody is posted anything meanwhile.
  private func collect(upTo sequence: UInt64) {
    let events: [Event] = state.withLock { state in
      var events: [Event] = []
      for (id, member) in state.members.sorted(by: { $0.key < $1.key }) {
        while let news = member.listener.take() {
          switch news {
          case .success(let event):
            state.members[id]?.hasResult = true
            events.append(.result(id, event))
          case .failure(let status):
            state.members[id] = nil
            events.append(.failure(id, status))
          }
        }
      }
      let isCurrent = !state.members.isEmpty && state.members.values.allSatisfy(\.hasResult)
      if isCurrent, !events.isEmpty || state.current == nil {
        state.current = sequence
        events.append(.current(backend.token(after: sequence)))
      }
      return events
    }
    if !events.isEmpty { tell(events) }
  }
}
