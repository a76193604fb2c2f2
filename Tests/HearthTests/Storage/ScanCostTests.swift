import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// The three questions of the document key, each to cost what it returns.
@Suite struct ScanCostTests {
  private let count = Soak.isOn ? 1_000_000 : 10_000

  private func filled(_ path: (Int) -> String) throws -> StoreFixture {
    let fixture = try StoreFixture { $0.mapSizeBytes = 8 << 30 }
    let body = try DocumentBody(encoding: MapValue([("n", .integer(1))]))
    var outcome: Writer.Outcome?
    for start in stride(from: 0, to: count, by: 500) {
      outcome =
        fixture.commitTogether([
          (start..<min(start + 500, count)).map {
            Mutation(path: fixture.name(path($0)).path, operation: .set(body))
          }
        ]).first
    }
    _ = try outcome?.get()
    return fixture
  }

  private func measure(
    _ what: String, _ next: (ReadCounters) throws -> () throws -> ScannedDocument?
  ) throws -> (keys: Int, paths: [String]) {
    let touched = ReadCounters()
    var paths: [String] = []
    let time = try ContinuousClock().measure {
      let next = try next(touched)
      while paths.count < 20, let document = try next() { paths.append(document.path.text) }
    }
    if Soak.isOn { print("\(what): \(touched.keys) keys for \(paths.count) documents, \(time)") }
    return (touched.keys, paths)
  }

  @Test func `with many collections of one document each, twenty documents touch a few keys`()
    throws
  {
    let fixture = try filled { "cats/c\($0 / 10)/items\($0 % 10)/i" }
    try fixture.store.read { snapshot in
      let collection = ResourcePath(relative: "cats/c7/items3")
      let one = try measure("collection of one") { touched in
        let scan = try CollectionScan(collection, in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(one.paths == ["cats/c7/items3/i"] && one.keys <= 2)
      let group = try measure("group over single documents") { touched in
        let scan = try GroupScan("items3", in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(group.paths.count == 20 && group.keys <= 60)
      let tree = try measure("below the root, single documents") { touched in
        let scan = try SubtreeScan(below: .root, in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(tree.paths.count == 20 && tree.keys <= 80)
      let below = try measure("below one document") { touched in
        let scan = try SubtreeScan(
          below: ResourcePath(relative: "cats/c7"), in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(below.paths.count == 10 && below.keys <= 40)
    }
  }

  @Test func `missing documents with collections of the same name below cost a scan nothing`()
    throws
  {
    let last = count - 1
    let fixture = try filled { $0 == last ? "items/z" : "items/m\($0)/items/i" }
    try fixture.store.read { snapshot in
      let collection = try measure("collection above missing documents") { touched in
        let scan = try CollectionScan(
          ResourcePath(["items"]), in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(collection.paths == ["items/z"] && collection.keys <= 2)
      let group = try measure("group of nested collections") { touched in
        let scan = try GroupScan("items", in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(group.paths.count == 20 && group.keys <= 60)
      let tree = try measure("below the root, nested collections") { touched in
        let scan = try SubtreeScan(below: .root, in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(tree.paths.count == 20 && tree.keys <= 80)
    }
  }

  @Test func `a large collection answers twenty documents with twenty keys`() throws {
    let fixture = try filled { "items/\($0)" }
    try fixture.store.read { snapshot in
      let collection = try measure("large collection") { touched in
        let scan = try CollectionScan(ResourcePath(["items"]), in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(collection.paths.count == 20 && collection.keys == 20)
      let group = try measure("large group") { touched in
        let scan = try GroupScan("items", in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(group.paths == collection.paths && group.keys <= 24)
      let tree = try measure("large tree") { touched in
        let scan = try SubtreeScan(below: .root, in: snapshot, touched: touched)
        return { try scan.next() }
      }
      #expect(tree.paths == collection.paths && tree.keys <= 24)
    }
  }

  @Test func `a bounded group or tree costs what is within its bounds`() throws {
    let fixture = try filled { "users/u\($0 % 10)/items/\($0 / 10)" }
    try fixture.store.read { snapshot in
      let group = try measure("bounded group") { touched in
        let scan = try GroupScan(
          "items", in: snapshot, from: ResourcePath(relative: "users/u4/items/5"),
          to: ResourcePath(relative: "users/u4/items/51"), touched: touched)
        return { try scan.next() }
      }
      #expect(group.paths.starts(with: ["5", "50", "500", "501"].map { "users/u4/items/\($0)" }))
      #expect(group.keys <= 30)
      let tree = try measure("bounded tree") { touched in
        let scan = try SubtreeScan(
          below: .root, in: snapshot, from: ResourcePath(relative: "users/u4/items/5"),
          to: ResourcePath(relative: "users/u4/items/51"), touched: touched)
        return { try scan.next() }
      }
      #expect(tree.paths == group.paths && tree.keys <= 40)
    }
  }
}
