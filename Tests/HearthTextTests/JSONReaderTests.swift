import TestSupport
import Testing

@testable import HearthText

@Suite struct JSONReaderTests {
  @Test(arguments: [
    ("9223372036854775807", JSON.integer(.max)), ("-9223372036854775808", .integer(.min)),
    ("1.0", .double(1)), ("-0", .double(-0.0)), ("1e2", .double(100)), (" [ ] ", .array([])),
    (#""a\u00e9\ud83c\udfdc\/\b""#, .string("aé🏜/\u{8}")), ("{ }", .object([])),
    (
      #"{"b": [true, null], "a": {}}"#,
      .object([
        JSON.Member("b", .array([.boolean(true), .null])), JSON.Member("a", .object([])),
      ])
    ),
  ])
  func `a value is read exactly`(text: String, value: JSON) throws {
    let read = try JSONReader.read(text)
    #expect(read == value)
    #expect(try JSONReader.read(read.text) == value)
    // -0.0 == 0.0, but they are not the same.
    if case .double(let number) = read, case .double(let expected) = value {
      #expect(number.bitPattern == expected.bitPattern)
    }
  }

  @Test(arguments: [
    "", "nul", "01", "1.", "+1", ".5", "1e", "1e400", "9223372036854775808", "[1,]", "[1 2]",
    "{\"a\" 1}", "{a: 1}", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "\"", "\"\u{1}\"", "\"\\x\"",
    "\"\\ud800\"", "\"\\u12g4\"", "1 2", String(repeating: "[", count: 10_000),
  ])
  func `what is no JSON is refused with its place`(text: String) {
    #expect {
      try JSONReader.read(text)
    } throws: { error in
      "\(error)".hasPrefix("The JSON is not valid: ")
        && "\(error)".contains(" at line 1, column ")
    }
  }

  @Test func `a byte order mark before the value is skipped, once`() throws {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    #expect(try JSONReader.read(mark + Array(" 1".utf8)) == .integer(1))
    #expect(throws: (any Error).self) { try JSONReader.read(mark + mark + Array("1".utf8)) }
    #expect(throws: (any Error).self) { try JSONReader.read(Array("[1,".utf8) + mark + [0x5D]) }
  }

  @Test func `a name is found twice among few members and among many`() throws {
    for count in [1, 7, 8, 9, 100] {
      let members = (0..<count).map { "\"n\($0)\":1" }
      #expect(throws: Never.self) { try JSONReader.read("{\(members.joined(separator: ","))}") }
      for repeated in members {
        let text = "{\((members + [repeated]).joined(separator: ","))}"
        #expect(throws: (any Error).self, "\(text)") { try JSONReader.read(text) }
      }
    }
    #expect(throws: Never.self) { try JSONReader.read(#"{"é":1,"e\u0301":2}"#) }
  }

  @Test func `an integer beyond 64 bits is a double where that is asked for`() throws {
    for (text, number) in [
      ("9223372036854775808", 0x1p63), ("-1000000000000000000000", -1e21),
    ] {
      #expect(throws: (any Error).self) { try JSONReader.read(text) }
      #expect(try JSONReader.read(text, roundingLongIntegers: true) == .double(number))
    }
    // It rounds to the smallest integer of 64 bits, which it is not.
    #expect(throws: (any Error).self) {
      try JSONReader.read("-9223372036854775809", roundingLongIntegers: true)
    }
  }

  @Test func `no bytes trap the reader`() {
    var generator = SeededGenerator(seed: 0x4845_4152_5448)
    let alphabet = Array("{}[]\",:\\u0123dDeE+-.tfn é\n")
    for _ in 0..<20_000 {
      let text = String(
        (0..<Int.random(in: 0..<12, using: &generator)).map { _ in
          alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
        })
      guard let read = try? JSONReader.read(text) else { continue }
      #expect(throws: Never.self, "\(text)") { try JSONReader.read(read.text) }
    }
  }
}
