import Foundation

/// Asks the compiler about snippets that use the modules of this package.
package struct CompilerCheck {
  /// What the compiler says about a snippet: the message, and the notes that follow it.
  package struct Message: CustomStringConvertible {
    package var line: Int
    package var column: Int
    package var text: String
    package var notes: [String] = []

    package var description: String {
      "\(line):\(column): \(text)" + notes.map { " (\($0))" }.joined()
    }
  }

  /// The folder with the products of the build.
  private let products: URL
  private let sources: URL

  /// - Parameter bundle: That of the tests.
  package init(besides bundle: Bundle) {
    // Of the tests themselves, or of their resources.
    var folder = bundle.bundleURL
    while folder.pathComponents.count > 1,
      !FileManager.default.fileExists(atPath: folder.appending(path: "Modules").path)
    {
      folder.deleteLastPathComponent()
    }
    products = folder
    sources =
      URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../Sources").standardized
  }

  /// Flags for snippets that use modules with C libraries in packages that this one depends on.
  package var dependencyFlags: [String] {
    func contents(of folder: URL) -> [URL] {
      let found = try? FileManager.default.contentsOfDirectory(
        at: folder, includingPropertiesForKeys: nil)
      return (found ?? []).sorted { $0.path < $1.path }
    }
    let products = products.resolvingSymlinksInPath()
    // Those that the build made, and those that are in the packages.
    var maps = contents(of: products)
      .filter { $0.pathExtension == "build" && !$0.lastPathComponent.contains("-tool.") }
      .map { $0.appending(path: "module.modulemap") }
    let checkouts = products.appending(path: "../../checkouts").standardized
    for package in contents(of: checkouts.resolvingSymlinksInPath()) {
      maps += contents(of: package.appending(path: "Sources"))
        .map { $0.appending(path: "include/module.modulemap") }
    }
    return maps.map(\.path).filter(FileManager.default.fileExists(atPath:))
      .flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
  }

  /// The errors for each snippet, which are files of one module. `models` are another file of it,
  /// and come first.
  package func errors(
    in snippets: [String], models: String = "", flags: [String] = []
  ) throws -> [[Message]] {
    let (files, output) = try check([models] + snippets, flags)
    return files.map { Self.messages(about: $0, in: output) }
  }

  /// An expansion of a macro: the file that it makes for the compiler, whose name has the mangled
  /// name of the declaration, and its lines.
  package struct Expansion {
    package var file: String
    package var lines: [String]
  }

  /// The expansions of all macros in the snippets, and the errors.
  package func expansions(
    in snippets: [String]
  ) throws -> (expansions: [Expansion], errors: [Message]) {
    let (files, output) = try check(snippets, ["-Xfrontend", "-dump-macro-expansions"])
    var found: [Expansion] = []
    // A line with the name of the file, and the text between two rules.
    let rule = String(repeating: "-", count: 30)
    var isInside = false
    for (line, next) in zip(output, output.dropFirst() + [""]) {
      if next == rule, line.hasPrefix("@__swiftmacro") {
        found.append(Expansion(file: line, lines: []))
      } else if line == rule {
        isInside.toggle()
      } else if isInside, !found.isEmpty {
        found[found.count - 1].lines.append(line)
      }
    }
    return (found, files.flatMap { Self.messages(about: $0, in: output) })
  }

  /// Returns the paths of the files, and the lines that the compiler prints.
  private func check(
    _ sources: [String], _ flags: [String]
  ) throws -> (files: [String], output: [String]) {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "hearth-snippets-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var files: [String] = []
    for (index, source) in sources.enumerated() {
      let file = folder.appending(path: "Snippet\(index).swift")
      try source.write(to: file, atomically: true, encoding: .utf8)
      files.append(file.path)
    }
    var arguments = [
      "swiftc", "-typecheck", "-wmo", "-swift-version", "6", "-package-name", "snippets",
      "-diagnostic-style", "llvm", "-I", products.appending(path: "Modules").path,
    ]
    // Where Debian has the header of libpq.
    arguments += ["-Xcc", "-I/usr/include/postgresql"]
    for library in ["CLMDB", "CXXHash", "CPostgres"] {
      let map = self.sources.appending(path: "\(library)/module.modulemap").path
      arguments += ["-Xcc", "-fmodule-map-file=\(map)"]
    }
    let plugin = products.appending(path: "HearthMacrosPlugin-tool").path
    if FileManager.default.fileExists(atPath: plugin) {
      arguments += ["-load-plugin-executable", "\(plugin)#HearthMacrosPlugin"]
    }
    return (files, try run(arguments + flags + files))
  }

  private func run(_ arguments: [String]) throws -> [String] {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    let output = Pipe()
    process.standardError = output
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.split(separator: "\n").map(String.init)
  }

  private static func messages(about file: String, in output: [String]) -> [Message] {
    var found: [Message] = []
    for line in output where line.hasPrefix(file + ":") {
      let parts = line.dropFirst(file.count + 1).split(separator: ":", maxSplits: 3)
      guard parts.count == 4, let row = Int(parts[0]), let column = Int(parts[1]) else { continue }
      let text = parts[3].trimmingCharacters(in: .whitespaces)
      switch parts[2].trimmingCharacters(in: .whitespaces) {
      case "error": found.append(Message(line: row, column: column, text: text))
      case "note" where !found.isEmpty: found[found.count - 1].notes.append(text)
      default: continue
      }
    }
    return found
  }
}
