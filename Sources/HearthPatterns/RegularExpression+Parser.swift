internal import HearthText

extension RegularExpression {
  /// Translates a pattern into code, in one pass. Open groups are on a list, not on the call stack.
  struct Parser {
    private struct Group {
      /// Where the group begins in the pattern.
      var position: Int
      /// The options outside of the group.
      var outerOptions: Options
      /// The alternatives before the last `|`.
      var alternatives: [Fragment] = []
      var sequence = Fragment()
      /// The end of the sequence, to which a quantifier applies.
      var last: Fragment?

      mutating func endLast() {
        if let last { sequence.append(last) }
        last = nil
      }

      mutating func endAlternative() {
        endLast()
        alternatives.append(sequence)
        sequence = Fragment()
      }
    }

    private enum Escape {
      case scalar(Unicode.Scalar)
      case set(ScalarSet)
      case assertion(Assertion)
    }

    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var options: Options
    /// Between `\Q` and `\E`.
    private var isQuoting = false
    /// The open groups. The first is the entire pattern.
    private var groups: [Group]
    private var groupNames: Set<String> = []
    private(set) var sets: [ScalarSet] = []
    private var setIndexes: [ScalarSet: Int] = [:]

    init(_ pattern: String, _ options: Options) throws(Failure) {
      guard pattern.utf8.count <= Limit.patternBytes else {
        throw .invalid(
          "The regular expression is longer than \(Limit.patternBytes) bytes. Shorten it.")
      }
      scalars = Array(pattern.unicodeScalars)
      self.options = options
      groups = [Group(position: 0, outerOptions: options)]
    }

    mutating func parse() throws(Failure) -> Fragment {
      while position < scalars.count {
        let start = position
        if skipQuoteMark() || skipExtendedSpace() { continue }
        position += 1
        if isQuoting {
          try append(literal: scalars[start], at: start)
        } else {
          try parse(scalars[start], at: start)
        }
      }
      guard groups.count == 1 else {
        throw failure(
          "The group is not closed. Add \")\", or write \"\\(\" for the character.",
          at: innermost.position)
      }
      return try endGroup(at: 0)
    }

    private mutating func parse(_ scalar: Unicode.Scalar, at start: Int) throws(Failure) {
      switch scalar {
      case "(": try beginGroup(at: start)
      case ")":
        guard groups.count > 1 else {
          throw failure(
            "No group is open. Remove \")\", or write \"\\)\" for the character.", at: start)
        }
        let fragment = try endGroup(at: start)
        options = groups.removeLast().outerOptions
        try append(fragment, at: start)
      case "|": innermost.endAlternative()
      case "*": try repeatLast(0, nil, at: start)
      case "+": try repeatLast(1, nil, at: start)
      case "?": try repeatLast(0, 1, at: start)
      case "{":
        if let (minimum, maximum) = try counts(at: start) {
          try repeatLast(minimum, maximum, at: start)
        } else {
          try append(literal: scalar, at: start)
        }
      case "[": try append(set: characterClass(at: start), at: start)
      case ".":
        let all = options.contains(.dotMatchesNewlines)
        try append(set: all ? .all : ScalarSet.newline.inverted, at: start)
      case "^":
        let assertion: Assertion = options.contains(.multiline) ? .lineStart : .textStart
        try append(Fragment(assertion), at: start)
      case "$":
        let isMultiline = options.contains(.multiline)
        try append(Fragment(isMultiline ? .lineEnd : .textEndOrFinalNewline), at: start)
      case "\\":
        switch try escape(at: start, inClass: false) {
        case .scalar(let scalar): try append(literal: scalar, at: start)
        case .set(let set): try append(set: set, at: start)
        case .assertion(let assertion): try append(Fragment(assertion), at: start)
        }
      default: try append(literal: scalar, at: start)
      }
    }

    // MARK: Code

    private var innermost: Group {
      get { groups[groups.count - 1] }
      _modify { yield &groups[groups.count - 1] }
    }

    private mutating func append(_ fragment: Fragment, at start: Int) throws(Failure) {
      innermost.endLast()
      try checkSize(innermost.sequence.code.count + fragment.code.count, at: start)
      innermost.last = fragment
    }

    private mutating func append(set: ScalarSet, at start: Int) throws(Failure) {
      if let index = setIndexes[set] { return try append(Fragment(index, of: set), at: start) }
      setIndexes[set] = sets.count
      sets.append(set)
      try append(Fragment(sets.count - 1, of: set), at: start)
    }

    private mutating func append(literal: Unicode.Scalar, at start: Int) throws(Failure) {
      try append(set: foldedIfNeeded(ScalarSet(literal)), at: start)
    }

    private func foldedIfNeeded(_ set: ScalarSet) -> ScalarSet {
      options.contains(.ignoringCase) ? set.ignoringCase : set
    }

    private mutating func endGroup(at start: Int) throws(Failure) -> Fragment {
      innermost.endAlternative()
      let fragment = Fragment(anyOf: innermost.alternatives)
      try checkSize(fragment.code.count, at: start)
      return fragment
    }

    private func checkSize(_ count: Int, at start: Int) throws(Failure) {
      guard count > Limit.instructions else { return }
      throw failure(
        "The program has more than \(Limit.instructions) instructions. Repeat less.",
        at: start)
    }

    // MARK: Quantifiers

    private mutating func repeatLast(
      _ minimum: Int, _ maximum: Int?, at start: Int
    ) throws(Failure) {
      guard let last = innermost.last else {
        throw failure(
          "The quantifier has nothing to repeat. Write \"\\\(scalars[start])\" for the character.",
          at: start)
      }
      if peek == "+" {
        throw failure(
          "A possessive quantifier cannot be matched in linear time. Remove the last \"+\".",
          at: start)
      }
      // A lazy quantifier is found in the same texts.
      if peek == "?" { position += 1 }
      try checkSize(
        max(minimum, maximum ?? 0) * (last.code.count + 1) + innermost.sequence.code.count,
        at: start)
      innermost.last = nil
      let repeated = last.repeated(minimum, maximum)
      innermost.sequence.append(repeated)
      try checkSize(innermost.sequence.code.count, at: start)
    }

    /// The counts of `{2}`, `{2,}` and `{2,5}`; nil if the brace is a literal.
    private mutating func counts(
      at start: Int
    ) throws(Failure) -> (minimum: Int, maximum: Int?)? {
      let minimum = count()
      var maximum = minimum
      if take(",") { maximum = count() }
      guard take("}"), minimum != nil || maximum != nil else {
        position = start + 1
        return nil
      }
      guard let minimum else {
        throw failure("The quantifier has no minimum. Write {0,n}.", at: start)
      }
      guard max(minimum, maximum ?? 0) <= Limit.repetitions else {
        throw failure("A quantifier repeats at most \(Limit.repetitions) times.", at: start)
      }
      guard minimum <= maximum ?? minimum else {
        throw failure("The minimum is greater than the maximum. Exchange them.", at: start)
      }
      return (minimum, maximum)
    }

    private mutating func count() -> Int? {
      var count: Int?
      while let digit = peek?.value, (0x30...0x39).contains(digit) {
        count = min((count ?? 0) * 10 + Int(digit - 0x30), Limit.repetitions + 1)
        position += 1
      }
      return count
    }

    // MARK: Groups

    private mutating func beginGroup(at start: Int) throws(Failure) {
      guard groups.count <= Limit.nesting else {
        throw failure("Groups can be at most \(Limit.nesting) levels deep.", at: start)
      }
      if peek == "*" {
        throw failure(
          "Verbs such as (*FAIL) are not supported. Write \"\\(\\*\" for the characters.", at: start
        )
      }
      let outerOptions = options
      if take("?") {
        guard let scalar = peek else { throw unclosedGroup(at: start) }
        position += 1
        switch scalar {
        case ":": break
        case "#":
          while let next = peek, next != ")" { position += 1 }
          guard take(")") else { throw failure("The comment is not closed. Add \")\".", at: start) }
          return
        case "=", "!": throw unsupported("Lookahead", at: start)
        case ">": throw unsupported("An atomic group", at: start)
        case "(": throw unsupported("A conditional group", at: start)
        case "R", "&", "+", "0"..."9": throw unsupported("Recursion", at: start)
        case "<":
          if peek == "=" || peek == "!" { throw unsupported("Lookbehind", at: start) }
          try parseGroupName(until: ">", at: start)
        case "'": try parseGroupName(until: "'", at: start)
        case "P":
          if peek == "=" { throw unsupported("A backreference", at: start) }
          if peek == ">" { throw unsupported("Recursion", at: start) }
          guard take("<") else { throw unknownGroup(at: start) }
          try parseGroupName(until: ">", at: start)
        default:
          position -= 1
          guard try parseOptions(at: start) else { return }
        }
      }
      groups.append(Group(position: start, outerOptions: outerOptions))
    }

    private mutating func parseGroupName(until end: Unicode.Scalar, at start: Int) throws(Failure) {
      var name = ""
      while let scalar = peek, scalar != end {
        name.unicodeScalars.append(scalar)
        position += 1
      }
      guard take(end) else { throw unclosedGroup(at: start) }
      let isValid = name.unicodeScalars.allSatisfy { ScalarSet.word.contains($0) }
      guard isValid, let first = name.unicodeScalars.first, !ScalarSet.digit.contains(first) else {
        throw failure(
          "\"\(name)\" is not a group name. Use letters, digits and \"_\", and no digit first.",
          at: start)
      }
      guard groupNames.insert(name).inserted else {
        throw failure("Two groups are named \"\(name)\". Rename one.", at: start)
      }
    }

    /// Parses `i-s:` and `i-s)`. True if a group begins.
    private mutating func parseOptions(at start: Int) throws(Failure) -> Bool {
      var options = self.options
      var isRemoving = false
      while let scalar = peek {
        position += 1
        switch scalar {
        case "-" where !isRemoving: isRemoving = true
        case ":", ")":
          self.options = options
          // A quantifier has nothing to repeat after options.
          if scalar == ")" { innermost.endLast() }
          return scalar == ":"
        default:
          guard let option = Options.byLetter[Character(scalar)] else {
            throw unknownGroup(at: start)
          }
          if isRemoving { options.subtract(option) } else { options.formUnion(option) }
        }
      }
      throw unclosedGroup(at: start)
    }

    // MARK: Character classes

    private mutating func characterClass(at start: Int) throws(Failure) -> ScalarSet {
      let unclosed = failure(
        "The character class is not closed. Add \"]\", or write \"\\[\" for the character.",
        at: start)
      try checkNotPOSIX(at: start)
      let isNegated = take("^")
      let first = position
      var ranges: [ClosedRange<UInt32>] = []
      while true {
        guard let scalar = peek else { throw unclosed }
        if skipQuoteMark() { continue }
        let itemStart = position
        position += 1
        if isQuoting {
          ranges += foldedIfNeeded(ScalarSet(scalar)).ranges
          continue
        }
        if scalar == "]", itemStart > first { break }
        let item = try classItem(scalar, at: itemStart)
        let isRange =
          peek == "-" && position + 1 < scalars.count && scalars[position + 1] != "]"
        guard isRange else {
          switch item {
          case .scalar(let scalar): ranges += foldedIfNeeded(ScalarSet(scalar)).ranges
          case .set(let set): ranges += set.ranges
          case .assertion: break
          }
          continue
        }
        let endStart = position + 1
        position += 2
        let end = try classItem(scalars[endStart], at: endStart)
        guard case .scalar(let low) = item, case .scalar(let high) = end else {
          throw failure(
            "A class cannot be an end of a range. Write \"\\-\" for a hyphen.", at: itemStart)
        }
        guard low <= high else {
          throw failure("The range \(low)-\(high) is empty. Exchange its ends.", at: itemStart)
        }
        ranges += foldedIfNeeded(ScalarSet([low.value...high.value])).ranges
      }
      let set = ScalarSet(ranges)
      return isNegated ? set.inverted : set
    }

    /// Rejects `[:alpha:]`, which is meant to be `[[:alpha:]]`.
    private func checkNotPOSIX(at start: Int) throws(Failure) {
      guard peek == ":", let end = scalars[position...].firstIndex(of: "]"), end > position + 1,
        scalars[end - 1] == ":"
      else { return }
      throw failure(
        "A POSIX class is written inside a character class, as in [[:alpha:]].", at: start)
    }

    private mutating func classItem(
      _ scalar: Unicode.Scalar, at start: Int
    ) throws(Failure) -> Escape {
      if scalar == "\\" { return try escape(at: start, inClass: true) }
      if scalar == "[", let set = try posixClass(at: start) { return .set(set) }
      return .scalar(scalar)
    }

    /// The class of `[:alpha:]`; nil if the bracket is a literal.
    private mutating func posixClass(at start: Int) throws(Failure) -> ScalarSet? {
      guard let delimiter = peek, delimiter == ":" || delimiter == "." || delimiter == "=" else {
        return nil
      }
      let end = scalars[(position + 1)...].firstIndex { $0 == delimiter || $0 == "]" }
      guard let end, end + 1 < scalars.count, scalars[end] == delimiter, scalars[end + 1] == "]"
      else { return nil }
      var name = String(String.UnicodeScalarView(scalars[(position + 1)..<end]))
      let isNegated = name.hasPrefix("^")
      if isNegated { name.removeFirst() }
      if options.contains(.ignoringCase), name == "lower" || name == "upper" { name = "alpha" }
      guard delimiter == ":", let set = ScalarSet.posix[name] else {
        throw failure(
          """
          There is no class \"\(name)\". The POSIX classes are \
          \(ScalarSet.posix.keys.sorted().joined(separator: ", ")).
          """, at: start)
      }
      position = end + 2
      return isNegated ? set.inverted : set
    }

    // MARK: Escapes

    private mutating func escape(at start: Int, inClass: Bool) throws(Failure) -> Escape {
      guard let scalar = peek else {
        throw failure(
          "The pattern ends with a backslash. Write \"\\\\\" for the character.", at: start)
      }
      position += 1
      switch scalar {
      case "n": return .scalar("\n")
      case "t": return .scalar("\t")
      case "r": return .scalar("\r")
      case "f": return .scalar("\u{C}")
      case "v": return .scalar("\u{B}")
      case "a": return .scalar("\u{7}")
      case "e": return .scalar("\u{1B}")
      case "d": return .set(.digit)
      case "D": return .set(ScalarSet.digit.inverted)
      case "w": return .set(.word)
      case "W": return .set(ScalarSet.word.inverted)
      case "s": return .set(.space)
      case "S": return .set(ScalarSet.space.inverted)
      case "b" where inClass: return .scalar("\u{8}")
      case "b": return .assertion(.wordBoundary)
      case "B" where !inClass: return .assertion(.notWordBoundary)
      case "A" where !inClass: return .assertion(.textStart)
      case "z" where !inClass: return .assertion(.textEnd)
      case "Z" where !inClass: return .assertion(.textEndOrFinalNewline)
      case "x", "u": return .scalar(try hexadecimal(scalar, at: start))
      case "p", "P": return .set(try property(isNegated: scalar == "P", at: start))
      case "0":
        guard let next = peek, ("0"..."9").contains(next) else { return .scalar("\0") }
        throw failure("Octal escapes are not supported. Write \\x{...}.", at: start)
      case "1"..."9" where inClass:
        throw failure("Octal escapes are not supported. Write \\x{...}.", at: start)
      case "1"..."9", "k", "g": throw unsupported("A backreference", at: start)
      case _ where scalar.isASCII && scalar != "_" && ScalarSet.word.contains(scalar):
        throw failure(
          """
          The escape \\\(scalar) is not supported\(inClass ? " in a character class" : ""). \
          Remove the backslash for the character.
          """, at: start)
      default: return .scalar(scalar)
      }
    }

    /// `\x41`, `\x{1F600}` and `\u0041`.
    private mutating func hexadecimal(
      _ kind: Unicode.Scalar, at start: Int
    ) throws(Failure) -> Unicode.Scalar {
      let hasBraces = kind == "x" && take("{")
      let digits = hasBraces ? 1...6 : kind == "x" ? 2...2 : 4...4
      var (value, count): (UInt32, Int) = (0, 0)
      while count < digits.upperBound,
        let digit = peek.flatMap({ UInt8(exactly: $0.value)?.hexadecimalValue })
      {
        value = value << 4 | digit
        count += 1
        position += 1
      }
      guard digits.contains(count), !hasBraces || take("}") else {
        throw failure(
          "The code point is not complete. Write \\xHH, \\x{H...} or \\uHHHH in hexadecimal.",
          at: start)
      }
      guard let scalar = Unicode.Scalar(value) else {
        throw failure(
          "The code point is not a Unicode scalar. Write \\x{1F600} instead of surrogates.",
          at: start)
      }
      return scalar
    }

    /// `\p{Lu}`, `\p{^Lu}` and `\pL`.
    private mutating func property(
      isNegated: Bool, at start: Int
    ) throws(Failure) -> ScalarSet {
      var name = ""
      if take("{") {
        while let scalar = peek, scalar != "}" {
          name.unicodeScalars.append(scalar)
          position += 1
        }
        guard take("}") else {
          throw failure("The property is not closed. Add \"}\".", at: start)
        }
      } else if let scalar = peek {
        name.unicodeScalars.append(scalar)
        position += 1
      }
      let isInverted = name.hasPrefix("^")
      if isInverted { name.removeFirst() }
      guard let set = ScalarSet.property(name) else {
        throw failure(
          """
          There is no property \"\(name)\". Use a general category such as L, Lu or Nd, or the \
          script Latin, Greek, Cyrillic or Han.
          """, at: start)
      }
      return isNegated != isInverted ? foldedIfNeeded(set).inverted : foldedIfNeeded(set)
    }

    // MARK: Scalars

    private var peek: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
      guard peek == scalar else { return false }
      position += 1
      return true
    }

    /// Skips `\Q` and `\E`.
    private mutating func skipQuoteMark() -> Bool {
      guard position + 1 < scalars.count, scalars[position] == "\\" else { return false }
      let mark = scalars[position + 1]
      guard mark == "E" || mark == "Q" && !isQuoting else { return false }
      isQuoting = mark == "Q"
      position += 2
      return true
    }

    /// Skips white space and comments, if the pattern is extended.
    private mutating func skipExtendedSpace() -> Bool {
      guard options.contains(.extended), !isQuoting, let scalar = peek else { return false }
      guard scalar == "#" else {
        let isSpace = scalar == " " || (0x9...0xD).contains(scalar.value)
        if isSpace { position += 1 }
        return isSpace
      }
      while let next = peek, next != "\n" { position += 1 }
      return true
    }

    // MARK: Errors

    private func failure(_ problem: String, at position: Int) -> Failure {
      .invalid("The regular expression is invalid at position \(position): \(problem)")
    }

    private func unsupported(_ construct: String, at position: Int) -> Failure {
      failure("\(construct) cannot be matched in linear time. Remove it.", at: position)
    }

    private func unclosedGroup(at position: Int) -> Failure {
      failure("The group is not closed. Add \")\".", at: position)
    }

    private func unknownGroup(at position: Int) -> Failure {
      failure(
        "The group is not known. The options are i, m, s and x; write \"\\(\" for the character.",
        at: position)
    }
  }
}
