import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// Values of the type `Any`: the same after coding, after a database and after the cache.
@Suite struct AnyValueTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: "type Box @table { id: UUID!  content: Any! }",
      operations: """
        mutation Put($id: UUID!, $content: Any!) { box_upsert(data: {id: $id, content: $content}) }
        query Get($id: UUID!) { box(id: $id) { content } }
        """,
      settings: DataConnectSettings(cacheSettings: CacheSettings(storage: .memory, maxAge: 1000)))
  }

  private struct Content: OperationVariable {
    var id: UUID
    var content: AnyValue
  }

  private struct Found: Decodable, Sendable {
    struct Box: Decodable, Sendable {
      var content: AnyValue
    }
    var box: Box?
  }

  /// The value as it is read back: itself, from JSON, from the database, and from the cache.
  private func copies<Value: Codable>(_ value: Value) async throws -> [Value?] {
    let any = try AnyValue(codableValue: value)
    let json = try JSONDecoder().decode([AnyValue].self, from: JSONEncoder().encode([any]))
    let id = UUID()
    try await connector.dataConnect.mutation(
      name: "Put", variables: Content(id: id, content: any), resultsDataType: DataValue.self
    ).execute()
    let reference = connector.dataConnect.query(
      name: "Get", variables: ["id": id], resultsDataType: Found.self)
    let stored = try await reference.execute(fetchPolicy: .serverOnly)
    let cached = try await reference.execute(fetchPolicy: .cacheOnly)
    #expect(stored.source == .server && cached.source == .cache)
    return try [any, json.first, stored.data.box?.content, cached.data?.box?.content].map {
      try $0?.decodeValue(Value.self)
    }
  }

  private func same<Value>(_ value: Value) -> [Value?] { Array(repeating: value, count: 4) }

  @Test(arguments: [
    "Hello", "", " ", "12345", "-1", "0x10", "1e5", "1.0", "9223372036854775807", "true", "null",
    "nan",
    "inf", "-inf", "[]", "{}", "[1]", "B7ACD615-1140-48F6-A522-26260D5C9367",
    "b7acd615114048f6a52226260d5c9367", "{b7acd615-1140-48f6-a522-26260d5c9367}", "2024-05-14",
    "2006-01-02T15:04:05Z", "2006-01-02t15:04:05.123456789+07:00", "movie/Dune", "auth.uid",
    "\u{1F600} é e\u{301} \u{0}\n\"\\/",
  ])
  func `a string stays a string, also if it looks like another value`(text: String) async throws {
    let found = try await copies(text)
    #expect(found.map { $0.map { Array($0.utf8) } } == same(Array(text.utf8)))
    #expect(try AnyValue(codableValue: text).dataValue == .string(text))
    // Inside of others, too.
    #expect(try await copies(["key": [text]]) == same(["key": [text]]))
  }

  @Test(arguments: [
    "", "__x__", "__", "@row", "@names", "12345", "null", "a.b", "a/b", "*", "`", " ", "é",
    "e\u{301}", "[]", "[][]", "[].",
  ])
  func `a member is kept whatever its name looks like`(name: String) async throws {
    #expect(try await copies([name: 1]) == same([name: 1]))
    #expect(try await copies([[name: [[1]]]]) == same([[name: [[1]]]]))
  }

  @Test func `an Int is the same`() async throws {
    for number in [0, -1, .random(in: 1...9999), .min, .max] {
      #expect(try await copies(number) == same(number))
    }
  }

  @Test(arguments: [.random(in: .min ... .max), .max, .min, 1 << 53 + 1] as [Int64])
  func `an Int64 in Any is the same, also at the ends of its range`(number: Int64) async throws {
    #expect(try await copies(number) == same(number))
  }

  @Test(arguments: [
    .random(in: .leastNormalMagnitude ... .greatestFiniteMagnitude), .greatestFiniteMagnitude,
    -.greatestFiniteMagnitude, .leastNormalMagnitude, .leastNonzeroMagnitude, 0.1, 1.0 / 3, 1e16,
    -2.5,
    45.0,
  ])
  func `a Double is the same, also at the ends of its range`(number: Double) async throws {
    #expect(try await copies(number) == same(number))
  }

  @Test func `a UUID, a day and a timestamp are the same`() async throws {
    let id = UUID()
    #expect(try await copies(id) == same(id))
    let day = try LocalDate(year: 2024, month: 2, day: 29)
    #expect(try await copies(day) == same(day))
    let time = Timestamp(seconds: 1_136_214_245, nanoseconds: 123_456_000)
    #expect(try await copies(time) == same(time))
    let date = Date(timeIntervalSince1970: 1000.5)
    #expect(try await copies(date) == same(date))
    #expect(try await copies(["id": [id]]) == same(["id": [id]]))
  }

  private struct Inner: Codable, Equatable {
    var text = "Hello \(Int.random(in: 1...1000))"
    var number = Double.random(in: 1...10_000)
    var numbers = ["one": Int.random(in: 1...1000), "Two": Int.random(in: 1...100_000)]
  }

  private struct Outer: Codable, Equatable {
    enum Form: Codable, Equatable {
      case none
      case some(Int, label: String)
    }
    var text = "Data \(Int.random(in: 10...1000))"
    var count = Int.random(in: 1...10_000)
    var number = Double.random(in: 1...1000)
    var texts = ["key1": "val1", "key2": "val2"]
    var doubles = ["key1": Double.random(in: 1...1000), "key2": 2]
    var inner = Inner()
    var list = [Inner(), Inner()]
    var missing: Int?
    var holes: [Int?] = [1, nil, 3]
    var byNumber = [3: "c", 1: "a"]
    var forms = [Form.none, .some(4, label: "x")]
    var id = UUID()
    var day = try? LocalDate(year: 2024, month: 2, day: 29)
    var bytes = Data([0, 127, 255])
    var flag = true
    var small: UInt8 = 255
  }

  @Test func `a structure is the same`() async throws {
    let value = Outer()
    #expect(try await copies(value) == same(value))
    #expect(try await copies([value]) == same([value]))
  }

  @Test func `an array is the same`() async throws {
    let numbers = (0..<20).map { _ in Double.random(in: -1e9...1e9) } + [1, 2.5]
    #expect(try await copies(numbers) == same(numbers))
    #expect(try await copies([[[1], []], []]) == same([[[1], []], []]))
    #expect(try await copies([Int]()) == same([]))
  }

  @Test func `elements of different types keep their types`() async throws {
    let value: DataValue = ["A", 45, ["a": "2024-05-14", "b": nil], ["1", [2.5, true]]]
    let copies = try await copies(AnyValue(value))
    #expect(copies.map { $0?.dataValue.canonicalText } == same(value.canonicalText))
  }

  @Test func `null is nil, and a number of more than 64 bits is refused`() throws {
    let nothing = try AnyValue(codableValue: Int?.none)
    #expect(try nothing.decodeValue(Int.self) == nil)
    #expect(String(decoding: nothing.value, as: UTF8.self) == "null")
    let error = #expect(throws: DataConnectCodecError.self) {
      try AnyValue(codableValue: UInt64.max)
    }
    #expect(error?.code == .encodingFailed)
    #expect(throws: DecodingError.self) {
      try AnyValue(codableValue: "12x").decodeValue(Int.self)
    }
  }

  @Test func `the JSON of a value is UTF-8 with the members in their order`() throws {
    struct Pair: Codable {
      var b = 1
      var a = "é\""
    }
    let value = try AnyValue(codableValue: Pair()).value
    #expect(String(decoding: value, as: UTF8.self) == "{\"b\":1,\"a\":\"é\\\"\"}")
  }
}
