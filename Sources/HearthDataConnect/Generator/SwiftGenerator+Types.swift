extension SwiftGenerator {
  // MARK: Keys

  func write(_ key: KeyShape, to source: inout SwiftSource) {
    source.line("/// The key of a row of `\(key.table)`.")
    source.scope(
      "public struct \(key.name): DataConnectRow, DataConnectVariables, DataConnectEncodable"
    ) { source in
      for property in key.properties {
        source.line("public private(set) var \(property.quoted): \(property.type)")
      }
      source.line()
      source.function(
        "public init", key.properties.map { "\($0.label): \($0.type)" }
      ) { source in
        for property in key.properties {
          source.line("self.\(property.quoted) = \(property.quoted)")
        }
      }
      source.line()
      source.scope("public init(row: DataConnectReader) throws") { source in
        for property in key.properties { source.line(Self.reading(property)) }
      }
      source.line()
      writeValues(of: key.properties, to: &source)
      source.line()
      source.line(
        "public var dataConnectValue: DataValue { .object(dataConnectValues) }")
    }
  }

  /// `title = try row.read("title", at: 1)`
  static func reading(_ property: PropertyShape) -> String {
    // `row` is the parameter.
    let target = (["row", "self"].contains(property.name) ? "self." : "") + property.quoted
    let name = SwiftNames.literal(property.wireName)
    return "\(target) = try row.read(\(name), at: \(property.index))"
  }

  // MARK: Variables

  /// The members of requests, without the variables that are unset.
  func writeValues(of properties: [PropertyShape], to source: inout SwiftSource) {
    source.scope("public var dataConnectValues: DataObject") { source in
      guard !properties.isEmpty else { return source.line("DataObject()") }
      // A variable can be called `values`.
      let names = properties.map(\.name)
      var values = "values"
      while names.contains(values) { values += "_" }
      source.line("var \(values) = DataObject()")
      for property in properties {
        let value =
          "\(values)[\(SwiftNames.literal(property.wireName))] = \(property.quoted).dataConnectValue"
        if property.isOptional {
          source.scope("if $\(property.name).isSet") { $0.line(value) }
        } else {
          source.line(value)
        }
      }
      source.line("return \(values)")
    }
  }

  func declaration(of property: PropertyShape) -> String {
    property.isOptional
      ? "@OptionalVariable public var \(property.quoted): \(property.type)?"
      : "public var \(property.quoted): \(property.type)"
  }

  /// The data of rows: `MovieData`.
  func write(_ input: RowInputShape, to source: inout SwiftSource) {
    source.line(
      "/// The data of a row of `\(input.table)`. A column that is unset is not written.")
    source.scope("public struct \(input.name): DataConnectVariables, DataConnectEncodable") {
      source in
      for property in input.properties { source.line(declaration(of: property)) }
      source.line()
      source.line("/// `\(input.name) { $0.\(input.properties.first?.quoted ?? "column") = … }`")
      source.scope("public init(_ columns: (inout \(input.name)) -> Void = { _ in })") {
        $0.line("columns(&self)")
      }
      source.line()
      writeValues(of: input.properties, to: &source)
      source.line()
      source.line("public var dataConnectValue: DataValue { .object(dataConnectValues) }")
    }
  }

  // MARK: Enums

  func write(_ type: EnumShape, to source: inout SwiftSource) {
    source.line("/// The enum `\(type.graphQLName)`.")
    source.line(
      "public enum \(type.name): RawRepresentable, Hashable, Sendable, Codable, CaseIterable,")
    source.indented { $0.line("DataConnectDecodable, DataConnectEncodable") }
    source.line("{")
    source.indented { source in
      for element in type.cases { source.line("case \(element.quoted)") }
      source.line("/// A value that the schema got after this code was generated.")
      source.line("case _UNKNOWN(String)")
      source.line()
      source.line("/// The values of the schema.")
      source.list(
        "public static let allCases: [\(type.name)] = [", type.cases.map { ".\($0.quoted)" }, "]",
        last: ",")
      source.line()
      source.scope("public init(rawValue: String)") { source in
        source.line("switch rawValue {")
        for element in type.cases {
          source.line("case \(SwiftNames.literal(element.rawValue)): self = .\(element.quoted)")
        }
        source.line("default: self = ._UNKNOWN(rawValue)")
        source.line("}")
      }
      source.line()
      source.scope("public var rawValue: String") { source in
        source.line("switch self {")
        for element in type.cases {
          source.line("case .\(element.quoted): \(SwiftNames.literal(element.rawValue))")
        }
        source.line("case ._UNKNOWN(let rawValue): rawValue")
        source.line("}")
      }
    }
    source.line("}")
  }
}
