import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// Sessions, containers and guesses are used again; no run may see another.
struct SessionTests {
  /// A type that holds itself: several containers for one key type at the same time.
  struct Tree: Codable, Equatable {
    var name: String
    var left: [Tree]
    var depth: Int
    var right: [String: Tree]
  }

  private func tree(_ random: inout FormatGenerator, depth: Int) -> Tree {
    func few() -> Int { depth > 0 ? random.below(3) : 0 }
    return Tree(
      name: random.text(upTo: 20), left: (0..<few()).map { _ in tree(&random, depth: depth - 1) },
      depth: depth,
      right: Dictionary(
        (0..<few()).map { _ in (random.name(), tree(&random, depth: depth - 1)) },
        uniquingKeysWith: { first, _ in first }))
  }

  @Test func `types that hold themselves go there and back`() throws {
    var random = FormatGenerator(seed: 6)
    for _ in 0..<300 {
      let tree = tree(&random, depth: 4)
      let document = try Firestore.Encoder().encodeDocument(tree)
      #expect(try TreeEncoder.encode(tree, options: Firestore.Encoder()).body == document.body)
      let back = try document.body.withBytes {
        try Firestore.Decoder().decodeDocument(Tree.self, from: StoredBody($0))
      }
      #expect(back == tree)
    }
  }

  @Test func `many tasks code at once, each for itself`() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for seed in 0..<8 as Range<UInt64> {
        group.addTask {
          var random = FormatGenerator(seed: seed)
          let encoder = Firestore.Encoder()
          let decoder = Firestore.Decoder()
          for _ in 0..<300 {
            var book = CodableBook.guide
            book.title = random.text(upTo: 30)
            book.genres = (0..<random.below(4)).map { _ in random.name() }
            let document = try encoder.encodeDocument(book)
            let back = try document.body.withBytes {
              try decoder.decodeDocument(CodableBook.self, from: StoredBody($0))
            }
            #expect(back == book)
            let tree = SessionTests().tree(&random, depth: 2)
            let body = try encoder.encodeDocument(tree).body
            #expect(
              try body.withBytes { try decoder.decodeDocument(Tree.self, from: StoredBody($0)) }
                == tree)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func `coders may be used while others are at work`() throws {
    /// Holds a document of its own, as bytes.
    struct Sealed: Codable, Equatable {
      var book: CodableBook
      init(_ book: CodableBook) { self.book = book }
      init(from decoder: any Decoder) throws {
        let data = try decoder.singleValueContainer().decode(Data.self)
        book = try data.withUnsafeBytes {
          try Firestore.Decoder().decodeDocument(CodableBook.self, from: StoredBody($0))
        }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(Firestore.Encoder().encodeDocument(book).body.bytes))
      }
    }
    let value = ["a": Sealed(.guide), "b": Sealed(.guide)]
    let body = try Firestore.Encoder().encodeDocument(value).body
    let back = try body.withBytes {
      try Firestore.Decoder().decodeDocument([String: Sealed].self, from: StoredBody($0))
    }
    #expect(back == value)
  }

  @Test func `nothing of a failed run is left for the next`() throws {
    struct Failing: Codable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: TextKey.self)
        try container.encode(FieldValue.serverTimestamp(), forKey: "at")
        try container.encode([[1]], forKey: "nested")
        throw CancellationError()
      }
      init() {}
      init(from decoder: any Decoder) throws {
        _ = try decoder.container(keyedBy: TextKey.self).superDecoder()
        throw CancellationError()
      }
    }
    for _ in 0..<3 {
      #expect(throws: CancellationError.self) { try Firestore.Encoder().encodeDocument(Failing()) }
      #expect(throws: CancellationError.self) {
        try decode([String: Failing].self, from: ["a": .map(map(["b": .null]))])
      }
      let document = try Firestore.Encoder().encodeDocument(["a": 1])
      #expect(document.transforms.isEmpty)
      #expect(document.validationError == nil)
      #expect(try document.body.map() == map(["a": .integer(1)]))
      let error = #expect(throws: DecodingError.self) {
        try decode([String: Int].self, from: ["a": .null])
      }
      #expect(path(error) == "a")
    }
  }
}
