import Foundation
import Ratios

/// Joins, groups, constraints and listeners beside GRDB's, on authors, books and reviews.
///
///     swift run -c release --package-path Benchmarks JoinFigures \
///       [books=100000] [rounds=7] [folder=…] [only=<part of a name>] [side=hearth|grdb]
///
/// A line is `ratio<TAB>name<TAB>value<TAB>spread`; above 1, Hearth is faster. `time` lines have the
/// medians of both. With a folder, a library that is there is used again, unless books were inserted.
/// `side` runs one of both, for a profiler.
@main
struct JoinFigures {
  let library: Library
  let hearth: HearthLibrary
  let sqlite: SQLiteLibrary
  let rounds: Int
  let only: String?
  let side: String?
  /// A file that exists while the folder has exactly the library.
  let marker: String
  /// A file that exists if the folder has indexes on words and cells.
  var searchMarker: String { "\(marker).searched" }

  static func main() async throws {
    var options: [String: String] = [:]
    for argument in CommandLine.arguments.dropFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
      if parts.count == 2 { options[parts[0]] = parts[1] }
    }
    let count = max(1000, options["books"].flatMap(Int.init) ?? 100_000)
    let folder =
      options["folder"] ?? NSTemporaryDirectory() + "hearth-joins-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer {
      if options["folder"] == nil { try? FileManager.default.removeItem(atPath: folder) }
    }
    let library = Library(books: count)
    let marker = "\(folder)/\(count).loaded"
    let isLoaded = FileManager.default.fileExists(atPath: marker)
    if !isLoaded {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder)
      where name.hasPrefix("\(count).") {
        try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
      }
    }
    let figures = JoinFigures(
      library: library,
      hearth: try await HearthLibrary(library, path: "\(folder)/\(count).hearth"),
      sqlite: try SQLiteLibrary(library, path: "\(folder)/\(count).sqlite"),
      rounds: options["rounds"].flatMap(Int.init) ?? 7, only: options["only"],
      side: options["side"], marker: marker)
    if !isLoaded {
      try await figures.hearth.load()
      try figures.sqlite.load()
      _ = FileManager.default.createFile(atPath: marker, contents: nil)
    }
    try await figures.reading()
    try await figures.relations()
    try await figures.listening()
    // After what compares with the library, and before indexes on words and cells are there: SQLite
    // updates none for its inserts.
    try await figures.writing()
    try await figures.searching()
    try await figures.operations()
    try await figures.operationNews()
    try await figures.hearth.db.terminate()
  }

  func wants(_ name: String) -> Bool { only.map(name.contains) ?? true }

  /// Calls both sides `calls` times in each round, with the same arguments. Their answers must be
  /// equal.
  func compare<Argument>(
    _ name: String, _ calls: Int, _ argument: (Int) -> Argument,
    hearth: (Argument) async throws -> Int, grdb: (Argument) async throws -> Int
  ) async throws {
    guard wants(name) else { return }
    var times: (own: [Double], their: [Double]) = ([], [])
    // The first round warms up.
    for round in 0...rounds {
      let arguments = (round * calls..<(round + 1) * calls).map(argument)
      var sums = (own: 0, their: 0)
      let begin = Machine.nanoseconds
      if side != "grdb" { for each in arguments { sums.own &+= try await hearth(each) } }
      let middle = Machine.nanoseconds
      if side != "hearth" { for each in arguments { sums.their &+= try await grdb(each) } }
      let end = Machine.nanoseconds
      guard side != nil || sums.own == sums.their, sums.own + sums.their > 0 else {
        throw Difference(name: name, hearth: sums.own, grdb: sums.their)
      }
      guard round > 0 else { continue }
      times.own.append((middle - begin) / Double(calls))
      times.their.append((end - middle) / Double(calls))
    }
    show(name, times.own, times.their)
  }

  func show(_ name: String, _ own: [Double], _ their: [Double]) {
    let figures = [own.median, their.median].map { String(format: "%.1f µs", $0 / 1000) }
    print("time\t\(name)\tHearth \(figures[0])\tGRDB \(figures[1])")
    if side == nil { print(Comparison.line(name, zip(their, own).map { $0 / $1 })) }
  }
}

struct Difference: Error {
  var name: String
  var hearth: Int
  var grdb: Int
}
