/// A listener whose consumer asks for the next event. Buffers as many events as a `Listener` does.
final class SnapshotIterator: Sendable {
  private let signal = AsyncSignal()
  private let listening: SnapshotRegistration

  init(_ resolve: () throws -> SnapshotRegistration.Watched, since token: ChangeToken? = nil) {
    let signal = signal
    listening = SnapshotRegistration(
      resolve, since: token, .ask { signal.set() }, callback: { _ in })
  }

  deinit { listening.remove() }

  func next() async throws -> ResultEvent? {
    let event: ResultEvent? = try await signal.next {
      switch listening.nextEvent() {
      case .success(let event)?: .element(event)
      case .failure(let status)?: throw status.nsError
      case nil: listening.isOver ? .end : .nothing
      }
    }
    if event == nil { listening.remove() }
    return event
  }
}
