import Foundation

/// A folder that is there as long as this is.
package final class TemporaryFolder: Sendable {
  package let name = "hearth-tests-\(UUID().uuidString)"
  package let path: String

  package init() {
    // Without symbolic links: some tests compare paths.
    path =
      FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path + "/" + name
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      fatalError("There is no folder for a test: \(error)")
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package var url: URL { URL(filePath: path) }
}
