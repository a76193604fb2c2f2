/// The tickets of submitted requests that are not done, by what they touch, so that callers read
/// their own writes.
///
/// Requests are done in the order of submission, so "everything up to a ticket is done" is one
/// number. The paths of a ticket are kept by hash, in tables of fixed size, where it replaces an
/// older ticket: if hashes collide, a read waits for a newer ticket than it has to, never for an
/// older one.
struct PendingWrites {
  typealias Ticket = UInt64

  private(set) var newest: Ticket = 0
  private(set) var done: Ticket = 0
  private var documents = [Ticket](repeating: 0, count: 4096)
  private var collections = [Ticket](repeating: 0, count: 1024)
  private var groups = [Ticket](repeating: 0, count: 1024)
  /// Of the newest request that may change other documents than those it names.
  private var unlimited: Ticket = 0
  private var waiters: [(ticket: Ticket, resume: @Sendable () -> Void)] = []

  /// A ticket for a request whose caller waits for it.
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

  /// A ticket for a request that may change any document, as deletions with reference rules do.
  mutating func issueForEverything() -> Ticket {
    newest += 1
    unlimited = newest
    return newest
  }

  /// The newest ticket, if it is not done.
  var newestWaiting: Ticket? { newest > done ? newest : nil }

  /// The ticket that a read of `scope` has to wait for.
  func newest(touching scope: ReadScope) -> Ticket? {
    // An exclusive transaction's reads wait for nothing: what waits for the writer waits for them.
    if case .documents(let paths) = scope, paths.isEmpty { return nil }
    let ticket =
      switch scope {
      // A write sets both, so the older of the two is new enough.
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
    let needed = max(ticket, unlimited)
    return needed > done ? needed : nil
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

  /// Calls `resume` once the ticket is done. Returns true, without calling it, if the ticket is
  /// done already.
  mutating func wait(for ticket: Ticket, _ resume: @escaping @Sendable () -> Void) -> Bool {
    if ticket <= done { return true }
    waiters.append((ticket, resume))
    return false
  }

  /// Marks everything up to a ticket as done. Call what it returns outside of any lock.
  mutating func finish(_ ticket: Ticket) -> [@Sendable () -> Void] {
    done = max(done, ticket)
    guard !waiters.isEmpty else { return [] }
    let ready = waiters.filter { $0.ticket <= done }.map(\.resume)
    waiters.removeAll { $0.ticket <= done }
    return ready
  }
}

/// The documents that a read covers.
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
