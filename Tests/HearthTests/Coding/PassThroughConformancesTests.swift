import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

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

  /// As other Firebase libraries write it.
  @Test func `a timestamp is read from a text of JSON, and never from a text of a document`() throws
  {
    func json(_ text: String) throws -> Timestamp {
      try JSONDecoder().decode([Timestamp].self, from: Data(#"["\#(text)"]"#.utf8))[0]
    }
    #expect(try json("2026-02-28T12:00:00Z") == Timestamp(seconds: 1_772_280_000, nanoseconds: 0))
    #expect(
      try json("2026-02-28t13:00:00.123456789+01:00")
        == Timestamp(seconds: 1_772_280_000, nanoseconds: 123_456_789))
    for text in ["", "2026-02-28", "2026-02-30T12:00:00Z", "1772280000", "noon"] {
      #expect(throws: DecodingError.self) { try json(text) }
    }
    struct Model: Codable { var time: Timestamp }
    #expect(throws: DecodingError.self) {
      try Firestore.Decoder().decode(Model.self, from: ["time": "2026-02-28T12:00:00Z"])
    }
    #expect(throws: DecodingError.self) {
      try Firestore.Decoder().decode([Date].self, from: ["2026-02-28T12:00:00Z"])
    }
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
    #expect(point.validationError != nil)
  }

  @Test func `a sentinel means nothing to another encoder`() {
    #expect {
      try JSONEncoder().encode(FieldValue.delete())
    } throws: {
      guard case FirestoreEncodingError.encodingIsNotSupported = $0 else { return false }
      return true
    }
  }

  @Test func `other coders are told whose these types are`() throws {
    let firestore = Firestore(path: "unopened.hearth", app: .hearthDefault)
    struct Model: Codable { @DocumentID var id: String? }
    func refusal(_ value: some Encodable) -> String? {
      let error = #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode([value]) }
      guard case .encodingIsNotSupported(let sentence)? = error else { return nil }
      return sentence
    }
    #expect(
      refusal(Model(id: nil)) == "DocumentID values can only be encoded with Firestore.Encoder")
    #expect(
      refusal(firestore.document("a/b"))
        == "DocumentReference values can only be encoded with Firestore.Encoder")
    #expect(
      refusal(FieldValue.delete()) == "FieldValue values can only be encoded with Firestore.Encoder"
    )
    func refusal<T: Decodable>(reading type: T.Type) -> String? {
      let error = #expect(throws: FirestoreDecodingError.self) {
        try JSONDecoder().decode(type, from: Data("{}".utf8))
      }
      guard case .decodingIsNotSupported(let sentence)? = error else { return nil }
      return sentence
    }
    #expect(
      refusal(reading: Model.self)
        == "Could not find DocumentReference for user info key: DocumentRefUserInfoKey. "
        + "DocumentID values can only be decoded with Firestore.Decoder")
    #expect(
      refusal(reading: DocumentReference.self)
        == "DocumentReference values can only be decoded with Firestore.Decoder")
  }
}
