internal import HearthText
internal import LMDB

/// The result of a check.
public struct CheckReport: Sendable, Hashable {
  /// The first 100 problems, each with its location. Empty if the file is intact.
  public var problems: [String] = []
  /// Number of problems.
  public var problemCount = 0
  /// Size of the file in bytes.
  public var fileBytes = 0
  /// Number of pages in use.
  public var pages = 0
  /// Number of pages that are free for reuse.
  public var freePages = 0
  /// Number of documents.
  public var documents = 0
  /// Number of collections that hold documents.
  public var collections = 0
  /// Number of changes in the change log.
  public var changes = 0
  /// Number of entries in all indexes.
  public var indexEntries = 0
  /// Number of documents that have an expiration time.
  public var expiringDocuments = 0
  /// Number of tombstones: deleted documents in the change log.
  var tombstones = 0

  /// Whether the check found no problems.
  public var isIntact: Bool { problemCount == 0 }

  static let problemLimit = 100
  /// The problem of a file without bytes.
  static let emptyFile = "The file is empty: no database was created in it, or its content is lost"

  mutating func add(_ problem: String) { add(contentsOf: [problem], count: 1) }

  /// Adds `count` problems; `first` are those to list.
  mutating func add(contentsOf first: [String], count: Int) {
    problemCount += count
    problems += first.prefix(Self.problemLimit - problems.count)
  }

  mutating func note(_ pages: FileReport) {
    self.pages = pages.usedPages
    freePages = pages.freePages
    fileBytes = pages.fileSizeBytes
  }

  /// The first 24 bytes of a key.
  static func hex(_ key: UnsafeRawBufferPointer) -> String {
    let digits = key.prefix(24).map { String($0, radix: 16, width: 2) }
    return digits.joined() + (key.count > 24 ? "…" : "")
  }
}

extension Store {
  /// Checks every record: its checksum, its format, and whether the tables agree with each other.
  /// Optionally checks the pages of the same state.
  ///
  /// Uses one read transaction, and memory that does not grow with the store. Throws only if the
  /// storage cannot be read at all.
  func check(
    includingPages: Bool = false, _ report: CheckReport = CheckReport(),
    progress: MaintenanceReporter = .silent
  ) throws -> CheckReport {
    try readInTime { snapshot in
      var report = report
      if includingPages {
        try FileCheck.checkPages(
          at: path, openIn: environment, transactionID: snapshot.lmdb.transactionID, &report,
          progress)
      }
      let check = StoreCheck(snapshot, report, progress)
      try check.run()
      return check.report
    }
  }

  /// Runs `body` on a state whose pages were checked before any of them is used.
  ///
  /// Throws `dataLoss` if a page is damaged.
  func readWhole<Result>(
    _ progress: MaintenanceReporter, _ body: (StoreSnapshot) throws -> Result
  ) throws -> Result {
    try readInTime { snapshot in
      let pages = try PageWalk.check(
        path, openIn: environment, transactionID: snapshot.lmdb.transactionID,
        progress: { try progress(.pages, $0, of: $1) })
      if let problem = pages.problems.first { throw Status.damaged(path, problem) }
      return try body(snapshot)
    }
  }

  /// Runs `body` again if two commits come between the beginning of its transaction and its first
  /// step, which reads the file's header.
  private func readInTime<Result>(_ body: (StoreSnapshot) throws -> Result) throws -> Result {
    try FileCopy.retrying { try read(body) }
  }
}

/// The tables describe each other, so each is checked against the others:
///
///     nameTables  ─▶ the same in both places
///     documents   ─▶ counts of the catalogue, the change that made each version
///     catalogue   ─▶ a document in every collection
///     changes     ─▶ contiguous; newer versions in documents or tombstones; the change before
///     logIndex    ─▶ the records that hold changes of each collection; as many as there are
///     tombstones  ─▶ the change that deleted, and no document
///     expirations ─▶ the document that expires then; as many as there are
private final class StoreCheck {
  private let store: StoreSnapshot
  private var state = StoreState()
  private var rules = TTLPolicies()
  /// Number of documents that must be in the expirations table, by the TTL policies.
  private var expected = 0
  /// Number of entries that the log's index must have: one for each collection of each record.
  private var listings = 0
  private var firstRecord: UInt64 = 1
  private(set) var report: CheckReport
  private let progress: MaintenanceReporter
  private var looked = 0
  private var total = 1

  init(_ store: StoreSnapshot, _ report: CheckReport, _ progress: MaintenanceReporter) {
    self.store = store
    self.report = report
    self.progress = progress
  }

  func run() throws {
    for table in [store.tables.documents, store.tables.changes] {
      total += try store.lmdb.statistics(table).entries
    }
    try looking(at: "state") { state = try store.state() }
    try looking(at: "retention") { _ = try store.retention() }
    try looking(at: "expiry") { rules = try TTLPolicies.read(store.lmdb, store.tables) }
    try checkNameTables()
    try checkDocuments()
    try checkCatalogue()
    try checkChanges()
    try checkLogIndex()
    try checkTombstones()
    try checkDueDocuments()
    report.indexEntries = try IndexCheck.run(store) { self.report.add($0) }
    try progress(.records, total, of: total)
  }

  private func step() throws {
    looked += 1
    if looked % 1024 == 0 { try progress(.records, looked, of: total) }
  }

  /// Runs `body`; a `Status` that it throws is a problem at `position`.
  private func looking(at position: @autoclosure () -> String, _ body: () throws -> Void) throws {
    do { try body() } catch let status as Status { report.add("\(position()): \(status.message)") }
  }

  /// Calls `body` with each entry; a `Status` that it throws is a problem of the entry.
  private func forEachEntry(
    of table: Table, _ name: String,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var cursor = try store.lmdb.cursor(table)
    while try cursor.next() {
      try looking(at: "\(name) \(hex(cursor.key))") { try body(cursor.key, cursor.value) }
    }
  }

  // MARK: Name tables

  private func checkNameTables() throws {
    var ids: Set<UInt32> = []
    try forEachEntry(of: store.tables.nameTables, "name table") { key, value in
      let id = try FieldNameTableRecord.id(fromKey: key)
      ids.insert(id)
      let head = try RecordFrame.payload(of: value, key: key)
      guard try PinnedNameTable(copying: head).table.id == id else {
        throw Status.dataLoss("It is filed under another's id.")
      }
      let copyKey = FieldNameTableRecord.copyKey(id)
      let copy = try store.lmdb.get(store.tables.meta, copyKey)
      guard let copy, try RecordFrame.payload(of: copy, key: copyKey).elementsEqual(head) else {
        throw Status.dataLoss("Its copy is not there, or another.")
      }
    }
    let prefix = FieldNameTableRecord.copyPrefix
    var walk = try PrefixWalk(prefix, of: store.tables.meta, in: store.lmdb)
    while try walk.advance() {
      let key = walk.cursor.key
      try looking(at: "copy of name table \(hex(key))") {
        let id = try FieldNameTableRecord.id(fromKey: key.from(prefix.count))
        guard ids.contains(id) else { throw Status.dataLoss("There is no such name table.") }
      }
    }
  }

  // MARK: Documents

  private func checkDocuments() throws {
    // The keys of a collection are contiguous, except truncated ones: a collision run may hold
    // several collections.
    var counts: [ResourcePath: UInt64] = [:]
    var latest: ResourcePath?
    var runStart: [UInt8] = []
    var cursor = try store.lmdb.cursor(store.tables.documents)
    while try cursor.next() {
      report.documents += 1
      try step()
      let isSameRun = runStart.withUnsafeBytes { store.keyLimit.sameRun($0, cursor.key) }
      try looking(at: "document \(hex(cursor.key))") {
        let path = try checkDocument(cursor.key, cursor.value)
        if let latest, !path.isDirectly(in: latest), !isSameRun {
          try compare(counts)
          counts = [:]
        }
        let collection = path.parent
        counts[collection, default: 0] += 1
        latest = collection
      }
      if !isSameRun { runStart = store.keyLimit.isTruncated(cursor.key) ? Array(cursor.key) : [] }
    }
    try compare(counts)
  }

  private func compare(_ counts: [ResourcePath: UInt64]) throws {
    for (collection, count) in counts {
      report.collections += 1
      try looking(at: "collection \(collection.text.legible)") {
        let recorded = try store.documentCount(inCollection: collection)
        guard recorded != count else { return }
        report.add(
          "collection \(collection.text.legible): holds \(count) documents, not \(recorded)")
      }
    }
  }

  private func checkDocument(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws -> ResourcePath {
    let record = try DocumentRecord(parsing: value)
    let path = try path(fromKey: key, orRecord: record)
    try record.verifyChecksum(key: key)
    let body = try store.body(record.storedBody)
    try DocumentBody.validate(body)
    let name = DocumentName(path, limit: store.keyLimit)
    guard let (position, _) = try store.storedEntry(of: name),
      position.withUnsafeBytes({ UTF8Order.compare($0, key) == 0 })
    else {
      throw Status.dataLoss("\(path.text.legible) is not found where it is stored.")
    }
    guard record.sequence <= state.lastSequence, record.updateTime <= state.lastCommitTime,
      record.createTime <= record.updateTime
    else {
      throw Status.dataLoss(
        "\(path.text.legible) is newer than the last commit, or older than itself.")
    }
    if try expirationTime(path, key, body) != nil { expected += 1 }
    guard record.sequence >= state.firstLoggedSequence else { return path }
    guard let change = try store.change(record.sequence), change.path == path,
      change.kind != .deleted, change.commitTime >= record.updateTime
    else {
      throw Status.dataLoss("\(path.text.legible) is not as the change log has it.")
    }
    return path
  }

  private func path(
    fromKey key: UnsafeRawBufferPointer, orRecord record: DocumentRecord
  ) throws -> ResourcePath {
    if let path = try KeyLayout.documentPath(fromKey: key, limit: store.keyLimit) {
      guard record.path == nil else {
        throw Status.dataLoss("\(path.text.legible) has its path twice.")
      }
      return path
    }
    guard let text = record.path else {
      throw Status.dataLoss("A document with a truncated key lacks its path.")
    }
    return try ResourcePath(storedDocument: text)
  }

  // MARK: The catalogue

  private func checkCatalogue() throws {
    var entries = 0
    try forEachEntry(of: store.tables.collections, "catalogue") { key, value in
      entries += 1
      let count = try NumberRecord.decode(value, key: key)
      let path =
        try KeyLayout.collectionPath(fromKey: key, limit: store.keyLimit)
        ?? NumberRecord.pathText(value).map { ResourcePath(relative: $0) }
      guard let path, path.isCollection else {
        throw Status.dataLoss("The entry has no collection's path.")
      }
      guard count > 0, try CollectionScan(path, in: store).next() != nil else {
        throw Status.dataLoss("\(path.text.legible) has no documents.")
      }
    }
    if entries != report.collections {
      report.add("catalogue: names \(entries) collections, and there are \(report.collections)")
    }
  }

  // MARK: The change log

  private func checkChanges() throws {
    var expected = state.firstLoggedSequence
    firstRecord = expected
    var time = Instant.earliest
    try forEachEntry(of: store.tables.changes, "changes") { key, value in
      try step()
      try checkListings(key, value)
      try ChangeRecord.read(key: key, value: value) { [self] change in
        report.changes += 1
        if change.sequence != expected {
          report.add("changes: \(change.sequence) is where \(expected) should")
        }
        expected = change.sequence &+ 1
        let isRightTime =
          change.startsCommit ? change.commitTime > time : change.commitTime == time
        if !isRightTime, report.changes > 1 {
          report.add("change \(change.sequence): its time does not follow the one before")
        }
        time = change.commitTime
        try looking(at: "change \(change.sequence)") { try check(change) }
        return true
      }
    }
    if expected != state.lastSequence &+ 1 {
      report.add("changes: end before \(expected), and the last is \(state.lastSequence)")
    }
  }

  // MARK: The index of the change log

  /// Checks that the lists of the record's collections contain it, if the index reaches that far.
  private func checkListings(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws {
    var collections: Set<[UInt8]> = []
    let next = try ChangeRecord.forEachCollection(key: key, value: value) {
      collections.insert(Array($0))
    }
    guard next &- 1 <= state.indexedSequence else { return }
    let record = try KeyLayout.sequence(fromKey: key)
    let limit = ChangeLogIndex.limit(store)
    let prefixes = Set(
      try collections.map { try $0.withUnsafeBytes { try ChangeLogIndex.prefix($0, limit) } })
    listings += prefixes.count
    for prefix in prefixes {
      var cursor = try store.lmdb.cursor(store.tables.logIndex)
      var isListed = false
      if try cursor.seek(toListHolding: record, of: prefix) {
        try ChangeLogIndex.forEachRecord(key: cursor.key, value: cursor.value) {
          if $0 == record { isListed = true }
        }
      }
      if !isListed { report.add("changes \(record): a collection's list lacks it") }
    }
  }

  private func checkLogIndex() throws {
    var found = 0
    try forEachEntry(of: store.tables.logIndex, "logIndex") { key, value in
      let last = try ChangeLogIndex.forEachRecord(key: key, value: value) {
        // Records that are gone may remain at the beginning of a list.
        if $0 >= firstRecord { found += 1 }
      }
      guard last >= firstRecord else { throw Status.dataLoss("All its records are gone.") }
    }
    if found != listings {
      report.add("logIndex: lists \(found) records, and there are \(listings)")
    }
  }

  private func check(_ change: Change) throws {
    let name = DocumentName(change.path, limit: store.keyLimit)
    let newest =
      try store.record(of: name).map { try DocumentRecord(parsing: $0).sequence }
      ?? store.tables.tombstonesByName.number(name.key, of: name.path, in: store.lmdb)?.number
    guard let newest, newest >= change.sequence else {
      throw Status.dataLoss(
        "\(change.path.text.legible) has neither a document nor a tombstone as new.")
    }
    guard (change.before == nil) == (change.kind == .created) else {
      throw Status.dataLoss("A change and the version before it do not agree.")
    }
    var sequenceBefore: UInt64?
    if let before = change.before {
      let record = try DocumentRecord(parsing: before)
      if !name.key.isTruncated { try name.key.bytes.withUnsafeBytes(record.verifyChecksum) }
      try DocumentBody.validate(store.body(record.storedBody))
      sequenceBefore = record.sequence
    }
    guard change.previousSequence >= state.firstLoggedSequence else { return }
    guard let previous = try store.change(change.previousSequence),
      previous.path == change.path, (previous.kind == .deleted) == (change.kind == .created),
      sequenceBefore ?? previous.sequence == previous.sequence
    else {
      throw Status.dataLoss("The change before it is not the one it names.")
    }
  }

  // MARK: Tombstones

  private func checkTombstones() throws {
    try forEachEntry(of: store.tables.tombstones, "tombstone") { key, value in
      report.tombstones += 1
      let sequence = try NumberRecord.decode(value, key: key)
      let path =
        try KeyLayout.documentPath(fromKey: key, limit: store.keyLimit)
        ?? NumberRecord.pathText(value).map { ResourcePath(relative: $0) }
      guard let path, path.isDocument else {
        throw Status.dataLoss("The entry has no document's path.")
      }
      guard let change = try store.change(sequence), change.kind == .deleted, change.path == path
      else {
        throw Status.dataLoss("\(path.text.legible) was not deleted at \(sequence).")
      }
      guard try store.storedEntry(of: DocumentName(path, limit: store.keyLimit)) == nil else {
        throw Status.dataLoss("\(path.text.legible) is there.")
      }
    }
  }

  // MARK: Expirations

  private func expirationTime(
    _ path: ResourcePath, _ key: UnsafeRawBufferPointer, _ body: StoredBody
  ) throws -> Instant? {
    guard let rule = rules[path.parent.id] else { return nil }
    return try ExpirationTable.time(in: body, at: rule.field(forKey: key))
  }

  private func checkDueDocuments() throws {
    // Entries with the same time and document would have the same hash, and be adjacent.
    var lastDocument: [UInt8] = []
    try forEachEntry(of: store.tables.expirations, "expiring document") { entry, value in
      report.expiringDocuments += 1
      let time = try ExpirationTable.time(fromKey: entry)
      let key = try ExpirationTable.documentKey(value, key: entry)
      guard let stored = try store.lmdb.get(store.tables.documents, key) else {
        throw Status.dataLoss("The document is not there.")
      }
      let record = try DocumentRecord(parsing: stored)
      let path = try path(fromKey: key, orRecord: record)
      guard try expirationTime(path, key, store.body(record.storedBody)) == time,
        !key.elementsEqual(lastDocument)
      else {
        throw Status.dataLoss("\(path.text.legible) does not expire then.")
      }
      lastDocument = Array(key)
    }
    if report.expiringDocuments != expected {
      report.add(
        "due: \(report.expiringDocuments) documents are in the table, and \(expected) expire")
    }
  }

  private func hex(_ key: UnsafeRawBufferPointer) -> String { CheckReport.hex(key) }
}
