import Foundation
import Testing

@testable import Hearth

/// How the value types look to a coder that is not Firestore's.
struct PassThroughConformancesTests {
  private struct Place: Codable, Equatable {
    var time: Timestamp
    var point: GeoPoint
    var vector: VectorValue
  }

  @Test func `JSON sees plain keyed values`() throws {
    let place = Place(
      time: Timestamp(seconds: 37, nanoseconds: 123), point: GeoPoint(latitude: 1.5, longitude: -2),
      vector: VectorValue([0.5]))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let data = try encoder.encode(place)
    #expect(
      String(decoding: data, as: UTF8.self) == """
        {"point":{"latitude":1.5,"longitude":-2},"time":{"nanoseconds":123,"seconds":37},\
        "vector":{"array":[0.5]}}
        """)
    #expect(try JSONDecoder().decode(Place.self, from: data) == place)
  }

  @Test func `a missing part is a decoding error`() {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Timestamp.self, from: Data(#"{"seconds":1}"#.utf8))
    }
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(GeoPoint.self, from: Data(#"{"latitude":1}"#.utf8))
    }
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(VectorValue.self, from: Data("{}".utf8))
    }
  }

  @Test func `decoded values that are out of range fail when they are used`() throws {
    let point = try JSONDecoder().decode(
      GeoPoint.self, from: Data(#"{"latitude":91,"longitude":0}"#.utf8))
    #expect(point.fault != nil)
  }

  @Test func `a sentinel means nothing to another encoder`() {
    #expect {
      try JSONEncoder().encode(FieldValue.delete())
    } throws: {
      guard case FirestoreEncodingError.encodingIsNotSupported = $0 else { return false }
      return true
    }
  }
}
