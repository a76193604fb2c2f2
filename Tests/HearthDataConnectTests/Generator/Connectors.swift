import DataConnectModel
import Foundation
import HearthDataConnect
import Testing

/// The connectors of the fixtures, compiled.
enum Connectors {
  static let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Fixtures/DataConnect")

  static func compile(_ name: String) throws -> CompiledConnector {
    func files(_ folder: String) throws -> [SourceFile] {
      let url = fixtures.appending(path: "\(name)/\(folder)")
      return try FileManager.default.contentsOfDirectory(atPath: url.path)
        .filter { $0.hasSuffix(".gql") }
        .map {
          SourceFile(
            path: "\(folder)/\($0)",
            text: try String(contentsOf: url.appending(path: $0), encoding: .utf8))
        }
    }
    return try compile(
      CompilerInput(
        serviceID: "films", location: "local", connectorID: name, schema: files("schema"),
        connector: files("connector")))
  }

  static func compile(
    _ connectorID: String = "test", schema: String, _ operations: String
  ) throws -> CompiledConnector {
    try compile(
      CompilerInput(
        serviceID: "service", location: "local", connectorID: connectorID,
        schema: [SourceFile(path: "schema.gql", text: schema)],
        connector: [SourceFile(path: "operations.gql", text: operations)]))
  }

  private static func compile(_ input: CompilerInput) throws -> CompiledConnector {
    let result = DataConnectCompiler().compile(input)
    let errors = result.diagnostics.filter { $0.severity == .error }
    return try #require(
      result.connector, "\(errors.map(\.description).joined(separator: "\n"))")
  }

  /// A connector whose columns, variables, values and aliases are words of Swift, and names that
  /// generated code uses itself. Some names of its properties would be those of their types.
  static func words() throws -> CompiledConnector {
    let words = """
      Any Protocol Self Type any as associatedtype async await actor borrowing break case catch class \
      consume consuming continue convenience copy default defer deinit didSet discard do dynamic each \
      else enum extension fallthrough fileprivate final for func get guard if import in indirect infix \
      init inout internal is isolated lazy left let macro mutating none nonisolated open operator \
      optional override postfix precedencegroup prefix private protocol public repeat required rethrows \
      return right self sending set some static struct subscript super switch then throw throws try \
      typealias unowned unsafe using var weak where while willSet yield \
      Data Int OperationName Ref String T Variables dataConnect dataConnectValue encode execute \
      fetchPolicy hash hashValue hasher lhs name optionalVars ref rhs row values variables
      """.split(separator: " ").map(String.init)
    func list(_ separator: String, _ form: (String) -> String) -> String {
      words.map(form).joined(separator: separator)
    }
    let data = list(" ") { "\($0): $\($0)" }
    return try compile(
      "3d.films",
      schema: """
        type T @table(key: "pk") { pk: String! \(list(" ") { "\($0): String" }) }
        type K @table(key: ["inout", "default", "self"]) { inout: Int! default: Int! self: E! }
        type movie @table(key: ["a", "b"]) { a: Int! b: Int! }
        enum E { \(list(" ") { $0 }) }
        """,
      """
      mutation A(\(list(" ") { "$\($0): String" })) @auth(level: PUBLIC) {
        t_insert(data: {pk: "a" \(data)})
      }
      mutation B(\(list(" ") { "$\($0): String!" })) @auth(level: PUBLIC) {
        t_insert(data: {pk: "a" \(data)})
      }
      mutation C($data: T_Data!) @auth(level: PUBLIC) { t_insert(data: $data) }
      query Q @auth(level: PUBLIC) { ts { pk \(list(" ") { $0 }) } ks { inout default self } }
      query _list @auth(level: PUBLIC) { movies { a b } }
      query R @auth(level: PUBLIC) { \(list(" ") { "\($0): ts { pk }" }) }
      query init @auth(level: PUBLIC) { ts { pk } }
      query self @auth(level: PUBLIC) { ts { pk } }
      query default @auth(level: PUBLIC) { ts { pk } }
      """)
  }
}
