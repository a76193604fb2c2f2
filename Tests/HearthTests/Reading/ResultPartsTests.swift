import Foundation
import Logging
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A result that is read in parts is the result of one state, and no part has much more than was asked for.
@Suite struct ResultPartsTests {
  private let folder = TemporaryFolder()

  private func open() throws -> EmbeddedBackend {
    var settings = EmbeddedBackend.Settings()
    settings.store.durability = .unsafeWithoutFlushing
    let path = folder.path + "/parts.hearth"
    return try EmbeddedBackend(at: path, named: path, settings, logger: Logger(label: "test"))
  }

  private func write(_ number: Int, _ random: inout SeededGenerator) throws -> Mutation {
    let path = ResourcePath(["a", "\(number)"])
    if random.below(5) == 0 { return Mutation(path: path, operation: .delete) }
    return Mutation(
      path: path,
      operation: try .set(
        encoding: MapValue([
          ("n", .integer(Int64(random.below(20)))),
          ("text", .string(String(repeating: "x", count: random.below(300)))),
        ])))
  }

  private static func orders(_ random: inout SeededGenerator) -> [StructuredQuery.Order] {
    let name = StructuredQuery.Order(field: .documentID)
    let isDescending = random.below(2) == 0
    let number = StructuredQuery.Order(field: FieldSegments(["n"]), isDescending: isDescending)
    return random.pick([[name], [number, name]])
  }

  @Test(arguments: 0..<20)
  func `parts together are the result of the state of the first one`(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let backend = try open()
    defer { backend.close() }
    try await backend.commit((0..<300).map { try write($0, &random) })
    for _ in 0..<(Soak.isOn ? 100 : 3) {
      var query = StructuredQuery(.collection(ResourcePath(["a"])))
      query.orders = Self.orders(&random)
      if random.below(2) == 0 { query.limit = random.below(250) + 1 }
      query.offset = random.below(3) * random.below(20)
      let bytes = 1 + random.below(20_000)
      let before = try await backend.read(.results(EffectiveQuery(query))).results
      let wanted = before.map(\.path.text)
      var found: [String] = []
      var time: Timestamp?
      var page = query
      while true {
        let read = try await backend.versioned(
          .part(of: EffectiveQuery(page), bytes: bytes), at: time)
        let (documents, isLast) = try read.answer.part
        found += documents.map(\.path.text)
        time = time ?? read.version.time
        // One document more than the limit begins in it; a plan that sorts has eight times as many.
        #expect(documents.dropLast().reduce(0) { $0 + $1.memoryBytes } < 8 * bytes)
        if isLast { break }
        let last = try #require(documents.last)
        let values = try page.orders.map { order in
          order.field.isDocumentID
            ? Value.reference(last.path) : try last.value(of: order.field) ?? .null
        }
        page.start = .init(values: values, isBefore: false)
        page.offset = 0
        page.limit = query.limit.map { $0 - found.count }
        let changed = try (0..<random.below(30)).map { _ in try write(random.below(300), &random) }
        var paths: Set<ResourcePath> = []
        try await backend.commit(changed.filter { paths.insert($0.path).inserted })
      }
      #expect(found == wanted, "\(query.orders.count) orders, \(bytes) bytes")
    }
  }

  @Test func `small documents count with what each takes in memory`() async throws {
    let backend = try open()
    defer { backend.close() }
    try await backend.commit(
      (0..<400).map {
        Mutation(path: ResourcePath(["a", "\($0)"]), operation: try .set(encoding: MapValue([])))
      })
    let query = EffectiveQuery(StructuredQuery(.collection(ResourcePath(["a"]))))
    let (found, isLast) = try await backend.read(.part(of: query, bytes: 25_600)).part
    #expect(found.count == 100 && !isLast)
  }

  /// Others would fail as soon as a document is changed.
  @Test(arguments: [Duration.zero, .seconds(5)])
  func `a result is one part where changes are not kept`(age: Duration) async throws {
    let backend = try open()
    defer { backend.close() }
    var random = SeededGenerator(seed: 1)
    try await backend.commit((0..<300).map { try write($0, &random) })
    try await backend.setRetention(
      ChangeLogRetention(age: age, limitBytes: 1 << 30), isDefault: false)
    let query = StructuredQuery(.collection(ResourcePath(["a"])))
    let whole = try await backend.read(.results(EffectiveQuery(query))).results
    let (found, isLast) = try await backend.read(.part(of: EffectiveQuery(query), bytes: 1)).part
    #expect(found.count == whole.count && isLast)
  }
}
