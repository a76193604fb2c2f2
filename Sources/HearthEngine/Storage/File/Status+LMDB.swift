import Foundation
internal import HearthText
internal import LMDB

/// Converts LMDB errors to Firestore's codes. The LMDB error stays inside as the cause.
extension Status {
  init(opening path: String, _ error: LMDBError, mapSizeBytes: Int? = nil) {
    let path = error.path ?? path
    if error == .notFound {
      self.init(
        .failedPrecondition,
        "\(path.legible) lacks a table. If an older Hearth wrote it, open it once for writing, which brings it to "
          + "format version \(FileFormat.current.version).", cause: error)
      return
    }
    let code: Code =
      switch error {
      case .notADatabase, .truncated, .corrupted, .invalidFile, .pageNotFound,
        .damagedHeader, .damagedPage, .versionMismatch:
        .dataLoss
      case .alreadyOpen, .foreignProcessNamespace, .sharedProcessID, .remoteFileSystem,
        .openElsewhere, .readElsewhere, .writtenElsewhere, .notAPlainFile, .fileReplaced,
        .emptyFile:
        .failedPrecondition
      case .noSuchFile, .noFolder: .notFound
      // The file is being created.
      case .noSpace, .fileTooLarge, .quotaExceeded, .inputOutput, .mapFull: .resourceExhausted
      default: .unavailable
      }
    let sentence =
      switch error {
      case .accessDenied: Self.sentence(forDenied: path, error)
      case .outOfMemory: Self.sentence(forMapOf: mapSizeBytes)
      default: error.message
      }
    self.init(code, "Cannot open \(path.legible). \(sentence)", cause: error)
  }

  /// Names the database's file, or its folder, that this process may not access.
  private static func sentence(forDenied path: String, _ error: LMDBError) -> String {
    let denied = [path + "-lock", path + "-presence"].first { file in
      error.context.hasSuffix(file) || (access(file, F_OK) == 0 && access(file, R_OK | W_OK) != 0)
    }
    if let denied {
      return "Permission denied for \(denied.legible). Let this user read and write it."
    }
    if access(path, F_OK) == 0 {
      guard access(path, R_OK) == 0 else {
        return
          "Permission denied for \(path.legible). Let this user read it, and write it unless only to read."
      }
    }
    let folder = (path as NSString).deletingLastPathComponent
    let position = folder.isEmpty ? "." : folder
    guard access(position, W_OK | X_OK) == 0 else {
      return
        "Permission denied for the folder \(position.legible). Let this user make files in it: the lock and the "
        + "presence file are beside the database."
    }
    return "Permission denied for \(path.legible). Let this user write it."
  }

  /// The map is address space, which `ulimit -v` limits.
  private static func sentence(forMapOf bytes: Int?) -> String {
    let size = bytes.map { "\($0) bytes" } ?? "too many bytes"
    return
      "The system gives no address space for the map: up to \(size) were to be reserved. Lower "
      + "mapSizeBytes (--map-size), or raise the limit (ulimit -v)."
  }

  package static let openForReading = Status(
    .failedPrecondition, "The database is open for reading only.")
  package static let terminated = Status(
    .failedPrecondition, "The client has already been terminated.")
  static let forked = Status(
    .failedPrecondition, "The database belongs to the process that opened it, not to its fork.")

  /// The cause of `terminated` and `forked` that a storage call has met. Says nothing of LMDB.
  private struct Unusable: Error {}

  /// Errors that are about LMDB's environment or a transaction of it, which users do not know, in
  /// terms of the database. Nil for other errors.
  private init?(ofEnvironment error: LMDBError) {
    switch error {
    case .closed, .forked:
      self = error == .closed ? .terminated : .forked
      cause = Unusable()
      return
    case .readOnly:
      self = .openForReading
    case .needsReopen, .panic, .badReaderSlot:
      self.init(
        .unavailable,
        "An earlier commit failed, and the file could not be opened again since. Terminate the "
          + "database, and open it again.")
    case .nestedWrite, .transactionOpen:
      self.init(
        .failedPrecondition,
        "The call would wait for a write of its own thread. Use the transaction that is passed to the "
          + "closure.")
    case .transactionEnded, .badTransaction:
      self.init(.unavailable, "An earlier step of the same operation failed.")
    case .mapResized:
      self.init(
        .unavailable, "Another process has enlarged the file during the call. Try again.")
    default: return nil
    }
    cause = error
  }

  init(reading error: LMDBError) { self.init(error, "Reading failed.") }

  /// For a failed write of which nothing was applied.
  init(writing error: LMDBError) { self.init(error, "Writing failed and nothing was applied.") }

  private init(_ error: LMDBError, _ sentence: String) {
    self =
      Status(ofEnvironment: error)
      ?? Status(Status.code(of: error), "\(sentence) \(error.message)", cause: error)
  }

  /// For a commit whose flush failed: it may or may not be on disk.
  init(committing error: LMDBError) {
    if error == .fileReplaced {
      self.init(
        .unavailable,
        "The commit may have gone into a file that is no longer at its path. \(error.message)",
        cause: error)
      mayBeDone = true
      return
    }
    self.init(
      Status.code(of: error) == .resourceExhausted ? .resourceExhausted : .unknown,
      "The commit could not be flushed; whether it was applied is unknown. \(error.message)",
      cause: error)
    mayBeDone = true
  }

  private static func code(of error: LMDBError) -> Code {
    switch error {
    case .mapFull, .noSpace, .fileTooLarge, .quotaExceeded, .inputOutput, .readersFull, .txnFull:
      .resourceExhausted
    case .corrupted, .pageNotFound, .invalidFile, .notADatabase, .truncated, .damagedPage: .dataLoss
    case .fileReplaced: .failedPrecondition
    default: .unavailable
    }
  }
}
