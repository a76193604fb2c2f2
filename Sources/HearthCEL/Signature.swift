/// The functions of the language, with the types that the checker accepts.
struct Signature: Sendable {
  let name: String
  let isMethod: Bool
  /// The receiver of a method is the first.
  let parameters: [CELType]
  let result: CELType

  static let all: [Signature] = sizes + texts + conversions + accessors

  static let functionNames = Set(all.filter { !$0.isMethod }.map(\.name)).union(["has"])
  static let methodNames = Set(all.filter(\.isMethod).map(\.name))
    .union(Macro.allCases.map(\.rawValue))

  static func named(_ name: String, isMethod: Bool) -> [Signature] {
    all.filter { $0.name == name && $0.isMethod == isMethod }
  }

  private static func function(
    _ name: String, _ parameters: [CELType], _ result: CELType
  ) -> Signature {
    Signature(name: name, isMethod: false, parameters: parameters, result: result)
  }

  private static func method(
    _ name: String, _ parameters: [CELType], _ result: CELType
  ) -> Signature {
    Signature(name: name, isMethod: true, parameters: parameters, result: result)
  }

  private static let sizes = [
    CELType.string, .bytes, .list(of: .dyn), .map(key: .dyn, value: .dyn),
  ].flatMap { [function("size", [$0], .int), method("size", [$0], .int)] }

  private static let texts =
    ["startsWith", "endsWith", "contains", "matches"].map {
      method($0, [.string, .string], .bool)
    } + [function("matches", [.string, .string], .bool)]

  private static let conversions: [Signature] =
    convert("int", [.int, .uint, .double, .string, .timestamp], .int)
    + convert("uint", [.int, .uint, .double, .string], .uint)
    + convert("double", [.int, .uint, .double, .string], .double)
    + convert(
      "string",
      [.bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration], .string)
    + convert("bool", [.bool, .string], .bool)
    + convert("bytes", [.string, .bytes], .bytes)
    + convert("timestamp", [.int, .string, .timestamp], .timestamp)
    + convert("duration", [.string, .duration], .duration)
    + [
      function("type", [.dyn], .type), function("dyn", [.dyn], .dyn),
      function("uuidV4", [], .string),
    ]

  private static func convert(
    _ name: String, _ types: [CELType], _ result: CELType
  ) -> [Signature] {
    types.map { function(name, [$0], result) }
  }

  private static let accessors =
    CELTime.timestampParts.keys.sorted().flatMap {
      [method($0, [.timestamp], .int), method($0, [.timestamp, .string], .int)]
    } + CELTime.durationParts.keys.sorted().map { method($0, [.duration], .int) }
}
