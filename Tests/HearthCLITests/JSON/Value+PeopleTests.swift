#if Tools
  import Hearth
  import Testing

  @testable import HearthCLI

  @Suite struct ValuePeopleTests {
    @Test(arguments: [
      (Value.null, "null"), (.boolean(true), "true"), (.integer(-412), "-412"),
      (.double(100_000), "100000.0"), (.double(-0.0), "-0.0"), (.double(.nan), "NaN"),
      (.double(-.infinity), "-Infinity"),
      (.timestamp(Instant(microseconds: 1)), "1970-01-01T00:00:00.000001Z"),
      (.string("a\"\u{1B}é"), #""a\"\u001bé""#), (.bytes([1, 2]), "bytes AQI="),
      (.geoPoint(Coordinate(latitude: 59.91, longitude: 10)), "geo [59.91, 10.0]"),
      (.array([.null, .array([])]), "[null, []]"),
      (.vector([1, .infinity]), "vector [1.0, Infinity]"), (.map(MapValue()), "{}"),
      (.map(MapValue([("b", .integer(1)), ("\u{7}", .null)])), #"{"\u0007": null, b: 1}"#),
    ])
    func `a value has a form on one line`(value: Value, text: String) {
      #expect(value.brief == text)
    }

    @Test func `fields are as many lines as they need`() {
      let fields = MapValue([
        ("author", .map(MapValue([("name", .string("Frank Herbert"))]))),
        ("empty", .map(MapValue())), ("pages", .integer(412)),
        ("tags", .array([.string("sand"), .string("spice")])),
      ])
      let first = ["author:", #"  name: "Frank Herbert""#, "empty: {}", "pages: 412"]
      #expect(fields.lines(width: 40) == first + [#"tags: ["sand", "spice"]"#])
      #expect(fields.lines(width: 12) == first + ["tags:", #"  - "sand""#, #"  - "spice""#])
    }
  }
#endif
