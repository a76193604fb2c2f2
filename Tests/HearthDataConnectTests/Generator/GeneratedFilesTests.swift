import Foundation
import HearthDataConnect
import Testing

@Suite struct GeneratedFilesTests {
  static let connectors = [
    ("movies", SwiftSDKSettings(package: "Movies", runtime: .path("../../hearth"))),
    (
      "cinema",
      SwiftSDKSettings(
        package: "CinemaKit", observablePublisher: .observableObject,
        clientCache: .init(storage: .memory, maxAgeSeconds: 5),
        runtime: .repository(url: "https://example.com/hearth.git", version: "1.2.0"))
    ),
  ]

  /// To record them again: HEARTH_RECORD=1
  @Test(arguments: connectors.map(\.0))
  func `the files of a connector are those in the tree`(name: String) throws {
    let settings = try #require(Self.connectors.first { $0.0 == name }?.1)
    let files = SwiftGenerator(settings: settings).files(for: try Connectors.compile(name))
    let folder = Connectors.fixtures.appending(path: "generated/\(settings.package)")
    if ProcessInfo.processInfo.environment["HEARTH_RECORD"] == "1" {
      try? FileManager.default.removeItem(at: folder)
      for file in files {
        let url = folder.appending(path: file.path)
        try FileManager.default.createDirectory(
          at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try file.text.write(to: url, atomically: true, encoding: .utf8)
      }
    }
    for file in files {
      let golden = try String(contentsOf: folder.appending(path: file.path), encoding: .utf8)
      #expect(file.text == golden, "\(file.path) differs")
    }
  }
}
