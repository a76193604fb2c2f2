#if Tools
  import Hearth
  import HearthText

  /// Typed values formatted for people; see `ValueType`.
  extension JSON {
    /// A document's fields, one below the other, on as many lines as they need.
    ///
    ///     author:
    ///       name: "Frank Herbert"
    ///     pages: 412
    ///     tags: ["sand", "spice"]
    func lines(width: Int) -> [String] {
      guard case .object(let members) = self else { return [brief] }
      return members.flatMap { member -> [String] in
        let value = member.value
        let line = "\(member.name.legible): \(value.brief)"
        if value.openMap == nil, line.count <= width { return [line] }
        let lines = value.nestedLines(width: width - 2)
        return lines.count == 1 && value.openMap == nil
          ? [line] : ["\(member.name.legible):"] + lines.map { "  " + $0 }
      }
    }

    private func nestedLines(width: Int) -> [String] {
      if let openMap { return openMap.lines(width: width) }
      guard let elements else { return [brief] }
      return elements.flatMap { element -> [String] in
        let brief = element.brief
        let lines = brief.count <= width - 2 ? [brief] : element.nestedLines(width: width - 2)
        return ["- " + (lines.first ?? "")] + lines.dropFirst().map { "  " + $0 }
      }
    }

    /// A value on one line, with spaces, and types in readable form.
    var brief: String {
      guard let (type, content) = typed else { return text }
      switch (type, content) {
      case (.timestamp, .string(let text)), (.integer, .string(let text)),
        (.double, .string(let text)):
        return text
      case (.reference, .string(let path)): return "→ \(path.legible)"
      case (.bytes, .string(let text)): return "bytes \(text)"
      case (.geoPoint, _):
        let (latitude, longitude) = (content["latitude"], content["longitude"])
        return "geo [\(latitude?.text ?? "0"), \(longitude?.text ?? "0")]"
      case (.array, _): return "[" + (elements ?? []).map(\.brief).joined(separator: ", ") + "]"
      case (.map, _):
        guard let fields = content["fields"] else { return "{}" }
        if let vector = fields.vector {
          return "vector [" + vector.map(\.brief).joined(separator: ", ") + "]"
        }
        return fields.fieldsBrief
      default: return content.text
      }
    }

    /// The fields of a map or a document on one line.
    var fieldsBrief: String {
      guard case .object(let members) = self else { return text }
      return "{" + members.map { "\($0.name.legible): \($0.value.brief)" }.joined(separator: ", ")
        + "}"
    }

    /// The elements of an array.
    private var elements: [JSON]? {
      guard case (.array, let content)? = typed,
        case .array(let elements)? = content["values"]
      else { return nil }
      return elements
    }

    /// The fields of a map that has some, and is not a vector.
    private var openMap: JSON? {
      guard case (.map, let content)? = typed, let fields = content["fields"],
        case .object(let members) = fields, !members.isEmpty, fields.vector == nil
      else { return nil }
      return fields
    }
  }
#endif
