import Foundation

/// One ratio: above 1, Hearth is better by that factor.
struct Figure: Codable {
  /// As a table and a gate know it.
  var name: String
  var work: String
  var against: String
  /// Of every round, the peer's figure beside ours.
  var ratios: [Double]
  /// What the ratio should be at least.
  var aim: Double
  /// Medians of what was measured, and their unit.
  var own: Double
  var peer: Double
  var unit: String

  var value: Double { median(ratios) }

  /// `ratio`, name, value, spread, with tabs between. What is lost to the peer stands between stars.
  var line: String {
    let spread = "\(text(ratios.min() ?? 0))…\(text(ratios.max() ?? 0))"
    let value = value < 1 ? "**\(text(value))**" : text(value)
    return "ratio\t\(name)\t\(value)\t\(spread)"
  }
}

/// What something takes when there is more of it: among so many books, or of so many bytes.
struct Growth: Codable {
  var work: String
  var engine: String
  var size: Int
  var value: Double
  var unit: String
}

func median(_ values: [Double]) -> Double {
  values.isEmpty ? 0 : values.sorted()[values.count / 2]
}

func text(_ number: Double) -> String {
  String(format: number < 10 ? "%.2f" : number < 100 ? "%.1f" : "%.0f", number)
}

/// All figures of a run, and where they come from.
struct Report: Codable {
  struct Machine: Codable {
    var processor: String
    var cores: Int
    var memoryBytes: UInt64
    var kernel: String
    var load: String
  }

  var date: String
  var command: String
  var machine: Machine
  var versions: [String: String]
  var books: Int
  var rounds: Int
  var figures: [Figure] = []
  var growth: [Growth] = []
  /// Flushes to disk that one durable put made, by engine.
  var notes: [String] = []

  init(books: Int, rounds: Int, versions: [String: String]) {
    date = Date.now.formatted(.iso8601)
    command = (["Comparisons"] + CommandLine.arguments.dropFirst()).joined(separator: " ")
    self.books = books
    self.rounds = rounds
    self.versions = versions
    let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let model = lines.split(separator: "\n").first { $0.hasPrefix("model name") }
    func first(_ path: String) -> String {
      let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      return String(text.split(separator: "\n").first ?? "")
    }
    machine = Machine(
      processor: model?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) }
        ?? "unknown",
      cores: ProcessInfo.processInfo.activeProcessorCount,
      memoryBytes: ProcessInfo.processInfo.physicalMemory,
      kernel: first("/proc/sys/kernel/osrelease"), load: first("/proc/loadavg"))
  }
}
