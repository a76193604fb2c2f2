import LMDB

/// What LMDB says, in Firestore's codes. The LMDB error stays inside as the cause.
extension Status {
  init(opening path: String, _ error: LMDBError) {
    if error == .notFound {
      self.init(
        .failedPrecondition,
        "\(path) lacks a table. If an older Hearth wrote it, open it once for writing, which brings it to "
          + "format version \(FileFormat.current.version).", cause: error)
      return
    }
    let code: Code =
      switch error {
      case .notADatabase, .truncated, .corrupted, .invalidFile, .pageNotFound,
        .damagedHeader, .damagedPage, .versionMismatch:
        .dataLoss
      case .alreadyOpen, .foreignProcessNamespace, .sharedProcessID, .remoteFileSystem,
        .openElsewhere, .readElsewhere, .writtenElsewhere, .notAPlainFile, .fileReplaced:
        .failedPrecondition
      case .noSuchFile: .notFound
      default: .unavailable
      }
    self.init(code, "Cannot open \(path). \(error.message)", cause: error)
  }

  init(reading error: LMDBError) {
    self.init(Status.code(of: error), "Reading failed. \(error.message)", cause: error)
  }

  /// Nothing of the write was applied.
  init(writing error: LMDBError) {
    self.init(
      Status.code(of: error), "Writing failed and nothing was applied. \(error.message)",
      cause: error)
  }

  /// The flush of a commit failed: it may or may not be on disk.
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
    case .closed, .forked, .nestedWrite, .readOnly, .fileReplaced: .failedPrecondition
    default: .unavailable
    }
  }
}
