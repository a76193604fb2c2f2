import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// What the encoder makes of a value, as fields.
func fields<T: Encodable>(
  of value: T, _ encoder: FirebaseDataEncoder = Firestore.Encoder()
) throws -> MapValue {
  let document = try encoder.encodeDocument(value)
  #expect(throws: Never.self) { try DocumentBody(validating: document.body.bytes) }
  return try document.body.map()
}

func map(_ fields: [String: Value]) -> MapValue { MapValue(fields.map { ($0.key, $0.value) }) }

func decode<T: Decodable>(
  _ type: T.Type, from fields: [String: Value],
  _ decoder: FirebaseDataDecoder = Firestore.Decoder(),
  context: DocumentDecoder.Context = DocumentDecoder.Context()
) throws -> T {
  try DocumentBody(map(fields)).withBytes {
    try decoder.decodeDocument(
      type, from: StoredBody($0), named: context.document, of: context.owner)
  }
}

/// Encodes, compares with what is expected, decodes and compares with what was encoded.
func expectRoundTrip<T: Codable & Equatable>(
  _ value: T, as expected: [String: Value], encoder: FirebaseDataEncoder = Firestore.Encoder(),
  decoder: FirebaseDataDecoder = Firestore.Decoder(),
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  #expect(
    try fields(of: value, encoder) == map(expected), sourceLocation: sourceLocation)
  #expect(
    try decode(T.self, from: expected, decoder) == value, sourceLocation: sourceLocation)
}

/// `a.b.Index 0`: the path of an error in coding.
func path(_ error: (any Error)?) -> String? {
  let path: [any CodingKey]
  switch error {
  case DecodingError.typeMismatch(_, let context)?: path = context.codingPath
  case DecodingError.valueNotFound(_, let context)?: path = context.codingPath
  case DecodingError.dataCorrupted(let context)?: path = context.codingPath
  case DecodingError.keyNotFound(_, let context)?: path = context.codingPath
  case EncodingError.invalidValue(_, let context)?: path = context.codingPath
  default: return nil
  }
  return path.map(\.stringValue).joined(separator: ".")
}

func sentence(_ error: (any Error)?) -> String? {
  switch error {
  case DecodingError.typeMismatch(_, let context)?: context.debugDescription
  case DecodingError.valueNotFound(_, let context)?: context.debugDescription
  case DecodingError.dataCorrupted(let context)?: context.debugDescription
  case DecodingError.keyNotFound(_, let context)?: context.debugDescription
  case EncodingError.invalidValue(_, let context)?: context.debugDescription
  default: nil
  }
}

/// A container's keys, when they are only strings.
struct TextKey: CodingKey, ExpressibleByStringLiteral {
  var stringValue: String
  var intValue: Int? { nil }
  init(stringValue: String) { self.stringValue = stringValue }
  init(stringLiteral value: String) { stringValue = value }
  init?(intValue: Int) { nil }
}

/// Encodes as the closure says.
struct EncodingClosure: Encodable {
  let body: (any Encoder) throws -> Void
  init(_ body: @escaping (any Encoder) throws -> Void) { self.body = body }
  func encode(to encoder: any Encoder) throws { try body(encoder) }

  /// Maps in maps, and arrays in arrays, by calls that cannot throw.
  static var containersWithoutEnd: [EncodingClosure] {
    let keyed = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      for _ in 0..<100_000 {
        container = container.nestedContainer(keyedBy: TextKey.self, forKey: "m")
      }
    }
    let unkeyed = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      var inner = container.nestedUnkeyedContainer(forKey: "a")
      for _ in 0..<100_000 { inner = inner.nestedUnkeyedContainer() }
    }
    return [keyed, unkeyed]
  }
}

struct CodableBook: Codable, Equatable {
  struct Tag: Codable, Equatable {
    var title: String
    var color: String
  }
  struct Cover: Codable, Equatable {
    var small: String
    var large: String?
  }
  var title: String
  var numberOfPages: Int
  var author: String
  var published: Date
  var tags: [Tag]
  var genres: [String]
  var cover: Cover?

  static let guide = CodableBook(
    title: "The Hitchhiker's Guide to the Galaxy", numberOfPages: 816, author: "Douglas Adams",
    published: Date(timeIntervalSince1970: 308_534_400.25),
    tags: [Tag(title: "Bestseller", color: "#FC0"), Tag(title: "Classic", color: "#369")],
    genres: ["Sci-Fi", "Comedy"], cover: Cover(small: "s.png", large: nil))

  static let guideFields: [String: Value] = [
    "title": .string("The Hitchhiker's Guide to the Galaxy"), "numberOfPages": .integer(816),
    "author": .string("Douglas Adams"),
    "published": .timestamp(Instant(microseconds: 308_534_400_250_000)),
    "tags": .array([
      .map(map(["title": .string("Bestseller"), "color": .string("#FC0")])),
      .map(map(["title": .string("Classic"), "color": .string("#369")])),
    ]),
    "genres": .array([.string("Sci-Fi"), .string("Comedy")]),
    "cover": .map(map(["small": .string("s.png")])),
  ]
}
