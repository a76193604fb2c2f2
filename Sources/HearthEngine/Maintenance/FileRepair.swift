internal import LMDB

/// What could be read of a damaged file.
public struct RepairReport: Sendable, Hashable {
  /// What is wrong with the damaged file; the first hundred.
  public var problems: [String] = []
  public var problemCount = 0
  /// In the new file.
  public var documents = 0
  /// Of these, documents on pages that nothing leads to any more.
  public var documentsFoundAgain = 0
  /// Of these, documents that may have been changed or deleted since: the list of free pages is damaged, and an old
  /// page cannot be told from a lost one.
  public var doubtfulDocuments = 0
  /// Records of documents that are there and cannot be read.
  public var unreadableDocuments = 0
  /// Collections that have fewer documents than the damaged file counted, as far as it still says.
  public var losses: [Loss] = []

  public struct Loss: Sendable, Hashable {
    public var collection: String
    /// In the new file.
    public var documents: Int
    public var lost: Int
  }
}

/// Builds a new file from what can be read of a damaged one.
///
///     documents    those reached; then those of lost pages, the newest version of each
///     catalogue    counted anew
///     change log   begins anew, with its index: listeners that resume get their whole result
///     due          by the rules, if they can be read, when the file is opened
///     indexes      those that were declared are built anew; those that were learned are learned again
///
/// A record is believed if its checksum is right under its key.
final class FileRepair {
  private let builder: StoreBuilder
  private let progress: MaintenanceReporter
  private var report = RepairReport()
  private var state = StoreState()
  private var created: [UInt8]?
  private var rules: [UInt8]?
  private var indexConfiguration: [UInt8]?
  private var foundShapes: [(id: UInt32, head: [UInt8])] = []
  /// Sequences of deletions the old file knows of, by document key.
  private var deleted: [[UInt8]: UInt64] = [:]
  /// What the old catalogue says.
  private var counts: [ResourcePath: UInt64] = [:]

  private init(_ builder: StoreBuilder, _ progress: MaintenanceReporter) {
    self.builder = builder
    self.progress = progress
  }

  /// Throws `failedPrecondition` if the damaged file is open, `alreadyExists` if there is a file at
  /// `target`, and what reading and writing throw. The damaged file is not changed.
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

  // MARK: What is there

  /// Documents are of no use without the names of their fields, which stand in two places: they come first.
  private func salvageShapes(_ source: String) throws {
    _ = try PageWalk.salvage(
      source,
      visit: { [self] name, key, value in
        if name == KeyLayout.Table.shapes.rawValue { takeShape(key, key, value) }
        if name == KeyLayout.Table.meta.rawValue, key.begins(with: FieldNameTableRecord.copyPrefix)
        {
          takeShape(key.from(FieldNameTableRecord.copyPrefix.count), key, value)
        }
      },
      visitLost: { [self] in takeShape($0, $0, $1) }, progress: { _, _ in })
  }

  /// Takes what has the right checksum, and is the shape that its id says.
  private func takeShape(
    _ id: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) {
    let shapes = builder.store.shapes
    guard let id = try? FieldNameTableRecord.id(fromKey: id), shapes[id] == nil,
      let head = try? RecordFrame.payload(of: value, key: key), (try? shapes.learn(id, head)) != nil
    else { return }
    foundShapes.append((id, Array(head)))
  }

  private func body(_ stored: UnsafeRawBufferPointer) throws(Status) -> StoredBody {
    guard let id = StoredBody.shapeID(stored) else { return StoredBody(stored) }
    guard let shape = builder.store.shapes[id] else { throw .unknownShape }
    return StoredBody(stored, shape)
  }

  private func salvage(_ source: String) throws {
    try salvageShapes(source)
    for (id, head) in foundShapes {
      for step in FieldNameTableRecord.steps(id, head, builder.store.tables) {
        try builder.put(step.table, step.key, step.value)
      }
    }
    let pages = try PageWalk.salvage(
      source, visit: { [self] in try visit($0, $1, $2) },
      visitLost: { [self] in try visitLost($0, $1) },
      progress: { [progress] in try progress(.salvaging, $0, of: $1) })
    report.problemCount += pages.problemCount
    report.problems = Array((pages.problems + report.problems).prefix(CheckReport.problemLimit))
    if !pages.knowsFreePages { report.doubtfulDocuments = report.documentsFoundAgain }
  }

  private func visit(
    _ name: String, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws {
    do {
      switch KeyLayout.Table(rawValue: name) {
      case .documents: try takeDocument(key, value)
      case .tombstones:
        var reader = ByteCursor(try RecordFrame.payload(of: value, key: key))
        deleted[Array(key)] = try reader.fixed64()
      case .collections:
        var reader = ByteCursor(try RecordFrame.payload(of: value, key: key))
        let count = try reader.fixed64()
        let path =
          try KeyLayout.collectionPath(fromKey: key, limit: builder.store.keyLimit)
          ?? String(storedUTF8: reader.rest).map { ResourcePath(relative: $0) }
        if let path, path.isCollection { counts[path] = count }
      case .meta: try takeMeta(key, value)
      case .changes, .logIndex, .due, .indexes, .entries, .shapes, nil: break
      }
    } catch let error as Status where error.code == .dataLoss || error.code == .failedPrecondition {
      // The latter of a damaged version, too.
      report.add("\(name) \(CheckReport.hex(key)): \(error.message)")
      if name == KeyLayout.Table.documents.rawValue { report.unreadableDocuments += 1 }
    }
  }

  private func takeMeta(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(Status) {
    try RecordFrame.verify(value, key: key)
    if key.elementsEqual(FileFormat.key) { created = Array(value) }
    if key.elementsEqual(TTLPolicies.key) { rules = Array(value) }
    if key.elementsEqual(Store.indexConfigurationKey) { indexConfiguration = Array(value) }
    if key.elementsEqual(StoreState.key) {
      let found = try StoreState(parsing: value)
      state.lastSequence = max(state.lastSequence, found.lastSequence)
      state.lastCommitTime = max(state.lastCommitTime, found.lastCommitTime)
    }
  }

  /// The path of a document that can be believed.
  private func read(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws(Status) -> (record: DocumentRecord, path: ResourcePath) {
    let record = try DocumentRecord(parsing: value)
    try record.verifyChecksum(key: key)
    try DocumentBody.validate(body(record.storedBody))
    let path =
      try KeyLayout.documentPath(fromKey: key, limit: builder.store.keyLimit)
      ?? record.path.map { ResourcePath(relative: $0) }
    guard let path, path.isDocument else { throw .dataLoss("A document has no path.") }
    return (record, path)
  }

  private func takeDocument(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws {
    _ = try read(key, value)
    try builder.put(builder.store.tables.documents, key, value)
  }

  /// Of pages that nothing leads to: whatever looks like a document and has the right checksum.
  private func visitLost(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws {
    guard let (record, path) = try? read(key, value),
      deleted[Array(key)].map({ $0 < record.sequence }) ?? true
    else { return }
    let name = DocumentName(path, limit: builder.store.keyLimit)
    let snapshot = try builder.snapshot()
    var place = Array(key)
    if let (stored, other) = try snapshot.storedEntry(of: name) {
      guard try DocumentRecord(parsing: other).sequence < record.sequence else { return }
      place = stored
    } else {
      report.documentsFoundAgain += 1
      if name.key.isCut {
        place = try snapshot.tables.documentsByName.freeKey(name.cut, in: snapshot.lmdb) { _ in
          false
        }
      }
    }
    let bytes = place.withUnsafeBytes {
      DocumentRecord.encode(
        sequence: record.sequence, updateTime: record.updateTime, createTime: record.createTime,
        path: record.path, body: BodyParts(record.storedBody), key: $0)
    }
    try builder.put(builder.store.tables.documents, place, bytes)
  }

  // MARK: What follows from it

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
    let tables = builder.store.tables
    if let created { try builder.put(tables.meta, FileFormat.key, created) }
    if let indexConfiguration {
      try builder.put(tables.meta, Store.indexConfigurationKey, indexConfiguration)
    }
    if let rules { try builder.put(tables.meta, TTLPolicies.key, try TTLPolicies.begunAnew(rules)) }
  }
}

extension RepairReport {
  fileprivate mutating func add(_ problem: String) {
    problemCount += 1
    if problems.count < CheckReport.problemLimit { problems.append(problem) }
  }
}
