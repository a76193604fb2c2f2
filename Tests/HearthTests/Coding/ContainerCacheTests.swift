import Testing

@testable import Hearth
@testable import HearthEngine

/// Boxes are used again, and nobody notices.
struct ContainerCacheTests {
  /// A type of its own for every level, and with it a type of keys.
  struct Level<Inner: Codable & Equatable>: Codable, Equatable {
    var number: Int
    var inner: Inner
    var list: [Inner]
  }

  private func roundTrip<Model: Codable & Equatable>(_ model: Model) throws {
    let body = try Firestore.Encoder().encodeDocument(["m": model]).body
    #expect(try body == TreeEncoder.encode(["m": model], options: Firestore.Encoder()).body)
    let back = try body.withBytes {
      try Firestore.Decoder().decodeDocument([String: Model].self, from: StoredBody($0))
    }
    #expect(back == ["m": model])
  }

  /// Goes round with more and more key types, those before among them.
  private func descend<Model: Codable & Equatable>(_ model: Model, levels: Int) throws {
    try roundTrip(model)
    guard levels > 0 else { return }
    // From a value of one type to one of another, without ever being deep.
    try descend(
      Level(number: levels, inner: Twin(of: model), list: [Twin(of: model)]), levels: levels - 1)
  }

  /// Stands for a model of that type, and is as flat as a number.
  struct Twin<Of>: Codable, Equatable {
    var count: Int
    var name: String
    init(of: Of) {
      count = MemoryLayout<Of>.size
      name = "\(MemoryLayout<Of>.stride)"
    }
  }

  @Test func `more types of keys than are remembered go there and back`() throws {
    for _ in 0..<2 { try descend(1, levels: 200) }
  }

  @Test func `a container that is kept stays what it was when its type comes again`() throws {
    struct Keeper: Decodable {
      nonisolated(unsafe) static var kept: [KeyedDecodingContainer<TextKey>] = []
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: TextKey.self)
        Self.kept.append(container)
        for (index, kept) in Self.kept.enumerated() {
          #expect(try kept.decode(Int.self, forKey: "n") == index)
        }
      }
    }
    let models = (0..<20).map { map(["n": .integer($0)]) }
    _ = try decode([String: [Keeper]].self, from: ["a": .array(models.map { .map($0) })])
    for kept in Keeper.kept {
      #expect(throws: DecodingError.self) { try kept.decode(Int.self, forKey: "n") }
    }
    Keeper.kept = []
  }

  @Test func `an encoding container that is kept writes where it was, or nowhere`() throws {
    nonisolated(unsafe) var kept: [KeyedEncodingContainer<TextKey>] = []
    let element = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      try container.encode(kept.count, forKey: "n")
      kept.append(container)
    }
    let written = try fields(of: ["a": [element, element, element]])
    let numbers = (0..<3).map { Value.map(map(["n": .integer($0)])) }
    #expect(written == map(["a": .array(numbers)]))
    for index in kept.indices { try kept[index].encode(9, forKey: "late") }
    #expect(try fields(of: ["b": 1]) == map(["b": .integer(1)]))
  }
}
