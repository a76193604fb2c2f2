#if Tools
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthDemo

  struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "demo",
      abstract:
        "Put this machine's Debian package index into a database, live, and show the figures.",
      discussion: """
        Imports tens of thousands of packages through Codable models, reads some back, listens while \
        one changes, reopens the file and compares everything. Checks what it says, and exits with 1 \
        if anything does not hold. Without apt it takes a few books instead.
        """)

    @Option(help: "Keep the database here; otherwise it is temporary.") var database: String?
    @Option(help: "Read this file, in the format of apt-cache dumpavail.") var index: String?
    @Flag(help: "Take the books, not the package index.") var books = false
    @OptionGroup var output: OutputOptions

    func run() async throws {
      let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("hearth-demo-\(UUID().uuidString)").path
      defer { if database == nil { try? FileManager.default.removeItem(atPath: folder) } }
      let path = database ?? folder + "/demo.hearth"
      if FileManager.default.fileExists(atPath: path) {
        throw Failure("There is a file at \(path) already; the demo wants to make its own.")
      }
      let screen = DemoScreen(isQuiet: output.json)
      let figures = try await Demo.run(index: index, books: books, at: path, show: screen.show)
      if output.json { return try Terminal.print(figures.json) }
      guard database != nil else { return }
      try Terminal.print("")
      let hearth = CommandLine.arguments[0]
      try Terminal.print("Look around:")
      try Terminal.print("  \(hearth) stat \(path)")
      try Terminal.print("  \(hearth) list \(path) \(figures.collection) --limit 10")
      try Terminal.print("  \(hearth) get \(path) \(figures.collection)/\(figures.exampleID)")
    }
  }
#endif
