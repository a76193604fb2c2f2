import Foundation
import HearthGeometry
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// The entries and documents that includes, reverse ranges and regions touch: the results and a few
/// more, however many other documents there are.
@Suite struct IncludingWorkTests {
  private static let count = Soak.isOn ? 1_000_000 : 12_000

  private static func reference(_ collection: String, _ id: Int) -> Value {
    .reference(ResourcePath([collection, "\(id)"]))
  }

  @Test func `includes and reverse ranges touch what they return, and a few more`() async throws {
    let authors = Self.count / 50
    var documents = (0..<authors).map { number in
      (
        path: ResourcePath(["authors", "\(number)"]),
        fields: MapValue([("name", .string("author \(number)"))])
      )
    }
    for number in 0..<Self.count {
      documents.append(
        (
          ResourcePath(["books", "\(number)"]),
          MapValue([
            ("author", Self.reference("authors", number % authors)),
            ("year", .integer(Int64(number % 97))),
          ])
        ))
    }
    func index(_ components: IndexDefinition.Component...) -> IndexDefinition {
      IndexDefinition("books", components)
    }
    let (author, year) = (FieldSegments(["author"]), FieldSegments(["year"]))
    let world = try await QueryWorld(
      documents,
      indexes: [
        index(.init(field: author, kind: .ascending), .init(field: year, kind: .ascending)),
        index(.init(field: year, kind: .ascending)),
      ])
    func touched(_ joined: JoinedQuery) throws -> (found: Int, included: Int, touched: Int) {
      try joined.check()
      return try world.database.store.read { snapshot in
        var work = 0
        var keys = 0
        let result = try joined.read {
          if case .documents(let paths) = $0 { keys += paths.count }
          let tracing = QueryTracing(isStrict: true) { trace in
            work += trace.touched.entries + trace.touched.documents + trace.touched.keys
          }
          return try StoreView(snapshot, .stored, tracing).answer($0)
        }
        let included = result.documents.reduce(0) {
          $0 + result.included.documents(0, of: $1, at: 0).documents.count
        }
        return (result.documents.count, included, work + keys)
      }
    }
    var page = StructuredQuery(.collection(ResourcePath(["books"])))
    page.orders = [.init(field: year)]
    page.limit = 20
    let forward = try touched(JoinedQuery(page, including: [Inclusion(.reference(author))]))
    #expect(forward.found == 20 && forward.included == 20)
    // An entry and a document for each result, a document for each author.
    #expect(forward.touched <= 3 * 20 + 10, "\(forward)")
    var byYear = StructuredQuery(.collection(ResourcePath(["books"])))
    byYear.orders = [.init(field: year)]
    byYear.limit = 10
    var few = StructuredQuery(.collection(ResourcePath(["authors"])))
    few.limit = 5
    let reverse = try touched(
      JoinedQuery(few, including: [Inclusion(.referring(byYear, author, isArray: false))]))
    #expect(reverse.found == 5 && reverse.included == 50)
    #expect(reverse.touched <= 2 * 50 + 5 * 3 + 20, "\(reverse)")
  }

  @Test func `a circle touches at most twice its matches, and 100 more`() async throws {
    var random = SeededGenerator(seed: 11)
    let places = (0..<Self.count / 2).map { _ in
      // A city: the density falls with the distance from its center.
      let distance = Double(random.below(1000)) / 1000
      let angle = Double(random.below(3600)) / 1800 * Double.pi
      return Coordinate(
        latitude: 52.5 + 0.4 * distance * cos(angle), longitude: 13.4 + 0.6 * distance * sin(angle))
    }
    let field = FieldSegments(["place"])
    let world = try await QueryWorld(
      places.enumerated().map { number, place in
        (ResourcePath(["shops", "\(number)"]), MapValue([("place", .geoPoint(place))]))
      }, indexes: [IndexDefinition("shops", [.init(field: field, kind: .cells)])])
    var inIndex = 0
    for radius in [100.0, 1000, 5000, 20_000] {
      for center in places.prefix(20) {
        var query = StructuredQuery(.collection(ResourcePath(["shops"])))
        query.add(
          .comparison(
            .init(
              field: field,
              within: .circle(
                latitude: center.latitude, longitude: center.longitude, radiusMeters: radius))))
        let counters = ReadCounters()
        let found = try world.documents(query, touched: counters).count
        let matches = places.count {
          GeoRegion.distance(
            fromLatitude: center.latitude, longitude: center.longitude, toLatitude: $0.latitude,
            longitude: $0.longitude) <= radius
        }
        #expect(found == matches)
        // Of a large part of all documents, a scan is faster.
        if matches > places.count / 20 { continue }
        inIndex += 1
        #expect(counters.entries <= 2 * matches + 100, "\(radius): \(counters.entries), \(matches)")
        #expect(counters.documents <= 2 * matches + 100)
      }
    }
    #expect(inIndex > 20)
  }
}
