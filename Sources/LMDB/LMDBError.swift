import CLMDB
import Glibc

/// An error of LMDB, of the system, or of one of our own checks.
///
///     do {
///       var writing = try environment.beginWrite()
///       try writing.put(table, key, value)
///       try writing.commit()
///     } catch .mapFull {
///       try environment.grow(toAtLeast: 2 << 30)
///     }
///
/// Two errors are equal if their codes are equal; `context` is only for people.
public struct LMDBError: Error, Sendable, CustomStringConvertible {
  /// LMDB's codes are -30799…-30780, the system's are positive, our own go down from -20001.
  public let code: Int32

  /// The call that failed, and the file.
  public let context: String

  /// Other processes involved, as far as the system lists them.
  public let processIDs: [Int32]

  /// The file that could not be read, if the call also uses another one.
  public let path: String?

  /// Creates an error with a code of LMDB, of the system or of this module.
  public init(
    _ code: Int32, context: String = "", processIDs: [Int32] = [], path: String? = nil
  ) {
    self.code = code
    self.context = context
    self.processIDs = processIDs
    self.path = path
  }

  /// The error and its remedy in sentences, without `context`.
  public var message: String {
    guard let sentence = Self.sentences[code] else {
      // The code is what a search finds. No call that this module makes is known to return it.
      let text = mdb_strerror(code).map { String(cString: $0) } ?? "unknown"
      return "The system refused the call, with error \(code): \(text)."
    }
    guard !processIDs.isEmpty else { return sentence }
    return sentence + " Process \(processIDs.map(String.init).joined(separator: ", "))."
  }

  /// `message`, with the code and the context in parentheses.
  public var description: String {
    context.isEmpty ? "\(message) (\(code))" : "\(message) (\(code), \(context))"
  }

  func adding(_ context: String) -> LMDBError {
    LMDBError(code, context: context, processIDs: processIDs, path: path)
  }
}

extension LMDBError: Hashable {
  /// Compares codes.
  public static func == (left: LMDBError, right: LMDBError) -> Bool { left.code == right.code }
  /// Hashes the code.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }

  /// So that `catch LMDBError.mapFull` works.
  public static func ~= (pattern: LMDBError, error: any Error) -> Bool {
    (error as? LMDBError) == pattern
  }
}

// LMDB's codes.
extension LMDBError {
  /// The key exists, or is not above every other key. Write without `append`, or another key.
  public static let keyExists = LMDBError(MDB_KEYEXIST)
  /// The entry or the table does not exist. A read-only environment creates no tables.
  public static let notFound = LMDBError(MDB_NOTFOUND)
  /// A page refers to a page that does not exist. Restore a backup.
  public static let pageNotFound = LMDBError(MDB_PAGE_NOTFOUND)
  /// A page is of the wrong kind. Restore a backup.
  public static let corrupted = LMDBError(MDB_CORRUPTED)
  /// An earlier failure left the environment unusable. `reopen()` it.
  public static let panic = LMDBError(MDB_PANIC)
  /// The file has another version of LMDB's format. Write a new file with a matching LMDB.
  public static let versionMismatch = LMDBError(MDB_VERSION_MISMATCH)
  /// The file is no database of LMDB, or damaged. Restore a backup.
  public static let invalidFile = LMDBError(MDB_INVALID)
  /// The map is full. Abort, `grow(toAtLeast:)`, and write again; or open with a larger
  /// `mapSizeBytes`.
  public static let mapFull = LMDBError(MDB_MAP_FULL)
  /// All reader slots of the file stayed in use, some perhaps by other processes. Open with more
  /// `maximumReaders` when no process has the file open, or keep reads shorter.
  public static let readersFull = LMDBError(MDB_READERS_FULL)
  /// The transaction changed too many pages. Use smaller transactions.
  public static let txnFull = LMDBError(MDB_TXN_FULL)
  /// Another process grew the map, and this thread has an open transaction, so the new size cannot
  /// be adopted. End that transaction first.
  public static let mapResized = LMDBError(MDB_MAP_RESIZED)
  /// The table has a layout this library does not use (duplicates, integer keys).
  public static let incompatible = LMDBError(MDB_INCOMPATIBLE)
  /// LMDB found its reader slot in an unexpected state. Close the environment, and open it again.
  public static let badReaderSlot = LMDBError(MDB_BAD_RSLOT)
  /// An earlier call in this transaction failed. Abort the transaction.
  public static let badTransaction = LMDBError(MDB_BAD_TXN)
  /// Keys are 1 to 511 bytes, values below 4 GiB.
  public static let badValueSize = LMDBError(MDB_BAD_VALSIZE)
}

// The system's codes.
extension LMDBError {
  /// Reading or writing the file failed. Also reported for a full disk.
  public static let inputOutput = LMDBError(EIO)
  /// The disk is full. Free some space, and write again.
  public static let noSpace = LMDBError(ENOSPC)
  /// The file would exceed `ulimit -f` or the file system's limit.
  public static let fileTooLarge = LMDBError(EFBIG)
  /// The user's quota of the disk is exhausted. Free some space, or raise the quota.
  public static let quotaExceeded = LMDBError(EDQUOT)
  /// The address space is too small for the map. Lower `mapSizeBytes` or raise `ulimit -v`.
  public static let outOfMemory = LMDBError(ENOMEM)
  /// The file does not exist, and is opened for reading only; or its folder does not exist.
  public static let noSuchFile = LMDBError(ENOENT)
  /// The process may not access the file, its folder, or a file beside it. Change the permissions.
  public static let accessDenied = LMDBError(EACCES)
  /// A path is empty or contains a null byte, or LMDB does not accept the call.
  public static let invalidArgument = LMDBError(EINVAL)
  /// Later commits superseded the state to be read. Begin a new read transaction and try again.
  public static let tryAgain = LMDBError(EAGAIN)
}

// Our own codes.
extension LMDBError {
  /// The environment is closed. Open the file again.
  public static let closed = LMDBError(-20001)
  /// The environment belongs to the parent process. Open the file in the child, after `exec`.
  public static let forked = LMDBError(-20002)
  /// This thread already has a write transaction. Pass that one on.
  public static let nestedWrite = LMDBError(-20003)
  /// This process already has the file open. Share that environment. A link to the file is the same
  /// file.
  public static let alreadyOpen = LMDBError(-20004)
  /// The transaction has ended. Copy bytes that you need longer, and do not keep the transaction.
  public static let transactionEnded = LMDBError(-20005)
  /// This thread still has a transaction open. Growing and reopening would wait for it forever.
  public static let transactionOpen = LMDBError(-20006)
  /// A commit or flush failed, and it is unknown whether it reached the disk. Call `reopen()`, then
  /// read what is there.
  public static let needsReopen = LMDBError(-20007)
  /// Locks and shared maps do not work on this file system. Use a local disk, or set
  /// `allowsRemoteFileSystem` if only one host ever uses the file.
  public static let remoteFileSystem = LMDBError(-20008)
  /// A process in another pid namespace has the file open. Let the containers share one
  /// (`--pid=host`, `--pid=container:…`, `shareProcessNamespace`).
  public static let foreignProcessNamespace = LMDBError(-20009)
  /// Like `foreignProcessNamespace`, detected by LMDB's own reader lock.
  public static let sharedProcessID = LMDBError(-20010)
  /// The file does not begin as a database of LMDB does. Check the path, or restore a backup.
  public static let notADatabase = LMDBError(-20011)
  /// The file is shorter than its header says. Restore a backup.
  public static let truncated = LMDBError(-20012)
  /// The header contradicts itself. Restore a backup.
  public static let damagedHeader = LMDBError(-20013)
  /// The file was replaced, overwritten or removed while it was open. Nothing more is written to
  /// it. Close it, and open it again once no other process has the old file open.
  public static let fileReplaced = LMDBError(-20014)
  /// The environment is open for reading only. Open it without `isReadOnly`.
  public static let readOnly = LMDBError(-20015)
  /// A file already exists. Ask for it to be replaced, or choose another path.
  public static let alreadyThere = LMDBError(-20016)
  /// The old file, or this one under another name, is open in another process. Close it there, or
  /// end that process, and open again.
  public static let openElsewhere = LMDBError(-20017)
  /// A process that may not write the files beside it reads the file. Wait until it has closed the
  /// file, or give it that permission.
  public static let readElsewhere = LMDBError(-20018)
  /// Another process has the file open, and this one may not write the files beside it. Give it
  /// that permission, or read a backup.
  public static let writtenElsewhere = LMDBError(-20019)
  /// A link, a directory or a special file is in the place of a file beside the database. Find out
  /// where it comes from, and remove it.
  public static let notAPlainFile = LMDBError(-20020)

  /// A page of the file is damaged. Restore a backup, or repair the file.
  public static let damagedPage = LMDBError(-20021)
  /// The file has no bytes, and is opened for reading only. Open it for writing once, or restore a
  /// backup.
  public static let emptyFile = LMDBError(-20022)
  /// The folder for a new file does not exist. Create it first.
  public static let noFolder = LMDBError(-20023)

  static let sentences: [Int32: String] = ownSentences.merging(systemSentences) { own, _ in own }
    .merging(librarySentences) { own, _ in own }

  private static let ownSentences: [Int32: String] = [
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
    emptyFile.code:
      "The file is empty: no database has been created in it, or its content is lost. Restore a backup, "
      + "or open it for writing, which creates a database.",
    noFolder.code: "Its folder does not exist. Create the folder first.",
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
  ]

  /// The errors of system calls on files, with the remedy.
  private static let systemSentences: [Int32: String] = [
    EIO: "Reading or writing the file failed; the disk may be full or damaged.",
    ENOSPC: "The disk is full. Free some space, and try again.",
    EDQUOT: "The user's quota of the disk is used up. Free some space, or raise the quota.",
    EFBIG:
      "The file would be larger than the process or the file system allows. Raise the limit (ulimit -f), "
      + "or use another disk.",
    ENOENT: "There is no such file.",
    EACCES: "Permission denied. Let this user read and write the file and its folder.",
    EPERM: "Permission denied. Let this user read and write the file and its folder.",
    EROFS: "The disk allows reading only. Mount it for writing, or use another disk.",
    EISDIR: "It is a folder, not a file.",
    ENOTDIR: "A part of the path before the last one is a file, not a folder.",
    ELOOP: "The path leads through too many links. Correct the links.",
    ENAMETOOLONG: "The path is too long. Use a shorter one.",
    EMFILE:
      "The process has too many files open. Close some, or raise the limit (ulimit -n).",
    ENFILE: "The system has too many files open. End other processes, or raise fs.file-max.",
    ENOMEM: "The system has no memory or address space left. Raise the limit (ulimit -v).",
    EINVAL:
      "The path is empty or contains a null byte, or the file system does not support the call.",
    EAGAIN: "Others have changed the file too often meanwhile. Try again.",
    EINTR: "A signal interrupted the call. Try again.",
    EEXIST: "There is a file already.",
    EBUSY: "The file is in use. Close it in every process first.",
    ETXTBSY: "The file is being executed, and is not a database.",
    EXDEV: "The two paths are on different disks. Use a path on the same one.",
    EMLINK: "The file or folder has too many names.",
    ENODEV: "It is a device, not a file.",
    ENXIO: "It is a device, not a file.",
    EBADF: "The file is not open in a way that allows this.",
    EOPNOTSUPP: "The file system does not support the call. Use a local disk.",
    ENOSYS: "The system does not support the call. Use a local disk.",
    ENOLCK: "The file system has no locks left. Use a local disk.",
    EDEADLK: "Two processes wait for each other's locks of the file. Try again.",
    ESTALE: "The file is no longer on its remote disk. Use a local disk.",
    EOVERFLOW: "The file is too large for the system.",
    EPIPE: "Nobody reads what is written any more.",
    EUCLEAN: "The file system is damaged. Check the disk.",
    EFAULT: "A page of the file could not be read. Check the disk.",
  ]

  /// LMDB's errors, in terms of the file.
  private static let librarySentences: [Int32: String] = [
    MDB_KEYEXIST: "An entry with this key exists already.",
    MDB_NOTFOUND: "An entry or a table is missing.",
    MDB_PAGE_NOTFOUND:
      "A page refers to one that is missing. Restore a backup, or repair the file.",
    MDB_CORRUPTED: "A page of the file is damaged. Restore a backup, or repair the file.",
    MDB_PANIC: "An earlier failure made the file unusable. Close it, and open it again.",
    MDB_VERSION_MISMATCH:
      "The file or its lock file has the format of another version of LMDB. Close it in every process, "
      + "and use one version of LMDB.",
    MDB_INVALID: "The file is not a database, or it is damaged. Restore a backup.",
    MDB_MAP_FULL:
      "The file needs more address space than is reserved for it. Open it with a larger mapSizeBytes "
      + "(--map-size).",
    MDB_DBS_FULL: "The file has more tables than were announced.",
    MDB_READERS_FULL:
      "All places for readers of the file are taken, perhaps by other processes. Keep reads shorter, or "
      + "try again.",
    MDB_TLS_FULL: "The process has too many thread-local values. Use fewer.",
    MDB_TXN_FULL: "The write changes too many pages at once. Split it.",
    MDB_CURSOR_FULL: "A tree of the file is deeper than LMDB supports. Check the file.",
    MDB_PAGE_FULL: "A page of the file has no room where it should have some. Check the file.",
    MDB_MAP_RESIZED: "Another process has enlarged the file. Try again.",
    MDB_INCOMPATIBLE: "A table of the file has a layout that this library does not use.",
    MDB_BAD_RSLOT:
      "The place of a reader of the file is in an unexpected state. Open the file again.",
    MDB_BAD_TXN: "An earlier step of the same operation failed.",
    MDB_BAD_VALSIZE: "A key is longer than 511 bytes, or a value is too large.",
    MDB_BAD_DBI: "A table of the file was changed by another process. Open the file again.",
  ]
}
