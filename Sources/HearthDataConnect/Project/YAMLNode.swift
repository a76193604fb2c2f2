internal import HearthText

/// A node of a YAML file, with its place. JSON is YAML too.
struct YAMLNode {
  struct Member {
    var name: String
    var value: YAMLNode
    /// Of the name.
    var line: Int
    var column: Int
  }

  indirect enum Kind {
    case null
    /// Scalars are text: `5s`, `"5s"`, `true`, `12`.
    case scalar(String)
    case sequence([YAMLNode])
    /// In the order of the file.
    case mapping([Member])
  }

  var kind: Kind
  /// From 1.
  var line: Int
  /// In Unicode scalars, from 1.
  var column: Int

  var members: [Member] { if case .mapping(let members) = kind { members } else { [] } }

  var isNull: Bool { if case .null = kind { true } else { false } }

  /// The member of a mapping. Nil without one.
  subscript(_ name: String) -> YAMLNode? { members.first { $0.name == name }?.value }
}

/// Reads the values of one YAML file, and collects what is wrong with it.
struct YAMLReader {
  let path: String
  private(set) var diagnostics: [Diagnostic] = []

  var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }

  /// An error, or a warning.
  mutating func report(
    _ message: String, at node: YAMLNode, severity: Diagnostic.Severity = .error
  ) {
    diagnostics.append(
      Diagnostic(
        severity: severity, path: path, line: node.line, column: node.column, message: message))
  }

  /// The text of a member. Nil, with an error if the member is required or of another form.
  mutating func string(
    _ name: String, of node: YAMLNode, isRequired: Bool = false
  ) -> String? {
    guard let value = node[name], !value.isNull else {
      if isRequired { report("\(name) is missing: add \(name): …", at: node) }
      return nil
    }
    guard case .scalar(let text) = value.kind, !text.isEmpty else {
      report("\(name) has to be a text.", at: value)
      return nil
    }
    return text
  }

  /// One of the cases' names. Nil, with an error for another text.
  mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, of node: YAMLNode, _ type: Choice.Type
  ) -> Choice? where Choice.RawValue == String {
    guard let text = string(name, of: node), let value = node[name] else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    let names = type.allCases.map(\.rawValue)
    report(
      "\(name) is \(names.joined(separator: " or ")), not \"\(text)\"."
        + Suggestion.sentence(for: text, among: names), at: value)
    return nil
  }

  /// A list of texts; one text is a list of one. Nil if it is missing.
  mutating func strings(_ name: String, of node: YAMLNode) -> [String]? {
    guard let value = node[name], !value.isNull else { return nil }
    var result: [String] = []
    for element in elements(of: value) {
      if case .scalar(let text) = element.kind, !text.isEmpty {
        result.append(text)
      } else {
        report("\(name) has to be a list of texts.", at: element)
      }
    }
    return result
  }

  /// A list, or the one element that is written without one.
  func elements(of node: YAMLNode) -> [YAMLNode] {
    if case .sequence(let elements) = node.kind { elements } else { [node] }
  }

  /// Whether the node is a mapping. An error otherwise. Warns about members whose names are nearly
  /// known ones: others belong to other tools.
  mutating func isMapping(_ node: YAMLNode, _ name: String, known: [String]) -> Bool {
    guard case .mapping = node.kind else {
      report("\(name) has to be a mapping.", at: node)
      return false
    }
    for member in node.members where !known.contains(member.name) {
      let suggestion = Suggestion.sentence(for: member.name, among: known)
      guard !suggestion.isEmpty else { continue }
      report(
        "\(member.name) is not known and has no effect.\(suggestion)",
        at: YAMLNode(kind: .null, line: member.line, column: member.column), severity: .warning)
    }
    return true
  }
}
