/// Text of strangers, for terminals and logs.
extension String {
  /// The text itself, or a JSON string with escapes if a terminal would act on a part of it, or hide it.
  ///
  ///     books/dune    "books/\u001B[2J"
  ///
  /// The empty text, and one that begins with a quotation mark, are JSON strings as well: each text
  /// can be read back.
  package var legible: String {
    if !isEmpty, utf8.first != UInt8(ascii: "\""), !unicodeScalars.contains(where: \.isHidden) {
      return self
    }
    return JSON.string(self).text
  }

  /// The text with an escape, as in JSON, for each hidden character, except for those in `kept`. JSON
  /// text keeps its meaning, because it has hidden characters only in strings.
  package func escapingHidden(except kept: Set<Unicode.Scalar> = []) -> String {
    guard unicodeScalars.contains(where: { $0.isHidden && !kept.contains($0) }) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if scalar.isHidden, !kept.contains(scalar) {
        text += scalar.jsonEscape
      } else {
        text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

extension Unicode.Scalar {
  /// Whether a terminal acts on the character, or does not show it: controls, separators of lines and
  /// paragraphs, and formats, such as the marks of direction. Joiners are not hidden: they are parts of
  /// words and of emoji.
  package var isHidden: Bool {
    switch value {
    case 0x20..<0x7F: return false
    case ..<0xA0, 0xAD: return true
    case ..<0x600, 0x200C, 0x200D: return false
    default:
      switch properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: return true
      case .format: return properties.isDefaultIgnorableCodePoint
      default: return false
      }
    }
  }
}
