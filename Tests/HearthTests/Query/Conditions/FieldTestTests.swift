import Testing

@testable import HearthEngine

@Suite struct FieldTestTests {
  @Test func `a test of a pattern ends when the deadline of its read passes`() throws {
    let comparison = StructuredQuery.Comparison(
      field: FieldSegments(["a"]), matching: "y{500}z|(y{1,300}y{1,300})z", options: "")
    func matches(_ count: Int, until deadline: ReadDeadline?) throws -> Bool {
      let text = String(repeating: "y", count: count)
      let body = try DocumentBody(encoding: MapValue([("a", .string(text))]))
      var matcher = Matcher([.comparison(comparison)], until: deadline)
      return try body.withBytes { bytes in
        try matcher.matches(MapView(body: bytes), path: { .root })
      }
    }
    let cancellation = ReadCancellation()
    cancellation.cancel()
    #expect(throws: ReadDeadline.Passed.self) { try matches(20_000, until: .at(cancellation)) }
    #expect(throws: ReadDeadline.Passed.self) { try matches(20_000, until: .passed) }
    #expect(try !matches(9, until: .at(ReadCancellation())))
    #expect(try !matches(9, until: nil))
  }
}
