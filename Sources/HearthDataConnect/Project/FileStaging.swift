import Foundation

/// Replaces files: each is complete, or as it was.
enum FileStaging {
  private static let prefix = ".hearth-staging-"

  /// Writes all files into a folder beside their places, and renames them, in order.
  static func replace(_ files: [GeneratedFile], in folder: String) throws {
    let manager = FileManager.default
    guard !files.isEmpty else { return }
    removeLeftovers(in: folder)
    let staging = "\(folder)/\(prefix)\(ProcessInfo.processInfo.processIdentifier)"
    try manager.createDirectory(atPath: staging, withIntermediateDirectories: true)
    defer { try? manager.removeItem(atPath: staging) }
    for (index, file) in files.enumerated() {
      try Data(file.text.utf8).write(to: URL(filePath: "\(staging)/\(index)"))
    }
    for (index, file) in files.enumerated() {
      let target = "\(folder)/\(file.path)"
      try manager.createDirectory(
        atPath: Paths.parent(target), withIntermediateDirectories: true)
      guard rename("\(staging)/\(index)", target) == 0 else {
        throw CocoaError(
          .fileWriteUnknown,
          userInfo: [
            NSFilePathErrorKey: target,
            NSUnderlyingErrorKey: POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO),
          ])
      }
    }
  }

  /// The system's own words for an error, such as `No space left on device`. Foundation describes most of
  /// these errors by a number.
  static func reason(_ error: any Error) -> String {
    let error = error as NSError
    if let cause = error.userInfo[NSUnderlyingErrorKey] as? any Error { return reason(cause) }
    return error.domain == NSPOSIXErrorDomain
      ? String(cString: strerror(Int32(clamping: error.code))) : error.localizedDescription
  }

  /// Folders of processes that ended in the middle.
  private static func removeLeftovers(in folder: String) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    for name in names where name.hasPrefix(prefix) {
      guard let process = Int32(name.dropFirst(prefix.count)) else { continue }
      let isAlive =
        process != ProcessInfo.processInfo.processIdentifier
        && (kill(process, 0) == 0 || errno == EPERM)
      if !isAlive { try? FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
    }
  }
}
