internal import HearthText

extension RegularExpression {
  /// An instruction of the nondeterministic automaton (Thompson's construction).
  ///
  /// Jumps are relative, so that code can be moved and repeated.
  struct Instruction: Sendable {
    enum Kind: UInt8, Sendable {
      /// Go on after a scalar of the set `operand`.
      case set
      /// Go on if the assertion `operand` holds between two scalars.
      case assertion
      /// Go on at the next instruction, and also at `operand` instructions from here.
      case split
      /// Go on at `operand` instructions from here.
      case jump
      case match
    }

    var kind: Kind
    var operand: Int32

    init(_ kind: Kind, _ operand: Int = 0) {
      self.kind = kind
      self.operand = Int32(operand)
    }
  }

  enum Assertion: Int, Sendable {
    case textStart, textEnd, textEndOrFinalNewline, lineStart, lineEnd
    case wordBoundary, notWordBoundary

    /// The part of the context before a position that `holds` reads.
    var contextBefore: Context {
      switch self {
      case .textStart: .textStart
      case .lineStart: [.textStart, .newline]
      case .wordBoundary, .notWordBoundary: .word
      case .textEnd, .textEndOrFinalNewline, .lineEnd: []
      }
    }

    func holds(between before: Context, and after: Context) -> Bool {
      switch self {
      case .textStart: before.contains(.textStart)
      case .textEnd: after.contains(.textEnd)
      case .textEndOrFinalNewline: !after.isDisjoint(with: [.textEnd, .finalNewline])
      // As in PCRE, no line starts after a newline at the text's end.
      case .lineStart:
        before.contains(.textStart) || before.contains(.newline) && !after.contains(.textEnd)
      case .lineEnd: !after.isDisjoint(with: [.textEnd, .newline])
      case .wordBoundary: before.contains(.word) != after.contains(.word)
      case .notWordBoundary: before.contains(.word) == after.contains(.word)
      }
    }
  }

  /// The text on one side of a position, as far as assertions need it.
  struct Context: OptionSet, Hashable, Sendable {
    var rawValue: UInt8
    static let textStart = Context(rawValue: 1)
    static let textEnd = Context(rawValue: 2)
    static let word = Context(rawValue: 4)
    static let newline = Context(rawValue: 8)
    /// The newline that is the text's last scalar.
    static let finalNewline = Context(rawValue: 16)
  }

  /// The code of a part of a pattern, with properties of the texts that the part matches.
  struct Fragment: Sendable {
    var code: [Instruction] = []
    /// The part matches `prefix` only, where its assertions hold.
    var isExact = true
    /// Every match begins with `prefix` and ends with `suffix`; both are the match if it is exact.
    var prefix: [Unicode.Scalar] = []
    var suffix: [Unicode.Scalar] = []
    /// Every match contains `literal`.
    var literal: [Unicode.Scalar] = []
    /// Every match begins at the text's beginning.
    var isAnchored = false

    init() {}

    init(_ index: Int, of set: ScalarSet) {
      code = [Instruction(.set, index)]
      // A byte that is not UTF-8 is read as U+FFFD, but is not a part of a literal.
      if let scalar = set.onlyScalar, scalar != "\u{FFFD}" {
        (prefix, suffix) = ([scalar], [scalar])
      } else {
        isExact = false
      }
    }

    init(_ assertion: Assertion) {
      code = [Instruction(.assertion, assertion.rawValue)]
      isAnchored = assertion == .textStart
    }

    init(anyOf alternatives: [Fragment]) {
      guard alternatives.count > 1 else {
        self = alternatives.first ?? Fragment()
        return
      }
      var rest = alternatives.reduce(0) { $0 + $1.code.count + 2 } - 2
      for (index, alternative) in alternatives.enumerated() {
        let isLast = index == alternatives.count - 1
        if !isLast { code.append(Instruction(.split, alternative.code.count + 2)) }
        code += alternative.code
        rest -= alternative.code.count + 2
        if !isLast { code.append(Instruction(.jump, rest + 1)) }
      }
      isExact = false
      isAnchored = alternatives.allSatisfy(\.isAnchored)
      prefix = alternatives[0].prefix
      for alternative in alternatives {
        let common = zip(prefix, alternative.prefix).prefix { $0.0 == $0.1 }.count
        prefix.removeLast(prefix.count - common)
      }
    }

    mutating func append(_ next: Fragment) {
      // A part before the text's beginning can only match nothing.
      isAnchored = isAnchored || next.isAnchored
      code += next.code
      if !next.isExact { literal = [literal, suffix + next.prefix, next.literal].longest }
      if isExact { prefix += next.prefix }
      if next.isExact { suffix += next.suffix } else { suffix = next.suffix }
      isExact = isExact && next.isExact
    }

    /// - Parameter maximum: Nil for any number.
    func repeated(_ minimum: Int, _ maximum: Int?) -> Fragment {
      var result = Fragment()
      if code.isEmpty { return result }
      for _ in 0..<(maximum == nil ? max(minimum - 1, 0) : minimum) { result.append(self) }
      var rest = Fragment()
      if let maximum {
        let count = (maximum - minimum) * (code.count + 1)
        while rest.code.count < count {
          rest.code.append(Instruction(.split, count - rest.code.count))
          rest.code += code
        }
        if count == 0 { return result }
      } else if minimum > 0 {
        rest = self
        rest.code.append(Instruction(.split, -code.count))
      } else {
        rest.code =
          [Instruction(.split, code.count + 2)] + code + [Instruction(.jump, -code.count - 1)]
      }
      rest.isExact = false
      result.append(rest)
      return result
    }

    var longestLiteral: [Unicode.Scalar] { [literal, prefix, suffix].longest }
  }

  /// A complete nondeterministic automaton, over classes of scalars instead of scalars.
  ///
  /// Scalars that the same sets contain are one class.
  struct Program: Sendable {
    let instructions: [Instruction]
    let isAnchored: Bool
    /// The context before a position that an assertion reads.
    let contextBefore: Context
    /// The first scalar of each range of scalars of one class, and the classes.
    let rangeStarts: [UInt32]
    let rangeClasses: [UInt16]
    /// The context that a scalar of each class is.
    private(set) var contexts: [Context] = []
    /// The class of a newline at the text's end, and the class that follows each text.
    var finalNewline: Int { contexts.count - 2 }
    var textEnd: Int { contexts.count - 1 }

    /// For each class, a bit for each set that contains it.
    private var membership: [UInt64] = []
    private let wordsPerClass: Int

    init(_ fragment: Fragment, _ sets: [ScalarSet]) {
      instructions = fragment.code + [Instruction(.match)]
      isAnchored = fragment.isAnchored
      contextBefore = instructions.reduce(into: []) { context, instruction in
        guard instruction.kind == .assertion else { return }
        context.formUnion(Assertion(rawValue: Int(instruction.operand))?.contextBefore ?? [])
      }

      // The word characters and the newline are classes of their own, for assertions.
      let sets = sets + [.word, .newline]
      let starts = Set([0] + sets.flatMap(\.ranges).flatMap { [$0.lowerBound, $0.upperBound + 1] })
        .sorted()
      wordsPerClass = (sets.count + 63) / 64
      var memberships = [[UInt64]](
        repeating: [UInt64](repeating: 0, count: wordsPerClass), count: starts.count)
      for (index, set) in sets.enumerated() {
        for range in set.ranges {
          var position = starts.partitioningIndex { $0 >= range.lowerBound }
          while position < starts.count, starts[position] <= range.upperBound {
            memberships[position][index / 64] |= 1 << UInt64(index % 64)
            position += 1
          }
        }
      }
      var classes: [[UInt64]: UInt16] = [:]
      var (rangeStarts, rangeClasses): ([UInt32], [UInt16]) = ([], [])
      for (start, member) in zip(starts, memberships) {
        let scalarClass = classes[member] ?? UInt16(classes.count)
        if classes.updateValue(scalarClass, forKey: member) == nil { membership += member }
        if rangeClasses.last == scalarClass { continue }
        rangeStarts.append(start)
        rangeClasses.append(scalarClass)
      }
      (self.rangeStarts, self.rangeClasses) = (rangeStarts, rangeClasses)

      for scalarClass in 0..<classes.count {
        var context: Context = []
        if isMember(scalarClass, of: sets.count - 2) { context = .word }
        if isMember(scalarClass, of: sets.count - 1) { context = .newline }
        contexts.append(context)
      }
      let newline = Int(scalarClass(of: 0xA)) * wordsPerClass
      membership += membership[newline..<newline + wordsPerClass]
      membership += [UInt64](repeating: 0, count: wordsPerClass)
      contexts += [[.newline, .finalNewline], .textEnd]
    }

    @inline(__always)
    func isMember(_ scalarClass: Int, of set: Int) -> Bool {
      membership[scalarClass * wordsPerClass + set >> 6] >> UInt64(set & 63) & 1 == 1
    }

    func scalarClass(of scalar: UInt32) -> UInt16 {
      rangeClasses[rangeStarts.partitioningIndex { $0 > scalar } - 1]
    }
  }
}

extension [[Unicode.Scalar]] {
  fileprivate var longest: [Unicode.Scalar] { self.max { $0.count < $1.count } ?? [] }
}
