import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// Values of every scalar type: from Swift through a mutation, the database and a query, back to Swift.
@Suite struct IntegrationTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        type Standard @table { id: UUID!  number: Int!  text: String!  decimal: Float! }
        type Big @table { num: Int64!  maxNum: Int64!  minNum: Int64! }
        type Named @table { id: UUID! @default(expr: "uuidV4()")  name: String! }
        type Dated @table { id: UUID!  day: Date! }
        type Every @table(key: "flag") {
          flag: Boolean!  at: Timestamp  any: Any  color: Color  vector: Vector @col(size: 3)
          ids: [UUID!]  days: [Date!]  bigs: [Int64!]  times: [Timestamp!]
        }
        enum Color { RED GREEN }
        """,
      operations: """
        mutation SaveStandard($id: UUID!, $number: Int!, $text: String!, $decimal: Float!) {
          standard_upsert(data: {id: $id, number: $number, text: $text, decimal: $decimal})
        }
        query GetStandard($id: UUID!) { standard(id: $id) { id number text decimal } }
        mutation SaveBig($num: Int64!, $maxNum: Int64!, $minNum: Int64!) {
          big_insert(data: {num: $num, maxNum: $maxNum, minNum: $minNum})
        }
        query GetBig($id: UUID!) { big(id: $id) { num maxNum minNum } }
        mutation SaveNamed($name: String!) { named_insert(data: {name: $name}) }
        query GetNamed($id: UUID!) { named(id: $id) { id name } }
        mutation SaveDated($id: UUID!, $day: Date!) { dated_insert(data: {id: $id, day: $day}) }
        query GetDated($id: UUID!) { dated(id: $id) { day } }
        query OnDay($day: Date!) { dateds(where: {day: {eq: $day}}) { day } }
        mutation SaveEvery(
          $at: Timestamp, $any: Any, $color: Color, $vector: Vector, $ids: [UUID!], $days: [Date!],
          $bigs: [Int64!], $times: [Timestamp!]
        ) {
          every_upsert(data: {
            flag: true, at: $at, any: $any, color: $color, vector: $vector, ids: $ids, days: $days,
            bigs: $bigs, times: $times
          })
        }
        query GetEvery { every(key: {flag: true}) { flag at any color vector ids days bigs times } }
        """)
  }

  private struct Key: Decodable, Sendable {
    var id: UUID
  }

  private struct Standard: Codable, Hashable, Sendable {
    var id: UUID
    var number: Int
    var text: String
    var decimal: Double
  }

  @discardableResult
  private func run<Result: Decodable & Sendable>(
    _ mutation: String, _ variables: some OperationVariable, _ type: Result.Type
  ) async throws -> Result {
    try await connector.dataConnect.mutation(
      name: mutation, variables: variables, resultsDataType: type
    ).execute().data
  }

  private func read<Row: Decodable & Sendable>(
    _ query: String, _ id: UUID, _ type: Row.Type
  ) async throws -> Row? {
    try await connector.dataConnect.query(
      name: query, variables: ["id": id], resultsDataType: [String: Row?].self
    ).execute().data.values.first ?? nil
  }

  @Test func `an id that is given is the row's`() async throws {
    let value = Standard(id: UUID(), number: 1, text: "a", decimal: 1)
    let keys = try await run("SaveStandard", value, [String: Key].self)
    #expect(keys["standard_upsert"]?.id == value.id)
    #expect(try await read("GetStandard", value.id, Standard.self) == value)
    #expect(try await read("GetStandard", UUID(), Standard.self) == nil)
  }

  @Test func `an id that is not given is a random one`() async throws {
    var ids: Set<UUID> = []
    for _ in 0..<20 {
      let keys = try await run("SaveNamed", ["name": "x"], [String: Key].self)
      let id = try #require(keys["named_insert"]?.id)
      #expect(try await read("GetNamed", id, Key.self)?.id == id)
      // Of version 4, as RFC 9562 has it.
      #expect(id.uuid.6 >> 4 == 4 && id.uuid.8 >> 6 == 0b10)
      ids.insert(id)
    }
    #expect(ids.count == 20)
  }

  @Test func `an Int, a String and a Float are the same`() async throws {
    for _ in 0..<20 {
      let value = Standard(
        id: UUID(), number: .random(in: -1_000_000...1_000_000),
        text: "test \(Int.random(in: 1...100)) é \u{1F600}", decimal: .random(in: -1e6...1e6))
      try await run("SaveStandard", value, DataValue.self)
      #expect(try await read("GetStandard", value.id, Standard.self) == value)
    }
  }

  @Test func `scalars are the same at the ends of their ranges`() async throws {
    let texts = ["", String(repeating: "x", count: 100_000)]
    let decimals: [Double] = [
      .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNormalMagnitude,
      .leastNonzeroMagnitude, 0,
    ]
    for number in [Int(Int32.min), -1, 0, Int(Int32.max)] {
      for decimal in decimals {
        let value = Standard(id: UUID(), number: number, text: texts[0], decimal: decimal)
        try await run("SaveStandard", value, DataValue.self)
        #expect(try await read("GetStandard", value.id, Standard.self) == value)
      }
    }
    let long = Standard(id: UUID(), number: 0, text: texts[1], decimal: 0)
    try await run("SaveStandard", long, DataValue.self)
    #expect(try await read("GetStandard", long.id, Standard.self) == long)
    for number in [Int(Int32.max) + 1, Int(Int32.min) - 1, .max, .min] {
      let value = Standard(id: UUID(), number: number, text: "", decimal: 0)
      #expect(
        await message { try await run("SaveStandard", value, DataValue.self) }.contains("32 bits"))
    }
  }

  @Test func `an Int64 is the same, also at the ends of its range`() async throws {
    struct Big: Codable, Hashable, Sendable {
      var num = Int64.random(in: .min ... .max)
      var maxNum = Int64.max
      var minNum = Int64.min
    }
    let value = Big()
    let keys = try await run("SaveBig", value, [String: Key].self)
    let id = try #require(keys["big_insert"]?.id)
    #expect(try await read("GetBig", id, Big.self) == value)
  }

  @Test func `a day is the same, and is found`() async throws {
    struct Dated: Codable, Hashable, Sendable {
      var id: UUID?
      var day: LocalDate
    }
    for text in ["0001-01-01", "1582-10-10", "2024-02-29", "9999-12-31"] {
      let value = Dated(id: UUID(), day: try LocalDate(localDateString: text))
      try await run("SaveDated", value, DataValue.self)
      let id = try #require(value.id)
      #expect(try await read("GetDated", id, Dated.self)?.day == value.day)
      #expect(
        try await connector.query("OnDay", ["day": .string(text + "T10:00:00Z")])
          == ["dateds": [["day": .string(text)]]])
    }
  }

  private struct Every: Codable, Hashable, Sendable {
    var at: Timestamp?
    var any: AnyValue?
    var color: String?
    var vector: [Double]?
    var ids: [UUID]?
    var days: [LocalDate]?
    var bigs: [Int64]?
    var times: [Timestamp]?
  }

  @Test func `a value of every other type is the same, and nil is nil`() async throws {
    let time = Timestamp(seconds: 1_136_214_245, nanoseconds: 123_456_000)
    let value = Every(
      at: time, any: try AnyValue(codableValue: ["a": [1, 2]]), color: "GREEN",
      vector: [1, -2.5, 1e300], ids: [UUID(), UUID()],
      days: [try LocalDate(year: 2024, month: 2, day: 29)], bigs: [.min, 0, .max],
      times: [time, Timestamp(seconds: -1, nanoseconds: 1000)])
    let query = connector.dataConnect.query(
      name: "GetEvery", variables: [String: String](), resultsDataType: [String: Every].self)
    try await run("SaveEvery", value, DataValue.self)
    #expect(try await query.execute().data["every"] == value)
    let empty = Every(ids: [], days: [], bigs: [], times: [])
    let nothing: DataValue = [
      "at": nil, "any": nil, "color": nil, "vector": nil, "ids": [], "days": [], "bigs": [],
      "times": [],
    ]
    try await run("SaveEvery", nothing, DataValue.self)
    #expect(try await query.execute().data["every"] == empty)
  }
}
