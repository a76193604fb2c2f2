import Foundation
import Hearth
import HearthTesting
import ParseSwift
import TestSupport
import Testing

/// Has properties whose stored values may differ from what their types write.
private struct Item: ParseObject {
  struct Spot: Codable, Hashable {
    var city: String?
    var height: Double?
  }

  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var title: String?
  var height: Double?
  var tags: Set<String>?
  var spot: Spot?
  var spots: [Spot]?
  var place: ParseGeoPoint?
  var bytes: ParseBytes?
  var leaf: Leaf?
  var leaves: [Pointer<Leaf>]?

  static let names = [
    "title", "height", "tags", "spot", "spots", "place", "bytes", "leaf", "leaves",
  ]
}

/// Laws of the save of an object that was read.
@Suite struct SavedChangesTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  private var firestore: Firestore { database.firestore }

  /// A value as other programs store it: integers for `Double`, keys that the type lacks. Nil for no field.
  private func stored(_ name: String, _ random: inout SeededGenerator) -> Any? {
    let number = random.below(1000)
    let spot: [String: Any] = ["city": "c\(number)", "height": number, "zip": "z\(number)"]
    if number.isMultiple(of: 7) { return nil }
    switch name {
    case "title": return "t\(number)"
    case "height": return number.isMultiple(of: 2) ? number as Any : Double(number) / 2
    case "tags": return ["b\(number)", "a", "c"].shuffled(using: &random)
    case "spot": return spot
    case "spots": return [spot, ["height": number]]
    case "place": return GeoPoint(latitude: 1, longitude: Double(number % 180))
    case "bytes": return Data([UInt8(number % 256)])
    case "leaf": return firestore.document("Leaf/l\(number)")
    default: return [firestore.document("Leaf/l\(number)"), firestore.document("Leaf/x")]
    }
  }

  /// Changes a property, and returns what is stored then; nil for no field.
  private func change(
    _ item: inout Item, _ name: String, _ read: Any?, _ random: inout SeededGenerator
  ) throws -> Any? {
    let isRemoved = random.below(4) == 0
    let number = random.below(100)
    switch name {
    case "title":
      item.title = isRemoved ? nil : "new"
      return isRemoved ? nil : "new"
    case "height":
      item.height = isRemoved ? nil : Double(2000 + number)
      return isRemoved ? nil : Double(2000 + number)
    case "tags":
      item.tags = isRemoved ? nil : ["new"]
      return isRemoved ? nil : ["new"]
    case "spot":
      item.spot = isRemoved ? nil : Item.Spot(city: "new")
      var spot: [String: Any] = ["city": "new"]
      spot["zip"] = (read as? [String: Any])?["zip"]
      return isRemoved ? nil : spot
    case "spots":
      item.spots = isRemoved ? nil : [Item.Spot(height: Double(number))]
      return isRemoved ? nil : [["height": Double(number)]]
    case "place":
      item.place = try isRemoved ? nil : ParseGeoPoint(latitude: 2, longitude: Double(number))
      return isRemoved ? nil : GeoPoint(latitude: 2, longitude: Double(number))
    case "bytes":
      item.bytes = isRemoved ? nil : ParseBytes(data: Data([1, 2]))
      return isRemoved ? nil : Data([1, 2])
    case "leaf":
      item.leaf = isRemoved ? nil : Leaf(objectId: "new")
      return isRemoved ? nil : firestore.document("Leaf/new")
    default:
      item.leaves = isRemoved ? nil : [Pointer(objectId: "new")]
      return isRemoved ? nil : [firestore.document("Leaf/new")]
    }
  }

  @Test func `a time of the commit that was never set is no change`() async throws {
    struct Visit: ParseObject {
      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var title: String?
      @ServerTimestamp var seen: Date?
    }
    try await ParseSwift.withFirestore(firestore) {
      let document = firestore.document("Visit/a")
      try await document.setData(["title": "before"])
      let before = try await document.getDocument()
      let visit = try await Visit.query("objectId" == "a").first()
      _ = try await visit.save()
      let same = try await document.getDocument()
      #expect(same.updateTime == before.updateTime)
      _ = try await visit.set(\.title, to: "after").save()
      let after = try await document.getDocument()
      #expect(after["title"] as? String == "after" && after["seen"] == nil)
    }
  }

  @Test func `a save writes the property that was changed, and no other`() async throws {
    try await ParseSwift.withFirestore(firestore) {
      for seed in Soak.seeds(Soak.isOn ? 2000 : 60) {
        var random = SeededGenerator(seed: seed)
        let document = firestore.document("Item/\(seed)")
        var read: [String: Any] = [:]
        var written: [String: Any] = [:]
        for name in Item.names {
          read[name] = stored(name, &random)
          written[name] = stored(name, &random)
        }
        try await document.setData(read)
        var item = try await Item.query("objectId" == "\(seed)").first()
        // Nothing is written without a change.
        let before = try await document.getDocument()
        _ = try await item.save()
        let same = try await document.getDocument()
        #expect(same.updateTime == before.updateTime, "seed \(seed)")
        // Another program changes everything.
        try await document.setData(written)
        let name = random.pick(Item.names)
        let new = try change(&item, name, read[name], &random)
        _ = try await item.save()
        let after = try await document.getDocument()
        if new != nil || read[name] != nil {
          written[name] = new
          written["updatedAt"] = after["updatedAt"]
        }
        let wanted = firestore.document("Wanted/\(seed)")
        try await wanted.setData(written)
        let fields = try await wanted.getDocument().encodedFields
        #expect(after.encodedFields == fields, "seed \(seed), \(name)")
      }
    }
  }

  @Test func `children of a type that cannot be streamed are created once`() async throws {
    struct Knot: ParseObject {
      enum CodingKeys: String, CodingKey {
        case objectId, createdAt, updatedAt, ACL, originalData, leaf, spot
      }

      var objectId: String?
      var createdAt: Date?
      var updatedAt: Date?
      var ACL: ParseACL?
      var originalData: Data?
      var leaf: Leaf?
      var spot: [String: Int]?

      init() {}

      func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        var spot = fields.nestedContainer(keyedBy: CodingKeys.self, forKey: .spot)
        try fields.encodeIfPresent(leaf, forKey: .leaf)
        // The container of the map is used after the one around it.
        try spot.encode(1, forKey: .leaf)
      }
    }
    try await ParseSwift.withFirestore(firestore) {
      var knot = try await Knot().save()
      for count in 1...3 {
        knot.leaf = Leaf(value: count)
        knot = try await knot.save()
        let stored = try await Leaf.query().count()
        #expect(stored == count && knot.leaf?.value == count && knot.spot == ["leaf": 1])
        let again = try await knot.save()
        #expect(again.updatedAt == knot.updatedAt)
      }
    }
  }
}
