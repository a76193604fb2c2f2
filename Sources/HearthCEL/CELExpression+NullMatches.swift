/// A comparison with a null value that makes a condition true.
public struct CELNullMatch: Sendable, Hashable {
  /// The comparison as canonical text: `vars.owner == auth.uid`.
  public let comparison: String
  /// The operand that is null: `auth.uid`.
  public let nullPath: CELPath
  /// The position of the comparison in the text.
  public let position: CELPosition
  /// The other operand, which is null, too. Nil if the comparison needs no second null, as in
  /// `vars.owner != auth.uid`.
  public let other: String?
}

extension CELExpression {
  /// The comparisons that can make the condition true although they compare with null, each once, in
  /// the order of the text.
  ///
  /// Assumes that the values at the paths of `scope.nullMembers` are null. A comparison with such a
  /// value, or a member of it, is listed if the condition can be true because of its result. It is not
  /// listed if another part of the condition demands that one of the operands is not null:
  ///
  ///     vars.owner == auth.uid                          listed: both may be null
  ///     !(vars.owner in [auth.uid])                     listed: nothing else equals null
  ///     auth.uid != null && vars.owner == auth.uid      not listed
  ///
  /// Examines at most 100 comparisons with null values, those that are first in the text.
  public func nullMatches(in scope: CELScope) -> [CELNullMatch] {
    var search = NullMatchSearch(scope)
    search.collect(root, .true)
    var known: Set<CELNullMatch> = []
    return search.comparisons.compactMap { search.match($0, in: root) }
      .filter { known.insert($0).inserted }
  }
}

/// A set of truth values: the results that a condition can have, of which one that ends in an error has
/// none, or those of a part that can make the whole true.
private struct Truths: OptionSet {
  let rawValue: UInt8

  static let `true` = Truths(rawValue: 1)
  static let `false` = Truths(rawValue: 2)
  static let both: Truths = [.true, .false]

  var negated: Truths { Truths(rawValue: rawValue >> 1 | rawValue << 1 & 2) }
}

extension Truths {
  init(_ value: Bool) { self = value ? .true : .false }
}

/// Whether a value is null, as far as that is known.
private enum Nullness: Equatable {
  case null, notNull, unknown
  /// The evaluation ends in an error.
  case error
}

/// Evaluates conditions over what is known of their values.
private struct NullMatchSearch {
  /// A comparison, one of whose operands is null.
  struct Comparison {
    let node: Node
    let path: CELPath
    /// The operand to which the null value is compared; of a list literal, one of its elements.
    let other: Node
    let otherCanBeNull: Bool
    /// The results that can make the condition true.
    let polarity: Truths
    /// The results that it can have by itself.
    let outcomes: Truths
  }

  private static let limit = 100

  private let scope: CELScope
  private(set) var comparisons: [Comparison] = []
  /// The variables of the macros that contain the current node.
  private var locals: [(name: String, nullness: Nullness)] = []
  /// A comparison whose result is assumed.
  private var assumed: (node: Node, value: Truths)?
  /// An operand that is assumed to be null.
  private var nullOperand: Node?

  init(_ scope: CELScope) { self.scope = scope }

  // MARK: Comparisons

  mutating func collect(_ node: Node, _ polarity: Truths) {
    guard comparisons.count < Self.limit else { return }
    switch node.kind {
    case .not(let operand): collect(operand, polarity.negated)
    case .logical(_, let operands): for operand in operands { collect(operand, polarity) }
    case .conditional(let condition, let first, let second):
      collect(condition, .both)
      collect(first, polarity)
      collect(second, polarity)
    case .comprehension(let comprehension):
      withLocal(of: comprehension) { $0.collect(comprehension.body, polarity) }
    case .binary(let sign, let left, let right):
      guard [.equal, .notEqual, .contained].contains(sign) else { return }
      if case .list(let elements) = right.kind, sign == .contained {
        for element in elements { add(node, left, element, polarity) }
      } else if sign == .contained {
        add(node, left, right, polarity, isSymmetric: false)
      } else {
        add(node, left, right, polarity)
      }
    default: break
    }
  }

  private mutating func add(
    _ node: Node, _ left: Node, _ right: Node, _ polarity: Truths, isSymmetric: Bool = true
  ) {
    for (operand, other) in isSymmetric ? [(left, right), (right, left)] : [(left, right)] {
      guard let path = nullPath(operand) else { continue }
      // The author compares with null, and means it.
      if case .literal(let value) = other.kind, value.isNull { return }
      comparisons.append(
        Comparison(
          node: node, path: path, other: other,
          otherCanBeNull: !isSymmetric || nullness(other) != .notNull, polarity: polarity,
          outcomes: outcomes(node)))
      return
    }
  }

  /// The path of a value that is null, as long as nothing is assumed.
  private func nullPath(_ node: Node) -> CELPath? {
    guard let path = node.path, local(path.root) == nil, nullness(of: path) == .null else {
      return nil
    }
    return path
  }

  /// Nil if the condition is true for another reason, or not at all.
  mutating func match(_ comparison: Comparison, in root: Node) -> CELNullMatch? {
    let isEquality =
      if case .binary(.notEqual, _, _) = comparison.node.kind { false } else { true }
    for areEqual in [true, false] {
      let value = Truths(areEqual == isEquality)
      guard comparison.polarity.contains(value), comparison.outcomes.contains(value),
        !areEqual || comparison.otherCanBeNull
      else { continue }
      nullOperand = areEqual ? comparison.other : nil
      assumed = (comparison.node, value)
      guard outcomes(root).contains(.true) else { continue }
      assumed = (comparison.node, value.negated)
      guard outcomes(root) != .true else { continue }
      return CELNullMatch(
        comparison: CELExpression(comparison.node).description, nullPath: comparison.path,
        position: comparison.node.position,
        other: areEqual ? CELExpression(comparison.other).description : nil)
    }
    return nil
  }

  // MARK: Values

  private func local(_ name: String) -> Nullness? { locals.last { $0.name == name }?.nullness }

  private func nullness(of path: CELPath) -> Nullness? {
    for count in 1...path.components.count
    where scope.nullMembers.contains(path: path.components.prefix(count)) {
      // Members of null are null, and their members are errors.
      return path.components.count - count <= 1 ? .null : .error
    }
    return nil
  }

  private func nullness(_ node: Node) -> Nullness {
    if let nullOperand, nullOperand == node, locals.isEmpty { return .null }
    if let path = node.path {
      if let local = local(path.root) { return path.isName ? local : .unknown }
      if let nullness = nullness(of: path) { return nullness }
      return nullness(ofType: node)
    }
    switch node.kind {
    case .literal(let value): return value.isNull ? .null : .notNull
    case .conditional(_, let first, let second):
      let (first, second) = (nullness(first), nullness(second))
      return first == second ? first : .unknown
    case .call("dyn", let arguments) where arguments.count == 1: return nullness(arguments[0])
    case .call("type", _), .list, .map, .comprehension, .presence, .not, .logical:
      return .notNull
    default:
      // Operators and functions do not accept null.
      let operands = node.kind.children.map { nullness($0) }
      if operands.contains(.null) || operands.contains(.error) { return .error }
      return nullness(ofType: node)
    }
  }

  private func nullness(ofType node: Node) -> Nullness {
    guard let type = type(node) else { return .unknown }
    switch type {
    case .null: return .null
    case .nullable, .dyn: return .unknown
    default: return .notNull
    }
  }

  /// Nil for a node that reads a variable of a macro.
  private func type(_ node: Node) -> CELType? {
    var checker = Checker(scope)
    return try? checker.type(of: node)
  }

  /// Whether a list has an element that is null.
  private func elementNullness(_ list: Node) -> Nullness {
    if case .list(let elements) = list.kind {
      let all = elements.map { nullness($0) }
      if all.contains(.null) { return .null }
      return all.contains(.unknown) ? .unknown : .notNull
    }
    if list.path != nil, [.null, .error].contains(nullness(list)) { return .error }
    switch type(list)?.withoutNull {
    case .list(of: .nullable), .list(of: .dyn), .list(of: .null), .dyn, nil: return .unknown
    default: return .notNull
    }
  }

  // MARK: Conditions

  private mutating func withLocal<Answer>(
    of comprehension: Node.Comprehension, _ body: (inout Self) -> Answer
  ) -> Answer {
    locals.append((comprehension.variable, elementNullness(comprehension.range)))
    let answer = body(&self)
    locals.removeLast()
    return answer
  }

  private mutating func outcomes(_ node: Node) -> Truths {
    // One that is written twice has the same result at both places.
    if let assumed, assumed.node == node { return assumed.value }
    switch node.kind {
    case .literal(.bool(let value)): return Truths(value)
    case .not(let operand): return outcomes(operand).negated
    case .logical(let sign, let operands): return logical(sign, operands)
    case .conditional(let condition, let first, let second):
      let condition = outcomes(condition)
      let (first, second) = (outcomes(first), outcomes(second))
      return (condition.contains(.true) ? first : [])
        .union(condition.contains(.false) ? second : [])
    case .binary(let sign, let left, let right): return comparison(sign, left, right)
    case .presence(let operand, let member):
      guard let path = operand.path, local(path.root) == nil,
        nullness(of: path.appending(member)) != nil
      else { return .both }
      return .false
    case .comprehension(let comprehension): return self.comprehension(comprehension)
    default:
      let value = nullness(node)
      return value == .null || value == .error ? [] : .both
    }
  }

  /// An error of one operand is absorbed if another one decides.
  private mutating func logical(_ sign: LogicalOperator, _ operands: [Node]) -> Truths {
    let all = operands.map { outcomes($0) }
    let dominant = Truths(sign.dominant)
    return (all.contains { $0.contains(dominant) } ? dominant : [])
      .union(all.allSatisfy { $0.contains(dominant.negated) } ? dominant.negated : [])
  }

  private mutating func comparison(
    _ sign: BinaryOperator, _ left: Node, _ right: Node
  ) -> Truths {
    let first = nullness(left)
    if sign == .contained {
      let elements = elementNullness(right)
      guard first != .error, elements != .error else { return [] }
      switch (first, elements) {
      case (.null, .null): return .true
      case (.null, .notNull): return .false
      default: return .both
      }
    }
    let second = nullness(right)
    guard first != .error, second != .error else { return [] }
    switch sign {
    case .equal, .notEqual:
      let equality: Truths =
        switch (first, second) {
        case (.null, .null): .true
        case (.null, .notNull), (.notNull, .null): .false
        default: .both
        }
      return sign == .equal ? equality : equality.negated
    default: return first == .null || second == .null ? [] : .both
    }
  }

  private mutating func comprehension(_ comprehension: Node.Comprehension) -> Truths {
    let range = nullness(comprehension.range)
    if range == .null || range == .error { return [] }
    let body = withLocal(of: comprehension) { $0.outcomes(comprehension.body) }
    return switch comprehension.macro {
    // It is true of an empty list.
    case .all: body.union(.true)
    case .exists, .existsOne: body.union(.false)
    case .map, .filter: []
    }
  }
}
