import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// Values that contain themselves: encoding ends with an error before the stack does.
@Suite struct EncodingDepthTests {
  /// A graph of objects with a cycle, encoded by each kind of container.
  private final class Node: Encodable {
    enum Way: CaseIterable {
      case keyed, unkeyed, nested, nestedUnkeyed, `super`, single, optional
    }
    enum CodingKeys: CodingKey { case next }
    let way: Way
    var next: Node?

    init(_ way: Way) {
      self.way = way
      next = self
    }

    func encode(to encoder: any Encoder) throws {
      guard let next else { return }
      switch way {
      case .keyed:
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(next, forKey: .next)
      case .optional:
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(self.next, forKey: .next)
      case .unkeyed:
        var container = encoder.unkeyedContainer()
        try container.encode(next)
      case .nested:
        var container = encoder.container(keyedBy: CodingKeys.self)
        var inner = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .next)
        try inner.encode(next, forKey: .next)
      case .nestedUnkeyed:
        var container = encoder.container(keyedBy: CodingKeys.self)
        var inner = container.nestedUnkeyedContainer(forKey: .next)
        try inner.encode(next)
      case .super:
        var container = encoder.container(keyedBy: CodingKeys.self)
        // Without a call that can throw, nothing could stop it.
        try container.encode(1, forKey: .next)
        try next.encode(to: container.superEncoder())
      case .single:
        var container = encoder.singleValueContainer()
        try container.encode(next)
      }
    }
  }

  @Test func `a value that contains itself is refused`() throws {
    for way in Node.Way.allCases {
      let node = Node(way)
      defer { node.next = nil }
      for encode: () throws -> EncodedDocument in [
        { try Firestore.Encoder().encodeDocument(node) },
        { try TreeEncoder.encode(node, options: Firestore.Encoder()) },
      ] {
        let error = #expect(throws: (any Error).self) { try encode() }
        if way == .single {
          #expect(error is EncodingError)
        } else {
          #expect((error as? Status)?.message == EncodingRules.tooDeep.message, "\(way): \(error)")
        }
      }
      // A dictionary may be deeper, but not without end.
      #expect(throws: EncodingError.self) { try Firestore.Encoder().encode(node) }
      // The session is as new.
      #expect(try fields(of: ["a": 1]) == map(["a": .integer(1)]))
    }
  }

  /// Calls that cannot throw go nowhere, and what comes of it is refused.
  @Test func `containers in containers without end take no memory and are refused`() throws {
    for value in EncodingClosure.containersWithoutEnd {
      #expect(try Firestore.Encoder().encodeDocument(value).validationError != nil)
      let tree = try TreeEncoder.encode(value, options: Firestore.Encoder())
      #expect(tree.validationError != nil)
    }
  }

  @Test func `what nests as deeply as may be is encoded, one level more is not`() throws {
    indirect enum Deep: Encodable {
      case end
      case map(Deep)
      func encode(to encoder: any Encoder) throws {
        switch self {
        case .end:
          var container = encoder.singleValueContainer()
          try container.encode(1)
        case .map(let inner):
          var container = encoder.container(keyedBy: TextKey.self)
          try container.encode(inner, forKey: "m")
        }
      }
    }
    func nested(_ count: Int) -> Deep { (0..<count).reduce(.end) { inner, _ in .map(inner) } }
    for depth in 1...200 {
      let document = try? Firestore.Encoder().encodeDocument(nested(depth))
      let isAccepted = document.map { $0.validationError == nil } ?? false
      #expect(isAccepted == (depth <= DocumentFormat.maximumDepth + 1), "\(depth)")
      let tree = try? TreeEncoder.encode(nested(depth), options: Firestore.Encoder())
      #expect((tree.map { $0.validationError == nil } ?? false) == isAccepted, "\(depth)")
    }
  }

  @Test func `a type that catches the error is refused all the same`() throws {
    struct Careless: Encodable {
      let way = Node(.keyed)
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: TextKey.self)
        try? container.encode(way, forKey: "node")
      }
    }
    let value = Careless()
    defer { value.way.next = nil }
    #expect(try Firestore.Encoder().encodeDocument(value).validationError != nil)
    #expect(try TreeEncoder.encode(value, options: Firestore.Encoder()).validationError != nil)
  }

  /// Wrappers that are nothing in the document: many of them are no depth.
  @Test func `a value in many wrappers is encoded`() throws {
    struct Wrapped: Encodable {
      var count: Int
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if count == 0 { return try container.encode(1) }
        try container.encode(Wrapped(count: count - 1))
      }
    }
    #expect(try fields(of: ["a": Wrapped(count: 50)]) == map(["a": .integer(1)]))
  }

  @Test func `a decodable that decodes itself in its place is refused`() throws {
    struct Endless: Decodable {
      init(from decoder: any Decoder) throws {
        self = try decoder.singleValueContainer().decode(Endless.self)
      }
    }
    #expect(throws: (any Error).self) { try decode(Endless.self, from: ["a": .null]) }
    let fields: [String: Value] = ["a": .integer(1)]
    #expect(throws: (any Error).self) { try decode([String: Endless].self, from: fields) }
  }
}
