import Foundation

/// Converts between `imageURL` and `image_url`, exactly like `JSONEncoder` and `JSONDecoder`.
enum SnakeCase {
  /// A word begins at an upper-case letter after a lower-case one, and at the last of several
  /// upper-case letters before a lower-case one: `myURLProperty` has three words.
  static func fromCamelCase(_ key: String) -> String {
    guard !key.isEmpty else { return key }
    var words: [Range<String.Index>] = []
    var wordStart = key.startIndex
    var rest = key.index(after: wordStart)..<key.endIndex
    while let upper = key.rangeOfCharacter(from: .uppercaseLetters, options: [], range: rest) {
      words.append(wordStart..<upper.lowerBound)
      rest = upper.lowerBound..<rest.upperBound
      guard let lower = key.rangeOfCharacter(from: .lowercaseLetters, options: [], range: rest)
      else {
        wordStart = rest.lowerBound
        break
      }
      if lower.lowerBound == key.index(after: upper.lowerBound) {
        wordStart = upper.lowerBound
      } else {
        let lastUpper = key.index(before: lower.lowerBound)
        words.append(upper.lowerBound..<lastUpper)
        wordStart = lastUpper
      }
      rest = lower.upperBound..<rest.upperBound
    }
    words.append(wordStart..<rest.upperBound)
    return words.map { key[$0].lowercased() }.joined(separator: "_")
  }

  /// Keeps leading and trailing underscores. A key without other underscores stays unchanged.
  static func toCamelCase(_ key: String) -> String {
    guard let first = key.firstIndex(where: { $0 != "_" }),
      let last = key.lastIndex(where: { $0 != "_" })
    else { return key }
    let words = key[first...last].split(separator: "_")
    let joined =
      words.count == 1
      ? String(key[first...last])
      : words[0].lowercased() + words.dropFirst().map { $0.capitalized }.joined()
    return key[..<first] + joined + key[key.index(after: last)...]
  }
}
