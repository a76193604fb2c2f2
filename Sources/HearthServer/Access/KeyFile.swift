#if Server
  import Foundation
  import Logging

  /// The file of a secret.
  package enum KeyFile {
    private static let others = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH

    /// Logs a warning if users other than the file's owner may read or change the file.
    package static func warn(ofOthersWhoMayRead path: String, _ logger: Logger) {
      var info = stat()
      guard stat(path, &info) == 0, info.st_mode & others != 0 else { return }
      let mode = String(info.st_mode & 0o777, radix: 8)
      logger.warning(
        "Others than its owner may read or change the file of a key. Run chmod 600 on it.",
        metadata: ["path": "\(path)", "mode": "\(mode)"])
    }
  }
#endif
