import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// The forms of values that generated code has, for `Codable`.
@Suite struct CodecHelperTests {
  private static let text = "B7ACD615-1140-48F6-A522-26260D5C9367"
  private static let digits = "b7acd615114048f6a52226260d5c9367"

  /// One value of any type.
  private struct Box<Value: Codable>: Codable {
    enum CodingKeys: CodingKey { case value }
    var value: Value

    init(_ value: Value) { self.value = value }

    init(from decoder: any Decoder) throws {
      value = try CodecHelper<CodingKeys>().decode(
        Value.self, forKey: .value, container: decoder.container(keyedBy: CodingKeys.self))
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try CodecHelper<CodingKeys>().encode(value, forKey: .value, container: &container)
    }
  }

  private func json<Value: Codable>(_ value: Value) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return String(decoding: try encoder.encode(Box(value)), as: UTF8.self)
  }

  private func decoded<Value: Codable>(
    _ json: String, _ type: Value.Type = Value.self
  ) throws -> Value {
    try JSONDecoder().decode(Box<Value>.self, from: Data(json.utf8)).value
  }

  @Test func `a UUID is sent as 32 hex digits`() throws {
    let id = try #require(UUID(uuidString: Self.text))
    #expect(id.dataConnectText == Self.digits)
    #expect(id.dataConnectValue == .string(Self.digits))
    #expect(try json(id) == "{\"value\":\"\(Self.digits)\"}")
  }

  @Test func `a UUID is read in each of its forms`() throws {
    let id = try #require(UUID(uuidString: Self.text))
    for text in [
      Self.digits, Self.digits.uppercased(), Self.text, Self.text.lowercased(), "{\(Self.text)}",
      "{\(Self.digits)}", "urn:uuid:\(Self.text)", "URN:UUID:\(Self.digits)",
    ] {
      #expect(try UUID(dataConnectText: text) == id, "\(text)")
      #expect(try decoded("{\"value\":\"\(text)\"}") == id, "\(text)")
    }
    for text in [
      "", "{}", String(Self.digits.dropLast()), Self.digits + "0", "g" + Self.digits.dropFirst(),
      "{\(Self.digits)", "b7acd6151-140-48F6-A522-26260D5C9367", " \(Self.text)",
      Self.text.replacing("-", with: "_"),
    ] {
      let error = #expect(throws: DataConnectCodecError.self) { try UUID(dataConnectText: text) }
      #expect(error?.code == .invalidUUID, "\(text)")
    }
  }

  @Test func `nil is sent as null`() throws {
    #expect(try json(UUID?.none) == "{\"value\":null}")
    #expect(try json(Int64?.none) == "{\"value\":null}")
    #expect(try json(Timestamp?.none) == "{\"value\":null}")
    #expect(try json(String?.none) == "{\"value\":null}")
  }

  @Test func `null, and a member that is missing, are read as nil`() throws {
    for text in ["{\"value\":null}", "{}"] {
      #expect(try decoded(text, UUID?.self) == nil)
      #expect(try decoded(text, Int64?.self) == nil)
      #expect(try decoded(text, Timestamp?.self) == nil)
      #expect(try decoded(text, String?.self) == nil)
      #expect(try decoded(text, [UUID]?.self) == nil)
      #expect(try decoded(text, [Int64]?.self) == nil)
      #expect(try decoded(text, [Timestamp]?.self) == nil)
      #expect(throws: (any Error).self) { try decoded(text, UUID.self) }
      #expect(throws: (any Error).self) { try decoded(text, Int64.self) }
    }
  }

  @Test func `an Int64 is sent as text`() throws {
    #expect(try json(Int64.max) == "{\"value\":\"9223372036854775807\"}")
    #expect(try json(Int64.min as Int64?) == "{\"value\":\"-9223372036854775808\"}")
    #expect(try json(7) == "{\"value\":7}", "An Int is a number.")
  }

  @Test func `an Int64 is read from text and from a number`() throws {
    #expect(try decoded("{\"value\":\"9223372036854775807\"}") == Int64.max)
    #expect(try decoded("{\"value\":\"-9223372036854775808\"}", Int64?.self) == Int64.min)
    #expect(try decoded("{\"value\":12}") == Int64(12))
    for text in ["9223372036854775808", "1.5", "", "x", "0x1"] {
      #expect(throws: DataConnectCodecError.self) {
        try decoded("{\"value\":\"\(text)\"}", Int64.self)
      }
    }
  }

  private struct Values: Codable, Equatable {
    enum CodingKeys: CodingKey {
      case large, id, time, name, other, ids, times, none, numbers, moreIDs
    }
    var large = Int64.max
    var id = UUID()
    var time = Timestamp(seconds: 1_136_214_245, nanoseconds: 123_456_789)
    var name = "name"
    var other: Int64? = .min
    var ids = [UUID(), UUID()]
    var times = [Timestamp(seconds: 0, nanoseconds: 1)]
    var none: UUID?
    var numbers = [Int64.min, .max]
    var moreIDs: [UUID]? = [UUID()]

    init() {}

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      let helper = CodecHelper<CodingKeys>()
      large = try helper.decode(Int64.self, forKey: .large, container: container)
      id = try helper.decode(UUID.self, forKey: .id, container: container)
      time = try helper.decode(Timestamp.self, forKey: .time, container: container)
      name = try helper.decode(String.self, forKey: .name, container: container)
      other = try helper.decode(Int64?.self, forKey: .other, container: container)
      ids = try helper.decode([UUID].self, forKey: .ids, container: container)
      times = try helper.decode([Timestamp].self, forKey: .times, container: container)
      none = try helper.decode(UUID?.self, forKey: .none, container: container)
      numbers = try helper.decode([Int64].self, forKey: .numbers, container: container)
      moreIDs = try helper.decode([UUID]?.self, forKey: .moreIDs, container: container)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      let helper = CodecHelper<CodingKeys>()
      try helper.encode(large, forKey: .large, container: &container)
      try helper.encode(id, forKey: .id, container: &container)
      try helper.encode(time, forKey: .time, container: &container)
      try helper.encode(name, forKey: .name, container: &container)
      try helper.encode(other, forKey: .other, container: &container)
      try helper.encode(ids, forKey: .ids, container: &container)
      try helper.encode(times, forKey: .times, container: &container)
      try helper.encode(none, forKey: .none, container: &container)
      try helper.encode(numbers, forKey: .numbers, container: &container)
      try helper.encode(moreIDs, forKey: .moreIDs, container: &container)
    }
  }

  @Test func `a structure is the same after its JSON, and after its value`() throws {
    let values = Values()
    let json = try JSONEncoder().encode(values)
    #expect(try JSONDecoder().decode(Values.self, from: json) == values)
    let value = try DataValueEncoder.encode(values)
    #expect(value["id"] == .string(values.id.dataConnectText))
    #expect(value["large"] == .string("9223372036854775807"))
    #expect(try DataValueDecoder.decode(Values.self, from: value) == values)
  }
}
