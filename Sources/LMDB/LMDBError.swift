import CLMDB
import Glibc

/// What LMDB, the system or one of our own guards said.
///
///     do { try writing.put(table, key, value) } catch .mapFull { … }
///
/// Two errors are equal when their codes are; `context` only tells a reader where it happened.
public struct LMDBError: Error, Sendable, CustomStringConvertible {
  /// LMDB's codes are -30799…-30780, the system's are positive, our own are -20000 and below.
  public let code: Int32

  /// The call and the file.
  public let context: String

  /// Other processes that have to do with it, as far as the system says which.
  public let processIDs: [Int32]

  public init(_ code: Int32, context: String = "", processIDs: [Int32] = []) {
    self.code = code
    self.context = context
    self.processIDs = processIDs
  }

  public var message: String {
    if let sentence = Self.sentences[code] {
      guard !processIDs.isEmpty else { return sentence }
      return sentence + " Process \(processIDs.map(String.init).joined(separator: ", "))."
    }
    guard let text = mdb_strerror(code) else { return "Unknown error." }
    return String(cString: text) + "."
  }

  public var description: String {
    context.isEmpty ? "\(message) (\(code))" : "\(message) (\(code), \(context))"
  }

  func adding(_ context: String) -> LMDBError {
    LMDBError(code, context: context, processIDs: processIDs)
  }
}

extension LMDBError: Hashable {
  public static func == (left: LMDBError, right: LMDBError) -> Bool { left.code == right.code }
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }

  /// So that `catch LMDBError.mapFull` works.
  public static func ~= (pattern: LMDBError, error: any Error) -> Bool {
    (error as? LMDBError) == pattern
  }
}

// LMDB's own.
extension LMDBError {
  public static let keyExists = LMDBError(MDB_KEYEXIST)
  /// The entry or the table is not there. A read-only environment creates no tables.
  public static let notFound = LMDBError(MDB_NOTFOUND)
  /// A page points to a page that is not there. Restore a backup.
  public static let pageNotFound = LMDBError(MDB_PAGE_NOTFOUND)
  /// A page is of the wrong kind. Restore a backup.
  public static let corrupted = LMDBError(MDB_CORRUPTED)
  /// An earlier failure left the environment unusable. `reopen()` it.
  public static let panic = LMDBError(MDB_PANIC)
  public static let versionMismatch = LMDBError(MDB_VERSION_MISMATCH)
  public static let invalidFile = LMDBError(MDB_INVALID)
  /// The map is full. Abort, `grow(toAtLeast:)`, and write again; or open with a larger
  /// `mapSizeBytes`.
  public static let mapFull = LMDBError(MDB_MAP_FULL)
  public static let tablesFull = LMDBError(MDB_DBS_FULL)
  /// Every reader slot of the file stayed taken, by other processes too. Open with more
  /// `maximumReaders` when no process has the file open, or hold reads for a shorter time.
  public static let readersFull = LMDBError(MDB_READERS_FULL)
  /// The transaction changed too many pages. Write in smaller ones.
  public static let txnFull = LMDBError(MDB_TXN_FULL)
  /// Another process grew the map, and this thread holds a transaction so that the new size
  /// cannot be taken over. End that transaction first.
  public static let mapResized = LMDBError(MDB_MAP_RESIZED)
  /// The table has a layout this library does not use (duplicates, integer keys).
  public static let incompatible = LMDBError(MDB_INCOMPATIBLE)
  public static let badReaderSlot = LMDBError(MDB_BAD_RSLOT)
  /// An earlier call of this transaction failed. Abort it.
  public static let badTransaction = LMDBError(MDB_BAD_TXN)
  /// Keys are 1 to 511 bytes, values below 4 GiB.
  public static let badValueSize = LMDBError(MDB_BAD_VALSIZE)
}

// The system's.
extension LMDBError {
  /// Reading or writing the file failed. A full disk is reported so too.
  public static let inputOutput = LMDBError(EIO)
  public static let noSpace = LMDBError(ENOSPC)
  /// `ulimit -f`, or what the file system can hold.
  public static let fileTooLarge = LMDBError(EFBIG)
  public static let quotaExceeded = LMDBError(EDQUOT)
  /// The address space does not hold the map. Lower `mapSizeBytes` or raise `ulimit -v`.
  public static let outOfMemory = LMDBError(ENOMEM)
  public static let noSuchFile = LMDBError(ENOENT)
  public static let accessDenied = LMDBError(EACCES)
  public static let invalidArgument = LMDBError(EINVAL)
  /// A commit that was to be looked at has been overtaken by two others.
  public static let tryAgain = LMDBError(EAGAIN)
}

// Our own.
extension LMDBError {
  public static let closed = LMDBError(-20001)
  /// Open the file in the child, after `exec`.
  public static let forked = LMDBError(-20002)
  /// One write transaction per thread. Pass the open one on instead.
  public static let nestedWrite = LMDBError(-20003)
  /// Share the environment that is open. A link to the same file is the same file.
  public static let alreadyOpen = LMDBError(-20004)
  public static let transactionEnded = LMDBError(-20005)
  /// Growing and reopening wait for every transaction; one of this thread would never end.
  public static let transactionOpen = LMDBError(-20006)
  /// A commit or flush failed, and whether it reached the disk is unknown. Call `reopen()`, then
  /// look.
  public static let needsReopen = LMDBError(-20007)
  /// Locks and shared maps do not hold there. Use a local disk, or set `allowsRemoteFileSystem`
  /// if only one host ever uses the file.
  public static let remoteFileSystem = LMDBError(-20008)
  /// Let the containers share a pid namespace (`--pid=host`, `--pid=container:…`,
  /// `shareProcessNamespace`).
  public static let foreignProcessNamespace = LMDBError(-20009)
  /// As `foreignProcessNamespace`, noticed by LMDB's own reader lock.
  public static let sharedProcessID = LMDBError(-20010)
  public static let notADatabase = LMDBError(-20011)
  /// Restore a backup.
  public static let truncated = LMDBError(-20012)
  /// Restore a backup.
  public static let damagedHeader = LMDBError(-20013)
  /// The file was replaced, overwritten or removed while it was open. Nothing more is written to it. Close
  /// it and open it again, once no other process has the old file open.
  public static let fileReplaced = LMDBError(-20014)
  /// Open it without `isReadOnly`.
  public static let readOnly = LMDBError(-20015)
  /// Ask for it to be replaced, or choose another path.
  public static let alreadyThere = LMDBError(-20016)
  /// Close the old file in the other processes, or end them, and open again.
  public static let openElsewhere = LMDBError(-20017)
  /// Open it when the readers without write permission have closed it, or let them write the files beside it.
  public static let readElsewhere = LMDBError(-20018)
  /// Give write permission for the files beside the database, or read a backup.
  public static let writtenElsewhere = LMDBError(-20019)
  /// Somebody has put it there. Look at it and remove it.
  public static let notAPlainFile = LMDBError(-20020)

  /// Restore a backup, or repair the file.
  public static let damagedPage = LMDBError(-20021)

  static let sentences: [Int32: String] = [
    closed.code: "The environment is closed.",
    forked.code: "The environment belongs to the process that opened it, not to its fork.",
    nestedWrite.code: "This thread already has a write transaction.",
    alreadyOpen.code: "This process already has the file open.",
    transactionEnded.code: "The transaction has ended.",
    transactionOpen.code: "This thread still has a transaction of the environment open.",
    needsReopen.code: "An earlier commit failed; the environment must be reopened first.",
    remoteFileSystem.code: "The file is on a remote or shared file system.",
    foreignProcessNamespace.code:
      "A process in another pid namespace (a container) has the file open.",
    sharedProcessID.code:
      "Another process with the same process id (in another container) reads the file.",
    notADatabase.code: "The file is not an LMDB database.",
    truncated.code: "The file is shorter than its own header says.",
    damagedHeader.code: "The header of the file contradicts itself.",
    fileReplaced.code:
      "The file was replaced, overwritten or removed while it was open, or the files beside it were. "
      + "Nothing more is written; close it in every process and open it again.",
    readOnly.code: "The environment is open for reading only.",
    alreadyThere.code: "There is a file already.",
    damagedPage.code: "A page of the file is damaged.",
    openElsewhere.code:
      "The file that was at this path before, or this one under another name, is still open in another "
      + "process. Close it there first.",
    readElsewhere.code:
      "A process without permission to write the files beside it reads the file. Close it there first.",
    writtenElsewhere.code:
      "The file is open in another process, and this one has no permission to write the files beside it, "
      + "where readers are registered.",
    notAPlainFile.code:
      "A link, a directory or a special file is where a file beside the database belongs. Remove it.",
    EIO: "Reading or writing the file failed; the disk may be full or damaged.",
  ]
}
