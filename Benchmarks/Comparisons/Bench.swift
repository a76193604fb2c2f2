import Foundation

/// One run: its size, its folder, and what it has found.
final class Bench {
  let folder: String
  let books: Int
  let rounds: Int
  let memoryBooks: Int
  /// Among how many books growth is looked at; none if it is not.
  let sizes: [Int]
  private let only: String?
  private(set) var report: Report

  init(folder: String, books: Int, rounds: Int, memoryBooks: Int, sizes: [Int], only: String?)
    throws
  {
    self.folder = folder
    self.books = books
    self.rounds = rounds
    self.memoryBooks = memoryBooks
    self.sizes = sizes
    self.only = only
    report = Report(
      books: books, rounds: rounds,
      versions: [
        "Swift": "6.3", "LMDB": Peers.lmdbVersion, "SQLite": try Peers.sqliteVersion(),
        "GRDB": "7.10.0",
      ])
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  func wants(_ names: String...) -> Bool {
    guard let only else { return true }
    return names.contains { $0.contains(only) }
  }

  func path(_ name: String) -> String { "\(folder)/\(name)-\(UUID().uuidString)" }

  /// A peer's rounds beside ours: less is better.
  func tell(
    _ name: String, _ work: String, _ results: [String: [Double]],
    own ownName: String = HearthEngine.name, against: String, aim: Double, unit: String
  ) {
    guard let own = results[ownName], let peer = results[against] else { return }
    tell(
      Figure(
        name: name, work: work, against: against, ratios: zip(peer, own).map { $0 / $1 }, aim: aim,
        own: median(own), peer: median(peer), unit: unit))
  }

  func tell(_ figure: Figure) {
    guard wants(figure.name) else { return }
    report.figures.append(figure)
    FileHandle.standardOutput.write(Data("\(figure.line)\n".utf8))
  }

  func grown(_ growth: Growth) { report.growth.append(growth) }

  func note(_ text: String) {
    report.notes.append(text)
    FileHandle.standardError.write(Data("# \(text)\n".utf8))
  }

  static func bytes(of path: String) -> Int {
    ["", "-wal"].reduce(0) { sum, suffix in
      let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
      // What is stored, not what is reserved.
      return sum + ((attributes?[.size] as? Int) ?? 0)
    }
  }
}
