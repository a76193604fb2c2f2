import CLMDB
import Glibc

/// LMDB's side of opening: an environment handle and the handles of its tables.
struct OpenedFile {
  let handle: OpaquePointer
  let tables: [String: Table]
  let maximumReaders: Int

  static let mapGranularity = 64 << 10

  static func open(
    _ path: String, _ configuration: EnvironmentConfiguration
  ) throws(LMDBError) -> OpenedFile {
    try FileHeader.validateFile(at: path, isReadOnly: configuration.isReadOnly)
    var created: OpaquePointer?
    try check(mdb_env_create(&created), path)
    guard let handle = created else { throw LMDBError(ENOMEM, context: "open \(path)") }
    do throws(LMDBError) {
      let names = unique(configuration.tables)
      let granules = max(16, configuration.mapSizeBytes / mapGranularity)
      try check(mdb_env_set_mapsize(handle, granules * mapGranularity), path)
      try check(
        mdb_env_set_maxreaders(handle, UInt32(clamping: max(1, configuration.maximumReaders))),
        path)
      try check(mdb_env_set_maxdbs(handle, UInt32(clamping: names.count)), path)
      try check(mdb_env_open(handle, path, configuration.flags, 0o600), path)
      var dead: Int32 = 0
      mdb_reader_check(handle, &dead)
      let tables = try openTables(names, handle, path, isReadOnly: configuration.isReadOnly)
      var readers: UInt32 = 0
      mdb_env_get_maxreaders(handle, &readers)
      return OpenedFile(handle: handle, tables: tables, maximumReaders: Int(readers))
    } catch {
      mdb_env_close(handle)
      throw error
    }
  }

  /// In a read transaction if they are all there, so that opening need not wait for a writer.
  private static func openTables(
    _ names: [String], _ handle: OpaquePointer, _ path: String, isReadOnly: Bool
  ) throws(LMDBError) -> [String: Table] {
    do throws(LMDBError) {
      return try openTables(names, handle, path, beginning: UInt32(MDB_RDONLY), opening: 0)
    } catch {
      guard error == .notFound, !isReadOnly else { throw error }
      return try openTables(names, handle, path, beginning: 0, opening: UInt32(MDB_CREATE))
    }
  }

  /// In the order of `names`, so that reopening gives the same handles.
  private static func openTables(
    _ names: [String], _ handle: OpaquePointer, _ path: String, beginning beginFlags: UInt32,
    opening openFlags: UInt32
  ) throws(LMDBError) -> [String: Table] {
    var begun: OpaquePointer?
    try check(mdb_txn_begin(handle, nil, beginFlags, &begun), path)
    guard let transaction = begun else { throw LMDBError(ENOMEM, context: "open \(path)") }
    var tables: [String: Table] = [:]
    do throws(LMDBError) {
      for name in names {
        var table: MDB_dbi = 0
        try check(mdb_dbi_open(transaction, name, openFlags, &table), "\(path), table \(name)")
        var flags: UInt32 = 0
        try check(mdb_dbi_flags(transaction, table, &flags), path)
        // Sorted duplicates and integer keys: other layouts, other rules, and bugs in 0.9.24.
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
