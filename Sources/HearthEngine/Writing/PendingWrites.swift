/// What the tickets touch that were handed over and are not done: so that one reads one's own writes.
///
/// Requests are done in the order they were handed over, so "everything up to a ticket is done" is
/// one number. What a ticket touches is kept by hash, in tables of fixed size in which it takes the place
/// of an older ticket: where hashes agree a read waits for a newer ticket than it had to, never for
/// an older one.
struct PendingWrites {
  typealias Ticket = UInt64

  private(set) var newest: Ticket = 0
  private(set) var done: Ticket = 0
  private var documents = [Ticket](repeating: 0, count: 4096)
  private var collections = [Ticket](repeating: 0, count: 1024)
  private var groups = [Ticket](repeating: 0, count: 1024)
  private var waiters: [(ticket: Ticket, resume: @Sendable () -> Void)] = []

  /// A ticket for a request whose caller waits itself.
  mutating func issue() -> Ticket {
    newest += 1
    return newest
  }

  /// A ticket for a request that reads have to wait for.
  mutating func issue(touching paths: some Sequence<ResourcePath>) -> Ticket {
    newest += 1
    var latest: ResourcePath?
    for path in paths {
      documents[Self.slot(of: path.segments[...], in: documents)] = newest
      if let latest, path.isDirectly(in: latest) { continue }
      let collection = path.parent
      collections[Self.slot(of: collection.segments[...], in: collections)] = newest
      groups[Self.slot(of: collection.segments.suffix(1), in: groups)] = newest
      latest = collection
    }
    return newest
  }

  /// The newest one, if it is not done.
  var newestWaiting: Ticket? { newest > done ? newest : nil }

  /// The ticket that a read of `scope` has to wait for.
  func newest(touching scope: ReadScope) -> Ticket? {
    let ticket =
      switch scope {
      // A write touches both, so the older of the two is new enough.
      case .document(let path):
        min(
          documents[Self.slot(of: path.segments[...], in: documents)],
          collections[Self.slot(of: path.segments.dropLast(), in: collections)])
      case .collection(let path): collections[Self.slot(of: path.segments[...], in: collections)]
      case .group(let id): groups[Self.slot(of: [id], in: groups)]
      case .documents(let paths):
        paths.lazy.compactMap { newest(touching: .document($0)) }.max() ?? 0
      case .everything: newest
      }
    return ticket > done ? ticket : nil
  }

  private static func slot(of ids: ArraySlice<String>, in table: [Ticket]) -> Int {
    var hasher = Hasher()
    for id in ids {
      var id = id
      id.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
      hasher.combine(0 as UInt8)
    }
    return Int(UInt(bitPattern: hasher.finalize()) % UInt(table.count))
  }

  /// Calls `resume` once the ticket is done; true if it is already.
  mutating func wait(for ticket: Ticket, _ resume: @escaping @Sendable () -> Void) -> Bool {
    if ticket <= done { return true }
    waiters.append((ticket, resume))
    return false
  }

  /// Marks everything up to a ticket done. Those to be resumed, outside of any lock.
  mutating func finish(_ ticket: Ticket) -> [@Sendable () -> Void] {
    done = max(done, ticket)
    guard !waiters.isEmpty else { return [] }
    let ready = waiters.filter { $0.ticket <= done }.map(\.resume)
    waiters.removeAll { $0.ticket <= done }
    return ready
  }
}

/// What a read is going to look at.
enum ReadScope: Sendable {
  case document(ResourcePath)
  case documents([ResourcePath])
  case collection(ResourcePath)
  case group(String)
  case everything

  static let nothing = ReadScope.documents([])

  static func all(of paths: [ResourcePath]) -> ReadScope {
    paths.count == 1 ? .document(paths[0]) : .documents(paths)
  }
}
