import DataConnectModel
import Foundation
import Hearth
import HearthText
import ProcessorTime
import Testing

@testable import FirebaseDataConnect

/// The time of what is measured is proportional to its elements. `Scripts/growth` counts more exactly.
@Suite(.serialized) struct GrowthTests {
  private func expectLinear<Input>(
    _ what: String, _ input: (Int) throws -> Input, _ count: Int = 4000,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (Input) throws -> Void
  ) rethrows {
    let (few, many) = (try input(count / 4), try input(4 * count))
    let exponent = try ProcessorTime.exponent(
      of: { try body(many) }, to: { try body(few) }, factor: 16)
    #expect(exponent < 1.5, "\(what)", sourceLocation: sourceLocation)
  }

  private static func names(_ count: Int) -> [String] {
    (0..<count).map { "name number \(1_000_000 + $0)" }
  }

  private static func object(_ count: Int) -> DataValue {
    .object(DataObject(names(count).map { ($0, .int(1)) }))
  }

  @Test func `an object with many names costs its size, wherever it goes`() throws {
    expectLinear("setting", Self.names) { names in
      var object = DataObject()
      for name in names { object[name] = 1 }
      for name in names { object[name] = 2 }
    }
    expectLinear("reading", Self.object) { value in
      for name in value.fields?.names ?? [] { _ = value[name] }
    }
    try expectLinear("JSON", { Self.object($0).json }) { _ = try DataValue(json: $0) }
    try expectLinear("JSON of the emulator", { JSON(Self.object($0)).text }) { text in
      _ = DataValue(try JSONReader.read(text))
    }
    expectLinear("canonical text", Self.object) { _ = $0.canonicalText }
    try expectLinear(
      "encoding", { Dictionary(uniqueKeysWithValues: Self.names($0).map { ($0, 1) }) }
    ) { _ = try DataValueEncoder.encode($0) }
    try expectLinear("decoding", Self.object) { value in
      _ = try DataValueDecoder.decode([String: Int].self, from: value)
    }
    let column = Column(name: "payload", type: .any, isNullable: true)
    try expectLinear("storing", Self.object) { value in
      _ = try StoredValue(value, column).dataValue(.any)
    }
    try expectLinear("hashing and comparing", Self.object) { value in
      let copy = try DataValue(json: value.json)
      #expect(Set([value]).contains(copy))
    }
  }

  private static let operations = """
    mutation Save($data: [Event_Data!]!) { event_insertMany(data: $data) }
    """
  private static let schema = """
    type Event @table(key: "id") { id: String! @default(expr: "uuidV4()") payload: Any tags: [String!] }
    """

  @Test func `an expression costs the same, however large the variables are`() throws {
    let connector = try TestConnector(schema: Self.schema, operations: Self.operations)
    let plan = try connector.dataConnect.service().plan
    let operation = try #require(plan.operation("Save"))
    try expectLinear(
      "an expression for each row",
      { count in
        let rows = (0..<count).map { DataValue.object(["payload": .int(Int64($0))]) }
        let execution = try Execution(
          operation, ["data": .list(rows)], nil, in: plan, connector.firestore)
        return (execution, count)
      }, 500
    ) { (input: (Execution, Int)) in
      for _ in 0..<input.1 { _ = try input.0.value(ofExpression: "uuidV4()") }
    }
  }

  @Test func `many updates of a list cost their elements`() throws {
    expectLinear("updates", { $0 }) { count in
      var list = ListEdits(.list((0..<count).map { .int(Int64($0)) }))
      for number in 0..<Int64(count) {
        list.add([.int(number), .int(-number)])
        list.remove([.int(number)])
        list.prepend([.int(number)])
      }
      _ = list.value
    }
  }

  @Test func `updates of a list have their effects in their order`() {
    var list = ListEdits(["a", "b", "a", "c"])
    list.prepend(["x", "y"])
    list.add(["b", "d", "d"])
    list.remove(["a", "x"])
    list.append(["a", "a"])
    list.prepend(["b"])
    #expect(list.value == ["b", "y", "b", "c", "d", "a", "a"])
    list.remove(["b"])
    list.add(["b", "y"])
    #expect(list.value == ["y", "c", "d", "a", "a", "b"])
  }

  @Test func `what limits refuse is refused before it costs more`() async throws {
    let connector = try TestConnector(
      schema: Self.schema,
      operations: """
        mutation Save($data: [Event_Data!]! @allow(fields: "id payload", maxCount: 2)) {
          event_insertMany(data: $data)
        }
        """)
    // The third element would be refused by its type, too.
    let rows: DataValue = [["id": "a"], ["id": "b"], ["id": 1]]
    let refused = await message { try await connector.mutate("Save", ["data": rows]) }
    #expect(refused.contains("more than 2 elements"), "\(refused)")
  }
}
