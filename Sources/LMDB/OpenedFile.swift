import CLMDB
import Glibc

/// A file that LMDB has opened: the environment handle and the handles of its tables.
struct OpenedFile {
  let handle: OpaquePointer
  let tables: [String: Table]
  let maximumReaders: Int
  let pageSizeBytes: Int

  static let mapGranularity = 64 << 10

  /// - Parameters:
  ///   - isUnlocked: Readers are not registered, and no process may write.
  ///   - isAlone: No other process has the file open.
  ///   - beforeAllPages: Called before all pages are read, if the configuration asks for that.
  static func open(
    _ file: DataFile, _ configuration: EnvironmentConfiguration, isUnlocked: Bool, isAlone: Bool,
    beforeAllPages: () throws(LMDBError) -> Void = {}
  ) throws(LMDBError) -> OpenedFile {
    let path = file.path
    try FileHeader.validate(file, isAlone: isAlone)
    // LMDB would write the header of a new database.
    if configuration.isReadOnly, try PageReader(using: file.anchor).byteCount() == 0 {
      throw LMDBError.emptyFile.adding("open \(path)")
    }
    var created: OpaquePointer?
    try check(mdb_env_create(&created), path)
    guard let handle = created else { throw LMDBError(ENOMEM, context: "open \(path)") }
    AssertionReport.install(on: handle)
    do throws(LMDBError) {
      let names = unique(configuration.tables)
      let granules = max(16, configuration.mapSizeBytes / mapGranularity)
      try check(mdb_env_set_mapsize(handle, granules * mapGranularity), path)
      try check(
        mdb_env_set_maxreaders(handle, UInt32(clamping: max(1, configuration.maximumReaders))),
        path)
      try check(mdb_env_set_maxdbs(handle, UInt32(clamping: names.count)), path)
      let flags = configuration.flags | (isUnlocked ? UInt32(MDB_NOLOCK) : 0)
      try check(mdb_env_open(handle, path, flags, 0o600), path)
      var descriptor: Int32 = -1
      mdb_env_get_fd(handle, &descriptor)
      guard FileIdentity(of: descriptor) == file.identity else {
        throw LMDBError.fileReplaced.adding("open \(path)")
      }
      if configuration.validatesPages {
        try beforeAllPages()
        try validatePages(handle, file)
      }
      var dead: Int32 = 0
      mdb_reader_check(handle, &dead)
      let tables = try openTables(
        names, handle, path,
        optional: configuration.isReadOnly ? configuration.optionalTables : nil)
      var readers: UInt32 = 0
      mdb_env_get_maxreaders(handle, &readers)
      var statistics = MDB_stat()
      try check(mdb_env_stat(handle, &statistics), path)
      let opened = OpenedFile(
        handle: handle, tables: tables, maximumReaders: Int(readers),
        pageSizeBytes: Int(statistics.ms_psize))
      if !isUnlocked { try opened.checkLastCommit(of: file) }
      return opened
    } catch {
      mdb_env_close(handle)
      throw error
    }
  }

  /// Reads every page of one state, without using the map.
  private static func validatePages(_ handle: OpaquePointer, _ file: DataFile) throws(LMDBError) {
    var attempts = 0
    while true {
      // The transaction keeps the pages of this state from being overwritten.
      let transaction = try begin(handle, file.path)
      defer { mdb_txn_abort(transaction) }
      do {
        let report = try PageWalk.check(file, transactionID: mdb_txn_id(transaction))
        guard let problem = report.problems.first else { return }
        throw LMDBError.damagedPage.adding("open \(file.path): \(problem)")
      } catch let error as LMDBError {
        // Two commits came before the header was read.
        guard error == .tryAgain, attempts < 1000 else { throw error }
        attempts += 1
      } catch {
        throw LMDBError(EIO, context: "open \(file.path)")
      }
    }
  }

  /// Throws `openElsewhere` if the last commit according to the lock file is not the last one in
  /// the data file: the data file was overwritten while other processes had it open.
  private func checkLastCommit(of file: DataFile) throws(LMDBError) {
    let transaction = try Self.begin(handle, file.path)
    let known = UInt64(mdb_txn_id(transaction))
    mdb_txn_abort(transaction)
    let pages = PageReader(using: file.anchor)
    var newest: UInt64 = 0
    for page in 0...1 {
      let position = UInt64(page * pageSizeBytes + FileHeader.transactionOffset)
      newest = max(newest, try pages.read(at: position, count: 8)?.load(0, as: UInt64.self) ?? 0)
    }
    // A writer writes the header first, and may be killed before it updates the lock file. Others
    // may have committed since.
    guard newest >= known, newest <= known + 1 || hasCommitted(to: file, since: known) else {
      throw LMDBError.openElsewhere.adding("open \(file.path), which was overwritten")
    }
  }

  private func hasCommitted(to file: DataFile, since known: UInt64) -> Bool {
    guard let transaction = try? Self.begin(handle, file.path) else { return false }
    defer { mdb_txn_abort(transaction) }
    return UInt64(mdb_txn_id(transaction)) > known
  }

  /// Uses a read transaction if all tables exist, so that opening does not wait for a writer.
  ///
  /// - Parameter optional: The tables that may be missing, if none can be created; nil if they can.
  private static func openTables(
    _ names: [String], _ handle: OpaquePointer, _ path: String, optional: Set<String>?
  ) throws(LMDBError) -> [String: Table] {
    do throws(LMDBError) {
      return try openTables(
        names, handle, path, beginning: UInt32(MDB_RDONLY), opening: 0, optional: optional ?? [])
    } catch {
      guard error == .notFound, optional == nil else { throw error }
      return try openTables(
        names, handle, path, beginning: 0, opening: UInt32(MDB_CREATE), optional: [])
    }
  }

  /// Opens the tables in the order of `names`, so that reopening gives the same handles.
  private static func openTables(
    _ names: [String], _ handle: OpaquePointer, _ path: String, beginning beginFlags: UInt32,
    opening openFlags: UInt32, optional: Set<String>
  ) throws(LMDBError) -> [String: Table] {
    let transaction = try begin(handle, path, beginFlags)
    var tables: [String: Table] = [:]
    do throws(LMDBError) {
      for name in names {
        var table: MDB_dbi = 0
        let code = mdb_dbi_open(transaction, name, openFlags, &table)
        if code == MDB_NOTFOUND, optional.contains(name) {
          tables[name] = Table(name: name, handle: Table.noHandle)
          continue
        }
        try check(code, "\(path), table \(name)")
        var flags: UInt32 = 0
        try check(mdb_dbi_flags(transaction, table, &flags), path)
        // Sorted duplicates and integer keys have other layouts, other rules, and bugs in 0.9.24.
        guard flags == 0 else { throw LMDBError.incompatible.adding("\(path), table \(name)") }
        tables[name] = Table(name: name, handle: table)
      }
    } catch {
      mdb_txn_abort(transaction)
      throw error
    }
    try check(mdb_txn_commit(transaction), path)
    return tables
  }

  private static func begin(
    _ handle: OpaquePointer, _ path: String, _ flags: UInt32 = UInt32(MDB_RDONLY)
  ) throws(LMDBError) -> OpaquePointer {
    var begun: OpaquePointer?
    try check(mdb_txn_begin(handle, nil, flags, &begun), path)
    guard let transaction = begun else { throw LMDBError(ENOMEM, context: "open \(path)") }
    return transaction
  }

  private static func unique(_ names: [String]) -> [String] {
    var seen: Set<String> = []
    return names.filter { seen.insert($0).inserted }
  }

  private static func check(_ code: Int32, _ path: String) throws(LMDBError) {
    switch code {
    case MDB_SUCCESS: return
    case EAGAIN: throw LMDBError.sharedProcessID.adding("open \(path)")
    default: throw LMDBError(code, context: "open \(path)")
    }
  }
}
