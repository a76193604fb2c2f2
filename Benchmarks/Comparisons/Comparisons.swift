import ArgumentParser
import Foundation

/// Hearth beside its peers, at the same work and the same durability, in the same run.
///
///     swift run -c release --package-path Benchmarks Comparisons --quick
///
/// Prints a line for each figure; see `Figure.line`. Everything else goes to standard error.
@main
struct Comparisons: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "Comparisons", abstract: "Hearth beside its peers.",
    subcommands: [Run.self, MemoryChild.self], defaultSubcommand: Run.self)
}

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Runs the comparisons.")

  @Flag(help: "Fewer books, and fewer rounds: under a minute.")
  var quick = false
  @Flag(help: "A million books where memory is measured, and more rounds.")
  var full = false
  @Option(help: "How many books.")
  var books: Int?
  @Option(help: "How many rounds.")
  var rounds: Int?
  @Option(help: "Only figures whose name contains this.")
  var only: String?
  @Option(
    help: "Where the databases are made; its disk is what is measured where writes are durable.")
  var folder = NSTemporaryDirectory()
  @Option(help: "Where to write the figures as JSON.")
  var json: String?

  func run() async throws {
    let bench = try Bench(
      folder: folder + "/hearth-comparisons-\(UUID().uuidString)",
      books: books ?? (quick ? 20_000 : 100_000), rounds: rounds ?? (quick ? 3 : full ? 9 : 5),
      memoryBooks: full ? 1_000_000 : quick ? 20_000 : 100_000,
      sizes: quick ? [] : [1000, 10_000, 100_000] + (full ? [1_000_000] : []), only: only)
    defer { try? FileManager.default.removeItem(atPath: bench.folder) }
    try await bench.coding()
    try await bench.bulk()
    try await bench.changing()
    try await bench.memory()
    try await bench.reading()
    try await bench.opening()
    try await bench.durable()
    try await bench.listening()
    try await bench.emulator()
    try write(bench.report)
    try await bench.growth()
    try write(bench.report)
  }

  private func write(_ report: Report) throws {
    guard let json else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(report).write(to: URL(filePath: json))
  }
}
