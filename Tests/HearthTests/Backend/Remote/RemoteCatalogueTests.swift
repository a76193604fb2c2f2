import Testing

@testable import HearthEngine

@Suite struct RemoteCatalogueTests {
  /// Also of bounds that contradict each other, which leave no range.
  @Test(arguments: 0..<8 as Range<UInt64>) func `every query has a scope to read`(seed: UInt64)
    throws
  {
    var random = RandomQueries(seed: seed &* 131 &+ 3)
    let documents = random.world(45)
    let queries = random.validQueries(400, documents)
    var records: [UInt32: [UInt8]] = [:]
    for (number, definition) in random.indexes(wantedBy: queries).enumerated() {
      let index = StoredIndex(
        number: UInt32(number + 1), definition: definition, state: .ready, origin: .declared)
      records[index.number] = index.encoded()
    }
    let catalogue = try RemoteCatalogue(generation: 1, records)
    var count = 0
    for query in queries {
      for isNow in [false, true] {
        var needs = RemoteNeeds()
        needs.add(EffectiveQuery(query), catalogue, isNow: isNow)
        #expect(!needs.scopes.isEmpty)
        for case .entries in needs.scopes { count += 1 }
      }
    }
    #expect(count > 50)
  }
}
