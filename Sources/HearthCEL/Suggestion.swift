/// Finds the name that a developer meant.
enum Suggestion {
  /// ` Did you mean "genre"?`, or an empty text if no candidate is similar.
  static func text(for name: String, among candidates: some Sequence<String>) -> String {
    guard let nearest = nearest(to: name, among: candidates) else { return "" }
    return " Did you mean \"\(nearest)\"?"
  }

  /// The candidate with the fewest edits, at most a third of the name's length.
  static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
    let letters = Array(name.utf8)
    // Distances take a time that is the product of the lengths.
    guard letters.count <= 64 else { return nil }
    var best: (name: String, distance: Int)?
    for candidate in candidates.sorted() where candidate.utf8.count <= 64 {
      let distance = distance(letters, Array(candidate.utf8))
      if distance <= max(1, letters.count / 3), distance < best?.distance ?? .max {
        best = (candidate, distance)
      }
    }
    return best?.name
  }

  /// The number of insertions, deletions, substitutions and exchanges of neighbours. Case counts
  /// for nothing.
  private static func distance(_ lhs: [UInt8], _ rhs: [UInt8]) -> Int {
    let a = lhs.map(lowercased)
    let b = rhs.map(lowercased)
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var current = [i + 1]
      for j in b.indices {
        var least = min(last[j + 1] + 1, current[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          least = min(least, beforeLast[j - 1] + 1)
        }
        current.append(least)
      }
      beforeLast = last
      last = current
    }
    return last[b.count]
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
