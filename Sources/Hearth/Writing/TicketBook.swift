/// What the tickets touch that were handed over and are not done: so that one reads one's own writes.
///
/// Requests are done in the order they were handed over, so "everything up to a ticket is done" is
/// one number.
struct TicketBook {
  typealias Ticket = UInt64

  private var next: Ticket = 1
  private(set) var done: Ticket = 0
  private var byDocument: [ResourcePath: Ticket] = [:]
  private var byCollection: [ResourcePath: Ticket] = [:]
  private var byGroup: [String: Ticket] = [:]
  private var pending: Int = 0
  private var waiters: [(ticket: Ticket, resume: @Sendable () -> Void)] = []

  var newest: Ticket { next - 1 }

  /// A ticket for a request whose caller does not wait itself; nil paths for one who does.
  mutating func issue(for paths: some Sequence<ResourcePath>) -> Ticket {
    let ticket = next
    next += 1
    for path in paths {
      byDocument[path] = ticket
      byCollection[path.parent] = ticket
      byGroup[path.parent.id] = ticket
    }
    pending += 1
    return ticket
  }

  /// The last ticket that a read of `scope` has to wait for.
  func newest(touching scope: ReadScope) -> Ticket? {
    switch scope {
    case .document(let path): byDocument[path]
    case .collection(let path): byCollection[path]
    case .group(let id): byGroup[id]
    case .everything: pending > 0 ? newest : nil
    }
  }

  /// Calls `resume` once the ticket is done; true if it is already.
  mutating func wait(for ticket: Ticket, _ resume: @escaping @Sendable () -> Void) -> Bool {
    if ticket <= done { return true }
    waiters.append((ticket, resume))
    return false
  }

  /// Marks a request done, in the order of tickets.
  mutating func finish(_ ticket: Ticket, _ paths: some Sequence<ResourcePath>) {
    done = max(done, ticket)
    pending -= 1
    for path in paths {
      if byDocument[path] == ticket { byDocument[path] = nil }
      if byCollection[path.parent] == ticket { byCollection[path.parent] = nil }
      if byGroup[path.parent.id] == ticket { byGroup[path.parent.id] = nil }
    }
  }

  /// Those whose ticket is done: to be resumed outside of any lock.
  mutating func takeReady() -> [@Sendable () -> Void] {
    guard !waiters.isEmpty else { return [] }
    let ready = waiters.filter { $0.ticket <= done }.map(\.resume)
    waiters.removeAll { $0.ticket <= done }
    return ready
  }
}

/// What a read is going to look at.
enum ReadScope: Sendable {
  case document(ResourcePath)
  case collection(ResourcePath)
  case group(String)
  case everything
}
