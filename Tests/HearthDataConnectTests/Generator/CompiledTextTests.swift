import DataConnectModel
import Foundation
import Testing

@testable import HearthDataConnect

@Suite struct CompiledTextTests {
  private func connector(reason: String) -> CompiledConnector {
    CompiledConnector(
      serviceID: "s", location: "l", connectorID: "c", schema: Schema(tables: [], enums: []),
      operations: [
        Operation(
          kind: .query, name: "q",
          auth: Auth(level: "PUBLIC", expression: "true", insecureReason: reason), fields: [])
      ])
  }

  @Test(arguments: [
    "plain", #"a "quoted, one", and \"#, "##\"\"\"###", ###"\#(1) \##(2)"###, "é 🏜\n\t", "",
    String(repeating: "long, ", count: 100),
  ])
  func `the lines of the literal are the connector's JSON`(reason: String) throws {
    let compiled = CompiledText(connector(reason: reason))
    var source = SwiftSource()
    compiled.write(to: &source)
    let lines = source.text.split(separator: "\n").map(String.init)
    let opening = try #require(lines.first { $0.hasSuffix("\"\"\"") && $0.contains("compiled =") })
    let marks = opening.filter { $0 == "#" }
    #expect(lines.last == "  \"\"\"\(marks)")
    let body = lines.drop { $0 != opening }.dropFirst().dropLast()
    // Neither the end of the literal nor an escape sequence of it.
    #expect(!body.contains { $0.contains("\"\"\"\(marks)") || $0.contains("\\\(marks)") })
    let decoded = try JSONDecoder().decode(
      CompiledConnector.self, from: Data(body.joined(separator: "\n").utf8))
    #expect(decoded == connector(reason: reason))
  }
}
