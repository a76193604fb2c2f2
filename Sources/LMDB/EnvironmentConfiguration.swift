import CLMDB

/// The guarantee that a commit gives when it returns.
public enum Durability: Sendable, Hashable {
  /// The commit is on the disk.
  case full
  /// The file stays intact; a power cut may undo the last commit (`MDB_NOMETASYNC`).
  case lastCommitMayBeLost
  /// Nothing is flushed (`MDB_NOSYNC`). A power cut may lose everything since the system last
  /// flushed, **and the file itself**. Only for files that can be recreated.
  case unsafeNoSync
}

/// A call to LMDB, as a fault injector sees it.
public enum StorageCall: Sendable, Hashable, CaseIterable {
  /// Opening or reopening the file.
  case open
  /// The beginning of a read or write transaction.
  case begin
  /// Reading an entry by its key.
  case get
  /// Writing an entry.
  case put
  /// Deleting an entry.
  case delete
  /// Opening or moving a cursor.
  case cursor
  /// Committing a write transaction.
  case commit
  /// Flushing the file.
  case sync
  /// Changing the size of the map.
  case setMapSize
}

/// How an environment is opened.
public struct EnvironmentConfiguration: Sendable {
  /// All tables, opened or created with the file: LMDB must not open a table while other
  /// transactions run.
  public var tables: [String]

  /// The `tables` that may be missing from a file opened for reading only. They then read as empty.
  public var optionalTables: Set<String> = []

  /// How large the file can grow before `grow(toAtLeast:)` is needed. Reserves address space, not
  /// disk: a process has 128 TiB of it, and `ulimit -v` or a container may allow less.
  public var mapSizeBytes = 64 << 30

  /// The number of reader slots, for all processes. The first process that opens the file sets it.
  public var maximumReaders = 1024

  /// The number of concurrent reads in this process; further reads wait.
  public var readerPoolLimit = 256

  /// Opens the file for reading only.
  public var isReadOnly = false
  /// The guarantee that a commit gives when it returns.
  public var durability = Durability.full
  /// Allows a remote file system; see `LMDBError.remoteFileSystem`.
  public var allowsRemoteFileSystem = false

  /// Opening first reads every page, without mapping it, and throws `damagedPage` if one is wrong.
  /// LMDB trusts its pages: a damaged one may crash the process.
  public var validatesPages = false

  /// For tests: borrowed bytes are copies, overwritten with 0xDB when the borrow ends.
  public var poisonsBorrowedBytes = false

  /// For tests: called before each storage call. A code other than 0 makes the call fail before it
  /// does anything.
  public var faultInjector: (@Sendable (StorageCall) -> Int32)?

  // Replaced by tests.
  var fileSystemType: @Sendable (_ path: String) -> UInt32? = FileSystemKind.type(at:)
  var processNamespace: @Sendable () -> String = PresenceFile.currentProcessNamespace
  var readersFullBackoff = Duration.seconds(5)
  var openElsewhereBackoff = Duration.milliseconds(500)
  var staleReaderInterval = Duration.seconds(10)

  /// Creates a configuration. Every other property has its default value.
  public init(tables: [String]) { self.tables = tables }

  var flags: UInt32 {
    var flags = UInt32(MDB_NOSUBDIR) | UInt32(MDB_NOTLS)
    if isReadOnly { flags |= UInt32(MDB_RDONLY) }
    switch durability {
    case .full: break
    case .lastCommitMayBeLost: flags |= UInt32(MDB_NOMETASYNC)
    case .unsafeNoSync: flags |= UInt32(MDB_NOSYNC)
    }
    return flags
  }
}
