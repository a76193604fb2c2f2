/// A regular expression that is found in a text, or is not, in time linear in the text.
///
/// A pattern with long repetitions may have too many states to keep: then each scalar of a text takes
/// as many steps as the program has instructions. A text ends such a search with an error after
/// `Limit.steps`, so that nobody's pattern occupies a thread for longer.
///
///     pattern ──Parser──▶ Fragment ──▶ Program ──▶ Automaton ◀── scalars of a text
///                                      (an NFA)    (a DFA, built while it reads)
///
/// The syntax is the subset of PCRE's that can be matched in linear time:
///
///     .  [a-z]  [^a-z]  [[:alpha:]]        classes
///     \d \D  \w \W  \s \S                  ASCII only, as in RE2: \s is [\t\n\f\r ]
///     \p{Lu}  \pL  \P{L}  \p{^L}           general categories; Latin, Greek, Cyrillic and Han
///     ^ $  \A \Z \z  \b \B                 $ and \Z also match before a newline at the text's end
///     a|b  (a)  (?:a)  (?<name>a)          groups capture nothing
///     *  +  ?  {2}  {2,}  {2,5}            and *? etc., which are found in the same texts
///     (?i)  (?i-s)  (?i:a)  (?#comment)    options i, m, s and x
///     \t \n \r \f \v \a \e  \0  \x41  \x{1F600}  \u0041  \Q...\E
///
/// Only "\n" is a newline. A text is a sequence of Unicode scalars: "é" composed and decomposed are
/// different. Case is ignored by simple case folding: "ß" matches "ẞ", but not "ss". Escapes of
/// classes such as `\w` are not folded.
package struct RegularExpression: Hashable, Sendable {
  /// The maximum of each size.
  enum Limit {
    static let patternBytes = 4096
    static let nesting = 250
    static let repetitions = 1000
    static let instructions = 10_000
    /// The instructions that a search in one text may reach without a table of states: up to a few
    /// tenths of a second.
    static let steps = 1 << 24
  }

  struct Options: OptionSet, Hashable, Sendable {
    var rawValue: UInt8
    static let ignoringCase = Options(rawValue: 1)
    static let multiline = Options(rawValue: 2)
    static let dotMatchesNewlines = Options(rawValue: 4)
    static let extended = Options(rawValue: 8)
    static let byLetter: [Character: Options] = [
      "i": .ignoringCase, "m": .multiline, "s": .dotMatchesNewlines, "x": .extended,
    ]
  }

  package let pattern: String
  let options: Options
  /// The text with which every match begins, if a match can only begin at the text's beginning.
  ///
  /// Nil if that is not known, or if there is no such text: `abc`, `(?i)^abc`, `(?m)^abc`, `^.`.
  package let anchoredPrefix: String?
  /// A part of every text in which the pattern is found, if one is known.
  let requiredLiteral: String?

  /// Rejects texts without the required literal.
  private let literalSearch: LiteralSearch?
  /// The pattern is found in every text that has the required literal.
  private let isLiteral: Bool
  private let automaton: Automaton

  /// - Parameters:
  ///   - options: The options that the pattern begins with.
  ///   - stateLimit: How many states of the deterministic automaton are kept, at most.
  /// - Throws: `Failure.invalid` if the pattern is malformed, too large or not supported. The
  ///   position in the message is the number of Unicode scalars before the error.
  init(
    _ pattern: String, _ options: Options = [], stateLimit: Int = 1000
  ) throws(Failure) {
    self.pattern = pattern
    self.options = options

    var parser = try Parser(pattern, options)
    let fragment = try parser.parse()
    anchoredPrefix =
      fragment.isAnchored && !fragment.prefix.isEmpty ? String(fragment.prefix) : nil
    let literal = fragment.longestLiteral
    requiredLiteral = literal.isEmpty ? nil : String(literal)
    // The automaton rejects at the first scalar that differs from an anchored prefix.
    literalSearch = fragment.isAnchored ? nil : requiredLiteral.map(LiteralSearch.init)
    isLiteral = fragment.isExact && !fragment.code.contains { $0.kind == .assertion }
    automaton = Automaton(Program(fragment, parser.sets), stateLimit: stateLimit)
  }

  /// Whether the pattern is found anywhere in the text.
  ///
  /// The result, or the error, depends on nothing but the pattern and the text: with the same text it
  /// is the same in a query, in a listener, and in every store.
  ///
  /// - Parameters:
  ///   - text: UTF-8. Each byte that is not part of a valid sequence is read as U+FFFD.
  ///   - deadline: When the search may end without a result.
  /// - Throws: `Failure.invalid` for a text that takes more than `Limit.steps`, and
  ///   `Failure.interrupted` after the deadline.
  package func isFound(
    in text: UnsafeRawBufferPointer, until deadline: (any SearchDeadline)? = nil
  ) throws(Failure) -> Bool {
    if deadline?.isTooSoon(for: text.count) == true { throw .interrupted }
    if let literalSearch {
      guard literalSearch.isFound(in: text) else { return false }
      if isLiteral { return true }
    }
    if let isFound = try automaton.isFound(in: text, until: deadline) { return isFound }
    // Searches as if the text was the first. The states of other texts may have left no space for those
    // of this one, which would make the error depend on them.
    if let isFound = try automaton.withoutStates().isFound(in: text, until: deadline) {
      return isFound
    }
    throw .invalid(
      "The regular expression takes more than \(Limit.steps) steps in a text of \(text.count) "
        + "bytes. Use fewer or shorter repetitions.")
  }

  /// Patterns are compared by their bytes, as strings are elsewhere.
  package static func == (lhs: RegularExpression, rhs: RegularExpression) -> Bool {
    lhs.options == rhs.options && lhs.pattern.utf8.elementsEqual(rhs.pattern.utf8)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(pattern)
    hasher.combine(options)
  }
}

extension RegularExpression {
  /// The reason why a pattern makes no expression, or why a search has no result.
  package enum Failure: Error, Equatable {
    /// The pattern is malformed, too large or not supported, or takes too many steps. A sentence says how to
    /// change it.
    case invalid(String)
    /// The deadline passed before the search had a result.
    case interrupted
  }

  /// - Parameter options: Letters: `i` ignores case, `m` lets `^` and `$` match at lines, `s` lets `.`
  ///   match newlines, `x` ignores white space and comments in the pattern.
  package init(_ pattern: String, options letters: String) throws(Failure) {
    var options: Options = []
    for letter in letters {
      guard let option = Options.byLetter[letter] else {
        throw .invalid("'\(letter)' is no option of a regular expression. Use i, m, s or x.")
      }
      options.formUnion(option)
    }
    try self.init(pattern, options)
  }
}

/// When the result of a search is not wanted any more.
package protocol SearchDeadline: Sendable {
  var hasPassed: Bool { get }

  /// Whether a search that may look at so many bytes is not to begin.
  func isTooSoon(for byteCount: Int) -> Bool
}

extension String {
  fileprivate init(_ scalars: [Unicode.Scalar]) {
    self.init(String.UnicodeScalarView(scalars))
  }
}
