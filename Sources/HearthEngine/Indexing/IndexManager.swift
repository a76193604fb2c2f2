import Foundation
internal import LMDB
import Logging

/// Creates, builds and drops the indexes of an open file.
///
///     declare, drop, learn ──▶ the catalogue, in one short commit
///                                └─▶ own queue: step of `IndexBuilder`, as long a pause, the next
///
/// Unfinished work resumes when the file is opened next.
final class IndexManager: Sendable {
  private struct State {
    /// True between `start` and `close`. Otherwise nothing runs in the background.
    var isWorking = false
    /// The file was checked for work that an earlier process left unfinished.
    var hasBegun = false
    /// A step is scheduled.
    var isScheduled = false
    /// The error of the last step; nil after a successful one.
    var failure: Status?
    var failures = 0
    /// By number, the indexes that a damaged record keeps from being built, with its error. They are
    /// skipped until the next retry, so that the others are built.
    var damaged: [UInt32: Status] = [:]
    /// A retry is scheduled.
    var willRetry = false
    /// Since all indexes could be built.
    var retries = 0
  }

  let policy: IndexingPolicy
  /// Receives what queries read. Learns only under the automatic policy.
  let advisor: IndexAdvisor
  private let store: Store
  private let work: IndexBuilder
  private let logger: Logger
  private let queue = DispatchQueue(label: "hearth.indexes", qos: .utility)
  private let state = Guarded(State())

  /// A learned index that no query has read for this many days is dropped.
  static let unusedDays: Int64 = 30
  private static let dayMicroseconds: Int64 = 86_400_000_000
  /// The interval of `maintain(now:)`.
  private static let maintenanceSeconds = 6 * 3600

  init(_ store: Store, policy: IndexingPolicy, logger: Logger, lease: Lease = Lease(.indexes)) {
    self.store = store
    self.policy = policy
    self.logger = logger
    work = IndexBuilder(store: store, lease: lease)
    advisor = IndexAdvisor(isLearning: policy == .automatic)
    advisor.onMissingIndex { [weak self] definition in
      guard let self else { return }
      queue.async { self.learn(definition) }
    }
  }

  /// A pause after opening, so that index work does not slow the first reads.
  private static let delay = DispatchTimeInterval.milliseconds(20)

  /// Resumes the work of an earlier process after a short delay; opening does not wait for it. Does
  /// nothing if the file is read-only.
  func start() {
    guard !store.configuration.isReadOnly else { return }
    state.withLock { $0.isWorking = true }
    queue.asyncAfter(deadline: .now() + Self.delay) { [weak self] in self?.begin() }
  }

  /// Runs on the queue, once.
  private func begin() {
    let isFirst = state.withLock { state in
      guard state.isWorking, !state.hasBegun else { return false }
      state.hasBegun = true
      return true
    }
    guard isFirst else { return }
    scheduleMaintenance()
    do {
      // A repaired file has the configuration, but not the catalogue.
      let isIntact = try store.read { snapshot in
        let catalogue = try snapshot.indexes()
        return try IndexConfiguration.read(snapshot).definitions.allSatisfy {
          catalogue.index($0) != nil
        }
      }
      if !isIntact { try change { _ in } }
      wake()
    } catch {
      logger.error("Indexes could not be looked at.", metadata: ["error": "\(error)"])
    }
  }

  /// Stops the work after the current step. Blocks until that step is done.
  func close() {
    queue.sync {
      // If this fails, the lease expires.
      if state.withLock({ exchange(&$0.isWorking, with: false) }) { try? work.giveUp() }
    }
  }

  // MARK: Reading

  package func list() throws -> [StoredIndex] { try store.read { try $0.readIndexes() } }

  /// The declared and the learned indexes as a `firestore.indexes.json`.
  func exported() throws -> String {
    try store.read { snapshot in
      var configuration = try IndexConfiguration.read(snapshot)
      let known = Set(configuration.definitions.map(\.stored))
      for index in try snapshot.readIndexes()
      where index.isMaintained && !known.contains(index.definition) {
        configuration.add(index.definition)
      }
      return configuration.json
    }
  }

  /// Waits until every existing index, or the given one, is ready.
  ///
  /// Throws `notFound` if the given index does not exist, `failedPrecondition` if the database was
  /// closed or a unique index is invalid, the error of a failed build step of one of these indexes,
  /// and `CancellationError`.
  package func waitUntilReady(_ definition: IndexDefinition? = nil) async throws {
    if state.withLock({ $0.isWorking && !$0.hasBegun }) {
      await withCheckedContinuation { continuation in
        queue.async {
          self.begin()
          continuation.resume()
        }
      }
    }
    var pause = Duration.milliseconds(1)
    while true {
      let indexes = try list().filter { index in
        index.isMaintained && definition.map { $0.stored == index.definition } ?? true
      }
      if let definition, indexes.isEmpty {
        throw Status(.notFound, "There is no index on \(definition).")
      }
      if !indexes.contains(where: \.isUnfinished) {
        for index in indexes { try index.checkValid() }
        return
      }
      let (failure, damaged, isWorking) = state.withLock {
        ($0.failure, $0.damaged, $0.isWorking)
      }
      if let failure { throw failure }
      for index in indexes where index.isUnfinished {
        if let failure = damaged[index.number] { throw failure }
      }
      guard isWorking else {
        throw Status(.failedPrecondition, "Indexes are not built: the database was closed.")
      }
      wake()
      try await Task.sleep(for: pause)
      pause = min(pause * 2, .milliseconds(100))
    }
  }

  // MARK: Changing

  /// Adds declared indexes. Existing ones stay; a learned one becomes declared. Throws
  /// `invalidArgument` for an invalid definition and for two rules for the same references, and
  /// `resourceExhausted` for more than `Limits.indexes` indexes.
  package func declare(_ definitions: [IndexDefinition]) throws {
    // First: it takes time to add each, while others wait to write.
    try Self.check(count: Set(definitions.map(\.stored)).count)
    try IndexDefinition.check(definitions)
    try change { configuration in
      for definition in definitions { configuration.add(definition) }
    }
  }

  /// Drops indexes, declared or learned. Ignores indexes that do not exist.
  package func drop(_ definitions: [IndexDefinition]) throws {
    try change(dropping: Set(definitions.map(\.stored))) { configuration in
      for definition in definitions { configuration.remove(definition) }
    }
  }

  /// Drops all learned indexes.
  func dropLearned() throws {
    let learned = try list().filter { $0.origin == .learned }
    try drop(learned.map(\.definition))
  }

  /// Replaces the configuration. Declared indexes that the new one does not name are dropped;
  /// learned indexes stay.
  package func configure(_ configuration: IndexConfiguration) throws {
    let definitions = configuration.definitions
    try Self.check(count: Set(definitions.map(\.stored)).count)
    try IndexDefinition.check(definitions)
    try change { $0 = configuration }
  }

  /// Adds the indexes of another database's configuration; existing declarations stay. Copies the
  /// whole configuration, with its overrides, only if this database has none.
  func adopt(_ configuration: IndexConfiguration) throws {
    try IndexDefinition.check(configuration.definitions)
    try change { own in
      if own == IndexConfiguration() { own = configuration }
      for definition in configuration.definitions { own.add(definition) }
    }
  }

  private static func check(count: Int) throws(Status) {
    guard count <= Limits.indexes else { throw .tooManyIndexes }
  }

  /// Changes the configuration and the catalogue in one commit.
  private func change(
    dropping dropped: Set<IndexDefinition> = [],
    _ body: (inout IndexConfiguration) -> Void
  ) throws {
    try store.write { transaction in
      let snapshot = StoreSnapshot(transaction.snapshot, store)
      let old = try IndexConfiguration.read(snapshot)
      var configuration = old
      body(&configuration)
      let declared = configuration.definitions.map(\.stored)
      let plan = CataloguePlan(
        try snapshot.readIndexes(), declared: declared,
        dropped: dropped.union(old.definitions.map(\.stored)).subtracting(declared))
      try Self.check(count: plan.count)
      if configuration != old { try configuration.put(&transaction, in: store) }
      for var index in plan.changed {
        // An index of nothing is complete: what is declared first holds from the first write on.
        if case .building = index.state, try !snapshot.hasDocuments(inGroup: index) {
          index.state = .ready
        }
        try transaction.store(index, number: index.number, in: store)
      }
    }
    // A delete that is submitted from now on may have to follow a new rule. Without a catalogue the
    // writer assumes that it has.
    store.indexMemory.forget()
    // Documents may have been repaired.
    state.withLock { $0.damaged = [:] }
    _ = try? store.read { try $0.indexes() }
    wake()
  }

  /// Creates and builds every declared index. The file must not be open elsewhere.
  static func build(_ store: Store, adopting configuration: IndexConfiguration = .init())
    throws
  {
    let manager = IndexManager(
      store, policy: .declared, logger: Logger(label: "hearth") { _ in SwiftLogNoOpLogHandler() })
    try manager.adopt(configuration)
    while try manager.work.step() != .idle {}
  }

  // MARK: Learning

  private func learn(_ definition: IndexDefinition) {
    guard state.withLock(\.isWorking) else { return }
    do {
      let made = try store.write { transaction in
        try learn(definition.stored, &transaction)
      }
      guard made else { return }
      logger.info("An index was learned.", metadata: ["index": "\(definition)"])
      wake()
    } catch {
      logger.warning(
        "An index could not be learned.",
        metadata: ["index": "\(definition)", "error": "\(error)"])
    }
  }

  private func learn(
    _ definition: IndexDefinition, _ transaction: inout WriteTransaction
  ) throws -> Bool {
    let snapshot = StoreSnapshot(transaction.snapshot, store)
    let indexes = try snapshot.readIndexes()
    let learned = indexes.filter {
      $0.origin == .learned && $0.isMaintained
        && UTF8Order.areEqual($0.definition.collectionID, definition.collectionID)
    }
    guard !indexes.contains(where: { $0.isMaintained && $0.definition == definition }),
      learned.count < IndexAdvisor.learnedPerCollectionID, indexes.count < Limits.indexes,
      try IndexConfiguration.read(snapshot).mayLearn(definition)
    else { return false }
    let index = StoredIndex(
      number: CataloguePlan.freeNumber(indexes), definition: definition,
      state: .building(documents: 0, upTo: []), origin: .learned, lastUse: Instant.now())
    try transaction.store(index, number: index.number, in: store)
    return true
  }

  private func scheduleMaintenance() {
    queue.asyncAfter(deadline: .now() + .seconds(Self.maintenanceSeconds)) { [weak self] in
      guard let self, state.withLock(\.isWorking) else { return }
      maintain(now: Instant.now())
      scheduleMaintenance()
    }
  }

  /// Stores the last use of each learned index, at most once a day, and drops learned indexes that
  /// have been unused for `unusedDays`.
  func maintain(now: Instant) {
    do {
      let unused = try store.write { transaction in try maintain(now, &transaction) }
      for definition in unused {
        logger.info("An index is not used and goes.", metadata: ["index": "\(definition)"])
      }
      if !unused.isEmpty { wake() }
    } catch {
      logger.warning("Indexes could not be looked after.", metadata: ["error": "\(error)"])
    }
  }

  private func maintain(
    _ now: Instant, _ transaction: inout WriteTransaction
  ) throws -> [IndexDefinition] {
    var unused: [IndexDefinition] = []
    let indexes = try StoreSnapshot(transaction.snapshot, store).readIndexes()
    for var index in indexes where index.origin == .learned && index.isReady {
      if let use = advisor.lastUse(of: index.number),
        use.microseconds &- index.lastUse.microseconds > Self.dayMicroseconds
      {
        index.lastUse = use
        try transaction.update(index, in: store)
      }
      let age = now.microseconds &- index.lastUse.microseconds
      guard age > Self.unusedDays * Self.dayMicroseconds else { continue }
      index.state = .dropping
      try transaction.store(index, number: index.number, in: store)
      unused.append(index.definition)
    }
    return unused
  }

  // MARK: Background work

  /// Schedules the next step, unless one is scheduled.
  func wake() { schedule(after: .zero) }

  private func schedule(after pause: Duration) {
    let isDue = state.withLock { state in
      guard state.isWorking, !state.isScheduled else { return false }
      state.isScheduled = true
      return true
    }
    guard isDue else { return }
    queue.asyncAfter(deadline: .now() + pause / .seconds(1)) { [weak self] in self?.step() }
  }

  private func step() {
    let (isWorking, damaged) = state.withLock { state in
      state.isScheduled = false
      return (state.isWorking, Set(state.damaged.keys))
    }
    guard isWorking else { return }
    let begin = ContinuousClock.now
    do {
      let outcome = try work.step(skipping: damaged)
      state.withLock { state in
        state.failure = nil
        state.failures = 0
      }
      switch outcome {
      case .idle: retryDamaged()
      case .leased: schedule(after: .milliseconds(250))
      case .worked(let finished):
        if let finished {
          // Another index may get the number of one that was dropped.
          _ = state.withLock { $0.damaged.removeValue(forKey: finished.number) }
          logger.debug("An index is finished.", metadata: ["index": "\(finished.definition)"])
        }
        schedule(after: max(.milliseconds(1), ContinuousClock.now - begin))
      }
    } catch {
      let failure =
        error as? Status ?? Status(.internal, "Indexes could not be built.", cause: error)
      if !skip(failure, damaged) { failed(failure) }
    }
  }

  /// Skips the index of a step that failed on a damaged record. False after another failure.
  private func skip(_ failure: Status, _ damaged: Set<UInt32>) -> Bool {
    guard failure.isDamage,
      let index = try? store.read({ try work.next($0, skipping: damaged) }),
      // It is not skipped: the damage is elsewhere, and another attempt at once would fail, too.
      index.state != .dropping
    else { return false }
    let retries = state.withLock { state in
      state.damaged[index.number] = failure
      return state.retries
    }
    if retries == 0 {
      logger.error(
        "An index could not be built.",
        metadata: ["index": "\(index.definition)", "error": "\(failure)"])
    }
    schedule(after: .milliseconds(1))
    return true
  }

  /// Schedules another attempt to build the indexes that were skipped, unless one is scheduled.
  private func retryDamaged() {
    let retries: Int? = state.withLock { state in
      guard !state.damaged.isEmpty else {
        state.retries = 0
        return nil
      }
      guard !state.willRetry else { return nil }
      state.willRetry = true
      state.retries += 1
      return state.retries
    }
    guard let retries else { return }
    queue.asyncAfter(deadline: .now() + .seconds(Self.pauseSeconds(afterFailures: retries))) {
      [weak self] in
      guard let self else { return }
      state.withLock { state in
        state.damaged = [:]
        state.willRetry = false
      }
      wake()
    }
  }

  private static func pauseSeconds(afterFailures failures: Int) -> Int {
    min(60, 1 << min(failures, 6))
  }

  private func failed(_ failure: Status) {
    let failures = state.withLock { state in
      state.failure = failure
      state.failures += 1
      return state.failures
    }
    if failures == 1 {
      logger.error("Indexes could not be built.", metadata: ["error": "\(failure)"])
    }
    schedule(after: .seconds(Self.pauseSeconds(afterFailures: failures)))
  }
}

extension Status {
  static var tooManyIndexes: Status {
    Status(.resourceExhausted, "A database has at most \(Limits.indexes) indexes.")
  }
}

extension StoredIndex {
  /// Throws `failedPrecondition` for a constraint that documents violate.
  func checkValid() throws(Status) {
    guard case .invalid(let violations) = state else { return }
    let (kind, problem, conjunction) =
      definition.isUnique
      ? ("index", "have the same values", "and")
      : ("rule", "refer to documents that do not exist", "to")
    let example = violations.examples.first.map {
      ", such as \($0.first.text) \(conjunction) \($0.second.text)"
    }
    throw Status(
      .failedPrecondition,
      "The \(kind) \(definition) is invalid: some documents \(problem)\(example ?? ""). "
        + "Change these documents, and declare the \(kind) again.")
  }
}

extension StoreSnapshot {
  /// Whether there is a document that the index might contain.
  fileprivate func hasDocuments(inGroup index: StoredIndex) throws -> Bool {
    let prefix = keyLimit.scanPrefix(KeyLayout.groupPrefix(index.definition.collectionID))
    var walk = try PrefixWalk(prefix, of: tables.documents, in: lmdb)
    return try walk.advance()
  }
}

/// The changes of the catalogue that follow from a new configuration.
private struct CataloguePlan {
  /// Indexes to create, to mark as declared, or to drop.
  private(set) var changed: [StoredIndex] = []
  /// The number of indexes afterwards, including those being dropped.
  private(set) var count: Int

  init(
    _ indexes: [StoredIndex], declared: [IndexDefinition], dropped: Set<IndexDefinition>
  ) {
    var indexes = indexes
    for position in indexes.indices
    where indexes[position].isMaintained && dropped.contains(indexes[position].definition)
      && !declared.contains(where: { indexes[position].definition.hasSameReferences(as: $0) })
    {
      indexes[position].state = .dropping
      changed.append(indexes[position])
    }
    for definition in declared {
      let existing = indexes.firstIndex { $0.isMaintained && $0.definition == definition }
      if let existing {
        let before = indexes[existing]
        indexes[existing].origin = .declared
        if case .invalid = before.state { indexes[existing].state = .verifying }
        if indexes[existing] != before { changed.append(indexes[existing]) }
        continue
      }
      // The same entries serve another rule.
      if let existing = indexes.firstIndex(where: {
        $0.isMaintained && $0.definition.hasSameReferences(as: definition)
      }) {
        indexes[existing].replaceRule(by: definition)
        changed.append(indexes[existing])
        continue
      }
      let index = StoredIndex(
        number: CataloguePlan.freeNumber(indexes), definition: definition,
        state: .building(documents: 0, upTo: []), origin: .declared)
      indexes.append(index)
      changed.append(index)
    }
    count = indexes.count
  }

  /// The smallest unused number: small numbers have short keys.
  static func freeNumber(_ indexes: [StoredIndex]) -> UInt32 {
    let taken = Set(indexes.map(\.number))
    var number: UInt32 = 1
    while taken.contains(number) { number += 1 }
    return number
  }
}
