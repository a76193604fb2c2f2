import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// What goes out: how it casts is what users' code depends on.
struct AnyBridgeOutTests {
  private func any(_ value: Value) -> Any {
    AnyBridge.any(value) { Reference($0.text) }
  }

  @Test func `a whole number casts to every number type`() {
    for number in [any(.integer(2)), any(.double(2))] {
      #expect(number as? Int == 2)
      #expect(number as? Int64 == 2)
      #expect(number as? Int32 == 2)
      #expect(number as? UInt8 == 2)
      #expect(number as? Double == 2)
      #expect(number as? Float == 2)
      #expect(number as? NSNumber == 2)
      #expect(number as? Bool == nil)
      #expect(number as? String == nil)
    }
  }

  @Test func `a fraction casts to no integer`() {
    #expect(any(.double(1.5)) as? Int == nil)
    #expect(any(.double(1.5)) as? Int64 == nil)
    #expect(any(.double(1.5)) as? Double == 1.5)
    #expect(any(.integer(.max)) as? Int64 == .max)
    #expect(any(.integer(.max)) as? Int32 == nil)
    #expect(any(.integer(.max)) as? Double == nil)
    #expect((any(.double(.nan)) as? Double)?.isNaN == true)
  }

  @Test func `booleans and numbers cast to one another as on Apple's platforms`() {
    #expect(any(.integer(1)) as? Bool == true)
    #expect(any(.integer(0)) as? Bool == false)
    #expect(any(.boolean(true)) as? Bool == true)
    #expect(any(.boolean(true)) as? Int == 1)
    #expect(any(.boolean(false)) as? Double == 0)
    #expect(any(.boolean(true)) as? NSNumber == true)
    // As Firebase's: what casts to an `Int`, as a `Bool` does not, prints as one.
    #expect("\(any(.boolean(true)))" == "1")
    #expect((true as Any) as? Int == nil)
  }

  @Test func `collections cast to collections of numbers`() {
    let numbers = any(.array([.integer(1), .double(2)]))
    #expect(numbers as? [Int] == [1, 2])
    #expect(numbers as? [Double] == [1, 2])
    #expect((numbers as? [Any])?.count == 2)
    let map = any(.map(MapValue([("a", .integer(1)), ("b", .double(2))])))
    #expect(map as? [String: Int] == ["a": 1, "b": 2])
    #expect(map as? [String: Double] == ["a": 1, "b": 2])
    let nested = any(.map(MapValue([("a", .map(MapValue([("b", .integer(1))])))])))
    #expect(nested as? [String: [String: Int]] == ["a": ["b": 1]])
    let strings = any(.array([.string("a")]))
    #expect(strings as? [String] == ["a"])
  }

  @Test func `everything else is of its public type`() {
    #expect(any(.null) is NSNull)
    #expect(any(.null) as? String == nil)
    #expect(any(.string("é")) as? String == "é")
    #expect(any(.bytes([1, 2])) as? Data == Data([1, 2]))
    #expect(
      any(.timestamp(Instant(microseconds: -1))) as? Timestamp
        == Timestamp(seconds: -1, nanoseconds: 999_999_000))
    #expect(
      any(.geoPoint(Coordinate(latitude: 1, longitude: 2))) as? GeoPoint
        == GeoPoint(latitude: 1, longitude: 2))
    #expect(any(.vector([1])) as? VectorValue == VectorValue([1]))
    let reference = any(.reference(ResourcePath(["books", "dune"]))) as? Reference
    #expect(reference?.resourcePath.text == "books/dune")
  }

  @Test func `what goes out comes in as it was`() throws {
    let values: [Value] = [
      .null, .boolean(true), .boolean(false), .integer(1), .integer(0), .integer(.min),
      .integer(.max), .double(1), .double(-0.0), .double(.nan), .double(.infinity),
      .double(.leastNonzeroMagnitude), .timestamp(.earliest), .timestamp(.latest),
      .string(""), .string("e\u{301}"), .bytes([]), .bytes([0, 255]), .vector([-0.0, 1]),
      .reference(ResourcePath(["a", "b"])), .geoPoint(Coordinate(latitude: -0.0, longitude: 180)),
    ]
    let map = MapValue([
      ("values", .array(values)), ("é", .map(MapValue())),
      ("map", .map(MapValue(values.enumerated().map { ("\($0.offset)", $0.element) }))),
    ])
    let out = AnyBridge.dictionary(map) { Reference($0.text) }
    #expect(try UserDataReader.argument(out, database: nil) == .map(map))
  }
}
