import Counting
import Foundation

/// What the coder costs, beside its peers, as ratios within one run.
///
///     swift run -c release --package-path Benchmarks CodingFigures [rounds | allocations | threads]
///     Benchmarks/instructions    # holds instructions and allocations to their limits
///
/// One figure a line, fields separated by tabs:
///
///     ratio    encode book, JSON over Hearth       7.312    7.201…7.405
///     time     encode book, Hearth                 1893.1   ns
///     count    encode book, Hearth                 0.00     allocations
///     count    encode book, Hearth                 14210    instructions
///
/// Ratios are medians of the rounds, in which everything has its turn, with the least and the
/// greatest.
/// Instructions are counted under callgrind only, which the script does; times are then left out.
///
/// What limits what, by callgrind (Swift 6.3.1, x86-64):
///
/// - **Encoding, beside bytes by hand.** Of a book's 13,140 instructions 4,740 are the standard
///   library's keyed containers, the model's own `encode(to:)` with its coding keys, and libc; all
///   of the bytes by hand are 2,720, since they know the names and their order beforehand. A field
///   costs 150 before our container is called. In a map of 100 integers and the like that alone is
///   3.1 times what is spent by hand, so that four times is out of reach for flat models whatever
///   the encoder does. What is ours is to look for the frame, copy the name, note the field, and
///   compose the map.
/// - **Decoding.** Of a book's 20,030 instructions 11,080 are not ours: containers again, and the
///   strings and arrays that are made, 7 allocations, as many as by hand.
/// - **URLs.** `URL(string:)` is nearly half of decoding a book that has three. It costs the same by
///   hand and in JSON, which is why both ratios shrink.
/// - **Threads.** A session for each thread, and boxes that know their type, leave nothing of ours
///   that threads share. What is left is the allocator and the standard library's table of
///   metadata, which arrays of models still ask: 3 % of decoding a book. Four cores of a shared
///   machine decode 2.2 to 3.5 times as fast as one, and 2.0 to 3.1 times by hand.
@main
struct CodingFigures {
  static func main() throws {
    if counting_is_watched() != 0 { return try instructions() }
    switch CommandLine.arguments.dropFirst().first {
    case "allocations": try allocations()
    case "threads": try threads(rounds: 7)
    case let argument:
      let rounds = max(1, argument.flatMap { Int($0) } ?? 7)
      try times(rounds: rounds)
      try allocations()
      try threads(rounds: rounds)
    }
  }

  // MARK: Times

  private static func times(rounds: Int) throws {
    let groups = Dictionary(grouping: Work.all) { "\($0.way.rawValue) \($0.model)" }
    for title in groups.keys.sorted() {
      let works = groups[title] ?? []
      let counts = try works.map { try count(of: $0, lasting: 0.02) }
      var nanoseconds = [[Double]](repeating: [], count: works.count)
      for _ in 0..<rounds {
        for (index, work) in works.enumerated() {
          nanoseconds[index].append(
            try seconds { _ = try work.run(counts[index]) } * 1e9 / Double(counts[index]))
        }
      }
      for (index, work) in works.enumerated() {
        print("time\t\(work.title)\t\(text(median(nanoseconds[index]), 1))\tns")
      }
      for own in works.indices where [.hearth, .direct].contains(works[own].coder) {
        for (index, work) in works.enumerated() where index != own {
          let isLess = work.coder == .hand
          let ratios = zip(nanoseconds[index], nanoseconds[own]).map { isLess ? $1 / $0 : $0 / $1 }
          let names = [work.coder.rawValue, works[own].coder.rawValue]
          let name = (isLess ? names.reversed() : names).joined(separator: " over ")
          print(ratio("\(title), \(name)", ratios))
        }
      }
    }
  }

  /// How often it is done in that time, after it has warmed up.
  private static func count(of work: Work, lasting duration: Double) throws -> Int {
    var count = 16
    while true {
      let seconds = try seconds { _ = try work.run(count) }
      if seconds >= duration / 4 { return max(1, Int(Double(count) * duration / seconds)) }
      count *= 4
    }
  }

  private static func seconds(_ body: () throws -> Void) rethrows -> Double {
    let begin = ContinuousClock.now
    try body()
    return (ContinuousClock.now - begin) / .seconds(1)
  }

  // MARK: Counts

  private static func allocations() throws {
    let count = 1024
    for work in Work.all {
      _ = try work.run(count)
      // What a run makes once is not an operation's.
      let once = try made { _ = try work.run(0) }
      let all = try made { _ = try work.run(count) }
      print("count\t\(work.title)\t\(text(Double(all - once) / Double(count), 2))\tallocations")
    }
  }

  private static func made(_ body: () throws -> Void) rethrows -> Int {
    let before = counting_allocations()
    try body()
    return Int(counting_allocations() - before)
  }

  /// Callgrind writes the sums down, each under its title.
  private static func instructions() throws {
    let count = 64
    for work in Work.all {
      _ = try work.run(count)
      counting_begin()
      _ = try work.run(count)
      counting_end("\(count)\t\(work.title)")
    }
  }

  // MARK: Threads

  private static func threads(rounds: Int) throws {
    let threads = 4
    for work in Work.all where work.model == Book.name && work.way == .decode {
      let count = try count(of: work, lasting: 0.03)
      var ratios: [Double] = []
      for _ in 0..<rounds {
        let alone = try seconds { _ = try work.run(count) }
        let together = seconds {
          DispatchQueue.concurrentPerform(iterations: threads) { _ in
            // What can fail has failed above.
            _ = try? work.run(count)
          }
        }
        ratios.append(alone * Double(threads) / together)
      }
      print(ratio("\(work.title), \(threads) threads over 1", ratios))
    }
  }

  // MARK: Lines

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  private static func ratio(_ name: String, _ ratios: [Double]) -> String {
    let sorted = ratios.sorted()
    let spread = "\(text(sorted[0], 3))…\(text(sorted[sorted.count - 1], 3))"
    return "ratio\t\(name)\t\(text(median(ratios), 3))\t\(spread)"
  }

  private static func text(_ number: Double, _ digits: Int) -> String {
    String(format: "%.\(digits)f", number)
  }
}
