#if Server && Tools
  import FirestoreProtocol
  import Foundation
  import Hearth
  import TestSupport
  import Testing

  @testable import HearthCLI
  @testable import HearthEngine
  @testable import HearthServer
  import HearthText

  /// The JSON mapping of Protocol Buffers, row by row, for each reader of documents: an import, the
  /// command line with --json, and a server's REST, whose library is the reference.
  @Suite struct ProtoJSONTests {
    enum Reader: CaseIterable { case file, commandLine, server }

    struct Row: Sendable, CustomTestStringConvertible {
      /// The members of a document besides its name.
      var members: String
      /// Nil if readers refuse the document.
      var fields: MapValue?
      /// Readers with another outcome, which has a reason.
      var otherwise: [Reader: MapValue?] = [:]
      var reason = ""

      var testDescription: String { members }

      init(members: String, _ fields: MapValue?) {
        self.members = members
        self.fields = fields
      }

      /// A document whose field `v` has the value.
      init(_ json: String, _ value: Value?) {
        self.init(members: #""fields":{"v":\#(json)}"#, value.map { MapValue([("v", $0)]) })
      }

      static func refused(_ json: String) -> Row { Row(json, nil) }

      func but(_ readers: Reader..., read value: Value?, because reason: String) -> Row {
        var row = self
        for reader in readers {
          row.otherwise[reader] = .some(value.map { MapValue([("v", $0)]) })
        }
        row.reason = reason
        return row
      }

      func but(_ readers: Reader..., refuse reason: String) -> Row {
        var row = self
        for reader in readers { row.otherwise[reader] = .some(nil) }
        row.reason = reason
        return row
      }

      /// Reads a document without fields.
      func but(_ reader: Reader, ignoring reason: String) -> Row {
        var row = self
        row.otherwise[reader] = .some(MapValue())
        row.reason = reason
        return row
      }

      func expected(of reader: Reader) -> MapValue? { otherwise[reader] ?? fields }
    }

    // MARK: The table

    static let integers: [Row] = [
      Row(#"{"integerValue":"412"}"#, .integer(412)),
      Row(#"{"integerValue":412}"#, .integer(412)),
      Row(#"{"integer_value":"412"}"#, .integer(412)),
      Row(#"{"integerValue":"-412"}"#, .integer(-412)),
      Row(#"{"integerValue":0}"#, .integer(0)),
      Row(#"{"integerValue":"-0"}"#, .integer(0)),
      Row(#"{"integerValue":-0}"#, .integer(0)),
      Row(#"{"integerValue":4.0}"#, .integer(4)),
      Row(#"{"integerValue":"4.0"}"#, .integer(4)),
      Row(#"{"integerValue":4.12e2}"#, .integer(412)),
      Row(#"{"integerValue":"4.12E+2"}"#, .integer(412)),
      Row(#"{"integerValue":"100e-2"}"#, .integer(1)),
      Row(#"{"integerValue":"\u0034"}"#, .integer(4)),
      Row(#"{"integerValue":"9223372036854775807"}"#, .integer(.max)),
      Row(#"{"integerValue":9223372036854775807}"#, .integer(.max)),
      Row(#"{"integerValue":"-9223372036854775808"}"#, .integer(.min)),
      Row(#"{"integerValue":-9223372036854775808}"#, .integer(.min)),
      Row(#"{"integerValue":-9223372036854775808.0}"#, .integer(.min)),
      // With a fraction or an exponent, the precision is that of a double.
      Row(#"{"integerValue":9007199254740993.0}"#, .integer(9_007_199_254_740_992)),
      .refused(#"{"integerValue":4.5}"#), .refused(#"{"integerValue":"4.5"}"#),
      .refused(#"{"integerValue":"1e-2"}"#), .refused(#"{"integerValue":9223372036854775808}"#),
      .refused(#"{"integerValue":"9223372036854775808"}"#),
      .refused(#"{"integerValue":-9223372036854775809}"#),
      .refused(#"{"integerValue":"-9223372036854775809"}"#),
      .refused(#"{"integerValue":1e19}"#), .refused(#"{"integerValue":"1e400"}"#),
      .refused(#"{"integerValue":18446744073709551616}"#),
      .refused(#"{"integerValue":"007"}"#), .refused(#"{"integerValue":"+5"}"#),
      .refused(#"{"integerValue":" 5"}"#), .refused(#"{"integerValue":"5 "}"#),
      .refused(#"{"integerValue":""}"#), .refused(#"{"integerValue":"-"}"#),
      .refused(#"{"integerValue":"0x10"}"#), .refused(#"{"integerValue":"five"}"#),
      .refused(#"{"integerValue":"٤"}"#), .refused(#"{"integerValue":"NaN"}"#),
      .refused(#"{"integerValue":true}"#), .refused(#"{"integerValue":[1]}"#),
      .refused(#"{"integerValue":{}}"#), .refused(#"{"integerValue":null}"#),
      .refused(#"{"integerValue":007}"#), .refused(#"{"integerValue":5.}"#),
      .refused(#"{"integerValue":.5}"#), .refused(#"{"integerValue":+5}"#),
    ]

    static let doubles: [Row] = [
      Row(#"{"doubleValue":1.5}"#, .double(1.5)), Row(#"{"doubleValue":"1.5"}"#, .double(1.5)),
      Row(#"{"double_value":1.5}"#, .double(1.5)), Row(#"{"doubleValue":1}"#, .double(1)),
      Row(#"{"doubleValue":"1"}"#, .double(1)), Row(#"{"doubleValue":-0}"#, .double(-0.0)),
      Row(#"{"doubleValue":-0.0}"#, .double(-0.0)), Row(#"{"doubleValue":"-0"}"#, .double(-0.0)),
      Row(#"{"doubleValue":1e21}"#, .double(1e21)), Row(#"{"doubleValue":"1E-7"}"#, .double(1e-7)),
      Row(#"{"doubleValue":"NaN"}"#, .double(.nan)),
      Row(#"{"doubleValue":"Infinity"}"#, .double(.infinity)),
      Row(#"{"doubleValue":"-Infinity"}"#, .double(-.infinity)),
      // The library's own words.
      Row(#"{"doubleValue":"Inf"}"#, .double(.infinity)),
      Row(#"{"doubleValue":"-Inf"}"#, .double(-.infinity)),
      Row(#"{"doubleValue":9007199254740993}"#, .double(9_007_199_254_740_992)),
      Row(#"{"doubleValue":9223372036854775808}"#, .double(9_223_372_036_854_775_808)),
      Row(#"{"doubleValue":"18446744073709551616"}"#, .double(18_446_744_073_709_551_616)),
      Row(#"{"doubleValue":5e-324}"#, .double(.leastNonzeroMagnitude)),
      Row(#"{"doubleValue":1e-400}"#, .double(0)),
      Row(#"{"doubleValue":1.7976931348623157e308}"#, .double(.greatestFiniteMagnitude)),
      Row(#"{"doubleValue":-9223372036854775809}"#, .double(-9_223_372_036_854_775_808))
        .but(
          .file, .commandLine,
          refuse: "As an integer, it would pass for the smallest of 64 bits, to which it rounds."),
      Row(#"{"doubleValue":0.\#(String(repeating: "5", count: 200))}"#, .double(0.5555555555555556))
        .but(.server, refuse: "The library takes numbers of at most 127 characters."),
      .refused(#"{"doubleValue":1e400}"#), .refused(#"{"doubleValue":"-1e400"}"#),
      .refused(#"{"doubleValue":"nan"}"#), .refused(#"{"doubleValue":"infinity"}"#),
      .refused(#"{"doubleValue":"+Infinity"}"#), .refused(#"{"doubleValue":"-NaN"}"#),
      .refused(#"{"doubleValue":NaN}"#), .refused(#"{"doubleValue":Infinity}"#),
      .refused(#"{"doubleValue":""}"#), .refused(#"{"doubleValue":"1.5 "}"#),
      .refused(#"{"doubleValue":"1,5"}"#), .refused(#"{"doubleValue":"0x1p3"}"#),
      .refused(#"{"doubleValue":".5"}"#), .refused(#"{"doubleValue":"5."}"#),
      .refused(#"{"doubleValue":"01.5"}"#), .refused(#"{"doubleValue":false}"#),
    ]

    static let times: [Row] = [
      time("1965-08-01T12:00:00Z", -139_406_400_000_000),
      time("1965-08-01T12:00:00.000001Z", -139_406_399_999_999),
      time("2014-10-02T15:01:23+05:30", 1_412_242_283_000_000),
      time("2014-10-02T15:01:23-05:30", 1_412_281_883_000_000),
      time("2014-10-02T15:01:23-00:00", 1_412_262_083_000_000),
      time("2014-10-02T15:01:23+13:59", 1_412_211_743_000_000),
      time("2014-10-02T15:01:23.1Z", 1_412_262_083_100_000),
      time("2014-10-02T15:01:23.12Z", 1_412_262_083_120_000),
      time("2014-10-02T15:01:23.123Z", 1_412_262_083_123_000),
      time("2014-10-02T15:01:23.1234Z", 1_412_262_083_123_400),
      time("2014-10-02T15:01:23.12345+01:00", 1_412_258_483_123_450),
      time("2014-10-02T15:01:23.123456Z", 1_412_262_083_123_456),
      time("2014-10-02T15:01:23.1234567Z", 1_412_262_083_123_456),
      time("2014-10-02T15:01:23.12345678Z", 1_412_262_083_123_456),
      // Rounded down to a microsecond, before 1970 as well.
      time("2014-10-02T15:01:23.123456789Z", 1_412_262_083_123_456),
      time("1969-12-31T23:59:59.999999999Z", -1),
      time("0001-01-01T00:00:00Z", Instant.earliest.microseconds),
      time("9999-12-31T23:59:59.999999999Z", Instant.latest.microseconds),
      time("0001-01-01T01:00:00+01:00", Instant.earliest.microseconds),
      time("2000-02-29T00:00:00Z", 951_782_400_000_000),
      time(#"2000\u002d02-29T00:00:00Z"#, 951_782_400_000_000),
      Row(#"{"timestamp_value":"1970-01-01T00:00:00Z"}"#, .timestamp(Instant(microseconds: 0))),
      time("2014-10-02T15:01:23+14:00", 1_412_211_683_000_000)
        .but(.server, refuse: "The library refuses offsets from +14:00 on, which places have."),
      time("2014-10-02T15:01:23-23:59", 1_412_348_423_000_000)
        .but(.server, refuse: "The library refuses offsets from -14:00 on."),
    ]

    static let noTimes: [Row] =
      [
        "", "2014-10-02", "2014-10-02T15:01:23", "2014-10-02 15:01:23Z", "2014-10-02t15:01:23Z",
        "2014-10-02T15:01:23z", "2014-10-02T15:01Z", "2014-10-02T15:01:23.Z",
        "2014-10-02T15:01:23.1234567890Z", "2014-10-02T15:01:23,5Z", "2014-10-02T15:01:23+0530",
        "2014-10-02T15:01:23+05", "2014-10-02T15:01:23+24:00", "2014-10-02T15:01:23+05:60",
        "2014-10-02T15:01:60Z", "2014-10-02T15:60:23Z", "2014-10-02T24:00:00Z",
        "2014-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2014-13-01T00:00:00Z",
        "2014-00-01T00:00:00Z", "2014-01-00T00:00:00Z", "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "12014-10-02T15:01:23Z",
        " 2014-10-02T15:01:23Z", "2014-10-02T15:01:23Z ", "2014-10-02T15:01:23ZZ",
        "٢٠١٤-10-02T15:01:23Z",
      ].map { Row.refused(#"{"timestampValue":"\#($0)"}"#) }

    static let noTexts: [Row] = [
      .refused(#"{"timestampValue":1412262083}"#), .refused(#"{"timestampValue":null}"#),
      .refused(#"{"timestampValue":{"seconds":"1412262083"}}"#),
    ]

    private static func time(_ text: String, _ microseconds: Int64) -> Row {
      Row(#"{"timestampValue":"\#(text)"}"#, .timestamp(Instant(microseconds: microseconds)))
    }

    static let bytes: [Row] = [
      Row(#"{"bytesValue":"aGVhcnRo"}"#, .bytes(Array("hearth".utf8))),
      Row(#"{"bytes_value":"aGVhcnRo"}"#, .bytes(Array("hearth".utf8))),
      Row(#"{"bytesValue":""}"#, .bytes([])),
      Row(#"{"bytesValue":"+/8="}"#, .bytes([0xFB, 0xFF])),
      Row(#"{"bytesValue":"+\/8="}"#, .bytes([0xFB, 0xFF])),
      Row(#"{"bytesValue":"+/8"}"#, .bytes([0xFB, 0xFF])),
      Row(#"{"bytesValue":"-_8="}"#, .bytes([0xFB, 0xFF])),
      Row(#"{"bytesValue":"-_8"}"#, .bytes([0xFB, 0xFF])),
      Row(#"{"bytesValue":"QQ=="}"#, .bytes([65])), Row(#"{"bytesValue":"QQ"}"#, .bytes([65])),
      Row(#"{"bytesValue":"QUI="}"#, .bytes([65, 66])),
      Row(#"{"bytesValue":"QUI"}"#, .bytes([65, 66])),
      // The last bits belong to no byte.
      Row(#"{"bytesValue":"QR=="}"#, .bytes([65])),
      Row(#"{"bytesValue":"QUJ"}"#, .bytes([65, 66])),
      Row(#"{"bytesValue":"aG Vh cn Ro"}"#, .bytes(Array("hearth".utf8))),
      Row(#"{"bytesValue":"\u0051Q=="}"#, .bytes([65]))
        .but(.server, refuse: "The library takes no other escape than \\/ in base64."),
      .refused(#"{"bytesValue":"*"}"#), .refused(#"{"bytesValue":"Q"}"#),
      .refused(#"{"bytesValue":"QQ="}"#), .refused(#"{"bytesValue":"QQ==="}"#),
      .refused(#"{"bytesValue":"QUI=="}"#), .refused(#"{"bytesValue":"aGVh="}"#),
      .refused(#"{"bytesValue":"QQ==QQ=="}"#), .refused(#"{"bytesValue":"=QQ="}"#),
      .refused(#"{"bytesValue":"+_8="}"#), .refused(#"{"bytesValue":"aGVhcnRö"}"#),
      .refused(#"{"bytesValue":"aGVh\ncnRo"}"#), .refused(#"{"bytesValue":5}"#),
      .refused(#"{"bytesValue":null}"#), .refused(#"{"bytesValue":[104]}"#),
    ]

    static let scalars: [Row] = [
      Row(#"{"nullValue":null}"#, .null), Row(#"{"null_value":null}"#, .null),
      Row(#"{"nullValue":"NULL_VALUE"}"#, .null), Row(#"{"nullValue":0}"#, .null),
      Row(#"{"nullValue":0.0}"#, .null),
      // An enumeration takes unknown numbers.
      Row(#"{"nullValue":1}"#, .null),
      .refused(#"{"nullValue":"null"}"#), .refused(#"{"nullValue":"0"}"#),
      .refused(#"{"nullValue":""}"#), .refused(#"{"nullValue":0.5}"#),
      .refused(#"{"nullValue":false}"#), .refused(#"{"nullValue":{}}"#),
      Row(#"{"booleanValue":true}"#, .boolean(true)),
      Row(#"{"boolean_value":false}"#, .boolean(false)),
      .refused(#"{"booleanValue":"true"}"#), .refused(#"{"booleanValue":1}"#),
      .refused(#"{"booleanValue":null}"#), .refused(#"{"booleanValue":True}"#),
      .refused(#"{"booleanValue":truee}"#),
      Row(#"{"stringValue":"Dune"}"#, .string("Dune")), Row(#"{"stringValue":""}"#, .string("")),
      Row(#"{"string_value":"é🏜"}"#, .string("é🏜")),
      Row(#"{"string\u0056alue":"x"}"#, .string("x")),
      Row(
        #"{"stringValue":"\"\\\/\b\f\n\r\t\u0000\u00e9\u2028"}"#,
        .string("\"\\/\u{8}\u{C}\n\r\t\u{0}é\u{2028}")),
      Row(#"{"stringValue":"\ud83c\udfdc \uD83C\uDFDC"}"#, .string("🏜 🏜")),
      Row(
        "{\"stringValue\":\"\u{7F}\u{85}\u{202E}\u{FEFF}\"}",
        .string("\u{7F}\u{85}\u{202E}\u{FEFF}")),
      .refused(#"{"stringValue":"\ud83c"}"#), .refused(#"{"stringValue":"\udfdc"}"#),
      .refused(#"{"stringValue":"\udfdc\ud83c"}"#), .refused(#"{"stringValue":"\ud83cx"}"#),
      .refused(#"{"stringValue":"\ud83c\n"}"#), .refused(#"{"stringValue":"\ud83c\u0041"}"#),
      .refused(#"{"stringValue":"\u00g9"}"#), .refused(#"{"stringValue":"\u00e"}"#),
      .refused(#"{"stringValue":"\x41"}"#), .refused(#"{"stringValue":"\'"}"#),
      .refused("{\"stringValue\":\"a\u{1}b\"}"), .refused("{\"stringValue\":\"a\tb\"}"),
      .refused(#"{"stringValue":'x'}"#), .refused(#"{"stringValue":5}"#),
      .refused(#"{"stringValue":null}"#), .refused(#"{"stringValue":["x"]}"#),
      Row(reference("books/dune"), .reference(ResourcePath(relative: "books/dune"))),
      Row(
        reference("books/dune").replacingOccurrences(of: "eV", with: "e_v"),
        .reference(ResourcePath(relative: "books/dune"))),
      Row(
        #"{"referenceValue":"books/dune"}"#, .reference(ResourcePath(relative: "books/dune"))
      ).but(.server, refuse: "Exports have paths alone; the protocol has whole names."),
      Row(
        #"{"referenceValue":"projects/other/databases/(default)/documents/books/dune"}"#,
        .reference(ResourcePath(relative: "books/dune"))
      ).but(.server, refuse: "An import moves documents; a request is about one database."),
      .refused(reference("books")), .refused(#"{"referenceValue":""}"#),
      .refused(#"{"referenceValue":null}"#), .refused(#"{"referenceValue":5}"#),
    ]

    private static func reference(_ path: String) -> String {
      #"{"referenceValue":"\#(TestServer.root)/\#(path)"}"#
    }

    static let nested: [Row] = [
      geoPoint(#""latitude":59.91,"longitude":10.75"#, 59.91, 10.75),
      geoPoint(#""longitude":10.75"#, 0, 10.75), geoPoint(#""latitude":59.91"#, 59.91, 0),
      geoPoint("", 0, 0), geoPoint(#""latitude":null,"longitude":"-1e1""#, 0, -10),
      geoPoint(#""latitude":-0.0"#, -0.0, 0),
      Row(
        #"{"geo_point_value":{"latitude":1}}"#,
        .geoPoint(Coordinate(latitude: 1, longitude: 0))),
      .refused(#"{"geoPointValue":{"latitude":91}}"#),
      .refused(#"{"geoPointValue":{"longitude":-180.5}}"#),
      .refused(#"{"geoPointValue":{"latitude":"NaN"}}"#),
      .refused(#"{"geoPointValue":{"latitude":true}}"#),
      .refused(#"{"geoPointValue":{"latitude":1,"altitude":2}}"#),
      .refused(#"{"geoPointValue":{"altitude":null}}"#),
      .refused(#"{"geoPointValue":[59.91,10.75]}"#), .refused(#"{"geoPointValue":null}"#),
      Row(#"{"arrayValue":{"values":[{"integerValue":1},{}]}}"#, nil),
      Row(
        #"{"arrayValue":{"values":[{"integerValue":1},{"nullValue":null}]}}"#,
        .array([.integer(1), .null])),
      Row(#"{"array_value":{"values":[]}}"#, .array([])),
      Row(#"{"arrayValue":{}}"#, .array([])), Row(#"{"arrayValue":{"values":null}}"#, .array([])),
      .refused(#"{"arrayValue":{"values":[null]}}"#), .refused(#"{"arrayValue":{"values":{}}}"#),
      .refused(#"{"arrayValue":[{"integerValue":1}]}"#), .refused(#"{"arrayValue":null}"#),
      .refused(#"{"arrayValue":{"values":[{"integerValue":1},]}}"#),
      .refused(#"{"arrayValue":{"elements":[]}}"#), .refused(#"{"arrayValue":{"elements":null}}"#),
      .refused(#"{"arrayValue":{"values":[{"arrayValue":{}}]}}"#),
      Row(
        #"{"mapValue":{"fields":{"a":{"string_value":"x"}}}}"#,
        .map(MapValue([("a", .string("x"))]))),
      Row(#"{"map_value":{"fields":{}}}"#, .map(MapValue())),
      Row(#"{"mapValue":{}}"#, .map(MapValue())),
      Row(#"{"mapValue":{"fields":null}}"#, .map(MapValue())),
      .refused(#"{"mapValue":{"fields":{"a":null}}}"#), .refused(#"{"mapValue":{"fields":[]}}"#),
      .refused(#"{"mapValue":{"a":{"integerValue":1}}}"#), .refused(#"{"mapValue":null}"#),
      .refused(#"{"mapValue":{"fields":{"a":{}}}}"#),
      .refused(#"{"mapValue":{"fields":{"a":{"nullValue":null},"a":{"nullValue":null}}}}"#),
      .refused(#"{"mapValue":{"fields":{"":{"nullValue":null}}}}"#),
      .refused(#"{"mapValue":{"fields":{"__a__":{"nullValue":null}}}}"#),
      Row(vector(#"{"doubleValue":1},{"doubleValue":"0.5"}"#), .vector([1, 0.5])),
      .refused(vector(#"{"doubleValue":1},{"integerValue":2}"#)),
      .refused(vector("")),
      .refused(#"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"}}}}"#),
      Row(depth(20), deepValue(20)), .refused(depth(21)), .refused(depth(40)),
      .refused(depth(10_000)),
    ]

    private static func geoPoint(_ members: String, _ latitude: Double, _ longitude: Double) -> Row
    {
      Row(
        #"{"geoPointValue":{\#(members)}}"#,
        .geoPoint(Coordinate(latitude: latitude, longitude: longitude)))
    }

    private static func vector(_ elements: String) -> String {
      #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"#
        + #""value":{"arrayValue":{"values":[\#(elements)]}}}}}"#
    }

    private static func depth(_ count: Int) -> String {
      String(repeating: #"{"mapValue":{"fields":{"a":"#, count: count) + #"{"nullValue":null}"#
        + String(repeating: "}}}", count: count)
    }

    private static func deepValue(_ count: Int) -> Value {
      (0..<count).reduce(Value.null) { value, _ in .map(MapValue([("a", value)])) }
    }

    static let types: [Row] = [
      .refused("{}"), .refused("null"), .refused("5"), .refused(#""x""#), .refused("[]"),
      .refused(#"{"uuidValue":"x"}"#), .refused(#"{"stringvalue":"x"}"#),
      .refused(#"{"uuidValue":null}"#), .refused(#"{"stringValue":"x","uuidValue":null}"#),
      Row(#"{"stringValue":"x","integerValue":null}"#, .string("x")),
      Row(#"{"integerValue":null,"stringValue":"x"}"#, .string("x")),
      Row(#"{"stringValue":null,"string_value":"x"}"#, .string("x")),
      .refused(#"{"stringValue":"x","integerValue":1}"#),
      .refused(#"{"stringValue":"x","string_value":"x"}"#),
      .refused(#"{"stringValue":"x","nullValue":null}"#),
      .refused(#"{"stringValue":"x","stringValue":"y"}"#),
      .refused(#"{"fieldReferenceValue":"a"}"#), .refused(#"{"functionValue":{"name":"add"}}"#),
      .refused(#"{"pipelineValue":{}}"#), .refused(#"{"variableReferenceValue":"a"}"#),
      Row(#"{"stringValue":null,"stringValue":"x"}"#, .string("x"))
        .but(.file, .commandLine, refuse: repeated),
      Row(
        #"{"geoPointValue":{"latitude":1,"latitude":2}}"#,
        .geoPoint(.init(latitude: 2, longitude: 0))
      )
      .but(.file, .commandLine, refuse: repeated),
      Row(#"{"arrayValue":{"values":[{"nullValue":null}],"values":[]}}"#, .array([.null]))
        .but(.file, .commandLine, refuse: repeated),
      Row(
        #"{"mapValue":{"fields":{"é":{"integerValue":1},"e\u0301":{"integerValue":2}}}}"#,
        .map(MapValue([("é", .integer(1)), ("e\u{301}", .integer(2))]))
      )
      .but(.server, refuse: "The library's keys are strings of Swift, to which these are one.")
      .but(
        .commandLine, read: .map(MapValue([("e\u{301}", .integer(2))])),
        because: "A dictionary of the Swift API has one of the names; the other is logged."),
    ]

    private static let repeated =
      "The library merges a member that is repeated. Here a repeated name is not valid JSON."

    static let documents: [Row] = [
      // As Firestore's REST gives an empty document.
      Row(members: "", MapValue()), Row(members: #""fields":{}"#, MapValue()),
      Row(members: #""fields":null"#, MapValue()),
      Row(
        members: #""createTime":"2026-11-28T11:03:56.601593Z","#
          + #""updateTime":"2026-11-28T11:03:56.601593Z""#, MapValue()),
      Row(
        members: #""create_time":"2026-11-28T12:03:56+01:00","update_time":null,"fields":{}"#,
        MapValue()),
      Row(
        members: " \"fields\" :\t{ \"v\" : { \"integerValue\" : 1 } } ",
        MapValue([("v", .integer(1))])),
      Row(members: #""fields":[]"#, nil), Row(members: #""fields":"x""#, nil),
      Row(members: #""fields":{"v":null}"#, nil), Row(members: #""field":{}"#, nil),
      Row(members: #""v":{"integerValue":1}"#, nil), Row(members: #""unknown":null"#, nil),
      Row(members: #""createTime":"yesterday""#, nil), Row(members: #""createTime":5"#, nil),
      Row(members: #""createTime":{"seconds":5}"#, nil),
      Row(
        members: #""createTime":"2026-11-28T11:03:56Z","create_time":"2026-11-28T11:03:57Z""#, nil
      ).but(.server, ignoring: "Times of a document that a client writes have no effect."),
      Row(
        members: #""update_time":"2026-11-28T11:03:56Z","updateTime":"2026-11-28T11:03:57Z""#, nil
      ).but(.server, ignoring: "Times of a document that a client writes have no effect."),
      Row(members: #""fields":{},"#, nil), Row(members: #""fields":{}}"#, nil),
      Row(members: #""fields":{} /* comment */"#, nil), Row(members: #"fields:{}"#, nil),
      Row(members: #""fields":{"":{"nullValue":null}}"#, nil),
    ]

    static let rows: [Row] = [
      integers, doubles, times, noTimes, noTexts, bytes, scalars, nested, types, documents,
    ].flatMap(\.self)

    // MARK: The readers

    private static func inFolder(_ body: (String) async throws -> Void) async throws {
      let folder = TemporaryFolder()
      try await body(folder.path)
    }

    private static func json(_ row: Row, _ number: Int) -> String {
      let name = #""name":"\#(TestServer.root)/rows/\#(number)""#
      return row.members.isEmpty ? "{\(name)}" : "{\(name),\(row.members)}"
    }

    private static func expect(_ found: [MapValue?], of reader: Reader) {
      #expect(found.count == rows.count)
      for (row, found) in zip(rows, found) {
        let expected = row.expected(of: reader)
        #expect(
          found.map(Value.map) == expected.map(Value.map),
          "\(row.members.prefix(200)) \(row.reason)")
      }
    }

    @Test func `an import reads every row`() async throws {
      try await Self.inFolder { folder in
        let path = folder + "/rows.jsonl"
        try Self.rows.enumerated().map { Self.json($1, $0) + "\n" }.joined()
          .write(toFile: path, atomically: true, encoding: .utf8)
        var lines = try ExportedLines(path: path)
        var found: [MapValue?] = []
        while true {
          do {
            guard let line = try lines.next() else { break }
            #expect(line.path.text == "rows/\(found.count)")
            found.append(line.fields)
          } catch let error as ExportedLines.InvalidLineError {
            #expect(error.invalidLine.line == found.count + 1)
            #expect(error.invalidLine.problem.utf8.count < 400)
            found.append(nil)
          }
        }
        Self.expect(found, of: .file)
      }
    }

    @Test func `the command line reads every row`() async throws {
      try await Self.inFolder { folder in
        let db = try Firestore.open(at: folder + "/rows.hearth")
        var found: [MapValue?] = []
        for (number, row) in Self.rows.enumerated() {
          let document = db.document("rows/\(number)")
          do {
            let json = try JSONReader.read(Self.json(row, number), roundingLongIntegers: true)
            try await document.setData(json.fields(ofDocumentIn: db))
          } catch {
            found.append(nil)
            continue
          }
          let line = try #require(try await document.getDocument().jsonLine)
          found.append(try DocumentJSON.line(try JSONReader.read(line)).fields)
        }
        try await db.terminate()
        Self.expect(found, of: .commandLine)
      }
    }

    @Test func `a server reads every row`() async throws {
      try await TestServer.run { server in
        var found: [MapValue?] = []
        for (number, row) in Self.rows.enumerated() {
          let name = TestServer.root + "/rows/\(number)"
          let answer = try await server.rest("PATCH", "/v1/" + name, Self.json(row, number))
          guard answer.status == 200 else {
            #expect(answer.status == 400, "\(row.members) \(answer.body)")
            found.append(nil)
            continue
          }
          let fields = try await server.get(name).fields
          found.append(try DatabaseName(TestServer.database).fields(fields))
        }
        Self.expect(found, of: .server)
      }
    }

    @Test func `a difference between readers has a reason`() {
      for row in Self.rows { #expect(row.otherwise.isEmpty == row.reason.isEmpty, "\(row)") }
      #expect(Self.rows.count > 200)
      #expect(Self.rows.count { !$0.otherwise.isEmpty } == 13)
    }
  }
#endif
