/// Finds the name that was probably meant.
package enum Suggestion {
  /// ` Did you mean "title"?`, with a space before it, or nothing.
  package static func sentence(
    for name: String, among candidates: some Sequence<String>
  ) -> String {
    guard let best = closest(to: name, among: candidates) else { return "" }
    return " Did you mean \"\(best)\"?"
  }

  /// The candidate with the smallest edit distance, at most a third of the length of the name.
  /// Upper and lower case are equal. Of equal distances the first in alphabetical order.
  package static func closest(
    to name: String, among candidates: some Sequence<String>
  ) -> String? {
    let wanted = Array(name.lowercased().utf8)
    guard wanted.count <= 100 else { return nil }
    let limit = max(1, wanted.count / 3)
    var best: (distance: Int, name: String)?
    for candidate in candidates {
      let other = Array(candidate.lowercased().utf8)
      guard abs(other.count - wanted.count) <= limit else { continue }
      let distance = distance(wanted, other)
      guard distance <= limit else { continue }
      if let current = best, (current.distance, current.name) <= (distance, candidate) { continue }
      best = (distance, candidate)
    }
    return best?.name
  }

  /// Edits are insertions, deletions, replacements, and swaps of neighbours.
  static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    if left.isEmpty || right.isEmpty { return max(left.count, right.count) }
    var beforePrevious = [Int](repeating: 0, count: right.count + 1)
    var previous = Array(0...right.count)
    var current = previous
    for (i, a) in left.enumerated() {
      current[0] = i + 1
      for (j, b) in right.enumerated() {
        var cost = min(previous[j + 1] + 1, current[j] + 1, previous[j] + (a == b ? 0 : 1))
        if i > 0, j > 0, a == right[j - 1], left[i - 1] == b {
          cost = min(cost, beforePrevious[j - 1] + 1)
        }
        current[j + 1] = cost
      }
      (beforePrevious, previous, current) = (previous, current, beforePrevious)
    }
    return previous[right.count]
  }
}
