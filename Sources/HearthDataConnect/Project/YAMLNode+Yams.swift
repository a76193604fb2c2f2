#if Tools
  import Yams

  extension YAMLNode {
    /// Parses a file with one document. An empty file is an empty mapping.
    ///
    /// Throws a `ProjectError` with the place of the first error of syntax, and for a file that is nested
    /// deeper than `YAMLLimits` allow, or that is greater with its aliases.
    static func parse(_ text: String, path: String) throws(ProjectError) -> YAMLNode {
      if let (line, problem) = YAMLLimits.problem(of: text) {
        throw invalid(problem, path, line: line)
      }
      do {
        guard let node = try Yams.compose(yaml: text) else {
          return YAMLNode(kind: .mapping([]), line: 1, column: 1)
        }
        var rest = YAMLLimits.nodes
        return try YAMLNode(node, &rest)
      } catch {
        throw Self.error(error, in: text, path: path)
      }
    }

    private struct TooGreat: Error, CustomStringConvertible {
      var description: String { "with its aliases it has more than \(YAMLLimits.nodes) values" }
    }

    /// - Parameter rest: The number of nodes that may follow. Aliases are nodes again.
    private init(_ node: Node, _ rest: inout Int) throws {
      rest -= 1
      if rest < 0 { throw TooGreat() }
      let mark = node.mark
      let kind: Kind =
        switch node {
        case .scalar(let scalar):
          scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
            ? .null : .scalar(scalar.string)
        case .sequence(let sequence): .sequence(try sequence.map { try YAMLNode($0, &rest) })
        case .mapping(let mapping):
          .mapping(
            try mapping.map { key, value in
              Member(
                name: key.string ?? "", value: try YAMLNode(value, &rest),
                line: key.mark?.line ?? 1, column: key.mark?.column ?? 1)
            })
        // Aliases are replaced while a document is read.
        case .alias: .null
        }
      self.init(kind: kind, line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    private static func invalid(
      _ problem: String, _ path: String, line: Int = 1, column: Int = 1
    ) -> ProjectError {
      ProjectError([
        Diagnostic(
          error: "The YAML is not valid: \(problem).", path: path, line: line, column: column)
      ])
    }

    private static func error(
      _ error: any Error, in text: String, path: String
    ) -> ProjectError {
      func invalid(_ problem: String, _ mark: Mark?) -> ProjectError {
        Self.invalid(problem, path, line: mark?.line ?? 1, column: mark?.column ?? 1)
      }
      return switch error as? YamlError {
      case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
        .composer(_, let problem, let mark, _):
        invalid(problem, mark)
      case .duplicatedKeysInMapping(let names, let context):
        duplicate(names, from: context.mark, in: text)
          .map {
            Self.invalid("\($0.name) is given twice", path, line: $0.line, column: $0.column)
          } ?? invalid("\(names.joined(separator: ", ")) is given twice", context.mark)
      case .reader(let problem, _, _, _): invalid(problem, nil)
      default: invalid("\(error)", nil)
      }
    }

    /// The place where the first of the names is for the second time: Yams has only that of the
    /// mapping. Nil in a mapping in braces.
    private static func duplicate(
      _ names: [String], from mark: Mark, in text: String
    ) -> (name: String, line: Int, column: Int)? {
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      var seen: Set<String> = []
      for (index, line) in lines.enumerated() where index + 1 >= mark.line {
        let indentation = line.prefix { $0 == " " }.count
        guard indentation + 1 == mark.column,
          let name = names.sorted().first(where: {
            line.dropFirst(indentation).hasPrefix("\($0):")
          })
        else { continue }
        if !seen.insert(name).inserted { return (name, index + 1, indentation + 1) }
      }
      return nil
    }
  }
#endif
