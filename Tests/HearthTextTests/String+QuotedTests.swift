import Testing

@testable import HearthText

@Suite struct `Quoted Strings` {
  @Test func `a literal escapes its quotation mark, backslashes and line breaks`() {
    let text = "\"a\" 'b' \\ \n\r\t é\u{1}\u{7F}"
    #expect(text.quoted { _ in nil } == #""\"a\" 'b' \\ \n\r\t é"# + "\u{1}\u{7F}\"")
    var literal = "text: "
    literal.append(quoting: text, in: "'") { $0.value == 1 ? "(one)" : nil }
    #expect(literal == #"text: '"a" \'b\' \\ \n\r\t é(one)"# + "\u{7F}'")
    #expect("".quoted { _ in nil } == "\"\"")
  }

  @Test func `scalars of one byte and of four have escapes of JSON`() {
    #expect(Unicode.Scalar("\u{1B}").jsonEscape == #"\u001b"#)
    #expect(Unicode.Scalar("\u{E0001}").jsonEscape == #"\udb40\udc01"#)
  }

  @Test func `digits have a least number`() {
    #expect(String(7, width: 2) == "07" && String(1965, width: 4) == "1965")
    #expect(String(12_345, width: 4) == "12345")
    #expect(String(UInt64.max, radix: 16, width: 16) == "ffffffffffffffff")
    #expect(String(UInt8(10), radix: 16, uppercase: true, width: 2) == "0A")
  }

  @Test func `classes of bytes are those of ASCII`() {
    for byte in UInt8.min ... .max {
      let character = Character(Unicode.Scalar(byte))
      #expect(byte.isASCIIDigit == (character.isASCII && character.isNumber))
      #expect(byte.isASCIILetter == (character.isASCII && character.isLetter))
      #expect(
        byte.isASCIIWord == (byte.isASCIIDigit || byte.isASCIILetter || character == "_"))
      #expect(
        byte.hexadecimalValue.map { Int($0) } == (byte < 0x80 ? character.hexDigitValue : nil))
    }
  }
}
