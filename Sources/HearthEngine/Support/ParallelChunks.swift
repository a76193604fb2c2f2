import DequeModule
import Dispatch

/// Work on the items of a long walk by several threads, while the walk goes on.
///
///     walk ─▶ portion ─▶ portion ─▶ …      filled by the caller
///               │ work      │ work         by the caller and up to `threads - 1` helpers
///               ▼           ▼
///              tell ─────▶ tell            by the caller, in the order of the walk
///
/// The caller waits only for portions that a helper has begun, and works on the others itself: where
/// all threads are busy it is as if there were none. What fits into one portion wakes nobody. When
/// `run` returns, or throws, no helper has anything of it any more.
final class ParallelChunks<Item, Output> {
  /// False if no more is wanted.
  typealias Deliver = (Output) throws -> Bool

  /// Made with the first portion: most work fits into one.
  @exclusivity(unchecked) private var helpers: Helpers<Item, Output>?
  private let threads: Int
  private let work: ([Item]) throws -> Output
  private let share: () throws -> Void
  private let tell: Deliver
  /// How many items a portion has: an eighth of those before it, within these bounds.
  private let sizes: ClosedRange<Int>
  @exclusivity(unchecked) private var size: Int
  /// How many have been handed over.
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var items: [Item] = []
  /// The portion that is filled, and the one that is told next.
  @exclusivity(unchecked) private var filled = 0
  @exclusivity(unchecked) private var told = 0
  @exclusivity(unchecked) private var isWanted = true

  private init(
    threads: Int, sizes: ClosedRange<Int>, _ work: @escaping ([Item]) throws -> Output,
    _ share: @escaping () throws -> Void, _ tell: @escaping Deliver
  ) {
    self.threads = threads
    self.work = work
    self.share = share
    self.tell = tell
    self.sizes = sizes
    size = sizes.lowerBound
    items.reserveCapacity(size)
  }

  /// - Parameters:
  ///   - work: Called by several threads at once.
  ///   - share: Called before another thread than the caller's may work.
  ///   - walk: Hands over the items one by one, until it is told false.
  static func run(
    threads: Int, sizes: ClosedRange<Int>, work: @escaping ([Item]) throws -> Output,
    share: @escaping () throws -> Void = {}, tell: Deliver,
    walk: ((Item) throws -> Bool) throws -> Void
  ) throws {
    try withoutActuallyEscaping(tell) { tell in
      let portions = ParallelChunks(threads: threads, sizes: sizes, work, share, tell)
      defer { portions.helpers?.dismiss() }
      try walk { try portions.add($0) }
      try portions.finish()
    }
  }

  @inline(__always)
  private func add(_ item: Item) throws -> Bool {
    if items.count == size { try handOver() }
    items.append(item)
    return isWanted
  }

  private func handOver() throws {
    if helpers == nil { try share() }
    let helpers = helpers ?? Helpers(limit: max(0, threads - 1), work)
    self.helpers = helpers
    helpers.add(filled, items)
    filled += 1
    count += items.count
    size = min(max(count / 8, sizes.lowerBound), sizes.upperBound)
    items = []
    items.reserveCapacity(size)
    try tellWhatIsDone()
    while isWanted, filled - told > 2 * helpers.limit { try goOn(helpers) }
  }

  private func finish() throws {
    // Alone with the last one, unless helpers are behind.
    let last = isWanted && !items.isEmpty ? Result { try work(items) } : nil
    while isWanted, told < filled, let helpers { try goOn(helpers) }
    guard isWanted, let last else { return }
    isWanted = try tell(last.get())
  }

  private func goOn(_ helpers: Helpers<Item, Output>) throws {
    helpers.workOrWait()
    try tellWhatIsDone()
  }

  private func tellWhatIsDone() throws {
    while isWanted, told < filled, let output = helpers?.output(of: told) {
      told += 1
      isWanted = try tell(output.get())
    }
  }
}

/// What the caller and its helpers share.
private final class Helpers<Item, Output>: Sendable {
  // Unchecked: these change hands under the lock.
  private struct Chunk: @unchecked Sendable {
    var number: Int
    var items: [Item]
  }
  private struct Done: @unchecked Sendable { var output: Result<Output, any Error> }
  // Unchecked: several threads may call it at once, as `ParallelChunks` says.
  private struct Work: @unchecked Sendable { var body: ([Item]) throws -> Output }

  private struct State {
    var waiting: Deque<Chunk> = []
    var done: [Int: Done] = [:]
    /// Nil when all is over: a helper that comes late holds nothing of the caller's.
    var work: Work?
    /// Helpers that were called, whether they have come or not; and those that are at work.
    var called = 0
    var present = 0
  }

  let limit: Int
  private let state: Guarded<State>
  /// Signalled with each portion that a helper has done, and when it leaves.
  private let news = DispatchSemaphore(value: 0)

  init(limit: Int, _ work: @escaping ([Item]) throws -> Output) {
    self.limit = limit
    state = Guarded(State(work: Work(body: work)))
  }

  // MARK: The caller's side

  func add(_ number: Int, _ items: [Item]) {
    let portion = Chunk(number: number, items: items)
    let mustCall = state.withLock { [limit] state in
      state.waiting.append(portion)
      guard state.called < limit else { return false }
      state.called += 1
      return true
    }
    if mustCall { DispatchQueue.global().async { self.help() } }
  }

  func output(of number: Int) -> Result<Output, any Error>? {
    state.withLock { $0.done.removeValue(forKey: number) }?.output
  }

  /// Does a portion that nobody has begun. If there is none, waits for news.
  func workOrWait() {
    if !workOnce() { news.wait() }
  }

  /// Ends it. Waits for the helpers that are at work, not for those that have yet to come.
  func dismiss() {
    let work = state.withLock { state in
      state.waiting = []
      state.done = [:]
      defer { state.work = nil }
      return state.work
    }
    while state.withLock({ $0.present > 0 }) { news.wait() }
    withExtendedLifetime(work) {}
  }

  // MARK: A helper's side

  private func help() {
    let isWanted = state.withLock { state in
      guard state.work != nil else { return false }
      state.present += 1
      return true
    }
    guard isWanted else { return }
    while workOnce() { news.signal() }
    state.withLock { state in
      state.present -= 1
      state.called -= 1
    }
    news.signal()
  }

  // MARK: Both

  /// Does one portion; false if none waits. Never inlined: when it returns, nothing of the caller's is
  /// held any more.
  @inline(never)
  private func workOnce() -> Bool {
    let next = state.withLock { state -> (Chunk, Work)? in
      guard let work = state.work, let portion = state.waiting.popFirst() else { return nil }
      return (portion, work)
    }
    guard let (portion, work) = next else { return false }
    let done = Done(output: Result { try work.body(portion.items) })
    state.withLock { $0.done[portion.number] = done }
    return true
  }
}
