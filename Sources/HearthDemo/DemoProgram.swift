import Foundation
import HearthTerminal

/// `hearth-demo`: the demo on a terminal. It uses `Hearth` alone, and is built without what the
/// commands of `hearth` need.
@main enum DemoProgram {
  static func main() async {
    Terminal.secureStreams()
    guard let arguments = Terminal.arguments() else { exit(EX_USAGE) }
    do {
      switch try DemoArguments(arguments) {
      case let wanted?: try await run(wanted)
      case nil: try Terminal.print("\(lines: DemoArguments.help)")
      }
    } catch is Terminal.PipeClosed {
      exit(Terminal.PipeClosed.status)
    } catch {
      Terminal.printAside("Error: \(lines: Failure(describing: error).description)")
      exit(error is DemoArguments.Wrong ? EX_USAGE : EXIT_FAILURE)
    }
  }

  private static func run(_ arguments: DemoArguments) async throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-demo-\(UUID().uuidString)").path
    defer {
      if arguments.database == nil { try? FileManager.default.removeItem(atPath: folder) }
    }
    let path = arguments.database ?? folder + "/demo.hearth"
    if FileManager.default.fileExists(atPath: path) {
      throw Failure("There is a file at \(path) already; the demo wants to make its own.")
    }
    let figures = try await Demo.run(
      index: arguments.index, books: arguments.books, at: path,
      on: DemoScreen(isQuiet: arguments.json))
    if arguments.json { return try Terminal.print(figures.json) }
    guard arguments.database != nil else { return }
    try Terminal.print("")
    try Terminal.print("Look around, with `hearth` from swift build --traits Tools:")
    try Terminal.print("  hearth stat \(path)")
    try Terminal.print("  hearth list \(path) \(figures.collection) --limit 10")
    try Terminal.print("  hearth get \(path) \(figures.collection)/\(figures.exampleID)")
  }
}
