import Foundation
import ProcessorTime
import TestSupport
import Testing

@testable import HearthPatterns

@Suite(.ownThreads) struct RegularExpressionTests {
  /// False, with an issue, if the search fails.
  private static func isFound(_ expression: RegularExpression, in text: String) -> Bool {
    isFound(expression, in: Array(text.utf8))
  }

  private static func isFound(_ expression: RegularExpression, in text: [UInt8]) -> Bool {
    do {
      return try text.withUnsafeBytes { try expression.isFound(in: $0) }
    } catch {
      Issue.record(error)
      return false
    }
  }

  private static func hasLiteral(of expression: RegularExpression, _ text: String) -> Bool {
    guard let literal = expression.requiredLiteral else { return true }
    return text.utf8.indices.contains { text.utf8[$0...].starts(with: literal.utf8) }
  }

  private static func message(_ pattern: String) -> String? {
    do throws(RegularExpression.Failure) {
      _ = try RegularExpression(pattern)
      return nil
    } catch {
      return error.message
    }
  }

  // MARK: Syntax

  /// Pattern, texts in which it is found, texts in which it is not. As Perl has it, with /aa.
  static let cases: [(pattern: String, found: [String], notFound: [String])] = [
    // Literals, alternatives and groups.
    ("", ["", "a"], []),
    ("abc", ["abc", "xabcx", "ababc"], ["", "ab", "abd", "ABC"]),
    ("aab", ["aaab"], ["abab"]),
    ("a|bc", ["xa", "bc"], ["b", "c", ""]),
    ("a|", ["", "x"], []),
    ("^(|a)$", ["", "a"], ["aa", "b"]),
    ("()", ["", "x"], []),
    ("^(a|b)c$", ["ac", "bc"], ["abc", "c"]),
    ("^(?:ab|a)(?:c|bcd)$", ["abc", "ac", "abcd", "abbcd"], ["ab", "acd"]),
    ("(?<year>\\d{4})-(?P<month>\\d\\d)", ["in 2024-05"], ["2024-5", "24-05"]),
    ("(?'name'a)b", ["ab"], ["b"]),
    ("a(?#a comment)*b", ["b", "aab"], ["aa"]),
    ("]", ["]"], ["["]),
    ("a}", ["a}"], ["a"]),
    ("a{", ["a{"], ["a"]),
    ("a{x}", ["a{x}"], ["ax"]),
    ("a{1", ["a{1"], ["a1"]),
    ("été", ["un été"], ["ete", "e\u{301}te\u{301}"]),
    ("日本|😀", ["日本語", "a😀"], ["日", "本", "😁"]),
    // The dot and classes.
    ("a.c", ["abc", "a\rc", "aéc", "a😀c"], ["ac", "a\nc", "abbc"]),
    ("^.$", ["é", "😀", "a\n"], ["", "ab", "\n"]),
    ("(?s)a.c", ["a\nc"], ["ac"]),
    ("^[abc]+$", ["cab"], ["abd", ""]),
    ("^[a-c]$", ["a", "b", "c"], ["d", "-", "`"]),
    ("^[^a-c]$", ["d", "-", "\n", "é"], ["a", "b", "c", ""]),
    ("^[]a]+$", ["]a"], ["[", ""]),
    ("^[^]a]$", ["[", "b"], ["]", "a"]),
    ("^[-a]+$", ["-a"], ["b"]),
    ("^[a-]+$", ["-a"], ["b"]),
    ("^[a\\-c]+$", ["a-c"], ["b"]),
    ("^[a-c-e]+$", ["abc-e"], ["d"]),
    ("^[+--]+$", ["+,-"], ["."]),
    ("^[[a]+$", ["[a"], ["b"]),
    ("^[a[]+$", ["[a"], ["]"]),
    ("^[a^]+$", ["a^"], ["b"]),
    ("^[.*+?(){}|$]+$", [".*+?(){}|$"], ["a", "\\"]),
    ("^[\\]\\\\]+$", ["]\\"], ["a"]),
    ("^[а-я]+$", ["привет"], ["Привет", "hello"]),
    ("^[😀-😂]$", ["😀", "😁", "😂"], ["😃"]),
    ("^[\\d.]+$", ["1.5"], ["1,5"]),
    ("^[\\w.-]+$", ["a_b.c-9"], ["a b", "é"]),
    ("^[^\\W\\d]$", ["a", "_"], ["1", " "]),
    ("^[\\b]$", ["\u{8}"], ["b"]),
    ("^[\\n\\x41\\u0042\\x{43}]+$", ["\nABC"], ["D"]),
    ("^[\\s\\S]$", ["a", "\n"], [""]),
    ("[^\\s\\S]", [], ["", "a", "\n"]),
    ("^[[:alpha:]]+$", ["abZ"], ["a1", "é", ":"]),
    ("^[[:^alpha:]]$", ["1", "é"], ["a"]),
    ("^[^[:alpha:]]$", ["1", ":"], ["a"]),
    ("^[[:digit:][:space:]x]+$", ["1 2\u{B}x"], ["y"]),
    ("^[[:upper:]]$", ["A"], ["a"]),
    ("^(?i)[[:upper:]]$", ["A", "a"], ["1", "\u{17F}"]),
    ("^[[:punct:]]+$", ["!/:@[`{~"], ["a", " ", "0"]),
    ("^[[:xdigit:]]+$", ["09afAF"], ["g"]),
    ("^[[:alnum:]_]+$", ["aZ0_"], ["-"]),
    ("^[[:blank:]]+$", [" \t"], ["\n"]),
    ("^[[:cntrl:]]+$", ["\0\u{1F}\u{7F}"], [" "]),
    ("^[[:graph:]]+$", ["!~"], [" ", "\u{7F}"]),
    ("^[[:print:]]+$", [" ~"], ["\t"]),
    ("^[[:lower:]]+$", ["az"], ["A"]),
    ("^[[:word:]]+$", ["a_1"], ["-"]),
    ("^[[:ascii:]]+$", ["\0\u{7F}"], ["é"]),
    ("^[[:]+$", ["[:"], ["a"]),
    ("^[[:a]+$", ["[:a"], ["b"]),
    // Escapes.
    ("^\\d\\D$", ["1a", "1٣"], ["11", "٣a"]),
    ("^\\w\\W$", ["_-", "aé"], ["--", "éa"]),
    ("^\\s\\S$", ["\ta", "\u{C}a", " \u{A0}"], ["aa", "\u{A0}a"]),
    ("^\\t\\n\\r\\f\\v\\a\\e\\0$", ["\t\n\r\u{C}\u{B}\u{7}\u{1B}\0"], ["tnrfvae0"]),
    ("^\\x41\\u00e9\\x{1F600}\\x{E9}$", ["Aé😀é"], ["A"]),
    ("^\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\^\\$\\\\\\/\\-\\ $", [".*+?()[]{}|^$\\/- "], [""]),
    ("^\\Qa.b*\\E+$", ["a.b*", "a.b***"], ["aab", "a.b"]),
    ("\\Q(", ["(", "a("], ["a"]),
    ("\\Qa\\\\E", ["a\\"], ["aE"]),
    ("a\\Eb", ["ab"], ["aEb"]),
    ("^[\\Q^-]\\E]+$", ["^-]"], ["a", "\\"]),
    ("\\é\\_\\#", ["é_#"], ["e"]),
    ("^\\p{Lu}\\p{Ll}+$", ["Été", "Ab"], ["été", "AB"]),
    ("^\\pL\\PL$", ["é1", "日 "], ["11", "éa"]),
    ("^\\p{^L}\\P{^L}$", ["1a"], ["a1", "11"]),
    ("^\\p{L&}\\p{Any}$", ["aa", "ǅ😀"], ["日a"]),
    ("^[\\p{Nd}\\p{Sc}]+$", ["٣€9"], ["Ⅷ"]),
    ("^[^\\P{Lu}]$", ["É"], ["é", "1"]),
    ("^\\p{Latin}\\p{Greek}\\p{Cyrillic}\\p{Han}$", ["éλж語"], ["λéж語", "éλжあ"]),
    ("^\\p{Zs}\\p{P}\\p{S}\\p{N}\\p{M}\\p{C}$", ["\u{A0}«+½\u{301}\u{AD}"], ["a«+½\u{301}\u{AD}"]),
    // Assertions.
    ("^a", ["ab"], ["ba", "b\na"]),
    ("a$", ["ba", "ba\n"], ["ab", "a\n\n", "a\nb"]),
    ("^$", ["", "\n"], ["a", "\n\n"]),
    ("(?m)^a$", ["a", "b\na\nb", "b\na"], ["ab", "ba"]),
    ("(?m)^$", ["", "a\n\nb", "\n"], ["a", "a\n"]),
    ("(?m)b$\\n^c", ["ab\ncd"], ["abcd", "b c"]),
    ("\\Aa", ["ab"], ["ba", "b\na"]),
    ("(?m)\\Aa", ["ab"], ["b\na"]),
    ("a\\Z", ["a", "a\n"], ["a\n\n", "ab"]),
    ("(?m)a\\Z", ["b\na\n"], ["a\nb"]),
    ("a\\z", ["a", "ba"], ["a\n", "ab"]),
    ("a\\Z\\n\\z", ["a\n"], ["a"]),
    ("\\bcat\\b", ["cat", "a cat!", "écat"], ["concat", "cats", "_cat"]),
    ("\\Bcat", ["concat"], ["cat", "a cat"]),
    ("^\\B$", ["", "\n"], ["a"]),
    ("\\b", ["a", "-a"], ["", "-", "é"]),
    ("a\\b\\B", [], ["a", "ab", "a b"]),
    ("a^b", [], ["ab", "a\nb"]),
    ("a$b", [], ["ab", "a\nb"]),
    ("(^a|b)c", ["ac", "xbc"], ["xac"]),
    ("(a$|b)", ["xa", "bx"], ["ax"]),
    ("(?:^|,)x(?:,|$)", ["x", "a,x", "x,b", "a,x,b"], ["ax", "a,xx"]),
    ("^*a", ["ba"], ["b"]),
    ("a?^b", ["b"], ["ab", "cb"]),
    // Quantifiers.
    ("^ab*c$", ["ac", "abc", "abbbc"], ["abb", "adc"]),
    ("^ab+c$", ["abc", "abbc"], ["ac"]),
    ("^ab?c$", ["ac", "abc"], ["abbc"]),
    ("^a{3}$", ["aaa"], ["aa", "aaaa"]),
    ("^a{2,}$", ["aa", "aaaaa"], ["a", ""]),
    ("^a{2,3}$", ["aa", "aaa"], ["a", "aaaa"]),
    ("^a{0}b$", ["b"], ["ab"]),
    ("^a{0,1}b$", ["b", "ab"], ["aab"]),
    ("^a{0,}$", ["", "aa"], ["b"]),
    ("^a{1}{$", ["a{"], ["a"]),
    ("^(ab){2}$", ["abab"], ["ab", "aabb"]),
    ("^(a|bc){2,3}$", ["abc", "bcbca"], ["a", "bcb"]),
    ("^(?:a?){3}a{3}$", ["aaa", "aaaaaa"], ["aa", "aaaaaaa"]),
    ("^a*?b+?c??d{1,2}?$", ["bd", "aabbcdd"], ["ad", "bddd"]),
    ("^(a*)*$", ["", "aaa"], ["b"]),
    ("^(a*)+b$", ["b", "aab"], ["a"]),
    ("^(a|b*)*c$", ["c", "abbac"], ["d"]),
    ("^(?:){1000}a$", ["a"], ["b"]),
    ("^((a{2}){2}){2}$", ["aaaaaaaa"], ["aaaaaaa"]),
    ("^(\\d{1,3}\\.){3}\\d{1,3}$", ["192.168.0.1"], ["1.2.3", "1.2.3.4444"]),
    ("^[\\w.+\\-]+@\\w+\\.\\w{2,}$", ["a.b+c@example.org"], ["a@b", "@b.cd"]),
    // Options.
    ("(?i)abc", ["ABC", "aBc"], ["ab"]),
    ("a(?i)b", ["ab", "aB"], ["AB"]),
    ("a(?i)b|c", ["aB", "C"], ["A"]),
    ("(a(?i)b)c", ["aBc"], ["aBC", "ABc"]),
    ("(?i:a)b", ["Ab"], ["AB"]),
    ("(?i)a(?-i)b", ["Ab"], ["AB"]),
    ("(?i)a(?-i:b)c", ["AbC"], ["ABC"]),
    ("(?i-s:a.)b", ["A.b"], ["A.B", "a\nb"]),
    ("(?ims)^a.b$", ["x\nA\nB\nx"], ["xa.b"]),
    ("(?i)[a-c]", ["B"], ["D"]),
    ("(?i)^[^a-c]$", ["D", "d"], ["B", "b"]),
    ("(?i)^k$", ["K", "k", "\u{212A}"], ["q"]),
    ("(?i)^σ$", ["Σ", "ς", "σ"], ["s"]),
    ("(?i)^straße$", ["STRAẞE", "straße"], ["STRASSE"]),
    ("(?i)^été$", ["ÉTÉ", "Été"], ["ETE"]),
    ("(?i)^[а-я]+$", ["ПРИВЕТ"], ["HELLO"]),
    ("(?i)^\\x41\\p{Lu}$", ["ab", "AB"], ["a1"]),
    ("(?i)^[ı]$", ["ı"], ["i", "I"]),
    ("(?x) a b # comment\n c", ["abc"], ["a b c"]),
    ("(?x)a +b", ["aab"], ["a b"]),
    ("(?x)a\\ b[ ]c\\#", ["a b c#"], ["abc#"]),
    ("(?x: a b )c d", ["abc d"], ["abcd"]),
    ("(?x)a{2} \\Q b\\E", ["aa b"], ["aab"]),
  ]

  @Test func `each construct is found where it should be`() throws {
    #expect(Self.cases.reduce(0) { $0 + $1.found.count + $1.notFound.count } >= 300)
    for (pattern, found, notFound) in Self.cases {
      for stateLimit in [1, 1000] {
        let expression = try RegularExpression(pattern, stateLimit: stateLimit)
        for text in found where !Self.isFound(expression, in: text) {
          Issue.record("\(pattern) is not found in \(text.debugDescription).")
        }
        for text in notFound where Self.isFound(expression, in: text) {
          Issue.record("\(pattern) is found in \(text.debugDescription).")
        }
      }
    }
  }

  @Test func `options apply to the whole pattern`() throws {
    #expect(Self.isFound(try RegularExpression("^abc", .ignoringCase), in: "ABC"))
    #expect(Self.isFound(try RegularExpression("^b", .multiline), in: "a\nb"))
    #expect(Self.isFound(try RegularExpression("a.b", .dotMatchesNewlines), in: "a\nb"))
    #expect(Self.isFound(try RegularExpression("a b#c", .extended), in: "ab"))
    #expect(!Self.isFound(try RegularExpression("(?-i)abc", .ignoringCase), in: "ABC"))
  }

  @Test func `expressions are equal if their patterns have the same bytes, and their options`()
    throws
  {
    #expect(try RegularExpression("é") == RegularExpression("é"))
    #expect(try RegularExpression("é") != RegularExpression("e\u{301}"))
    #expect(try RegularExpression("a") != RegularExpression("a", .ignoringCase))
    #expect(try Set([RegularExpression("a"), RegularExpression("a")]).count == 1)
  }

  // MARK: Rejected patterns

  /// Pattern, position and problem.
  static let rejected: [(pattern: String, position: Int, problem: String)] = [
    ("a(?=b)", 1, "Lookahead cannot be matched in linear time. Remove it."),
    ("(?!b)", 0, "Lookahead cannot be matched in linear time. Remove it."),
    ("é(?<=b)", 1, "Lookbehind cannot be matched in linear time. Remove it."),
    ("(?<!b)", 0, "Lookbehind cannot be matched in linear time. Remove it."),
    ("(?>a)", 0, "An atomic group cannot be matched in linear time. Remove it."),
    ("(a)\\1", 3, "A backreference cannot be matched in linear time. Remove it."),
    ("\\k<n>", 0, "A backreference cannot be matched in linear time. Remove it."),
    ("\\g{1}", 0, "A backreference cannot be matched in linear time. Remove it."),
    ("(?P=n)", 0, "A backreference cannot be matched in linear time. Remove it."),
    ("(?P>n)", 0, "Recursion cannot be matched in linear time. Remove it."),
    ("(?R)", 0, "Recursion cannot be matched in linear time. Remove it."),
    ("(?1)", 0, "Recursion cannot be matched in linear time. Remove it."),
    ("(?(1)a|b)", 0, "A conditional group cannot be matched in linear time. Remove it."),
    ("a*+", 1, "A possessive quantifier cannot be matched in linear time."),
    ("a++", 1, "A possessive quantifier cannot be matched in linear time."),
    ("a{2}+", 1, "A possessive quantifier cannot be matched in linear time."),
    ("(*FAIL)", 0, "Verbs such as (*FAIL) are not supported."),
    ("*a", 0, "The quantifier has nothing to repeat. Write \"\\*\" for the character."),
    ("a**", 2, "The quantifier has nothing to repeat."),
    ("a|*", 2, "The quantifier has nothing to repeat."),
    ("(+)", 1, "The quantifier has nothing to repeat. Write \"\\+\" for the character."),
    ("{2}", 0, "The quantifier has nothing to repeat. Write \"\\{\" for the character."),
    ("a(?i)?", 5, "The quantifier has nothing to repeat."),
    ("(?x)a+ ?", 7, "The quantifier has nothing to repeat."),
    ("a{3,2}", 1, "The minimum is greater than the maximum. Exchange them."),
    ("a{1001}", 1, "A quantifier repeats at most 1000 times."),
    ("a{99999999999999999999}", 1, "A quantifier repeats at most 1000 times."),
    ("a{,3}", 1, "The quantifier has no minimum. Write {0,n}."),
    ("(a{1000}){1000}", 9, "The program has more than 10000 instructions."),
    ("((((){1000}a){1000}){1000}){1000}", 20, "The program has more than 10000 instructions."),
    ("(a", 0, "The group is not closed. Add \")\", or write \"\\(\" for the character."),
    ("((a)", 0, "The group is not closed."),
    ("a)", 1, "No group is open. Remove \")\", or write \"\\)\" for the character."),
    ("(?", 0, "The group is not closed."),
    ("(?i", 0, "The group is not closed."),
    ("(?<n", 0, "The group is not closed."),
    ("(?q)", 0, "The group is not known. The options are i, m, s and x"),
    ("(?|a)", 0, "The group is not known."),
    ("(?Px)", 0, "The group is not known."),
    ("(?<1n>a)", 0, "\"1n\" is not a group name."),
    ("(?<>a)", 0, "\"\" is not a group name."),
    ("(?<n>a)(?<n>b)", 7, "Two groups are named \"n\". Rename one."),
    ("a(?#b", 1, "The comment is not closed. Add \")\"."),
    ("a[b", 1, "The character class is not closed. Add \"]\", or write \"\\[\" for the character."),
    ("[]", 0, "The character class is not closed."),
    ("[^]", 0, "The character class is not closed."),
    ("[a\\]", 0, "The character class is not closed."),
    ("[z-a]", 1, "The range z-a is empty. Exchange its ends."),
    ("[\\w-.]", 1, "A class cannot be an end of a range. Write \"\\-\" for a hyphen."),
    ("[a-\\d]", 1, "A class cannot be an end of a range."),
    ("[[:alpha:]-z]", 1, "A class cannot be an end of a range."),
    ("[[:letter:]]", 1, "There is no class \"letter\". The POSIX classes are alnum, alpha,"),
    ("[[.a.]]", 1, "There is no class \"a\"."),
    ("[:alpha:]", 0, "A POSIX class is written inside a character class, as in [[:alpha:]]."),
    ("[\\B]", 1, "The escape \\B is not supported in a character class."),
    ("[\\1]", 1, "Octal escapes are not supported. Write \\x{...}."),
    ("\\012", 0, "Octal escapes are not supported."),
    ("\\R", 0, "The escape \\R is not supported."),
    ("a\\", 1, "The pattern ends with a backslash. Write \"\\\\\" for the character."),
    ("\\x4", 0, "The code point is not complete."),
    ("\\x{}", 0, "The code point is not complete."),
    ("\\x{1234567}", 0, "The code point is not complete."),
    ("\\u12", 0, "The code point is not complete."),
    ("\\x{110000}", 0, "The code point is not a Unicode scalar."),
    ("\\uD83D\\uDE00", 0, "The code point is not a Unicode scalar."),
    ("\\p{Lx}", 0, "There is no property \"Lx\". Use a general category such as L, Lu or Nd"),
    ("\\p{Thai}", 0, "There is no property \"Thai\"."),
    ("\\p", 0, "There is no property \"\"."),
    ("\\p{}", 0, "There is no property \"\"."),
    ("\\p{L", 0, "The property is not closed. Add \"}\"."),
  ]

  @Test func `a pattern that is malformed or not linear is rejected with its position`() {
    for (pattern, position, problem) in Self.rejected {
      let start = "The regular expression is invalid at position \(position): \(problem)"
      let message = Self.message(pattern)
      #expect(message?.hasPrefix(start) == true, "\(pattern): \(message ?? "accepted")")
    }
  }

  @Test func `a pattern that is too large is rejected, and the largest is not`() throws {
    #expect(Self.message(String(repeating: "a", count: 4096)) == nil)
    #expect(
      Self.message(String(repeating: "é", count: 2049))
        == "The regular expression is longer than 4096 bytes. Shorten it.")
    func nested(_ depth: Int) -> String {
      String(repeating: "(", count: depth) + "a" + String(repeating: ")*", count: depth)
    }
    #expect(Self.isFound(try RegularExpression("^" + nested(250) + "$"), in: "aaa"))
    #expect(Self.message(nested(251))?.contains("at most 250 levels") == true)
    #expect(Self.message("(?:abcdefghi){1000}") == nil)
    #expect(Self.message("(?:abcdefghij){1000}")?.contains("10000 instructions") == true)
  }

  // MARK: Literals

  @Test(arguments: [
    ("^abc", "abc", "abc"), ("^abc.*", "abc", "abc"), ("\\Aab+c", "ab", "ab"),
    ("^ab{2}c$", "abbc", "abbc"), ("^a(?:bc|bd)e", "ab", "ab"), ("^(abc|abd)", "ab", "ab"),
    ("(^abc)d", "abcd", "abcd"), ("^abc|^abd", "ab", "ab"), ("^[a]b", "ab", "ab"),
    ("(?i)^12", "12", "12"), ("^été", "été", "été"), ("^(?:é|è)", nil, nil),
    ("^a?b", nil, "b"), ("^", nil, nil), ("^.a", nil, "a"), ("(?m)^abc", nil, "abc"),
    ("(?i)^abc", nil, nil), ("abc", nil, "abc"), ("(?:^|x)abc", nil, "abc"),
    ("^abc|d", nil, nil), ("a.*bcd.e", nil, "bcd"), ("a(bc)+d", nil, "abc"),
    ("x(?:ab|cd)yz", nil, "yz"), ("a*", nil, nil), ("(ab|cd)", nil, nil), ("ab{0}c", nil, "ac"),
    ("a\\bb", nil, "ab"), ("\\x{FFFD}a", nil, "a"), ("", nil, nil), ("^(?:)a", "a", "a"),
  ])
  func `literals are known`(pattern: String, prefix: String?, literal: String?) throws {
    let expression = try RegularExpression(pattern)
    #expect(expression.anchoredPrefix == prefix)
    #expect(expression.requiredLiteral == literal)
  }

  // MARK: Laws

  @Test(arguments: [1, 2, 5, 1000])
  func `a random pattern is found where its definition says`(stateLimit: Int) async throws {
    let seed = UInt64(stateLimit)
    var random = SeededGenerator(seed: seed)
    var foundCount = 0
    for _ in 0..<500 {
      await Task.yield()
      let pattern = ReferencePattern.random(&random, depth: 4)
      var matcher = ReferenceMatcher(text: [])
      matcher.ignoringCase = random.one(in: 3)
      matcher.isMultiline = random.one(in: 3)
      matcher.dotMatchesNewlines = random.one(in: 3)
      var options: RegularExpression.Options = []
      if matcher.ignoringCase { options.insert(.ignoringCase) }
      if matcher.isMultiline { options.insert(.multiline) }
      if matcher.dotMatchesNewlines { options.insert(.dotMatchesNewlines) }
      let expression = try RegularExpression(
        pattern.pattern, options, stateLimit: stateLimit)
      for _ in 0..<8 {
        matcher.text = (0..<random.below(8)).map { _ in random.pick(ReferencePattern.alphabet) }
        let text = String(String.UnicodeScalarView(matcher.text))
        let expected = matcher.isFound(pattern)
        if Self.isFound(expression, in: text) != expected {
          Issue.record(
            """
            \(pattern.pattern), options \(expression.options.rawValue), in \
            \(text.debugDescription): \(expected) is right. Seed \(seed).
            """)
        }
        guard expected else { continue }
        foundCount += 1
        #expect(text.utf8.starts(with: (expression.anchoredPrefix ?? "").utf8))
        #expect(Self.hasLiteral(of: expression, text), "\(pattern.pattern) in \(text)")
      }
    }
    #expect((800..<3200).contains(foundCount))
  }

  @Test func `ICU finds random patterns in the same texts`() async throws {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<500 {
      await Task.yield()
      let pattern = ReferencePattern.random(&random, depth: 3).pattern
      var options: NSRegularExpression.Options = .useUnixLineSeparators
      let isMultiline = random.one(in: 3)
      if isMultiline { options.insert(.anchorsMatchLines) }
      let peer = try NSRegularExpression(pattern: pattern, options: options)
      let expression = try RegularExpression(pattern, isMultiline ? .multiline : [])
      for _ in 0..<4 {
        let text = String(
          String.UnicodeScalarView(
            (0..<random.below(8)).map { _ in
              // ICU's word characters are Unicode's.
              random.pick(ReferencePattern.alphabet.filter(\.isASCII))
            }))
        let range = NSRange(location: 0, length: text.utf16.count)
        let expected = peer.firstMatch(in: text, range: range) != nil
        if Self.isFound(expression, in: text) != expected {
          Issue.record("\(pattern) in \(text.debugDescription): ICU says \(expected).")
        }
      }
    }
  }

  @Test func `case variants are found in all of Unicode`() throws {
    let scalars = (0...UInt32(0x10FFFF)).compactMap(Unicode.Scalar.init)
    let variants = Dictionary(grouping: scalars, by: RegularExpression.ScalarSet.folded)
    for (_, group) in variants where group.count > 1 {
      let expected = RegularExpression.ScalarSet(group.map { $0.value...$0.value })
      for scalar in group {
        #expect(RegularExpression.ScalarSet(scalar).ignoringCase == expected, "\(scalar)")
      }
    }
    let others = RegularExpression.ScalarSet(
      variants.values.filter { $0.count == 1 }.map { $0[0].value...$0[0].value })
    #expect(others.ignoringCase == others)
  }

  // MARK: Bytes

  @Test(arguments: [
    ([0xFF], 1), ([0xC3], 1), ([0xC3, 0x28], 1), ([0xE2, 0x82], 2), ([0xE2, 0x82, 0x41], 2),
    ([0xC0, 0x80], 2), ([0xE0, 0x80, 0x80], 3), ([0xED, 0xA0, 0x80], 3), ([0x80], 1),
    ([0xF0, 0x80, 0x80, 0x80], 4), ([0xF4, 0x90, 0x80, 0x80], 4), ([0xF5, 0x80], 2),
    ([0xF0, 0x9F, 0x98], 3), ([0xE2, 0xC3, 0xA9], 1), ([0xEF, 0xBF, 0xBD], 1),
  ])
  func `each byte that is not UTF-8 is a replacement character`(bytes: [UInt8], count: Int) throws {
    let expression = try RegularExpression("^a\\x{FFFD}{\(count)}[(Aé]?b$")
    #expect(Self.isFound(expression, in: [0x61] + bytes + [0x62]))
    let atEnd = try RegularExpression("^\\x{FFFD}{\(count)}[(Aé]?$")
    #expect(Self.isFound(atEnd, in: bytes))
  }

  @Test func `no bytes trap, and the cache of states changes no result`() throws {
    var random = SeededGenerator(seed: 5)
    let patterns = Self.cases.map(\.pattern).filter { _ in random.one(in: 3) }
    for pattern in patterns {
      let small = try RegularExpression(pattern, stateLimit: 1)
      let large = try RegularExpression(pattern)
      for _ in 0..<200 {
        let bytes = (0..<random.below(24)).map { _ in
          random.one(in: 2) ? UInt8(random.below(256)) : random.pick(Array("abc\n é1😀".utf8))
        }
        #expect(
          Self.isFound(small, in: bytes) == Self.isFound(large, in: bytes),
          "\(pattern) in \(bytes)")
      }
    }
    #expect(try RegularExpression("^$").isFound(in: UnsafeRawBufferPointer(start: nil, count: 0)))
  }

  @Test func `no pattern traps`() async {
    var random = SeededGenerator(seed: 23)
    let pieces =
      Array("ab1(){}[]|*+?.^$\\-,:<>=!PpQExuidDwWsSbBAzZkL&#'\nm é\u{FFFD}😀")
      .map(String.init) + ["(?", "(?<n>", "[[:", ":]]", "\\p{", "\\x{", "{2,", "[^", "(?i)", "\\Q"]
    var accepted = 0
    for _ in 0..<4000 {
      await Task.yield()
      let pattern = (0..<random.below(14)).map { _ in random.pick(pieces) }.joined()
      guard let expression = try? RegularExpression(pattern, stateLimit: 8) else { continue }
      accepted += 1
      for text in ["", "ab1", "aé\n", pattern] {
        guard Self.isFound(expression, in: text) else { continue }
        #expect(Self.hasLiteral(of: expression, text), "\(pattern) in \(text)")
      }
    }
    #expect(accepted > 1000)
  }

  // MARK: Time

  /// A few searches with a new expression.
  private func search(_ pattern: String, _ text: [UInt8]) throws {
    let expression = try RegularExpression(pattern)
    try text.withUnsafeBytes { bytes in
      for _ in 0..<3 { _ = try expression.isFound(in: bytes) }
    }
  }

  @Test(arguments: [
    ("(a*)*b", "a"), ("(a|aa)+$", "ab"), ("(x+x+)+y", "x"), ("(?:a|b)*a(?:a|b){14}c", "ab"),
    ("(.*)(.*)(.*)(.*)z", "ab"), ("^(a?){50}a{50}$", "a"), ("((a*)*)*\\b\\Bb", "a"),
  ])
  func `ten times the text takes ten times the time`(pattern: String, unit: String) throws {
    func text(_ count: Int) -> [UInt8] {
      var random = SeededGenerator(seed: 1)
      return (0..<count).map { _ in random.pick(Array(unit.utf8)) }
    }
    let (short, long) = (text(4000), text(40_000))
    let exponent = try ProcessorTime.exponent(
      of: { try search(pattern, long) }, to: { try search(pattern, short) }, factor: 10)
    #expect(exponent < 1.5, "\(pattern)")
  }

  /// `y{500}z|(y{1,300}y{1,300})z` has a state for each number of characters and more of them than are
  /// kept.
  private static let costly = "y{500}z|(y{1,300}y{1,300})z"

  @Test func `a text with too many steps is an error`() throws {
    let text = [UInt8](repeating: UInt8(ascii: "y"), count: 1_000_000)
    let start = ProcessorTime.ofThread
    let error = #expect(throws: RegularExpression.Failure.self) {
      let expression = try RegularExpression(Self.costly)
      _ = try text.withUnsafeBytes { try expression.isFound(in: $0) }
    }
    #expect(error?.message?.contains("more than 16777216 steps in a text of 1000000 bytes") == true)
    // A minute without the limit, if built for speed.
    #expect(ProcessorTime.ofThread - start < .seconds(60))
  }

  @Test func `whether a text has too many steps does not depend on the texts before`() throws {
    var random = SeededGenerator(seed: 9)
    let pattern = "(?:a|b)*a(?:a|b){9}c"
    /// So many letters that the rest costs more than the limit without a table of states.
    let long = (0..<400_000).map { _ in random.pick(Array("ab".utf8)) }
    let few = Array(String(repeating: "a", count: 400_000).utf8)
    func outcome(_ expression: RegularExpression, _ text: [UInt8]) -> Bool? {
      try? text.withUnsafeBytes { try expression.isFound(in: $0) }
    }
    let fresh = try RegularExpression(pattern, stateLimit: 100)
    #expect(outcome(fresh, few) == false)
    let used = try RegularExpression(pattern, stateLimit: 100)
    // Fills the table, so that `few` finds no state of its own.
    _ = outcome(used, Array(long.prefix(2000)))
    #expect(outcome(used, few) == false)
    #expect(outcome(used, long) == outcome(try RegularExpression(pattern, stateLimit: 100), long))
    #expect(outcome(used, Array("aaaaaaaaaac".utf8)) == true)
  }

  private struct Deadline: SearchDeadline {
    let hasPassed: Bool
    var longestText = Int.max

    func isTooSoon(for byteCount: Int) -> Bool { byteCount > longestText }
  }

  @Test func `a search ends when its deadline passes`() throws {
    let text = [UInt8](repeating: UInt8(ascii: "y"), count: 20_000)
    let expression = try RegularExpression(Self.costly)
    func error(_ deadline: Deadline, _ text: [UInt8]) -> RegularExpression.Failure? {
      do {
        try text.withUnsafeBytes { _ = try expression.isFound(in: $0, until: deadline) }
        return nil
      } catch {
        return error as? RegularExpression.Failure
      }
    }
    #expect(error(Deadline(hasPassed: true), text) == .interrupted)
    #expect(error(Deadline(hasPassed: false), Array("y".utf8)) == nil)
    // A long text is not begun.
    let short = Deadline(hasPassed: false, longestText: 100)
    #expect(error(short, [UInt8](repeating: 0, count: 101)) == .interrupted)
    #expect(error(short, [UInt8](repeating: 0, count: 100)) == nil)
  }

  @Test func `many threads find the same`() async throws {
    let pattern = "(?:a|b)*a(?:a|b){6}c|\\bé+$"
    let expression = try RegularExpression(pattern, stateLimit: 50)
    let results = await withTaskGroup(of: [Bool].self) { group in
      for _ in 0..<8 {
        group.addTask {
          var random = SeededGenerator(seed: 3)
          return (0..<500).map { _ in
            let text = (0..<40).map { _ in random.pick(["a", "b", "a", "b", "c", "é"]) }.joined()
            return Self.isFound(expression, in: text)
          }
        }
      }
      return await group.reduce(into: [[Bool]]()) { $0.append($1) }
    }
    #expect(Set(results).count == 1 && results[0].contains(true) && results[0].contains(false))
  }
}

extension RegularExpression.Failure {
  /// Nil if the search was interrupted.
  fileprivate var message: String? { if case .invalid(let message) = self { message } else { nil } }
}
