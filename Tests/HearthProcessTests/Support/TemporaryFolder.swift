import Foundation

/// A folder that is there as long as this is.
final class TemporaryFolder: Sendable {
  let name = "hearth-tests-\(UUID().uuidString)"
  var path: String { NSTemporaryDirectory() + "/" + name }

  init() {
    try? FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
