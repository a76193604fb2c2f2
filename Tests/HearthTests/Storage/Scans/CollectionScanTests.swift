import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct CollectionScanTests {
  /// Ids whose keys are cut at different places when keys are short.
  private static let ids = [
    "__id-3__", "__id7__", "a", "a\u{0}", "ab", "b", "long-name-0123456789-a",
    "long-name-0123456789-b",
    "long-name-0123456789-bb", "z", "é",
  ]

  @Test(arguments: [511, 24, 12])
  func `a scan between two ids, either way, tells what lies between them`(keyLimit: Int)
    async throws
  {
    let books = ResourcePath(["books"])
    let others = ["books/a/books/a", "bookshelf/a", "book/z", "books/a/z/z"].map(
      ResourcePath.init(relative:))
    let world = try await QueryWorld(
      (Self.ids.map(books.appending) + others).map { ($0, MapValue()) },
      keyLimit: KeyLimit(keyLimit))
    let bounds: [String?] = [
      nil, "0", "a", "aa", "long-name-0123456789-b", "long", "zz", "__id7__",
    ]
    try world.database.store.read { snapshot in
      for lowest in bounds {
        for highest in bounds {
          for isDescending in [false, true] {
            let scan = try CollectionScan(
              books, in: snapshot, from: lowest, to: highest, isDescending: isDescending)
            var told: [String] = []
            while let document = try scan.next() {
              #expect(document.path.parent == books)
              told.append(document.path.id)
            }
            let order = Self.ids.sorted { ResourcePath.compare(segment: $0, $1) < 0 }
            let all = isDescending ? order.reversed() : order
            let wanted = all.filter { id in
              lowest.map { ResourcePath.compare(segment: id, $0) >= 0 } ?? true
                && highest.map { ResourcePath.compare(segment: id, $0) <= 0 } ?? true
            }
            // A run that a bound cuts may be told whole; what is told is in order, and complete.
            #expect(
              told.filter(Set(wanted).contains) == wanted, "\(lowest ?? "-") \(highest ?? "-")")
            #expect(told == all.filter(Set(told).contains))
            if keyLimit == 511 { #expect(told == wanted) }
          }
        }
      }
    }
  }

  @Test func `a scan touches what it tells`() async throws {
    let books = ResourcePath(["books"])
    let world = try await QueryWorld((100..<200).map { (books.appending("\($0)"), MapValue()) })
    try world.database.store.read { snapshot in
      let touched = ReadCounters()
      let scan = try CollectionScan(
        books, in: snapshot, from: "150", to: "159", touched: touched)
      while try scan.next() != nil {}
      #expect(touched.keys == 10)
    }
  }
}
