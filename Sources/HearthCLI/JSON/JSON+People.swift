#if Tools
  import Hearth

  /// JSON for people.
  extension JSON {
    /// A document's fields below each other, over as many lines as they need.
    ///
    ///     author:
    ///       name: "Frank Herbert"
    ///     pages: 412
    ///     tags: ["sand", "spice"]
    func lines(width: Int) -> [String] {
      guard case .object(let members) = self else { return [brief] }
      return members.flatMap { member -> [String] in
        let value = member.value
        let line = "\(member.name): \(value.brief)"
        if !value.isOpenMap, line.count <= width { return [line] }
        let lines = value.nestedLines(width: width - 2)
        return lines.count == 1 && !value.isOpenMap
          ? [line] : ["\(member.name):"] + lines.map { "  " + $0 }
      }
    }

    private func nestedLines(width: Int) -> [String] {
      if isOpenMap { return lines(width: width) }
      guard case .array(let elements) = self else { return [brief] }
      return elements.flatMap { element -> [String] in
        let brief = element.brief
        let lines = brief.count <= width - 2 ? [brief] : element.nestedLines(width: width - 2)
        return ["- " + (lines.first ?? "")] + lines.dropFirst().map { "  " + $0 }
      }
    }

    /// On one line, with spaces for the eye, and types as people know them.
    var brief: String {
      switch self {
      case .array(let elements): "[" + elements.map(\.brief).joined(separator: ", ") + "]"
      case .object(let members):
        switch tagged {
        case (.timestamp, .string(let text))?, (.double, .string(let text))?: text
        case (.reference, .string(let path))?: "→ \(path)"
        case (.bytes, .string(let text))?: "bytes \(text)"
        case (.geoPoint, let numbers)?: "geo \(numbers.brief)"
        case (.vector, let numbers)?: "vector \(numbers.brief)"
        case (.map, let map)?: map.fieldsBrief
        default: JSON.object(members).fieldsBrief
        }
      default: text
      }
    }

    /// A map, whatever its fields are called.
    var fieldsBrief: String {
      guard case .object(let members) = self else { return text }
      return "{" + members.map { "\($0.name): \($0.value.brief)" }.joined(separator: ", ") + "}"
    }

    /// A map with fields, that is no tagged form.
    private var isOpenMap: Bool {
      guard case .object(let members) = self else { return false }
      return !members.isEmpty && tagged == nil
    }

    private var tagged: (tag: Tag, value: JSON)? {
      guard case .object(let members) = self, members.count == 1,
        let tag = Tag(rawValue: members[0].name)
      else { return nil }
      return (tag, members[0].value)
    }
  }
#endif
