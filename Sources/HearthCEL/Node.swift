/// A syntax tree, with the place of each node in the text.
///
///     vars.n + 1 > 2        binary(>)
///                           ├── binary(+)
///                           │   ├── member(name(vars), "n")
///                           │   └── literal(1)
///                           └── literal(2)
///
/// Nodes are equal if they are structurally equal, wherever they are in a text. A class, because
/// each recursive function has several nodes on the stack.
final class Node: Sendable {
  indirect enum Kind: Sendable, Hashable {
    case literal(CELValue)
    case name(String)
    case member(Node, String)
    case index(Node, Node)
    /// `has(node.member)`.
    case presence(Node, String)
    case call(String, [Node])
    case method(Node, String, [Node])
    case comprehension(Comprehension)
    case list([Node])
    case map([Entry])
    case not(Node)
    case negation(Node)
    case binary(BinaryOperator, Node, Node)
    /// Two or more operands. A chain is one node, so that its length is no depth.
    case logical(LogicalOperator, [Node])
    case conditional(Node, Node, Node)
  }

  struct Entry: Sendable, Hashable {
    var key: Node
    var value: Node
  }

  /// `range.macro(variable, filter, body)`, where only `map` may have a filter.
  struct Comprehension: Sendable, Hashable {
    var macro: Macro
    var range: Node
    var variable: String
    var filter: Node?
    var body: Node
  }

  let kind: Kind
  let position: CELPosition
  /// 1 for a leaf.
  let depth: Int

  init(_ kind: Kind, at position: CELPosition = .start) {
    self.kind = kind
    self.position = position
    depth = 1 + (kind.children.lazy.map(\.depth).max() ?? 0)
  }
}

extension Node: Hashable {
  static func == (lhs: Node, rhs: Node) -> Bool { lhs === rhs || lhs.kind == rhs.kind }

  func hash(into hasher: inout Hasher) { hasher.combine(kind) }
}

extension Node.Kind {
  var children: [Node] {
    switch self {
    case .literal, .name: []
    case .member(let node, _), .presence(let node, _), .not(let node), .negation(let node): [node]
    case .index(let node, let index): [node, index]
    case .call(_, let arguments): arguments
    case .method(let receiver, _, let arguments): [receiver] + arguments
    case .comprehension(let comprehension):
      [comprehension.range] + (comprehension.filter.map { [$0] } ?? []) + [comprehension.body]
    case .list(let elements): elements
    case .map(let entries): entries.flatMap { [$0.key, $0.value] }
    case .binary(_, let left, let right): [left, right]
    case .logical(_, let operands): operands
    case .conditional(let condition, let first, let second): [condition, first, second]
    }
  }
}

extension Node {
  /// The root name and the members of `a.b['c']`. Nil for other expressions.
  var path: CELPath? {
    switch kind {
    case .name(let name): CELPath(name)
    case .member(let node, let member): node.path?.appending(member)
    case .index(let node, let index):
      if case .literal(.string(let member)) = index.kind {
        node.path?.appending(member)
      } else {
        nil
      }
    default: nil
    }
  }
}

enum Macro: String, Sendable, CaseIterable {
  case all, exists
  case existsOne = "exists_one"
  case map, filter
}

enum LogicalOperator: String, Sendable, CaseIterable {
  case and = "&&"
  case or = "||"

  /// The operand's value that decides the result.
  var dominant: Bool { self == .or }

  var precedence: Precedence { self == .or ? .or : .and }
}

enum BinaryOperator: String, Sendable, CaseIterable {
  case equal = "=="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
  case contained = "in"
  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case remainder = "%"

  var precedence: Precedence {
    switch self {
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .contained: .relation
    case .add, .subtract: .sum
    case .multiply, .divide, .remainder: .product
    }
  }
}

/// How strongly operators bind, from the weakest.
enum Precedence: Int, Comparable {
  case conditional, or, and, relation, sum, product, unary, postfix

  static func < (lhs: Precedence, rhs: Precedence) -> Bool { lhs.rawValue < rhs.rawValue }

  /// The next stronger one: that of a right operand, because operators associate to the left.
  var next: Precedence { Precedence(rawValue: rawValue + 1) ?? .postfix }
}
