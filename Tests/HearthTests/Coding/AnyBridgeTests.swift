import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// What comes in.
struct AnyBridgeTests {
  private func value(_ input: Any) throws -> Value {
    try UserDataReader.argument(input, database: DatabaseIdentity(project: "home"))
  }

  @Test func `every integer width is an integer`() throws {
    let inputs: [Any] = [
      7, Int8(7), Int16(7), Int32(7), Int64(7), UInt8(7), UInt16(7), UInt32(7), UInt64(7), UInt(7),
      Int128(7), UInt128(7), NSNumber(value: 7), NSNumber(value: Int8(7)),
      NSNumber(value: UInt8(7)),
      NSNumber(value: UInt64(7)), NSNumber(value: Int64(7)), CChar(7), 7 as AnyObject,
      AnyHashable(7),
    ]
    for input in inputs {
      #expect(try value(input) == .integer(7), "\(type(of: input))")
    }
  }

  @Test func `the edges of Int64 fit and what is beyond is refused`() throws {
    for input in [Int64.max, UInt64(Int64.max), NSNumber(value: Int64.max)] as [Any] {
      #expect(try value(input) == .integer(.max))
    }
    for input in [Int.min, Int128(Int64.min), NSNumber(value: Int64.min)] as [Any] {
      #expect(try value(input) == .integer(.min))
    }
    let beyond = UInt64(Int64.max) + 1
    for input in [beyond, UInt(beyond), NSNumber(value: beyond), UInt128(beyond)] as [Any] {
      #expect(refusal { try value(input) } == "NSNumber (9223372036854775808) is too large")
    }
    #expect(
      refusal { try value(Int128(Int64.min) - 1) }
        == "NSNumber (-9223372036854775809) is too large")
  }

  @Test func `every float width is a double, also a whole one`() throws {
    var inputs: [Any] = [
      2.0, Float(2), CGFloat(2), NSNumber(value: 2.0), NSNumber(value: Float(2)), Decimal(2),
      NSDecimalNumber(value: 2.0), Float16(2),
    ]
    #if arch(x86_64)
      inputs.append(Float80(2))
    #endif
    for input in inputs {
      #expect(try value(input) == .double(2), "\(type(of: input))")
    }
    #expect(try value(-0.0) == .double(-0.0))
    #expect(try value(NSNumber(value: -0.0)) == .double(-0.0))
    #expect(try value(Float.nan) == .double(.nan))
    #expect(try value(NSNumber(value: Double.infinity)) == .double(.infinity))
    for decimal in [Decimal.nan, NSDecimalNumber.notANumber] as [Any] {
      #expect(
        refusal { try value(["a": ["b": decimal]]) }
          == "Unsupported value: Decimal.nan. Use Double.nan (found in field a.b)")
    }
  }

  @Test func `a boolean is told from one and zero`() throws {
    #expect(try value(true) == .boolean(true))
    #expect(try value(NSNumber(value: true)) == .boolean(true))
    #expect(try value(NSNumber(value: false)) == .boolean(false))
    #expect(try value(NSNumber(value: 1)) == .integer(1))
    #expect(
      try value([true, 1, 1.0] as [Any]) == .array([.boolean(true), .integer(1), .double(1)]))
    #expect(try value([true, false]) == .array([.boolean(true), .boolean(false)]))
    #expect(
      try value(NSArray(array: [true, 1])) == .array([.boolean(true), .integer(1)]))
  }

  @Test func `strings of every make are the same`() throws {
    let inputs: [Any] = [
      "né\u{0}", "né\u{0}".dropFirst(0), NSString(string: "né\u{0}"),
      NSMutableString(string: "né\u{0}"), AnyHashable("né\u{0}"), "né\u{0}" as AnyObject,
    ]
    for input in inputs {
      #expect(try value(input) == .string("né\u{0}"), "\(type(of: input))")
    }
    #expect(try value(NSString(string: "e\u{301}")) == .string("e\u{301}"))
    #expect(try value(NSString(string: "e\u{301}")) != .string("é"))
  }

  @Test func `nil is null at any depth of optionals`() throws {
    let none: Int? = nil
    let some: Int?? = .some(.some(5))
    let hollow: Int?? = .some(nil)
    let boxed: Any? = Optional<Any>.some(Optional<String>.none as Any)
    for input in [none as Any, hollow as Any, NSNull(), boxed as Any, Any?.none as Any] {
      #expect(try value(input) == .null)
    }
    #expect(try value(some as Any) == .integer(5))
    #expect(try value(Optional(true) as Any) == .boolean(true))
    #expect(try value([1, nil] as [Int?]) == .array([.integer(1), .null]))
    #expect(
      try value(["a": nil, "b": "x"] as [String: String?])
        == .map(MapValue([("a", .null), ("b", .string("x"))])))
  }

  @Test func `dates and bytes of both makes`() throws {
    let date = Date(timeIntervalSince1970: 1.25)
    let time = Value.timestamp(Instant(microseconds: 1_250_000))
    for input in [
      date, NSDate(timeIntervalSince1970: 1.25), Timestamp(date: date), date as Date? as Any,
      Timestamp(seconds: 1, nanoseconds: 250_000_999),
    ] as [Any] {
      #expect(try value(input) == time)
    }
    let data = Data([1, 0, 255])
    for input in [data, NSData(data: data), NSMutableData(data: data), data[0...]] as [Any] {
      #expect(try value(input) == .bytes([1, 0, 255]))
    }
    #expect(try value(Data()) == .bytes([]))
    #expect(try value([UInt8(1), 2]) == .array([.integer(1), .integer(2)]))
  }

  @Test func `arrays of every element type are arrays`() throws {
    let expected = Value.array([.integer(1), .integer(2)])
    for input in [
      [1, 2], [1, 2] as [Any], [Int64(1), 2], [Int8(1), 2], [1, 2] as [Int?],
      NSArray(array: [1, 2]),
      NSMutableArray(array: [1, 2]), [NSNumber(value: 1), NSNumber(value: 2)],
      [AnyHashable(1), AnyHashable(2)],
    ] as [Any] {
      #expect(try value(input) == expected, "\(type(of: input))")
    }
    #expect(try value([0.5]) == .array([.double(0.5)]))
    #expect(try value([Float(0.5)]) == .array([.double(0.5)]))
    #expect(try value(["a"]) == .array([.string("a")]))
    #expect(try value([] as [Any]) == .array([]))
    #expect(try value([Int]()) == .array([]))
    #expect(
      try value([GeoPoint(latitude: 1, longitude: 2)])
        == .array([.geoPoint(Coordinate(latitude: 1, longitude: 2))]))
    #expect(try value([["a": 1]]) == .array([.map(MapValue([("a", .integer(1))]))]))
  }

  @Test func `dictionaries of every type are maps`() throws {
    let expected = Value.map(MapValue([("a", .integer(1))]))
    for input in [
      ["a": 1], ["a": 1] as [String: Any], ["a": 1] as [AnyHashable: Any], ["a": 1 as Int?],
      NSDictionary(dictionary: ["a": 1]), NSMutableDictionary(dictionary: ["a": 1]),
      [NSString(string: "a"): NSNumber(value: 1)], ["a".dropFirst(0): 1],
      [AnyHashable(NSString(string: "a")): 1],
    ] as [Any] {
      #expect(try value(input) == expected, "\(type(of: input))")
    }
    #expect(try value([String: Any]()) == .map(MapValue()))
    #expect(try value(NSDictionary()) == .map(MapValue()))
  }

  @Test func `a key that is no string is refused`() {
    let sentence = "Invalid data. Keys of a map must be strings, but one is of type: "
    #expect(refusal { try value([1: 2]) } == sentence + "Int")
    #expect(refusal { try value([AnyHashable(1): 2]) } == sentence + "Int")
    #expect(
      refusal { try value(["a": [FieldPath(["b"]): 2]]) }
        == sentence + "FieldPath (found in field a)")
  }

  @Test func `points, vectors and references`() throws {
    #expect(
      try value(GeoPoint(latitude: 1, longitude: -2))
        == .geoPoint(Coordinate(latitude: 1, longitude: -2)))
    #expect(try value(VectorValue([1, 2])) == .vector([1, 2]))
    #expect(try value(Reference("books/dune")) == .reference(ResourcePath(["books", "dune"])))
  }

  @Test func `a faulty value is refused with what is wrong with it`() {
    #expect(
      refusal { try value(["a": GeoPoint(latitude: 90.1, longitude: 0)]) }
        == "GeoPoint requires a latitude value in the range of [-90, 90], but was 90.1")
    #expect(
      refusal { try value(["a": Timestamp(seconds: 0, nanoseconds: -1)]) }
        == "Timestamp nanoseconds out of range: -1")
    let outside = Timestamp(date: .distantFuture.addingTimeInterval(1e13))
    #expect(
      refusal { try value(["a": Date.distantFuture.addingTimeInterval(1e13)]) }
        == "Timestamp seconds out of range: \(outside.seconds)")
    let reference = Reference("books", fault: .invalidArgument("Document path cannot be empty."))
    #expect(refusal { try value(["a": reference]) } == "Document path cannot be empty.")
  }

  @Test func `a type nobody knows is named`() throws {
    final class Own {}
    enum Kind: String { case one }
    let inputs: [(Any, String)] = [
      (try #require(URL(string: "http://example.org")), "URL"), (UUID(), "UUID"),
      (Unsupported(), "Unsupported"), (Own(), "Own"), (Kind.one, "Kind"), (Set([1]), "Set<Int>"),
      (1...2, "ClosedRange<Int>"), ((1, 2), "(Int, Int)"), (Int.self, "Int.Type"),
      (NSObject(), "NSObject"), ([1, 2][...], "ArraySlice<Int>"), (Character("a"), "Character"),
      (FieldPath(["a"]), "FieldPath"), (Unsupported() as Unsupported? as Any, "Unsupported"),
    ]
    for (input, name) in inputs {
      #expect(refusal { try value(input) } == "Unsupported type: \(name)")
      #expect(
        refusal { try value(["foo": ["bar": input]]) }
          == "Unsupported type: \(name) (found in field foo.bar)")
      #expect(refusal { try value(["foo": [input]]) } == "Unsupported type: \(name)")
    }
  }

  @Test func `arrays nest only where elements may be arrays`() throws {
    #expect(refusal { try value([[1]]) } == "Nested arrays are not supported")
    #expect(refusal { try value([[1]] as [[Any]]) } == "Nested arrays are not supported")
    #expect(refusal { try value(["a": [[1]]]) } == "Nested arrays are not supported")
    #expect(
      try UserDataReader.argument([[1], ["a"]] as [Any], database: nil, allowsNestedArrays: true)
        == .array([.array([.integer(1)]), .array([.string("a")])]))
    #expect(
      try value([["a": [1]]]) == .array([.map(MapValue([("a", .array([.integer(1)]))]))]))
  }

  @Test func `a value to compare with may have any name but an empty one`() throws {
    #expect(
      try value(["__x__": 1]) == .map(MapValue([("__x__", .integer(1))])))
    #expect(
      refusal { try value(["a": ["": 1]]) }
        == "Invalid data. Document fields must not be empty (found in field a.``)")
  }

  @Test func `sentinels are for writes only`() {
    #expect(
      refusal { try value(FieldValue.arrayUnion([1])) }
        == "FieldValue.arrayUnion() can only be used with updateData() and setData()")
    #expect(
      refusal { try value(["test": FieldValue.arrayUnion([1])]) }
        == "FieldValue.arrayUnion() can only be used with updateData() and setData() "
        + "(found in field test)")
  }

  @Test func `a reference into another database is refused`() {
    let foreign = Reference("books/dune", in: DatabaseIdentity(project: "away"))
    #expect(
      refusal { try value(["foo": foreign]) }
        == "Document Reference is for database away/(default) but should be for database home/(default) "
        + "(found in field foo)")
    #expect(
      refusal { try value([foreign]) }
        == "Document Reference is for database away/(default) but should be for database home/(default)"
    )
  }

  @Test func `however deep the data is, it is refused and not followed`() throws {
    func nested(_ depth: Int, in innermost: Any) -> Any {
      (0..<depth).reduce(innermost) { inner, level in
        level.isMultiple(of: 2) ? ["a": inner] : ["a": [inner]] as Any
      }
    }
    let sentence =
      "Property a contains an invalid nested entity. Maps and arrays may be nested 20 levels deep."
    #expect(try value(nested(13, in: 1)) == value(nested(13, in: 1)))
    #expect(refusal { try value(nested(14, in: 1)) } == sentence)
    #expect(refusal { try value(nested(2000, in: 1)) } == sentence)

    #expect(refusal { try value(["a": NSArray(array: [nested(1000, in: 1)])]) } == sentence)
    let deep = (0..<30).reduce([1] as Any) { inner, _ in [["a": inner]] }
    #expect(
      refusal {
        try UserDataReader.argument([deep], database: nil, allowsNestedArrays: true)
      } == sentence)
    let arrays = (0..<30).reduce([1] as Any) { inner, _ in [inner] }
    #expect(
      refusal {
        try UserDataReader.argument(arrays, database: nil, allowsNestedArrays: true)
      }
        == "The value contains an invalid nested entity. "
        + "Maps and arrays may be nested 20 levels deep.")
  }

  @Test(arguments: [UInt64](1...40))
  func `no odd value traps`(seed: UInt64) {
    var odd = OddValues(seed: seed)
    for _ in 0..<200 {
      let input = odd.next(depth: 25)
      do {
        let value = try UserDataReader.argument(input, database: nil)
        let out = AnyBridge.any(value) { Reference($0.text) }
        #expect(try UserDataReader.argument(out, database: nil) == value, "seed \(seed)")
      } catch {
        #expect(error.code == .invalidArgument, "seed \(seed)")
      }
    }
  }
}

/// What users might hand over by mistake.
private struct OddValues {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  private mutating func below(_ bound: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(bound))
  }

  mutating func next(depth: Int) -> Any {
    switch below(depth > 0 ? 60 : 36) {
    case 0: return NSNull()
    case 1: return Optional<Int>.none as Any
    case 2: return Optional(Optional(below(9))) as Any
    case 3: return Int64.max
    case 4: return UInt64.max
    case 5: return NSNumber(value: UInt64.max)
    case 6: return NSNumber(value: below(2) == 0)
    case 7: return NSNumber(value: Int8(-1))
    case 8: return NSNumber(value: Float.nan)
    case 9: return Double.nan
    case 10: return NSDecimalNumber.notANumber
    case 11: return Decimal.greatestFiniteMagnitude
    case 12: return Int128.max
    case 13: return Date(timeIntervalSince1970: .nan)
    case 14: return Date.distantPast
    case 15: return Date(timeIntervalSince1970: .greatestFiniteMagnitude)
    case 16: return Timestamp(seconds: .max, nanoseconds: .max)
    case 17: return GeoPoint(latitude: .nan, longitude: .infinity)
    case 18: return VectorValue([])
    case 19: return FieldValue.delete()
    case 20: return FieldValue.arrayUnion([[1]])
    case 21: return FieldPath([])
    case 22: return Unsupported()
    case 23: return NSObject()
    case 24: return NSString(string: "\u{0}\u{FFFD}🦔")
    case 25: return Data(repeating: 0, count: below(9))
    case 26: return Character("é")
    case 27: return Set([1])
    case 28: return { (number: Int) in number }
    case 29: return Int.self
    case 30: return Reference("a/b")
    case 31: return AnyHashable(AnyHashable("x"))
    case 32: return [Int?]([1, nil])
    case 33: return [NSNumber(value: 1.5)]
    case 34: return Instant(microseconds: .min)
    case 35: return NSDate.distantFuture
    case 36...40: return [next(depth: depth - 1)] as [Any]
    case 41...43: return NSArray(array: [next(depth: depth - 1)])
    case 44...50: return ["a": next(depth: depth - 1)] as [String: Any]
    case 51...53: return ["a": next(depth: depth - 1)] as [AnyHashable: Any]
    case 54, 55: return NSDictionary(dictionary: ["a": next(depth: depth - 1)])
    case 56: return [AnyHashable(1.5): next(depth: depth - 1)]
    case 57: return Optional(next(depth: depth - 1)) as Any
    case 58: return ["": next(depth: depth - 1)] as [String: Any]
    default: return ["__a__": next(depth: depth - 1), "b": below(9)] as [String: Any]
    }
  }
}
