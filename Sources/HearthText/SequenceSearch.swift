/// A search for a sequence in others, in linear time (Knuth, Morris and Pratt).
/// Inlined, so that it is specialised for the elements of another module.
package struct SequenceSearch<Element: Equatable & Sendable>: Sendable {
  package let wanted: [Element]
  /// For each beginning of the sequence, the length of its longest proper suffix that is a beginning,
  /// too.
  package let borders: [Int]

  @inlinable package init(_ wanted: [Element]) {
    var borders = [Int](repeating: 0, count: wanted.count)
    var length = 0
    for index in wanted.indices.dropFirst() {
      while length > 0, wanted[index] != wanted[length] { length = borders[length - 1] }
      if wanted[index] == wanted[length] { length += 1 }
      borders[index] = length
    }
    self.wanted = wanted
    self.borders = borders
  }

  @inlinable package func isFound(in elements: some Sequence<Element>) -> Bool {
    if wanted.isEmpty { return true }
    var matched = 0
    for element in elements {
      while matched > 0, element != wanted[matched] { matched = borders[matched - 1] }
      guard element == wanted[matched] else { continue }
      matched += 1
      if matched == wanted.count { return true }
    }
    return false
  }
}
