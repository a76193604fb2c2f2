internal import HearthText

/// Targets that are observed as one, like Firestore's `Listen`: changes of several targets by one
/// commit are delivered together, with the state that all targets are then in.
///
///     set.add([(1, .document(author)), (2, .results(of: books))], from: nil)
///                                           ─▶ [.result(1, …)]  [.result(2, …), .current(8)]
///     batch that changes both               ─▶ [.result(1, …), .result(2, …), .current(8)]
///
/// Targets can be added and removed at any time. Writes do not wait for this.
package final class TargetSet: Sendable {
  package enum Event: Sendable {
    /// The target's whole result first, then its changes.
    case result(Int, ResultEvent)
    /// The target was removed because of an error.
    case failure(Int, Status)
    /// Every target's newest result is of the state with this sequence.
    case current(UInt64)
  }

  private struct Member {
    let target: Listener.Target
    let listener: Listener
    var hasResult = false
  }

  private struct State {
    var members: [Int: Member] = [:]
    /// The ids in their order. May have some that were removed.
    var ids: [Int] = []
    var observation: Observation?
    var isClosed = false
    /// The sequence of the newest state that was delivered as `current`.
    var current: UInt64?

    /// Returns the earlier member with this id.
    mutating func add(_ id: Int, _ member: Member) -> Member? {
      if let former = members.updateValue(member, forKey: id) { return former }
      // New ids are mostly the largest.
      if ids.last.map({ $0 < id }) ?? true {
        ids.append(id)
        return nil
      }
      let (index, isThere) = ids.position { $0 < id ? -1 : $0 == id ? 0 : 1 }
      if !isThere { ids.insert(id, at: index) }
      return nil
    }

    /// The ids of the members in their order.
    mutating func order() -> [Int] {
      if ids.count > members.count { ids.removeAll { members[$0] == nil } }
      return ids
    }
  }

  private let backend: any Backend
  private let completion: @Sendable ([Event]) -> Void
  private let state = Guarded(State())

  /// - Parameter completion: Called with the events that belong together, one call at a time, on a
  ///   thread that must not be blocked.
  package init(on backend: any Backend, _ completion: @escaping @Sendable ([Event]) -> Void) {
    self.backend = backend
    self.completion = completion
    let observation = backend.observeSyncs { [weak self] in self?.collect(upTo: $0) }
    state.withLock { $0.observation = observation }
  }

  deinit { close() }

  /// Starts to listen to targets, in place of earlier ones with their ids. Nothing is `current` before all
  /// of them have a result. With a token, the first results' changes are those since the token.
  package func add(_ targets: [(id: Int, target: Listener.Target)], from token: ChangeToken?) {
    let members = targets.map { one in
      // `collect` takes its events, once all listeners have received theirs.
      (id: one.id, member: Member(target: one.target, listener: Listener(.ask {}) { _ in }))
    }
    let (former, isClosed): ([Member], Bool) = state.withLock { state in
      guard !state.isClosed else { return ([], true) }
      state.current = nil
      return (members.compactMap { state.add($0.id, $0.member) }, false)
    }
    for member in former { backend.stopListening(to: member.target, member.listener) }
    if isClosed { return }
    for (_, member) in members {
      backend.listen(to: member.target, from: token, member.listener)
    }
  }

  /// No events of this target are delivered after a running call has returned.
  package func remove(_ id: Int) {
    let member = state.withLock { $0.members.removeValue(forKey: id) }
    if let member { backend.stopListening(to: member.target, member.listener) }
  }

  package func close() {
    let (members, observation) = state.withLock { state in
      defer { state.members = [:] }
      state.isClosed = true
      return (Array(state.members.values), state.observation.take())
    }
    observation?.end()
    for member in members { backend.stopListening(to: member.target, member.listener) }
  }

  /// Called when all listeners have received their events up to a sequence. None receives events
  /// meanwhile.
  private func collect(upTo sequence: UInt64) {
    let events: [Event] = state.withLock { state in
      var events: [Event] = []
      for id in state.order() {
        guard let member = state.members[id] else { continue }
        while let event = member.listener.take() {
          switch event {
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
        events.append(.current(sequence))
      }
      return events
    }
    if !events.isEmpty { completion(events) }
  }
}
