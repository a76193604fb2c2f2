import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// Containers in every order that types may use them.
struct ContainerTests {
  @Test func `nested containers flatten and unfold`() throws {
    let value = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      var a = container.nestedContainer(keyedBy: TextKey.self, forKey: "a")
      #expect(a.codingPath.map(\.stringValue) == ["a"])
      try a.encode(1, forKey: "x")
      var b = a.nestedUnkeyedContainer(forKey: "b")
      #expect(b.codingPath.map(\.stringValue) == ["a", "b"])
      try b.encode("e")
      var c = b.nestedContainer(keyedBy: TextKey.self)
      #expect(c.codingPath.map(\.stringValue) == ["a", "b", "Index 1"])
      try c.encodeNil(forKey: "n")
      try container.encode(true, forKey: "z")
    }
    let expected = map([
      "a": .map(
        map(["x": .integer(1), "b": .array([.string("e"), .map(map(["n": .null]))])])),
      "z": .boolean(true),
    ])
    #expect(try fields(of: value) == expected)
  }

  @Test func `containers asked for twice are the same map`() throws {
    let value = EncodingClosure { encoder in
      var first = encoder.container(keyedBy: TextKey.self)
      try first.encode(1, forKey: "a")
      var second = encoder.container(keyedBy: TextKey.self)
      try second.encode(2, forKey: "b")
      try first.encode(3, forKey: "c")
      var nested = first.nestedContainer(keyedBy: TextKey.self, forKey: "n")
      try nested.encode(4, forKey: "d")
      var again = first.nestedContainer(keyedBy: TextKey.self, forKey: "n")
      try again.encode(5, forKey: "e")
      try nested.encode(6, forKey: "f")
    }
    let expected = map([
      "a": .integer(1), "b": .integer(2), "c": .integer(3),
      "n": .map(map(["d": .integer(4), "e": .integer(5), "f": .integer(6)])),
    ])
    #expect(try fields(of: value) == expected)
  }

  @Test func `containers may be used in turns`() throws {
    let value = EncodingClosure { encoder in
      var container = encoder.container(keyedBy: TextKey.self)
      var a = container.nestedContainer(keyedBy: TextKey.self, forKey: "a")
      var b = container.nestedUnkeyedContainer(forKey: "b")
      try a.encode(1, forKey: "x")
      try b.encode(2)
      try a.encode(3, forKey: "y")
      let late = container.superEncoder()
      let unused = container.superEncoder(forKey: "unused")
      try b.encode(4)
      try ["k": 5].encode(to: late)
      _ = unused
    }
    let expected = map([
      "a": .map(map(["x": .integer(1), "y": .integer(3)])),
      "b": .array([.integer(2), .integer(4)]), "super": .map(map(["k": .integer(5)])),
      "unused": .map(MapValue()),
    ])
    #expect(try fields(of: value) == expected)
  }

  @Test func `a value that encodes nothing is an empty map, but in a field of no value`() throws {
    let nothing = EncodingClosure { _ in }
    #expect(
      try fields(of: ["a": [nothing], "b": [nothing]])
        == map([
          "a": .array([.map(MapValue())]), "b": .array([.map(MapValue())]),
        ]))
    #expect(try fields(of: ["a": nothing]) == map(["a": .map(MapValue())]))
  }

  @Test func `a second value in one place is an error and no trap`() throws {
    let twice = EncodingClosure { encoder in
      var container = encoder.singleValueContainer()
      try container.encode(1)
      try container.encode(2)
    }
    let mixed = EncodingClosure { encoder in
      var single = encoder.singleValueContainer()
      try single.encode(1)
      var keyed = encoder.container(keyedBy: TextKey.self)
      try keyed.encode(2, forKey: "a")
    }
    let otherKind = EncodingClosure { encoder in
      var keyed = encoder.container(keyedBy: TextKey.self)
      try keyed.encode(1, forKey: "a")
      var list = encoder.unkeyedContainer()
      try list.encode(2)
      _ = list.nestedUnkeyedContainer()
      _ = list.superEncoder()
      #expect(list.codingPath.count <= 1)
    }
    let afterwards = EncodingClosure { encoder in
      var single = encoder.singleValueContainer()
      try single.encode(1)
      var list = encoder.unkeyedContainer()
      try list.encode("x")
      var keyed = encoder.container(keyedBy: TextKey.self)
      var nested = keyed.nestedContainer(keyedBy: TextKey.self, forKey: "b")
      try nested.encode(CodableBook.guide, forKey: "c")
    }
    for value in [twice, mixed, otherKind, afterwards] {
      #expect(throws: EncodingError.self) { try fields(of: value) }
      let error = #expect(throws: EncodingError.self) { try fields(of: ["x": value]) }
      #expect(path(error) == "x")
      #expect(throws: EncodingError.self) {
        try TreeEncoder.encode(["x": value], options: Firestore.Encoder())
      }
    }
  }

  /// What a type's `encode(to:)` may do, as data.
  private indirect enum Step: CustomStringConvertible {
    case value(Int)
    case null
    case keyed([(String, Use)])
    case unkeyed([Use])
    case single(Step)
    case fail

    enum Use {
      case value(Step)
      case nested(Step)
      case superEncoder(Step)
      /// Kept, and used when the rest is done.
      case later(Step)
    }

    var description: String {
      switch self {
      case .value(let number): "\(number)"
      case .null: "null"
      case .keyed(let uses): "keyed\(uses)"
      case .unkeyed(let uses): "unkeyed\(uses)"
      case .single(let step): "single(\(step))"
      case .fail: "fail"
      }
    }
  }

  private struct Scripted: Encodable {
    let step: Step

    func encode(to encoder: any Encoder) throws { try run(step, encoder) }

    private func run(_ step: Step, _ encoder: any Encoder) throws {
      switch step {
      case .fail: throw CancellationError()
      case .value(let number):
        var container = encoder.singleValueContainer()
        try container.encode(number)
      case .null:
        var container = encoder.singleValueContainer()
        try container.encodeNil()
      case .single(let step):
        var container = encoder.singleValueContainer()
        try container.encode(Scripted(step: step))
      case .keyed(let uses):
        var container = encoder.container(keyedBy: TextKey.self)
        var later: [(any Encoder, Step)] = []
        for (name, use) in uses {
          let key = TextKey(stringValue: name)
          switch use {
          case .value(let step): try? container.encode(Scripted(step: step), forKey: key)
          case .superEncoder(let step): try? run(step, container.superEncoder(forKey: key))
          case .later(let step): later.append((container.superEncoder(forKey: key), step))
          case .nested(.unkeyed(let uses)):
            var nested = container.nestedUnkeyedContainer(forKey: key)
            for case .value(let step) in uses { try? nested.encode(Scripted(step: step)) }
          case .nested:
            var nested = container.nestedContainer(keyedBy: TextKey.self, forKey: key)
            try nested.encode(name, forKey: "name")
          }
        }
        for (encoder, step) in later { try? run(step, encoder) }
      case .unkeyed(let uses):
        var container = encoder.unkeyedContainer()
        for use in uses {
          switch use {
          case .value(let step): try? container.encode(Scripted(step: step))
          case .superEncoder(let step), .later(let step):
            try? run(step, container.superEncoder())
          case .nested:
            var nested = container.nestedContainer(keyedBy: TextKey.self)
            try nested.encode(1, forKey: "one")
          }
        }
      }
    }
  }

  private func step(_ random: inout FormatGenerator, depth: Int) -> Step {
    switch random.below(depth > 0 ? 9 : 4) {
    case 0, 1: return .value(random.below(9))
    case 2: return .null
    case 3: return random.below(3) == 0 ? .fail : .value(1)
    case 4: return .single(step(&random, depth: depth - 1))
    case 5, 6: return .unkeyed((0..<random.below(4)).map { _ in use(&random, depth: depth) })
    default: return keyed(&random, depth: depth)
    }
  }

  private func keyed(_ random: inout FormatGenerator, depth: Int) -> Step {
    .keyed(
      (0..<random.below(5)).map { _ in
        (random.one(of: ["a", "b", "c", "d"]), use(&random, depth: depth))
      })
  }

  private func use(_ random: inout FormatGenerator, depth: Int) -> Step.Use {
    let step = step(&random, depth: depth - 1)
    switch random.below(12) {
    case 0: return .superEncoder(step)
    case 1: return random.below(3) == 0 ? .later(step) : .value(step)
    case 2: return .nested(step)
    default: return .value(step)
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `streaming and the tree write the same`(seed: UInt64) throws {
    var random = FormatGenerator(seed: seed)
    var written = 0
    for _ in 0..<4_000 {
      let value = Scripted(step: keyed(&random, depth: 3))
      let options = Firestore.Encoder()
      let tree = Result { try TreeEncoder.encode(value, options: options).body }
      let stream = Result { try options.encodeDocument(value).body }
      switch (tree, stream) {
      case (.success(let expected), .success(let body)):
        written += 1
        // A dictionary of it that is stored is the same document. A fault is one of what was encoded,
        // though it may have been replaced.
        let set = try? ParsedWrite(set: options.encode(value), database: nil)
        if let set {
          #expect(set.body == body, "seed \(seed), \(value.step)")
        } else {
          #expect(
            try options.encodeDocument(value).validationError != nil, "seed \(seed), \(value.step)")
        }
        if body != expected {
          Issue.record(
            "seed \(seed), \(value.step): \(body.dump()) where the tree has \(expected.dump())")
        }
      case (.failure, .failure): break
      default: Issue.record("seed \(seed), \(value.step): \(stream) where the tree has \(tree)")
      }
    }
    #expect(written > 2_000)
  }
}
