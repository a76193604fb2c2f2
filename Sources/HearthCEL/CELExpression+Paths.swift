/// A value that an expression reads: a root name, and the members that lead to the value.
///
/// Paths are equal if their components are equal.
public struct CELPath: Sendable, Hashable, CustomStringConvertible {
  /// The root name and the members, in order. Never empty.
  public let components: [String]

  /// The first component: the name of a variable.
  public var root: String { components[0] }

  /// Creates a path.
  public init(_ root: String, _ members: [String] = []) {
    components = [root] + members
  }

  func appending(_ member: String) -> CELPath { CELPath(root, components.dropFirst() + [member]) }

  /// Whether the path has no members.
  var isName: Bool { components.count == 1 }

  /// The components with dots between them: `request.auth.token.email`.
  public var description: String { components.joined(separator: ".") }
}

extension CELExpression {
  /// The paths that the expression reads, each once, in the order in which they are written.
  ///
  ///     let expression = try CELExpression(
  ///       parsing: "has(vars.status) && auth.token['role'] in vars.roles[vars.index].names")
  ///     expression.paths
  ///     // vars.status, auth.token.role, vars.roles, vars.index
  ///
  /// A path ends before an index that is not a literal text, and before a method. Paths of all
  /// branches are listed, also of those that an evaluation does not reach. Variables of macros are
  /// not listed, the lists over which they run are. Names of types are not listed.
  public var paths: [CELPath] {
    var collector = PathCollector()
    collector.collect(root)
    return collector.paths
  }
}

private struct PathCollector {
  private(set) var paths: [CELPath] = []
  private var known: Set<CELPath> = []
  /// The variables of the macros that contain the current node.
  private var locals: [String] = []

  mutating func collect(_ node: Node) {
    if let path = node.path { return add(path) }
    switch node.kind {
    case .presence(let operand, let member):
      if let path = operand.path {
        add(path.appending(member))
      } else {
        collect(operand)
      }
    case .comprehension(let comprehension):
      collect(comprehension.range)
      locals.append(comprehension.variable)
      if let filter = comprehension.filter { collect(filter) }
      collect(comprehension.body)
      locals.removeLast()
    default:
      for child in node.kind.children { collect(child) }
    }
  }

  private mutating func add(_ path: CELPath) {
    if locals.contains(path.root) || path.isName && CELValue.typeNames.contains(path.root) {
      return
    }
    if known.insert(path).inserted { paths.append(path) }
  }
}
