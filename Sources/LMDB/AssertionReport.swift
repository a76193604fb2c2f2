import CLMDB
import Glibc

/// Writes a line to standard error before LMDB ends the process.
///
/// LMDB believes the pages of a file. If one contradicts itself where LMDB has no error to return,
/// it prints the line of its source that failed, and aborts. A service that is started again reads
/// the same page again, so the line before names the file and what to do.
enum AssertionReport {
  /// Called before the environment opens its file.
  static func install(on handle: OpaquePointer) {
    mdb_env_set_assert(handle) { environment, message in
      var path: UnsafePointer<CChar>?
      mdb_env_get_path(environment, &path)
      let text = AssertionReport.text(
        path: path.map { String(cString: $0) } ?? "the database",
        message: message.map { String(cString: $0) } ?? "unknown")
      // LMDB aborts when this returns, so that nothing may be left in a buffer.
      var bytes = Array((text + "\n").utf8)[...]
      while !bytes.isEmpty {
        let count = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        bytes = bytes.dropFirst(count)
      }
    }
  }

  static func text(path: String, message: String) -> String {
    "Hearth ends this process: a page of \(path) is damaged, and reading on could return or write wrong "
      + "data. Starting again will end the same way. Look at the file with: hearth check \(path). Then "
      + "restore a backup with: hearth restore BACKUP \(path), or build a new file from what can be read "
      + "with: hearth repair \(path) NEW. LMDB says: \(message)"
  }
}
