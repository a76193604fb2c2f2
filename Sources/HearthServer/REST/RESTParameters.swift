#if Server
  import Foundation
  import HearthEngine
  import SwiftProtobuf

  /// The parameters after the question mark, as fields of a call's message.
  ///
  ///     mask.fieldPaths=a&mask.fieldPaths=b&pageSize=2
  ///       ─▶ {"mask": {"fieldPaths": ["a", "b"]}, "pageSize": "2"}
  struct RESTParameters {
    private enum Kind {
      case text, list, flag
    }

    /// The kinds of the parameters that are not texts, by name.
    private static let kinds: [String: Kind] = [
      "mask.fieldPaths": .list, "updateMask.fieldPaths": .list, "currentDocument.exists": .flag,
      "showMissing": .flag,
    ]

    /// Parameters of all of Google's services that change nothing here.
    private static let ignored: Set<String> = ["key", "prettyPrint", "quotaUser", "$prettyPrint"]

    private var values: [(name: String, value: String)] = []

    /// - Parameter query: The text after the question mark.
    init(_ query: Substring) throws(Status) {
      for part in query.split(separator: "&") {
        let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        var texts: [String] = []
        for text in pair {
          guard let plain = text.replacing("+", with: " ").removingPercentEncoding else {
            throw .invalidArgument("The query is not UTF-8, or has an incomplete escape.")
          }
          texts.append(plain)
        }
        let value = texts.count > 1 ? texts[1] : ""
        switch texts[0] {
        case let name where Self.ignored.contains(name): break
        case "alt", "$alt":
          guard value == "json" else { throw .invalidArgument("The only format is alt=json.") }
        case let name: values.append((Self.camelCased(name), value))
        }
      }
    }

    /// The message with these fields. Throws `invalidArgument` for a parameter that is not allowed.
    func message<Message: SwiftProtobuf.Message>(
      _ allowed: [String] = []
    ) throws(Status) -> Message {
      var object: [String: Any] = [:]
      for (name, text) in values {
        guard allowed.contains(name) else {
          throw .invalidArgument("The call has no parameter \"\(name)\".")
        }
        let kind = Self.kinds[name] ?? .text
        let value: Any
        switch kind {
        case .text: value = text
        case .flag:
          guard let flag = Bool(text) else {
            throw .invalidArgument("The parameter \(name) is true or false.")
          }
          value = flag
        case .list: value = [text]
        }
        // At most one dot: `mask.fieldPaths`.
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        let field = parts.last ?? name
        var part = parts.count > 1 ? object[parts[0]] as? [String: Any] ?? [:] : object
        if kind == .list, let former = part[field] as? [String] {
          part[field] = former + [text]
        } else if part.updateValue(value, forKey: field) != nil {
          throw .invalidArgument("The parameter \(name) is there more than once.")
        }
        if parts.count > 1 { object[parts[0]] = part } else { object = part }
      }
      do {
        return try Message(
          jsonUTF8Bytes: Array(JSONSerialization.data(withJSONObject: object)))
      } catch {
        throw .invalidArgument("A parameter has an invalid value: \(error)")
      }
    }

    /// `update_mask.field_paths` as `updateMask.fieldPaths`.
    private static func camelCased(_ name: String) -> String {
      let words = name.split(separator: "_", omittingEmptySubsequences: false)
      return words.dropFirst().reduce(String(words[0])) {
        $0 + $1.prefix(1).uppercased() + $1.dropFirst()
      }
    }
  }
#endif
