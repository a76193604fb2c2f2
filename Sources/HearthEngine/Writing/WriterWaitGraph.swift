import Glibc

/// Records which writers of this process wait for which others.
///
///     A's closure writes to B ─▶ A waits for B
///     B's closure writes to A ─▶ refused: A waits for B
///
/// A closure runs on its writer's thread. If it waits for another writer, and that one for the
/// first, neither ever continues. A writer waits for one other at a time, so each node of the graph
/// has one edge.
enum WriterWaitGraph {
  private static let waits = Guarded<[ObjectIdentifier: ObjectIdentifier]>([:])

  private static let key = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// Makes this thread the writer's, permanently.
  static func own(_ writer: Writer) {
    pthread_setspecific(key, UnsafeRawPointer(Unmanaged.passUnretained(writer).toOpaque()))
  }

  /// Whether this thread belongs to a writer.
  static var isOnWritersThread: Bool { pthread_getspecific(key) != nil }

  private static var current: ObjectIdentifier? {
    pthread_getspecific(key).map {
      ObjectIdentifier(Unmanaged<Writer>.fromOpaque($0).takeUnretainedValue())
    }
  }

  /// Runs `body`, which waits for `writer`. Throws without running it if that writer would wait for
  /// this thread.
  static func waiting<Result>(
    for writer: Writer, _ body: () throws(Status) -> Result
  ) throws(Status) -> Result {
    guard let current else { return try body() }
    let target = ObjectIdentifier(writer)
    if target == current { throw .nestedWrite }
    let isCycle = waits.withLock { waits in
      var next: ObjectIdentifier? = target
      while let writer = next {
        if writer == current { return true }
        next = waits[writer]
      }
      waits[current] = target
      return false
    }
    if isCycle { throw .crossedWrites }
    defer { waits.withLock { $0[current] = nil } }
    return try body()
  }
}

extension Status {
  static let nestedWrite = Status(
    .failedPrecondition,
    "The writer's thread cannot wait for itself. Read and write with the session of the closure.")
  static let crossedWrites = Status(
    .failedPrecondition,
    "Write closures of several databases would wait for each other: the database that this one waits for "
      + "already waits for this one. Nest them in the same order everywhere.")
}
