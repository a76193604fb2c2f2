import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct PropertyWrapperTests {
  private let firestore = Firestore(path: "unopened.hearth", app: .hearthDefault)
  private var context: DocumentDecoder.Context {
    DocumentDecoder.Context(document: .path(ResourcePath(["books", "dune"])), owner: firestore)
  }

  struct Model: Codable, Equatable {
    struct Inner: Codable, Equatable {
      @DocumentID var id: String?
      var x: Int
    }
    @DocumentID var id: String?
    var title: String
    var inner: [Inner]
  }

  @Test func `a document's id is filled in, in nested values too, and never written`() throws {
    let model = Model(id: "other", title: "Dune", inner: [.init(id: "b", x: 1)])
    let stored: [String: Value] = [
      "title": .string("Dune"), "inner": .array([.map(map(["x": .integer(1)]))]),
    ]
    #expect(try fields(of: model) == map(stored))
    let read = try decode(Model.self, from: stored, context: context)
    #expect(read == Model(id: "dune", title: "Dune", inner: [.init(id: "dune", x: 1)]))
  }

  @Test func `a field of the same name is ignored`() throws {
    let stored: [String: Value] = [
      "id": .integer(5), "title": .string(""), "inner": .array([]),
    ]
    #expect(try decode(Model.self, from: stored, context: context).id == "dune")
  }

  @Test func `an id can be a reference, and be asked for by hand or generically`() throws {
    struct ByReference: Codable {
      @DocumentID var ref: DocumentReference?
    }
    let reference = DocumentReference(firestore, ResourcePath(["books", "dune"]))
    #expect(try decode(ByReference.self, from: [:], context: context).ref == reference)
    struct ByHand: Decodable {
      var id: DocumentID<String>
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: TextKey.self)
        id = try container.decode(DocumentID<String>.self, forKey: "id")
        #expect(id == (try ByHand.read(DocumentID<String>.self, container)))
      }
      static func read<T: Decodable>(
        _ type: T.Type, _ container: KeyedDecodingContainer<TextKey>
      ) throws -> T {
        try container.decode(type, forKey: "id")
      }
    }
    #expect(try decode(ByHand.self, from: [:], context: context).id.wrappedValue == "dune")
  }

  @Test func `ids belong to Firestore's coders and to fields`() throws {
    let model = Model(id: nil, title: "", inner: [])
    #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode(model) }
    #expect(throws: FirestoreDecodingError.self) {
      try JSONDecoder().decode(Model.self, from: Data(#"{"title":"","inner":[]}"#.utf8))
    }
    #expect(throws: FirestoreDecodingError.self) {
      try decode(Model.self, from: ["title": .string(""), "inner": .array([])])
    }
    #expect(throws: FirestoreEncodingError.self) {
      try fields(of: ["a": [DocumentID<String>(wrappedValue: "x")]])
    }
    #expect(throws: FirestoreEncodingError.self) {
      try fields(of: DocumentID<String>(wrappedValue: "x"))
    }
  }

  @Test func `a server timestamp is asked for where there is no time`() throws {
    struct Post: Codable, Equatable {
      struct Inner: Codable, Equatable { @ServerTimestamp var at: Timestamp? }
      @ServerTimestamp var created: Date?
      var inner: Inner
    }
    let empty = Post(created: nil, inner: .init(at: nil))
    let document = try Firestore.Encoder().encodeDocument(empty)
    #expect(try document.body.map() == map(["inner": .map(MapValue())]))
    #expect(
      document.transforms.map(\.field) == [["created"], ["inner", "at"]].map { FieldSegments($0) })
    for (_, transform) in document.transforms {
      guard case .serverTimestamp = transform else {
        Issue.record("\(transform)")
        continue
      }
    }
    let full = Post(
      created: Date(timeIntervalSince1970: 5),
      inner: .init(at: Timestamp(seconds: 6, nanoseconds: 7_000)))
    try expectRoundTrip(
      full,
      as: [
        "created": .timestamp(Instant(microseconds: 5_000_000)),
        "inner": .map(map(["at": .timestamp(Instant(microseconds: 6_000_007))])),
      ])
    #expect(try decode(Post.self, from: ["inner": .map(MapValue())]) == empty)
    #expect(
      try decode(Post.self, from: ["created": .null, "inner": .map(map(["at": .null]))]) == empty)
  }

  @Test func `an explicit null is written and read as null`() throws {
    struct Member: Codable, Equatable {
      @ExplicitNull var nickname: String?
      var age: Int?
    }
    let nobody = Member(nickname: nil, age: nil)
    try expectRoundTrip(nobody, as: ["nickname": .null])
    try expectRoundTrip(
      Member(nickname: "x", age: 1), as: ["nickname": .string("x"), "age": .integer(1)])
    #expect(try decode(Member.self, from: [:]) == nobody)
    #expect(try JSONDecoder().decode(Member.self, from: Data("{}".utf8)) == nobody)
  }

  @Test func `value types pass through as they are`() throws {
    struct Office: Codable, Equatable {
      var at: GeoPoint
      var open: Timestamp
      var embedding: VectorValue
      var owner: DocumentReference
      var more: [GeoPoint]
    }
    let owner = DocumentReference(firestore, ResourcePath(["people", "ada"]))
    let office = Office(
      at: GeoPoint(latitude: 50, longitude: 20), open: Timestamp(seconds: 1, nanoseconds: 2_000),
      embedding: VectorValue([1, 0.5]), owner: owner, more: [GeoPoint(latitude: -1, longitude: 0)])
    let stored: [String: Value] = [
      "at": .geoPoint(Coordinate(latitude: 50, longitude: 20)),
      "open": .timestamp(Instant(microseconds: 1_000_002)), "embedding": .vector([1, 0.5]),
      "owner": .reference(ResourcePath(["people", "ada"])),
      "more": .array([.geoPoint(Coordinate(latitude: -1, longitude: 0))]),
    ]
    let document = try Firestore.Encoder().encodeDocument(office)
    #expect(try document.body.map() == map(stored))
    #expect(document.databases == [firestore.databaseIdentity])
    #expect(try decode(Office.self, from: stored, context: context) == office)
    #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode(office) }
    #expect(throws: FirestoreDecodingError.self) { try decode(Office.self, from: stored) }
  }

  @Test func `value types are also read from maps, as other coders write them`() throws {
    let stored: [String: Value] = [
      "t": .map(map(["seconds": .integer(5), "nanoseconds": .integer(6)]))
    ]
    #expect(
      try decode([String: Timestamp].self, from: stored)
        == ["t": Timestamp(seconds: 5, nanoseconds: 6)])
    let json = try JSONEncoder().encode(["g": GeoPoint(latitude: 1, longitude: 2)])
    #expect(
      try JSONDecoder().decode([String: GeoPoint].self, from: json)
        == ["g": GeoPoint(latitude: 1, longitude: 2)])
    #expect(
      try decode([String: Date].self, from: ["t": .timestamp(Instant(microseconds: 5))])
        == ["t": Date(timeIntervalSince1970: 5e-6)])
  }

  @Test func `sentinels are kept apart from the fields, with their places`() throws {
    struct Change: Encodable {
      var count = FieldValue.increment(Int64(2))
      var tags = FieldValue.arrayUnion(["a"])
      var gone: FieldValue? = FieldValue.delete()
      var a = ["b": FieldValue.serverTimestamp()]
      var kept = 1
    }
    let document = try Firestore.Encoder().encodeDocument(Change())
    #expect(try document.body.map() == map(["a": .map(MapValue()), "kept": .integer(1)]))
    #expect(
      document.transforms.map(\.field)
        == [["count"], ["tags"], ["gone"], ["a", "b"]].map { FieldSegments($0) })
    #expect(
      document.transforms.map(\.transform.methodName) == [
        "FieldValue.increment()", "FieldValue.arrayUnion()", "FieldValue.delete()",
        "FieldValue.serverTimestamp()",
      ])
    #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode(Change()) }
  }

  @Test func `values that cannot be stored are refused when they are encoded`() throws {
    let point = #expect(throws: Status.self) {
      try fields(of: ["p": GeoPoint(latitude: 91, longitude: 0)])
    }
    #expect(point?.code == .invalidArgument)
    #expect(throws: Status.self) {
      try fields(of: ["t": Timestamp(seconds: .max, nanoseconds: 0)])
    }
  }
}
