#if Tools
  import Foundation
  import Hearth
  import HearthText

  /// Fields formatted for people.
  extension MapValue {
    /// The fields, one below the other, on as many lines as they need.
    ///
    ///     author:
    ///       name: "Frank Herbert"
    ///     pages: 412
    ///     tags: ["sand", "spice"]
    func lines(width: Int) -> [String] {
      fields.flatMap { field -> [String] in
        let (name, value) = (field.name.legible, field.value)
        let line = "\(name): \(value.brief)"
        if value.openMap == nil, line.count <= width { return [line] }
        let lines = value.nestedLines(width: width - 2)
        return lines.count == 1 && value.openMap == nil
          ? [line] : ["\(name):"] + lines.map { "  " + $0 }
      }
    }

    /// The fields on one line.
    var brief: String {
      let members = fields.map { "\($0.name.legible): \($0.value.brief)" }
      return "{" + members.joined(separator: ", ") + "}"
    }
  }

  extension Value {
    fileprivate func nestedLines(width: Int) -> [String] {
      if let openMap { return openMap.lines(width: width) }
      guard case .array(let elements) = self else { return [brief] }
      return elements.flatMap { element -> [String] in
        let brief = element.brief
        let lines = brief.count <= width - 2 ? [brief] : element.nestedLines(width: width - 2)
        return ["- " + (lines.first ?? "")] + lines.dropFirst().map { "  " + $0 }
      }
    }

    /// A value on one line, with spaces, and types in readable form.
    var brief: String {
      switch self {
      case .null: "null"
      case .boolean(let flag): "\(flag)"
      case .integer(let number): "\(number)"
      case .double(let number):
        number.isFinite
          ? "\(number)" : number.isNaN ? "NaN" : number > 0 ? "Infinity" : "-Infinity"
      case .timestamp(let time): time.text
      case .string(let text): JSON.string(text).text
      case .bytes(let bytes): "bytes \(Data(bytes).base64EncodedString())"
      case .reference(let path): "→ \(path.text.legible)"
      case .geoPoint(let point): "geo [\(point.latitude), \(point.longitude)]"
      case .array(let elements): "[" + elements.map(\.brief).joined(separator: ", ") + "]"
      case .vector(let components):
        "vector [" + components.map { Value.double($0).brief }.joined(separator: ", ") + "]"
      case .map(let map): map.brief
      }
    }

    /// The fields of a map that has some.
    fileprivate var openMap: MapValue? {
      if case .map(let map) = self, !map.isEmpty { map } else { nil }
    }
  }
#endif
