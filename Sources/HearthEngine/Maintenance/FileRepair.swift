internal import LMDB

/// The result of a repair: what could be read of a damaged file.
public struct RepairReport: Sendable, Hashable {
  /// The first 100 problems of the damaged file.
  public var problems: [String] = []
  /// Number of problems of the damaged file.
  public var problemCount = 0
  /// Number of documents in the new file.
  public var documents = 0
  /// How many of `documents` were on pages that can no longer be reached.
  public var recoveredDocuments = 0
  /// How many of `recoveredDocuments` may have been changed or deleted since. Not 0 only if the
  /// list of free pages is damaged: then an old page cannot be distinguished from a lost one.
  public var possiblyStaleDocuments = 0
  /// Number of document records that exist but cannot be read.
  public var unreadableDocuments = 0
  /// Collections with fewer documents than the damaged file counted, where its count can be read.
  public var losses: [Loss] = []

  /// A collection that lost documents.
  public struct Loss: Sendable, Hashable {
    /// Path of the collection.
    public var collection: String
    /// Number of its documents in the new file.
    public var documents: Int
    /// How many documents fewer than the damaged file counted.
    public var lost: Int
  }
}

/// Builds a new file from what can be read of a damaged one.
///
///     documents    the reachable ones, then the newest version of each on unreachable pages
///     catalogue    counted again
///     change log   starts empty, with its index: listeners that resume get their whole result
///     expirations  by the TTL policies, if they can be read, when the file is opened
///     indexes      declared ones are rebuilt; automatic ones are created again by queries
///
/// A record is used if its checksum, which covers its key, is correct.
final class FileRepair {
  private let builder: StoreBuilder
  private let progress: MaintenanceReporter
  private var report = RepairReport()
  private var state = StoreState()
  /// The records of `meta` that the new file gets, by key.
  private var meta: [[UInt8]: [UInt8]] = [:]
  private static let keptKeys = [
    FileFormat.key, ChangeLogRetention.key, Store.indexConfigurationKey, TTLPolicies.key,
  ]
  private var foundNameTables: [(id: UInt32, head: [UInt8])] = []
  /// Sequences of the deletions that the old file records, by document key.
  private var deleted: [[UInt8]: UInt64] = [:]
  /// The document counts of the old catalogue.
  private var counts: [ResourcePath: UInt64] = [:]

  private init(_ builder: StoreBuilder, _ progress: MaintenanceReporter) {
    self.builder = builder
    self.progress = progress
  }

  /// Throws `failedPrecondition` if the damaged file is open, `alreadyExists` if there is a file at
  /// `target`, and the errors of reading and writing. The damaged file is not changed.
  static func run(
    from source: String, to target: String, _ configuration: StoreConfiguration,
    progress: MaintenanceReporter = .silent
  ) throws -> RepairReport {
    try FileCopy.beside(target, replacing: false) { file in
      let repair = FileRepair(
        try StoreBuilder(
          path: file.path, expectedBytes: try PageWalk.byteCount(source), configuration), progress)
      let isDone = try Environment.whileClosed(source) {
        try repair.salvage(source)
        return true
      }
      guard isDone != nil else { throw Status.isOpen(source) }
      try repair.complete()
      try repair.builder.buildIndexes()
      try repair.builder.finish()
      let report = repair.report
      repair.builder.close()
      _ = try FileCopy.verified(file.path, configuration, progress)
      return report
    }
  }

  // MARK: Reading the damaged file

  /// Documents are useless without their field names, which are stored in two places: name tables
  /// come first.
  private func salvageNameTables(_ source: String) throws {
    _ = try PageWalk.salvage(
      source,
      visit: { [self] name, key, value in
        if name == KeyLayout.Table.nameTables.rawValue { takeNameTable(key, key, value) }
        if name == KeyLayout.Table.meta.rawValue, key.begins(with: FieldNameTableRecord.copyPrefix)
        {
          takeNameTable(key.from(FieldNameTableRecord.copyPrefix.count), key, value)
        }
      },
      visitLost: { [self] in takeNameTable($0, $0, $1) }, progress: { _, _ in })
  }

  /// Takes a name table if its checksum is correct and it has the id of its key.
  private func takeNameTable(
    _ id: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) {
    let nameTables = builder.store.nameTables
    guard let id = try? FieldNameTableRecord.id(fromKey: id), nameTables[id] == nil,
      let head = try? RecordFrame.payload(of: value, key: key),
      (try? nameTables.learn(id, head)) != nil
    else { return }
    foundNameTables.append((id, Array(head)))
  }

  private func salvage(_ source: String) throws {
    try salvageNameTables(source)
    for (id, head) in foundNameTables {
      for step in FieldNameTableRecord.steps(id, head, builder.store.tables) {
        try builder.put(step.table, step.key, step.value)
      }
    }
    let pages = try PageWalk.salvage(
      source, visit: { [self] in try visit($0, $1, $2) },
      visitLost: { [self] in try visitLost($0, $1) },
      progress: { [progress] in try progress(.salvaging, $0, of: $1) })
    if pages.fileSizeBytes == 0 { report.add(CheckReport.emptyFile) }
    report.problemCount += pages.problemCount
    report.problems = Array((pages.problems + report.problems).prefix(CheckReport.problemLimit))
    if !pages.knowsFreePages { report.possiblyStaleDocuments = report.recoveredDocuments }
  }

  private func visit(
    _ name: String, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws {
    do {
      switch KeyLayout.Table(rawValue: name) {
      case .documents:
        _ = try read(key, value)
        try builder.put(builder.store.tables.documents, key, value)
      case .tombstones:
        deleted[Array(key)] = try NumberRecord.decode(value, key: key)
      case .collections:
        let count = try NumberRecord.decode(value, key: key)
        let path =
          try KeyLayout.collectionPath(fromKey: key, limit: builder.store.keyLimit)
          ?? NumberRecord.pathText(value).map { ResourcePath(relative: $0) }
        if let path, path.isCollection { counts[path] = count }
      case .meta: try takeMeta(key, value)
      case .changes, .logIndex, .expirations, .indexes, .entries, .nameTables, nil: break
      }
    } catch let error as Status where error.isDamage {
      report.add("\(name) \(CheckReport.hex(key)): \(error.message)")
      if name == KeyLayout.Table.documents.rawValue { report.unreadableDocuments += 1 }
    }
  }

  private func takeMeta(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(Status) {
    try RecordFrame.verify(value, key: key)
    for kept in Self.keptKeys where key.elementsEqual(kept) { meta[kept] = Array(value) }
    if key.elementsEqual(StoreState.key) {
      let found = try StoreState(parsing: value)
      try StoreState.check(found.lastSequence)
      state.lastSequence = max(state.lastSequence, found.lastSequence)
      state.lastCommitTime = max(state.lastCommitTime, found.lastCommitTime)
    }
  }

  /// Reads a document, and throws if it is damaged or has no path.
  private func read(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(Status) -> (record: DocumentRecord, path: ResourcePath) {
    let record = try DocumentRecord(parsing: value)
    try record.verifyChecksum(key: key)
    try StoreState.check(record.sequence)
    guard let body = builder.store.nameTables.lookup.body(record.storedBody) else {
      throw .unknownNameTable
    }
    try DocumentBody.validate(body)
    let path =
      try KeyLayout.documentPath(fromKey: key, limit: builder.store.keyLimit)
      ?? record.path.map { ResourcePath(relative: $0) }
    guard let path, path.isDocument else { throw .dataLoss("A document has no path.") }
    return (record, path)
  }

  /// Takes a document of an unreachable page, if it has a correct checksum and a valid path.
  private func visitLost(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws {
    guard let (record, path) = try? read(key, value),
      deleted[Array(key)].map({ $0 < record.sequence }) ?? true
    else { return }
    let name = DocumentName(path, limit: builder.store.keyLimit)
    let snapshot = try builder.snapshot()
    var position = Array(key)
    if let (stored, other) = try snapshot.storedEntry(of: name) {
      guard try DocumentRecord(parsing: other).sequence < record.sequence else { return }
      position = stored
    } else {
      report.recoveredDocuments += 1
      if name.key.isTruncated {
        position = try snapshot.tables.documentsByName.freeKey(name.key, in: snapshot.lmdb)
      }
    }
    let bytes = position.withUnsafeBytes {
      DocumentRecord.encode(
        sequence: record.sequence, updateTime: record.updateTime, createTime: record.createTime,
        path: record.path, body: BodyParts(record.storedBody), key: $0)
    }
    try builder.put(builder.store.tables.documents, position, bytes)
  }

  // MARK: Derived tables

  private func complete() throws {
    let found = try builder.complete(state)
    report.documents = Int(clamping: found.values.reduce(0, +))
    for (path, count) in counts.sorted(by: { ResourcePath.compare($0.key, $1.key) < 0 }) {
      let now = found[path] ?? 0
      guard now < count else { continue }
      report.losses.append(
        RepairReport.Loss(
          collection: path.text, documents: Int(clamping: now), lost: Int(clamping: count - now)))
    }
    for key in Self.keptKeys {
      guard let record = meta[key] else { continue }
      try builder.put(
        builder.store.tables.meta, key,
        key == TTLPolicies.key ? TTLPolicies.begunAnew(record) : record)
    }
  }
}

extension RepairReport {
  fileprivate mutating func add(_ problem: String) {
    problemCount += 1
    if problems.count < CheckReport.problemLimit { problems.append(problem) }
  }
}
