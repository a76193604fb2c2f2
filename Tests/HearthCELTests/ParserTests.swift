import Testing

@testable import HearthCEL

@Suite struct ParserTests {
  // MARK: Literals

  @Test(arguments: [
    Case("null", .null), Case("nil", .null), Case("true", true), Case("false", false),
    Case("0", 0), Case("42", 42), Case("-42", -42), Case("0x1F", 31), Case("-0xff", -255),
    Case("0XaB", 171), Case("9223372036854775807", .int(.max)),
    Case("-9223372036854775808", .int(.min)), Case("-0x8000000000000000", .int(.min)),
    Case("1u", .uint(1)), Case("0x10U", .uint(16)),
    Case("18446744073709551615u", .uint(.max)),
    Case("1.5", 1.5), Case(".5", 0.5), Case("-.5", -0.5), Case("1e3", 1000.0),
    Case("1.25E-2", 0.0125), Case("6.02e+23", 6.02e23), Case("2e0", 2.0),
    Case("[1, 2,]", [1, 2]), Case("[]", []), Case("{}", [:]), Case("{'a': 1,}", ["a": 1]),
    Case("{1: 2, 2u: 3, true: 4, 'x': []}", [1: 2, .uint(2): 3, true: 4, "x": []]),
    Case("// comment\n 1 // another", 1), Case(" \t\r\n\u{0C}1", 1),
  ])
  func `a literal has its value`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  @Test(arguments: [
    Case("'hello'", "hello"), Case(#""hello""#, "hello"), Case("''", ""), Case("''''''", ""),
    Case("'''hello'''", "hello"), Case(#""""a "quoted" word""""#, "a \"quoted\" word"),
    Case("'''it's'''", "it's"), Case("'''two\nlines'''", "two\nlines"),
    Case("'''a\r\nb'''", "a\r\nb"), Case("'\"'", "\""), Case("\"'\"", "'"),
    Case(#"' \\ \? \" \' \` '"#, " \\ ? \" ' ` "),
    Case(#"'\a\b\f\n\r\t\v'"#, "\u{07}\u{08}\u{0C}\n\r\t\u{0B}"),
    Case(#"'\x41\X42\u00e9\U0001F431'"#, "ABé🐱"), Case(#"'\101\377\000'"#, "Aÿ\0"),
    Case(#"r'\d+\n'"#, "\\d+\\n"), Case(#"R"a\""#, "a\\"), Case("r'''a'b'''", "a'b"),
    Case("'día 🐱'", "día 🐱"), Case("'e\u{301}'", "e\u{301}"),
    Case(#"b'abc'"#, .bytes([97, 98, 99])), Case(#"b'\xff\000\n'"#, .bytes([255, 0, 10])),
    Case(#"B"ÿ""#, .bytes([195, 191])), Case(#"b'\377'"#, .bytes([255])),
    Case(#"br'\n'"#, .bytes([92, 110])), Case("b'''a'b'''", .bytes([97, 39, 98])),
  ])
  func `a text has its scalars`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  // MARK: Precedence

  @Test(arguments: [
    ("1 + 2 * 3", "1 + (2 * 3)"), ("1 * 2 + 3", "(1 * 2) + 3"), ("1 - 2 - 3", "(1 - 2) - 3"),
    ("8 / 4 / 2", "(8 / 4) / 2"), ("7 % 4 * 2", "(7 % 4) * 2"),
    ("-a * b", "(-a) * b"), ("!a && b", "(!a) && b"), ("-a.b", "-(a.b)"), ("!a.b()", "!(a.b())"),
    ("-a[0]", "-(a[0])"), ("--a", "-(-a)"), ("!!a", "!(!a)"),
    ("a + b < c + d", "(a + b) < (c + d)"), ("a < b == c", "(a < b) == c"),
    ("a in b == c", "(a in b) == c"), ("a == b && c != d", "(a == b) && (c != d)"),
    ("a && b || c && d", "(a && b) || (c && d)"), ("a || b && c", "a || (b && c)"),
    ("a || b ? c : d", "(a || b) ? c : d"), ("a ? b : c ? d : e", "a ? b : (c ? d : e)"),
    ("a ? b || c : d || e", "a ? (b || c) : (d || e)"), ("a + b in c", "(a + b) in c"),
    ("a - -1", "a - (-1)"), ("a -1", "a - 1"), ("- 1", "-1"), ("1.size()", "(1).size()"),
  ])
  func `operators bind as in the table`(text: String, grouped: String) throws {
    #expect(try parse(text) == parse(grouped))
  }

  @Test(arguments: [
    ("(1 + 2) * 3", "1 + 2 * 3"), ("1 - (2 - 3)", "1 - 2 - 3"), ("-(1)", "-1"),
    ("(a || b) && c", "a || b && c"), ("!(a && b)", "!a && b"),
    ("a && (b && c)", "a && b && c"), ("(a ? b : c) ? d : e", "a ? b : c ? d : e"),
  ])
  func `parentheses that matter are kept`(text: String, other: String) throws {
    let expression = try parse(text)
    #expect(try expression != parse(other))
    #expect(expression.description == text)
  }

  @Test(arguments: [
    ("((a))+(b)", "a + b"), ("a?b:c", "a ? b : c"), ("nil", "null"), ("\"it's\"", #"'it\'s'"#),
    ("0x10", "16"), ("1e3", "1000.0"), ("r'\\d'", #"'\\d'"#), ("'''a\nb'''", #"'a\nb'"#),
    ("{'a':1,'b':[1,2,],}", "{'a': 1, 'b': [1, 2]}"), ("a . b [ 'c' ] . d ( )", "a.b['c'].d()"),
    ("has( a.b )", "has(a.b)"), ("x.map( v , v>0 , v )", "x.map(v, v > 0, v)"),
    ("-(1.size())", "-(1.size())"), ("-1.size()", "-1.size()"), ("-(1u)", "-(1u)"),
    ("--1", "--1"), ("a--1", "a - -1"), ("(a+b).c", "(a + b).c"), ("(-a).b", "(-a).b"),
    ("b'a\\x00\\''", #"b'a\x00\''"#), ("'\\x7f\\u0001é'", #"'\x7f\x01é'"#),
    ("google.protobuf.Timestamp", "google.protobuf.Timestamp"),
    ("vars.in.null.package", "vars.in.null.package"),
  ])
  func `the canonical text is short`(text: String, canonical: String) throws {
    let expression = try parse(text)
    #expect(expression.description == canonical)
    #expect(try parse(canonical) == expression)
  }

  @Test func `equality ignores positions`() throws {
    #expect(try parse("a+b") == parse("  a +\n b"))
    #expect(try Set([parse("a+b"), parse("a + b")]).count == 1)
  }

  // MARK: Errors

  @Test(arguments: [
    ("", 1, 1), ("1 +", 1, 4), ("(1", 1, 3), ("1)", 1, 2), ("[1, 2", 1, 6), ("{1 2}", 1, 4),
    ("{1: }", 1, 5), ("f(1,)", 1, 5), ("a.", 1, 3), ("a.1", 1, 2), ("a..b", 1, 3), ("a b", 1, 3),
    ("vars.genre = 'x'", 1, 12), ("a & b", 1, 3), ("a ? b", 1, 6), ("a ? b ? c : d : e", 1, 7),
    ("'abc", 1, 1), ("'a\nb'", 1, 1), ("'''abc''", 1, 1), ("1 +\n  'abc", 2, 3),
    ("'día' §", 1, 7), ("'🐱' + #", 1, 7), ("\n\n  @", 3, 3), (#"'a\qb'"#, 1, 3),
    (#"'\u00g0'"#, 1, 2), (#"'\ud800'"#, 1, 2), (#"'\U00110000'"#, 1, 2), (#"'\400'"#, 1, 2),
    (#"'\38'"#, 1, 2), (#"b'\u0041'"#, 1, 3), (#"'\x4'"#, 1, 2), (#"'\"#, 1, 2),
    ("9223372036854775808", 1, 1), ("-9223372036854775809", 1, 2),
    ("18446744073709551616u", 1, 1), ("1e999", 1, 1), ("0x", 1, 1), ("12abc", 1, 3),
    ("1uu", 1, 3), ("has(a)", 1, 5), ("has(a[0])", 1, 6), ("x.all(1, true)", 1, 7),
    ("x.map(a.b, 1)", 1, 9), ("package", 1, 1), ("1 in in", 1, 6), ("a.b.while + while", 1, 13),
    ("T{a: 1}", 1, 2), ("!", 1, 2), ("a[]", 1, 3), ("a[1", 1, 4), ("\u{0}", 1, 1),
  ])
  func `a syntax error has its position`(text: String, line: Int, column: Int) {
    let error = parseFailure(text)
    #expect(error?.kind == .syntax)
    #expect(error?.position.line == line, "\(String(describing: error))")
    #expect(error?.position.column == column, "\(String(describing: error))")
  }

  @Test func `a position counts bytes and scalars`() throws {
    let error = try #require(try failure("'día' ==\n 'é' + 1"))
    #expect(error.position == CELPosition(offset: 16, line: 2, column: 6))
    #expect(error.description == "2:6: The operator + does not accept string and int.")
  }

  @Test func `a syntax error names what is missing`() {
    #expect(
      parseFailure("vars.genre = 'drama'")?.description
        == "1:12: The character \"=\" has no meaning here. Write \"==\" to compare.")
    #expect(parseFailure("(1 + 2")?.message == "Expected \")\", but found the end.")
  }

  // MARK: Limits

  @Test func `a text longer than the limit is refused`() {
    let limits = CELLimits(lengthBytes: 10, nesting: 100)
    #expect(parseFailure("123 + 5678", limits: limits) == nil)
    #expect(parseFailure("123 + 56789", limits: limits)?.kind == .tooLong)
    #expect(parseFailure("'éééé'", limits: limits) == nil)
    #expect(parseFailure("'ééééé'", limits: limits)?.kind == .tooLong)
    #expect(parseFailure(String(repeating: " ", count: 16_385))?.kind == .tooLong)
  }

  static let nestings: [(String, String, String)] = [
    ("(", "1", ")"), ("[", "1", "]"), ("f(", "1", ")"), ("{1: ", "1", "}"), ("!", "a", ""),
    ("-", "a", ""), ("a[", "1", "]"), ("", "a", ".b"), ("", "a", "[0]"), ("", "a", ".f()"),
    ("", "1", " + 1"), ("", "1", " == 1"), ("", "1", " * 1"), ("a ? b : ", "1", ""),
    ("a.all(x, ", "b", ")"), ("", "a", ".all(x, y)"), ("(a || ", "b", ")"),
  ]

  @Test(arguments: nestings)
  func `depth is limited`(start: String, middle: String, end: String) throws {
    func text(_ count: Int) -> String {
      String(repeating: start, count: count) + middle + String(repeating: end, count: count)
    }
    #expect(parseFailure(text(99)) == nil)
    #expect(parseFailure(text(100))?.kind == .tooDeep)
    let long = CELLimits(lengthBytes: .max, nesting: 100)
    #expect(parseFailure(text(10_000), limits: long)?.kind == .tooDeep)
    // A parsed expression can also be printed and parsed again.
    let expression = try parse(text(99))
    #expect(try parse(expression.description) == expression)
  }

  @Test func `the length of a chain of conditions or of a list is no depth`() throws {
    let or = Array(repeating: "false", count: 1000).joined(separator: " || ") + " || true"
    #expect(try evaluate(or) == true)
    let and = Array(repeating: "true", count: 1000).joined(separator: " && ")
    #expect(try evaluate(and) == true)
    let list = Array(repeating: "1", count: 4000).joined(separator: ",")
    #expect(try evaluate("size([\(list)])") == 4000)
  }

  @Test(arguments: [
    Case(String(repeating: "(", count: 32) + "7" + String(repeating: ")", count: 32), 7),
    Case(String(repeating: "!", count: 32) + "true", true),
    Case(String(repeating: "-", count: 32) + "19", 19),
    Case(String(repeating: "true ? true : ", count: 24) + "false", true),
    Case("3" + String(repeating: " - 3 + 3", count: 12), 3),
    Case("4" + String(repeating: " * 4 / 4", count: 12), 4),
    Case("int(uint(int(uint(int(uint(int(uint(int(uint(int(uint(7))))))))))))", 7),
    Case("size([[[[[[[[[[[[0]]]]]]]]]]]])", 1),
    Case("[[[[[[[[[[[['foo']]]]]]]]]]]][0][0][0][0][0][0][0][0][0][0][0][0]", "foo"),
  ])
  func `the depths that the specification requires are supported`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }
}
