#if Tools
  import Hearth
  import HearthText

  /// Text for a terminal, on which only its literals and styles act.
  ///
  ///     try Terminal.print("\(Terminal.bold("\(path.legible)")): \(problem)")
  ///
  /// Interpolated parts come from a database, a file or an error. Their hidden characters (see
  /// `Unicode.Scalar.isHidden`) become escapes, as in JSON. Names are written with `legible`, so that
  /// they can be read back.
  struct TerminalText: ExpressibleByStringInterpolation {
    fileprivate(set) var text: String

    init(stringLiteral text: String) { self.text = text }

    init(stringInterpolation interpolation: StringInterpolation) { text = interpolation.text }

    struct StringInterpolation: StringInterpolationProtocol {
      fileprivate var text = ""

      init(literalCapacity: Int, interpolationCount: Int) {
        text.reserveCapacity(literalCapacity + interpolationCount * 16)
      }

      mutating func appendLiteral(_ literal: String) { text += literal }

      mutating func appendInterpolation(_ part: TerminalText) { text += part.text }

      mutating func appendInterpolation(_ value: some CustomStringConvertible) {
        text += value.description.escapingHidden()
      }

      /// Text of several lines: newlines and tabs stay.
      mutating func appendInterpolation(lines: String) {
        text += lines.escapingHidden(except: ["\n", "\t"])
      }
    }

    static func + (lhs: TerminalText, rhs: TerminalText) -> TerminalText {
      TerminalText(stringLiteral: lhs.text + rhs.text)
    }

    /// With one of the terminal's styles, such as `1` for bold.
    func styled(_ style: Int) -> TerminalText {
      TerminalText(stringLiteral: "\u{1B}[\(style)m\(text)\u{1B}[0m")
    }
  }
#endif
