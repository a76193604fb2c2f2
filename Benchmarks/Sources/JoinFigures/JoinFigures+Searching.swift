import Foundation

extension JoinFigures {
  func searching() async throws {
    let (words, places) = ("2 words, best 20", "within 2 km")
    guard wants(words) || wants(places) else { return }
    if side != "hearth" { try sqlite.prepareSearches() }
    if side != "grdb" {
      try await hearth.prepareSearches()
      _ = FileManager.default.createFile(atPath: searchMarker, contents: nil)
    }
    try await search(words, 20, self.words) {
      try await hearth.matches(of: $0)
    } grdb: {
      try sqlite.matches(of: $0)
    }
    try await search(places, 20, { Library.city($0 % Library.cities) }) {
      try await hearth.books(within: 2, of: $0)
    } grdb: {
      try sqlite.books(within: 2, of: $0)
    }
  }

  /// A frequent word and a rarer one of the same book.
  private func words(_ number: Int) -> [String] {
    let words = Set(library.book(number &* 7919 % library.books).summary.split(separator: " "))
    let ranked = words.sorted { ($0.count, $0) < ($1.count, $1) }
    return [String(ranked[ranked.count / 3]), String(ranked[ranked.count - 1])]
  }

  private func search<Argument>(
    _ name: String, _ calls: Int, _ argument: (Int) -> Argument,
    hearth: (Argument) async throws -> Int?, grdb: (Argument) async throws -> Int
  ) async throws {
    guard wants(name) else { return }
    if try await hearth(argument(0)) != nil {
      return try await compare(name, calls, argument) {
        try await hearth($0) ?? 0
      } grdb: {
        try await grdb($0)
      }
    }
    guard side != "hearth" else { return }
    var times: [Double] = []
    var found = 0
    for round in 0...rounds {
      let arguments = (round * calls..<(round + 1) * calls).map(argument)
      let begin = Machine.nanoseconds
      for each in arguments { found += try await grdb(each) }
      if round > 0 { times.append((Machine.nanoseconds - begin) / Double(calls)) }
    }
    let time = String(format: "%.1f µs", times.median / 1000)
    print("time\t\(name)\tHearth -\tGRDB \(time)\tfound \(found / (calls * (rounds + 1))) each")
  }
}
