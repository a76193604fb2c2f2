import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Which threads decode the results of a query.
@Suite(.serialized) struct QueryDecodingTests {
  private let folder = TemporaryFolder()
  private let db: Firestore
  private static let count = 2000

  init() async throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.maxQueryThreads = 4
    let db = try Firestore.open(at: folder.path + "/many.hearth", settings: settings)
    self.db = db
    try await db.write { tx in
      for n in 0..<Self.count {
        try tx.setData(["n": n], forDocument: db.document("d/\(10_000 + n)"))
      }
    }
  }

  private static func thread() -> UInt { UInt(pthread_self()) }

  /// May not leave its thread, and keeps something that is safe on one thread only.
  private final class Bound: Decodable {
    // Unsafe: what this type is about. One thread decodes it, or the thread sanitizer says so.
    nonisolated(unsafe) static var decoded = 0
    nonisolated(unsafe) static var threads: Set<UInt> = []
    var n: Int

    enum CodingKeys: CodingKey { case n }

    init(from decoder: any Decoder) throws {
      n = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .n)
      Self.decoded += 1
      Self.threads.insert(QueryDecodingTests.thread())
    }
  }

  private struct Free: Decodable, Sendable {
    static let threads = Guarded<Set<UInt>>([])
    var n: Int

    enum CodingKeys: CodingKey { case n }

    init(from decoder: any Decoder) throws {
      n = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .n)
      Self.threads.withLock { _ = $0.insert(QueryDecodingTests.thread()) }
    }
  }

  @Test func `a type that is not Sendable is decoded by one thread`() async throws {
    Bound.decoded = 0
    for _ in 0..<5 {
      Bound.threads = []
      let found = try await db.collection("d").getDocuments(as: Bound.self)
      #expect(found.map(\.n) == Array(0..<Self.count))
      #expect(Bound.threads.count == 1)
    }
    #expect(Bound.decoded == 5 * Self.count)
    Bound.threads = []
    try await db.read { session in
      let found = try session.getDocuments(db.collection("d"), as: Bound.self)
      #expect(found.map(\.n) == Array(0..<Self.count))
    }
    #expect(Bound.threads.count == 1)
    try await db.terminate()
  }

  /// The main actor's alone, its conformance too.
  @MainActor private final class Model: @MainActor Decodable {
    static let isMain = DispatchSpecificKey<Bool>()
    var n: Int
    var isOnMain: Bool

    enum CodingKeys: CodingKey { case n }

    required init(from decoder: any Decoder) throws {
      n = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .n)
      isOnMain = DispatchQueue.getSpecific(key: Self.isMain) ?? false
    }
  }

  @MainActor @Test func `a model of the main actor is decoded on the main actor`() async throws {
    DispatchQueue.main.setSpecific(key: Model.isMain, value: true)
    let found = try await db.collection("d").getDocuments(as: Model.self)
    #expect(found.map(\.n) == Array(0..<Self.count))
    #expect(!found.map(\.isOnMain).contains(false))
    try await db.terminate()
  }

  @Test(.embedded("Others decode on one thread."))
  func `a Sendable type is decoded by several threads, in order`() async throws {
    let begin = ContinuousClock.now
    // They come when there is a thread for them.
    while Free.threads.withLock({ $0.count }) < 2, .now - begin < .seconds(60) {
      let found = try await db.collection("d").getDocuments(as: Free.self)
      #expect(found.map(\.n) == Array(0..<Self.count))
    }
    #expect(Free.threads.withLock { $0.count } > 1)
    Free.threads.withLock { $0 = [] }
    while Free.threads.withLock({ $0.count }) < 2, .now - begin < .seconds(120) {
      try await db.read { session in
        let found = try session.getDocuments(db.collection("d"), as: Free.self)
        #expect(found.map(\.n) == Array(0..<Self.count))
      }
    }
    #expect(Free.threads.withLock { $0.count } > 1)
    try await db.terminate()
  }

  /// What stands in a decoder's `userInfo`, or a closure of it, may not bear several threads.
  @Test func `a decoder with a user's closure decodes by one thread`() async throws {
    let decoder = Firestore.Decoder()
    decoder.userInfo[try #require(CodingUserInfoKey(rawValue: "x"))] = 1
    Free.threads.withLock { $0 = [] }
    for _ in 0..<5 {
      Free.threads.withLock { $0 = [] }
      _ = try await db.collection("d").getDocuments(as: Free.self, decoder: decoder)
      #expect(Free.threads.withLock { $0.count } == 1)
    }
    try await db.terminate()
  }

  /// One field of a document, whose index the decoder's configuration names.
  private struct Chosen: DocumentValueCodable, Sendable {
    static let threads = Guarded<Set<UInt>>([])
    static let fields = DocumentFields<Chosen>("link", "n")
    let text: String

    init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
      guard let field = reader.configuration as? Int else { throw UseCodable() }
      text = try reader.map(Self.fields) { map throws(UseCodable) in
        guard try map.isStored(at: field) else { return "none" }
        return field == 1
          ? String(try map.read(Int.self, at: 1)) : try map.read(Linked.self, at: 0).id
      }
      Self.threads.withLock { _ = $0.insert(QueryDecodingTests.thread()) }
    }

    init(from decoder: any Decoder) throws { text = "Codable" }
    func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) { throw UseCodable() }
    func encode(to encoder: any Encoder) throws {}
  }

  private struct Linked: DocumentValueCodable {
    let id: String

    init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
      id = try reader.referencedDocumentID()
    }

    init(from decoder: any Decoder) throws { id = "Codable" }
    func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) { throw UseCodable() }
    func encode(to encoder: any Encoder) throws {}
  }

  @Test(.embedded("Others decode on one thread."))
  func `a type reads the fields that the decoder's configuration names`() async throws {
    let documents = db.collection("d")
    try await documents.document("10000").updateData(["link": db.document("ä/é 1")])
    try await documents.document("10001").updateData(["link": "ä/é 1"])
    let decoder = Firestore.Decoder()
    decoder.configuration = 0
    let links = try await documents.limit(to: 3).getDocuments(as: Chosen.self, decoder: decoder)
    // A field that is no reference is left to `Codable`, with the document.
    #expect(links.map(\.text) == ["é 1", "Codable", "none"])
    let plain = try await documents.limit(to: 1).getDocuments(as: Chosen.self)
    #expect(plain.map(\.text) == ["Codable"])
    decoder.configuration = 1
    let wanted = (0..<Self.count).map(String.init)
    let begin = ContinuousClock.now
    repeat {
      let found = try await documents.getDocuments(as: Chosen.self, decoder: decoder)
      #expect(found.map(\.text) == wanted)
      let read = try await db.read { state in
        try state.getDocuments(documents, as: Chosen.self, decoder: decoder).map(\.text)
      }
      #expect(read == wanted)
    } while Chosen.threads.withLock { $0.count } < 2 && .now - begin < .seconds(60)
    #expect(Chosen.threads.withLock { $0.count } > 1)
    try await db.terminate()
  }
}
