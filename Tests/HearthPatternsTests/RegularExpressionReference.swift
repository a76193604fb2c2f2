import TestSupport

/// A random pattern as a tree, with its meaning by definition: the sets of positions at which a
/// match can end. Independent of the parser, the program and the automaton.
indirect enum ReferencePattern {
  case scalar(Unicode.Scalar)
  case any
  case set([ClosedRange<Unicode.Scalar>], isNegated: Bool)
  case textStart, textEnd, textEndOrNewline, wordBoundary, notWordBoundary
  case caret, dollar
  case sequence([ReferencePattern])
  case alternatives([ReferencePattern])
  case repetition(ReferencePattern, Int, Int?, isLazy: Bool)

  /// Matches an alphabet of letters, a newline and a scalar of two bytes.
  static let alphabet: [Unicode.Scalar] = ["a", "b", "c", "B", "-", "\n", "é"]

  static func random(_ random: inout SeededGenerator, depth: Int) -> ReferencePattern {
    switch random.below(depth > 0 ? 24 : 14) {
    case 0..<7: return .scalar(random.pick(alphabet))
    case 7: return .any
    case 8, 9:
      let ranges = (0...random.below(2)).map { _ in
        let ends = [random.pick(alphabet), random.pick(alphabet)].sorted()
        return random.one(in: 2) ? ends[0]...ends[0] : ends[0]...ends[1]
      }
      return .set(ranges, isNegated: random.one(in: 3))
    case 10:
      return random.pick(
        [.textStart, .textEnd, .textEndOrNewline, .wordBoundary, .notWordBoundary])
    case 11: return random.one(in: 2) ? .caret : .dollar
    case 12, 13: return .sequence([])
    case 14..<18:
      return .sequence(
        (0..<random.below(4)).map { _ in .random(&random, depth: depth - 1) })
    case 18..<20:
      return .alternatives(
        (0..<1 + random.below(3)).map { _ in .random(&random, depth: depth - 1) })
    default:
      let minimum = random.below(3)
      let maximum = random.one(in: 2) ? nil : minimum + random.below(3)
      return .repetition(
        .random(&random, depth: depth - 1), minimum, maximum, isLazy: random.one(in: 3))
    }
  }

  private static func escaped(_ scalar: Unicode.Scalar) -> String {
    scalar == "\n" ? "\\n" : scalar == "-" ? "\\-" : String(scalar)
  }

  var pattern: String {
    switch self {
    case .scalar(let scalar): return Self.escaped(scalar)
    case .any: return "."
    case .set(let ranges, let isNegated):
      let members = ranges.map {
        $0.lowerBound == $0.upperBound
          ? Self.escaped($0.lowerBound)
          : Self.escaped($0.lowerBound) + "-" + Self.escaped($0.upperBound)
      }
      return "[" + (isNegated ? "^" : "") + members.joined() + "]"
    case .textStart: return "\\A"
    case .textEnd: return "\\z"
    case .textEndOrNewline: return "\\Z"
    case .wordBoundary: return "\\b"
    case .notWordBoundary: return "\\B"
    case .caret: return "^"
    case .dollar: return "$"
    case .sequence(let parts): return "(?:" + parts.map(\.pattern).joined() + ")"
    case .alternatives(let parts): return "(" + parts.map(\.pattern).joined(separator: "|") + ")"
    case .repetition(let part, let minimum, let maximum, let isLazy):
      let counts: String
      switch (minimum, maximum) {
      case (0, nil): counts = "*"
      case (1, nil): counts = "+"
      case (0, 1): counts = "?"
      case (_, nil): counts = "{\(minimum),}"
      case (_, let maximum?): counts = "{\(minimum),\(maximum)}"
      }
      return "(?:" + part.pattern + ")" + counts + (isLazy ? "?" : "")
    }
  }
}

struct ReferenceMatcher {
  var text: [Unicode.Scalar]
  var ignoringCase = false
  var isMultiline = false
  var dotMatchesNewlines = false

  func isFound(_ pattern: ReferencePattern) -> Bool {
    (0...text.count).contains { !ends(pattern, from: [$0]).isEmpty }
  }

  private func isWord(_ position: Int) -> Bool {
    guard text.indices.contains(position) else { return false }
    return text[position].isASCII
      && (text[position].properties.isAlphabetic || text[position] == "_"
        || ("0"..."9").contains(text[position]))
  }

  private func contains(_ ranges: [ClosedRange<Unicode.Scalar>], _ scalar: Unicode.Scalar) -> Bool {
    var variants = [scalar]
    if ignoringCase {
      variants += Array(scalar.properties.uppercaseMapping.unicodeScalars)
      variants += Array(scalar.properties.lowercaseMapping.unicodeScalars)
    }
    return ranges.contains { range in variants.contains { range.contains($0) } }
  }

  private func ends(_ pattern: ReferencePattern, from starts: Set<Int>) -> Set<Int> {
    func holding(_ condition: (Int) -> Bool) -> Set<Int> { starts.filter(condition) }
    func consuming(_ condition: (Unicode.Scalar) -> Bool) -> Set<Int> {
      Set(starts.filter { $0 < text.count && condition(text[$0]) }.map { $0 + 1 })
    }
    let end = text.count
    let beforeEnd = text.last == "\n" ? end - 1 : end
    switch pattern {
    case .scalar(let scalar): return consuming { contains([scalar...scalar], $0) }
    case .any: return consuming { dotMatchesNewlines || $0 != "\n" }
    case .set(let ranges, let isNegated): return consuming { contains(ranges, $0) != isNegated }
    case .textStart: return holding { $0 == 0 }
    case .textEnd: return holding { $0 == end }
    case .textEndOrNewline: return holding { $0 == end || $0 == beforeEnd }
    case .wordBoundary: return holding { isWord($0 - 1) != isWord($0) }
    case .notWordBoundary: return holding { isWord($0 - 1) == isWord($0) }
    case .caret:
      return holding { $0 == 0 || isMultiline && $0 < end && text[$0 - 1] == "\n" }
    case .dollar:
      return holding { $0 == end || (isMultiline ? text[$0] == "\n" : $0 == beforeEnd) }
    case .sequence(let parts): return parts.reduce(starts) { ends($1, from: $0) }
    case .alternatives(let parts):
      return parts.reduce(into: []) { $0.formUnion(ends($1, from: starts)) }
    case .repetition(let part, let minimum, let maximum, _):
      var current = starts
      for _ in 0..<minimum { current = ends(part, from: current) }
      var all = current
      var count = minimum
      while count < maximum ?? .max {
        current = ends(part, from: current)
        if current.isSubset(of: all) { break }
        all.formUnion(current)
        count += 1
      }
      return all
    }
  }
}
