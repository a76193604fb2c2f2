import CLMDB

/// What a commit promises when it returns.
public enum Durability: Sendable, Hashable {
  /// The commit is on the disk.
  case full
  /// The file stays whole; a power cut may undo the last commit (`MDB_NOMETASYNC`).
  case lastCommitMayBeLost
  /// Nothing is flushed (`MDB_NOSYNC`). A power cut may lose everything since the system last
  /// flushed, **and the file itself**. For files that can be made again.
  case unsafeNoSync
}

/// One call down to LMDB, as a fault injector sees it.
public enum StorageCall: Sendable, Hashable, CaseIterable {
  case open, begin, get, put, delete, cursor, commit, sync, setMapSize
}

public struct EnvironmentConfiguration: Sendable {
  /// Opened, or created, once: LMDB's table handles must not be made beside other transactions.
  public var tables: [String]

  /// Of `tables`, those that a file may lack which is opened for reading only. They are then empty.
  public var optionalTables: Set<String> = []

  /// How far the file can grow before `grow(toAtLeast:)` is needed. Address space, not disk: a
  /// process has 128 TiB of it, and `ulimit -v` or a container may allow less.
  public var mapSizeBytes: Int

  /// Reader slots of the file, for all processes. Taken from the first process that opens it.
  public var maximumReaders: Int

  /// Reads that run at once in this process; more wait for their turn.
  public var readerPoolLimit: Int

  public var isReadOnly: Bool
  public var durability: Durability
  public var allowsRemoteFileSystem: Bool

  /// Opening reads every page first, without mapping it, and throws `damagedPage` if one is wrong. LMDB believes
  /// its pages: a damaged one may end the process.
  public var validatesPages = false

  /// For tests: borrowed bytes are copies, overwritten with 0xDB when their loan ends.
  public var poisonsBorrowedBytes: Bool

  /// For tests: called before each storage call; a code other than 0 fails it before it does
  /// anything.
  public var faultInjector: (@Sendable (StorageCall) -> Int32)?

  // What the tests put in the world's place.
  var fileSystemType: @Sendable (_ path: String) -> UInt32? = FileSystemKind.type(at:)
  var processNamespace: @Sendable () -> String = PresenceFile.currentProcessNamespace
  var readersFullPatience = Duration.seconds(5)
  var openElsewherePatience = Duration.milliseconds(500)
  var staleReaderInterval = Duration.seconds(10)

  public init(
    tables: [String],
    mapSizeBytes: Int = 64 << 30,
    maximumReaders: Int = 1024,
    readerPoolLimit: Int = 256,
    isReadOnly: Bool = false,
    durability: Durability = .full,
    allowsRemoteFileSystem: Bool = false,
    poisonsBorrowedBytes: Bool = false,
    faultInjector: (@Sendable (StorageCall) -> Int32)? = nil
  ) {
    self.tables = tables
    self.mapSizeBytes = mapSizeBytes
    self.maximumReaders = maximumReaders
    self.readerPoolLimit = readerPoolLimit
    self.isReadOnly = isReadOnly
    self.durability = durability
    self.allowsRemoteFileSystem = allowsRemoteFileSystem
    self.poisonsBorrowedBytes = poisonsBorrowedBytes
    self.faultInjector = faultInjector
  }

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
