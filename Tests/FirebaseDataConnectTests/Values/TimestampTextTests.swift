import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// Timestamps as RFC 3339 writes them.
@Suite struct TimestampTextTests {
  @Test(
    arguments: [
      (0, 0, "1970-01-01T00:00:00Z"), (-1, 999_999_999, "1969-12-31T23:59:59.999999999Z"),
      (130_804, 642_000_000, "1970-01-02T12:20:04.642Z"),
      (130_804, 642_000, "1970-01-02T12:20:04.000642Z"),
      (130_804, 642, "1970-01-02T12:20:04.000000642Z"),
      (-62_135_596_800, 0, "0001-01-01T00:00:00Z"), (-12_212_553_600, 0, "1583-01-01T00:00:00Z"),
      (253_402_300_799, 999_999_999, "9999-12-31T23:59:59.999999999Z"),
    ] as [(Int64, Int32, String)])
  func `a timestamp is the same after its text`(
    seconds: Int64, nanoseconds: Int32, text: String
  ) throws {
    let timestamp = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    #expect(timestamp.rfc3339 == text)
    #expect(try Timestamp(rfc3339: text) == timestamp)
  }

  @Test func `random timestamps are the same after their texts`() throws {
    for _ in 0..<1000 {
      let units: Int32 = [1, 1000, 1_000_000, 1_000_000_000].randomElement() ?? 1
      let timestamp = Timestamp(
        seconds: .random(in: -12_212_553_600...253_402_300_799),
        nanoseconds: .random(in: 0..<1_000_000_000) / units * units)
      let text = timestamp.rfc3339
      #expect(try Timestamp(rfc3339: text) == timestamp, "\(text)")
    }
  }

  @Test(
    arguments: [
      (-62_135_596_800, 0), (-62_135_596_800, 999_999_999), (0, 0), (253_402_300_799, 999_999_999),
    ] as [(Int64, Int32)])
  func `a timestamp in a result is the same at the ends of its range`(
    seconds: Int64, nanoseconds: Int32
  ) throws {
    let timestamp = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    #expect(try Timestamp(dataConnectValue: timestamp.dataConnectValue) == timestamp)
    let encoded = try DataValueEncoder.encode(["at": timestamp])
    #expect(try DataValueDecoder.decode([String: Timestamp].self, from: encoded)["at"] == timestamp)
  }

  @Test(arguments: [
    ("", 0), (".1", 100_000_000), (".12", 120_000_000), (".123", 123_000_000),
    (".1234", 123_400_000), (".123456", 123_456_000), (".1234567", 123_456_700),
    (".123456789", 123_456_789), (".000000000", 0), (".000000001", 1),
  ])
  func `a fraction has 0 to 9 digits`(fraction: String, nanoseconds: Int32) throws {
    #expect(
      try Timestamp(rfc3339: "2006-01-02T15:04:05\(fraction)Z")
        == Timestamp(seconds: 1_136_214_245, nanoseconds: nanoseconds))
  }

  @Test(arguments: [
    ("2006-01-02T15:04:05-00:00", "2006-01-02T15:04:05Z"),
    ("2006-01-02T15:04:05+00:00", "2006-01-02T15:04:05Z"),
    ("2006-01-02T15:04:05+07:00", "2006-01-02T08:04:05Z"),
    ("2006-01-02T15:04:05-05:10", "2006-01-02T20:14:05Z"),
    ("2024-03-01T00:30:00+01:00", "2024-02-29T23:30:00Z"),
    ("2023-12-31T23:30:00-00:45", "2024-01-01T00:15:00Z"),
    ("2006-01-02T15:04:05+23:59", "2006-01-01T15:05:05Z"),
    ("2006-01-02T15:04:05-23:59", "2006-01-03T15:03:05Z"),
  ])
  func `an offset is subtracted`(text: String, inUTC: String) throws {
    #expect(try Timestamp(rfc3339: text) == Timestamp(rfc3339: inUTC))
    #expect(try Timestamp(rfc3339: text).rfc3339 == inUTC)
  }

  @Test(arguments: [
    ("1538-03-05T15:04:05.653498752-03:01", "1538-03-05T18:05:05.653498752Z"),
    ("1358-03-05T15:04:05.527094582+13:03", "1358-03-05T02:01:05.527094582Z"),
    ("2023-05-21T11:04:05.462-12:07", "2023-05-21T23:11:05.462Z"),
    ("2053-11-02T15:04:05.743393-05:10", "2053-11-02T20:14:05.743393Z"),
    ("1638-03-05T15:04:05.653498752-03:01", "1638-03-05T18:05:05.653498752Z"),
    ("2023-05-21T11:04:05.662+10:01", "2023-05-21T01:03:05.662Z"),
    ("2144-01-02T15:04:05.753493+01:00", "2144-01-02T14:04:05.753493Z"),
    ("1758-03-05T15:04:05.527094582+13:03", "1758-03-05T02:01:05.527094582Z"),
  ])
  func `a fraction and an offset are both read`(text: String, inUTC: String) throws {
    #expect(try Timestamp(rfc3339: text).rfc3339 == inUTC)
  }

  @Test func `T and Z are letters of any case`() throws {
    let timestamp = Timestamp(seconds: 1_136_214_245, nanoseconds: 123_456_789)
    for (t, z) in [("T", "Z"), ("t", "Z"), ("T", "z"), ("t", "z")] {
      #expect(try Timestamp(rfc3339: "2006-01-02\(t)15:04:05.123456789\(z)") == timestamp)
    }
  }

  @Test func `the first and the last timestamp are those of the years 1583 and 9999`() throws {
    #expect(
      try Timestamp(rfc3339: "1583-01-01T00:00:00.000000Z")
        == Timestamp(seconds: -12_212_553_600, nanoseconds: 0))
    #expect(
      try Timestamp(rfc3339: "9999-12-31T23:59:59.999999999Z")
        == Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999))
  }

  @Test func `a row has a timestamp of any year, and a variable one after 1582`() async throws {
    let connector = try TestConnector(
      schema: "type Event @table(key: \"name\") { name: String!  at: Timestamp  day: Date }",
      operations: """
        mutation Save($name: String!, $at: Timestamp) { event_upsert(data: {name: $name, at: $at}) }
        mutation NextDay($name: String!) {
          event_update(key: {name: $name}, data: {day_update: [{inc: {days: 1}}]})
        }
        query Get($name: String!) { event(key: {name: $name}) { at day } }
        """,
      settings: DataConnectSettings(cacheSettings: CacheSettings(storage: .memory, maxAge: 1000)))
    struct Found: Decodable, Sendable {
      struct Event: Decodable, Sendable {
        var at: Timestamp
        var day: LocalDate
      }
      var event: Event?
    }
    let old = Timestamp(seconds: -20_000_000_000, nanoseconds: 0)
    try await connector.firestore.document("event/a").setData([
      "name": "a", "at": old, "day": "1500-12-31",
    ])
    try await connector.mutate("NextDay", ["name": "a"])
    let reference = connector.dataConnect.query(
      name: "Get", variables: ["name": "a"], resultsDataType: Found.self)
    for policy in [QueryFetchPolicy.serverOnly, .cacheOnly] {
      let event = try await reference.execute(fetchPolicy: policy).data?.event
      #expect(event?.at == old && event?.day.description == "1501-01-01")
    }
    for text in ["1582-12-31T23:59:59Z", "1583-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"] {
      #expect(
        await message {
          try await connector.mutate("Save", ["name": "b", "at": .string(text)])
        }.contains("$at must be of the type Timestamp"))
    }
  }

  @Test(arguments: invalid)
  func `a text that is no timestamp is refused`(text: String) {
    let error = #expect(throws: DataConnectCodecError.self) { try Timestamp(rfc3339: text) }
    #expect(error?.code == .invalidTimestampFormat)
    #expect(throws: DataConnectCodecError.self) {
      try Timestamp(dataConnectValue: .string(text))
    }
  }

  private static let invalid: [String] = [
    // Parts that are missing, or twice.
    "", "Z", "T", "2024-02-28", "2024-02-28T", "12:30:45Z", "T12:30:45Z", "2024-02-28Z",
    "2024-02-28T12Z", "2024-02-28T12:30Z", "2024-02-28T12:30:Z", "2024-02-28T12:30:45",
    "2024-02-28T12:30:45ZZ", "2024-02-28T12:30:45Z+00:00", "2024-02-28T12:30:45+00:00Z",
    "2024-02-28T12:30:45Z2024-02-28T12:30:45Z", "--T::Z",
    // Widths.
    "24-02-28T12:30:45Z", "02024-02-28T12:30:45Z", "2024-2-28T12:30:45Z", "2024-02-8T12:30:45Z",
    "2024-02-28T1:30:45Z", "2024-02-28T12:3:45Z", "2024-02-28T12:30:4Z", "2024-02-28T12:30:045Z",
    // Signs, spaces and other separators.
    "2024/02/28T12:30:45Z", "20240228T123045Z", "2024-02-28 12:30:45Z", "2024-02-28T12.30.45Z",
    "2024-02-28T12:30:45 Z", " 2024-02-28T12:30:45Z", "2024-02-28T12:30:45Z ",
    "2024-02-28T12:30:45Z\n", "2024-02-28T12:30:45Z\u{0}", "+2024-02-28T12:30:45Z",
    "-2024-02-28T12:30:45Z", "2024-02-28T-1:30:45Z", "2024-02-28T12:30:+5Z", "2024-02-28_12:30:45Z",
    // Letters and other digits.
    "2024-02-28T12:30:45X", "2024-02-28T12:30:4aZ", "2024-Feb-28T12:30:45Z",
    "2024-02-28T12:30:45UTC",
    "2024-0２-28T12:30:45Z", "٢٠٢٤-٠٢-٢٨T١٢:٣٠:٤٥Z", "0x24-02-28T12:30:45Z",
    // Numbers that a date or a time does not have.
    "2024-00-28T12:30:45Z", "2024-13-28T12:30:45Z", "2024-02-00T12:30:45Z", "2024-02-30T12:30:45Z",
    "2023-02-29T12:30:45Z", "1900-02-29T12:30:45Z", "2024-04-31T12:30:45Z", "2024-02-28T24:00:00Z",
    "2024-02-28T12:60:45Z", "2024-02-28T12:30:60Z", "2024-02-28T99:99:99Z", "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-00:01", "0001-01-01T00:00:00+00:01",
    // Fractions.
    "2024-02-28T12:30:45.Z", "2024-02-28T12:30:45.", "2024-02-28T12:30:45.5",
    "2024-02-28T12:30:45,5Z",
    "2024-02-28T12:30:45..5Z", "2024-02-28T12:30:45.5.5Z", "2024-02-28T12:30:45.-5Z",
    "2024-02-28T12:30:45.a5Z", "2024-02-28T12:30:45.1234567890Z",
    "2024-02-28T12:30:45.123456789000000000000000000000Z", "2024-02-28T12:30:45.5Z.",
    // Offsets.
    "2024-02-28T12:30:45+", "2024-02-28T12:30:45-", "2024-02-28T12:30:45+07",
    "2024-02-28T12:30:45+07:",
    "2024-02-28T12:30:45+07:0", "2024-02-28T12:30:45+7:00", "2024-02-28T12:30:45+0700",
    "2024-02-28T12:30:45+07:000", "2024-02-28T12:30:45+007:00", "2024-02-28T12:30:45+07::00",
    "2024-02-28T12:30:45+07:00a", "2024-02-28T12:30:45+07:a0", "2024-02-28T12:30:45-a7:00",
    "2024-02-28T12:30:45+24:00", "2024-02-28T12:30:45+07:60", "2024-02-28T12:30:45--07:00",
    "2024-02-28T12:30:45+-7:00", "2024-02-28T12:30:45.5+07:00.", "2024-02-28T12:30:45\u{2212}07:00",
  ]
}
