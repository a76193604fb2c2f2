import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// Figures for eyes, with HEARTH_SOAK in a release build.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["HEARTH_SOAK"] != nil))
struct QuerySpeedTests {
  private static let count = 100_000

  private static func world() async throws -> QueryWorld {
    var random = SeededGenerator(seed: 1)
    let books = ResourcePath(["books"])
    let world = try await QueryWorld([])
    for batch in 0..<20 {
      try await world.database.add(
        (0..<count / 20).map { index in
          let number = batch * (count / 20) + index
          let vector = (0..<32).map { _ in Double(random.below(1000)) / 100 }
          return (
            books.appending("book-\(number)"),
            MapValue([
              ("author", .string("An author with a name")),
              ("blurb", .string(String(repeating: "x", count: 100))),
              ("genre", .string("genre-\(random.below(50))")),
              ("pages", .integer(Int64(random.below(1000)))),
              ("title", .string("A title \(number)")),
              ("tags", .array([.string("old"), .string("tag-\(random.below(100))")])),
              ("vector", .vector(vector)), ("year", .double(Double(random.below(3000)) / 2)),
            ])
          )
        })
    }
    return world
  }

  @Test func `forced scans`() async throws {
    let world = try await Self.world()
    // The thread's own time: others may be at work beside it.
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
    func measure(_ name: String, _ body: () throws -> Int) rethrows {
      var best = Double.infinity
      var found = 0
      for _ in 0..<9 {
        let start = now()
        found = try body()
        best = min(best, now() - start)
      }
      print("\(name): \(found) found, \(Int(best / Double(Self.count))) ns a document")
    }
    let scope = StructuredQuery.Scope.collection(ResourcePath(["books"]))
    func asking(_ change: (inout StructuredQuery) -> Void) -> StructuredQuery {
      var query = StructuredQuery(scope)
      change(&query)
      return query
    }
    func comparing(
      _ name: String, _ kind: StructuredQuery.Comparison.Operator, _ operand: Value
    ) -> StructuredQuery.Filter {
      .comparison(
        StructuredQuery.Comparison(field: FieldSegments([name]), operator: kind, operand: operand))
    }
    try world.database.store.read { snapshot in
      let body = try #require(
        try snapshot.body(of: DocumentName(ResourcePath(["books", "book-7"]), limit: .standard)))
      print("a body of \(body.bytes.count) bytes")
      try measure("cursor scan") {
        var count = 0
        let scan = try CollectionScan(ResourcePath(["books"]), in: snapshot)
        while try scan.nextEntry() != nil { count += 1 }
        return count
      }
      try measure("cursor scan with paths") {
        var count = 0
        let scan = try CollectionScan(ResourcePath(["books"]), in: snapshot)
        while try scan.next() != nil { count += 1 }
        return count
      }
      func run(_ name: String, _ query: StructuredQuery) throws {
        try measure(name) {
          try snapshot.documents(matching: EffectiveQuery(query)).count
        }
      }
      try run("pages == 7", asking { $0.add(comparing("pages", .equal, .integer(7))) })
      try run(
        "genre == genre-7x", asking { $0.add(comparing("genre", .equal, .string("genre-7x"))) })
      try run("pages == -1", asking { $0.add(comparing("pages", .equal, .integer(-1))) })
      try run(
        "pages == -1 and genre",
        asking {
          $0.add(comparing("genre", .equal, .string("genre-7")))
          $0.add(comparing("pages", .equal, .integer(-1)))
        })
      try run("pages > 990", asking { $0.add(comparing("pages", .greaterThan, .integer(990))) })
      try run(
        "tags contains", asking { $0.add(comparing("tags", .arrayContains, .string("tag-7"))) })
      try run(
        "order by pages limit 10",
        asking {
          $0.orders = [StructuredQuery.Order(field: FieldSegments(["pages"]))]
          $0.limit = 10
        })
      try run(
        "order by title limit 100",
        asking {
          $0.orders = [StructuredQuery.Order(field: FieldSegments(["title"]), isDescending: true)]
          $0.limit = 100
        })
      try run(
        "nearest 10 of 32 dimensions",
        asking {
          $0.nearest = StructuredQuery.Nearest(
            field: FieldSegments(["vector"]), vector: [Double](repeating: 5, count: 32), limit: 10,
            measure: .cosine)
        })
      try measure("sum of pages") {
        let sum = try snapshot.aggregate(
          [Aggregation(.sum(FieldSegments(["pages"])))],
          over: EffectiveQuery(StructuredQuery(scope)))
        if case .integer(let sum) = sum[0] { return Int(sum) }
        return 0
      }
      try run("whole collection", StructuredQuery(scope))
    }
  }
}
