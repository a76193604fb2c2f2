import Foundation

/// A Swift package that can use a generated one.
public struct SwiftApp: Hashable, Sendable {
  /// The folder with `Package.swift`, as it was given.
  public let folder: String
  /// Where the manifest has Hearth: the first `.package(url: …)` or `.package(path: …)` whose last
  /// component, without `.git`, is `hearth` in any case. A URL, or an absolute path. Nil if there is
  /// none.
  public let runtimeLocation: String?

  /// Reads the manifest in an absolute `folder`. Nil if the folder has no `Package.swift`, or a
  /// generated one.
  public init?(folder: String) {
    guard let data = FileManager.default.contents(atPath: "\(folder)/Package.swift") else {
      return nil
    }
    let manifest = String(decoding: data, as: UTF8.self)
    guard !manifest.contains(SwiftGenerator.headerBeginning) else { return nil }
    self.folder = folder
    runtimeLocation = Self.runtimeLocation(in: manifest, folder: folder)
  }

  /// The packages in a folder and below it. Packages inside of packages are parts of those.
  public static func find(below folder: String) -> [SwiftApp] {
    var result: [SwiftApp] = []
    func visit(_ folder: String, depth: Int) {
      if let app = SwiftApp(folder: folder) { return result.append(app) }
      guard depth < 5 else { return }
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      for name in names.sorted() where !name.hasPrefix(".") && name != "node_modules" {
        let path = "\(folder)/\(name)"
        let isLink = (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil
        if !isLink, Paths.isFolder(path) { visit(path, depth: depth + 1) }
      }
    }
    visit(folder, depth: 0)
    return result
  }

  /// `.package(path: "../hearth")`, `.package(url: "https://…/hearth.git", …)`
  private static func runtimeLocation(in manifest: String, folder: String) -> String? {
    let source = #"\.package\(\s*(?:name:\s*"[^"]*",\s*)?(path|url):\s*"([^"]+)""#
    guard let pattern = try? Regex(source, as: (Substring, Substring, Substring).self) else {
      return nil
    }
    for match in manifest.matches(of: pattern) {
      let location = String(match.output.2)
      let identity = SwiftSDKSettings.Runtime.path(location).identity
      guard identity.lowercased() == "hearth" else { continue }
      return match.output.1 == "url" ? location : Paths.absolute(location, from: folder)
    }
    return nil
  }
}
