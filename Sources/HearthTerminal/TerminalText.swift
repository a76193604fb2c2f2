import HearthText

/// Text for a terminal, on which only its literals and styles act.
///
///     try Terminal.print("\(Terminal.bold("\(path.legible)")): \(problem)")
///
/// Interpolated parts come from a database, a file or an error. Their hidden characters (see
/// `Unicode.Scalar.isHidden`) become escapes, as in JSON. Names are written with `legible`, so that
/// they can be read back.
package struct TerminalText: ExpressibleByStringInterpolation {
  package fileprivate(set) var text: String

  package init(stringLiteral text: String) { self.text = text }

  package init(stringInterpolation interpolation: StringInterpolation) { text = interpolation.text }

  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    package init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount * 16)
    }

    package mutating func appendLiteral(_ literal: String) { text += literal }

    package mutating func appendInterpolation(_ part: TerminalText) { text += part.text }

    package mutating func appendInterpolation(_ value: some CustomStringConvertible) {
      text += value.description.escapingHidden()
    }

    /// Text of several lines: newlines and tabs stay.
    package mutating func appendInterpolation(lines: String) {
      text += lines.escapingHidden(except: ["\n", "\t"])
    }
  }

  package static func + (lhs: TerminalText, rhs: TerminalText) -> TerminalText {
    TerminalText(stringLiteral: lhs.text + rhs.text)
  }

  /// With one of the terminal's styles, such as `1` for bold.
  package func styled(_ style: Int) -> TerminalText {
    TerminalText(stringLiteral: "\u{1B}[\(style)m\(text)\u{1B}[0m")
  }
}
