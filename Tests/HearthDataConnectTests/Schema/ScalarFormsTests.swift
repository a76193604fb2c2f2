import Testing

@testable import HearthDataConnect

@Suite struct `Forms of scalars` {
  @Test(arguments: [
    "11a7649b8ff5485bafbf2ea5f28894df", "11A7649B-8FF5-485B-AFBF-2EA5F28894DF",
    "{11a7649b-8ff5-485b-afbf-2ea5f28894df}", "urn:uuid:11a7649b-8ff5-485b-afbf-2ea5f28894df",
    "URN:UUID:11a7649b8ff5485bafbf2ea5f28894df",
  ])
  func `every form of a UUID has the same canonical form`(text: String) {
    #expect(ScalarForms.uuid(text) == "11a7649b8ff5485bafbf2ea5f28894df")
  }

  @Test(arguments: [
    "", "{}", "11a7649b", "11a7649b8ff5485bafbf2ea5f28894dg", "1-1a7649b8ff5485bafbf2ea5f28894df",
    "11a7649b-8ff5-485b-afbf2ea5f28894df", "11a7649b8ff5485bafbf2ea5f28894df0",
    "{11a7649b8ff5485bafbf2ea5f28894df", "１1a7649b8ff5485bafbf2ea5f28894df",
  ])
  func `other strings are no UUID`(text: String) {
    #expect(ScalarForms.uuid(text) == nil)
  }

  @Test(
    arguments: [
      ("2024-02-29", "2024-02-29"), ("2023-02-29", nil), ("2024-01-31T25:00", "2024-01-31"),
      ("2024-13-01", nil), ("2024-00-01", nil), ("2024-1-1", nil), ("2024-04-31", nil),
      ("1900-02-29", nil), ("2000-02-29", "2000-02-29"), ("2024-01-01 ", nil), ("٢٠٢٤-01-01", nil),
    ] as [(String, String?)])
  func `dates are days that exist`(text: String, expected: String?) {
    #expect(ScalarForms.date(text) == expected)
  }

  @Test(arguments: [
    "2024-02-29T12:00:00Z", "1583-01-01T00:00:00z", "9999-12-31t23:59:59.999999999Z",
    "2024-01-01T00:00:00.1+12:07", "2024-01-01T00:00:00-00:00",
    "1583-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00",
  ])
  func `timestamps are as RFC 3339 writes them`(text: String) {
    #expect(ScalarForms.isTimestamp(text))
  }

  @Test(arguments: [
    "", "2024-02-29", "2024-02-30T00:00:00Z", "1582-12-31T00:00:00Z", "2024-01-01T24:00:00Z",
    "2024-01-01T00:60:00Z", "2024-01-01T00:00:60Z", "2024-01-01T00:00:00", "2024-01-01T00:00:00.Z",
    "2024-01-01T00:00:00.1234567890Z", "2024-01-01T00:00:00+1200", "2024-01-01T00:00:00+24:00",
    "2024-01-01 00:00:00Z", "2024-01-01T00:00:00Zx",
  ])
  func `other strings are no timestamps`(text: String) {
    #expect(!ScalarForms.isTimestamp(text))
  }
}
