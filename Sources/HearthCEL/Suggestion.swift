internal import HearthText

/// Expressions may be hostile, and an edit distance takes a time that is the product of the lengths.
extension Suggestion {
  /// As `sentence`, but names of more than 64 bytes are neither compared nor suggested.
  static func text(for name: String, among candidates: some Sequence<String>) -> String {
    guard name.utf8.count <= 64 else { return "" }
    return sentence(for: name, among: candidates.filter { $0.utf8.count <= 64 })
  }
}
