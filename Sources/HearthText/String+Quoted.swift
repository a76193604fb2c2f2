/// Literals of JSON, GraphQL, Swift and CEL, which differ in the quotation marks and in the escapes of
/// characters that they do not contain as they are.
extension String {
  /// The text as a literal.
  package func quoted(_ escape: (Unicode.Scalar) -> String?) -> String {
    var literal = ""
    literal.append(quoting: self, escape)
    return literal
  }

  /// Appends a literal. Inlined, so that `escape` is no call for each character.
  ///
  /// - Parameter escape: The escape of a character other than `quote`, a backslash, a newline, a return
  ///   and a tab. Nil if it needs none.
  @inlinable
  package mutating func append(
    quoting text: String, in quote: Unicode.Scalar = "\"", _ escape: (Unicode.Scalar) -> String?
  ) {
    unicodeScalars.append(quote)
    for scalar in text.unicodeScalars {
      switch scalar {
      case quote, "\\":
        unicodeScalars.append("\\")
        unicodeScalars.append(scalar)
      case "\n": self += "\\n"
      case "\r": self += "\\r"
      case "\t": self += "\\t"
      default:
        if let escaped = escape(scalar) { self += escaped } else { unicodeScalars.append(scalar) }
      }
    }
    unicodeScalars.append(quote)
  }
}

extension Unicode.Scalar {
  /// `\u001b`, or two such escapes beyond 16 bits.
  package var jsonEscape: String {
    (UTF16.encode(self) ?? UTF16.encodedReplacementCharacter)
      .map { "\\u" + String($0, radix: 16, width: 4) }.joined()
  }
}
