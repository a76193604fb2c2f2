import Foundation
import Hearth
import ParseSwift

/// The object of the routes.
private struct Volume: ParseObject {
  struct Part: Codable, Hashable, Sendable {
    var name: String
    var pages: [Int]
  }

  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
  var tags: [String]?
  var parts: Set<Part>?
  var notes: [String: Int]?
  var sequels: [Volume]?
  var place: ParseGeoPoint?
}

extension GrowthShelf {
  /// Runs the body with this database for objects.
  fileprivate func objects<Answer>(_ body: () throws -> Answer) rethrows -> Answer {
    try ParseSwift.withFirestore(db) { try body() }
  }

  fileprivate func saved(_ count: Int) throws -> [Volume] {
    try objects {
      try Self.names(count).map { Volume(name: $0) }.saveAll().map { try $0.get() }
    }
  }
}

extension GrowthRoute {
  static let objects: [GrowthRoute] = [
    GrowthRoute(
      "objects that are saved",
      [
        "Sequence.saveAll(batchLimit:transaction:)",
        "Sequence.saveAll(batchLimit:transaction:callbackQueue:completion:)",
        "Sequence.createAll(batchLimit:transaction:)",
        "Sequence.replaceAll(batchLimit:transaction:)",
      ],
      of: "ParseSwift", because: "All of them save a graph of objects in one commit.", count: 100
    ) { shelf, count in
      let all = GrowthShelf.names(count).map { Volume(name: $0) }
      return { _ = try shelf.objects { try all.saveAll().map { try $0.get() } } }
    },
    GrowthRoute(
      "objects that are fetched",
      [
        "Sequence.fetchAll(includeKeys:)",
        "Sequence.fetchAll(includeKeys:callbackQueue:completion:)",
      ],
      of: "ParseSwift", because: "Both make one query of ids.", count: 100
    ) { shelf, count in
      let all = try shelf.saved(count)
      return { _ = try shelf.objects { try all.fetchAll().map { try $0.get() } } }
    },
    GrowthRoute(
      "objects that are deleted",
      [
        "Sequence.deleteAll(batchLimit:transaction:)",
        "Sequence.deleteAll(batchLimit:transaction:callbackQueue:completion:)",
      ],
      of: "ParseSwift", because: "Both make one batch.", count: 100
    ) { shelf, count in
      let all = try shelf.saved(count)
      return { _ = try shelf.objects { try all.deleteAll().map { try $0.get() } } }
    },
    GrowthRoute(
      "a property that is a set, a map and an array", [], of: "ParseSwift",
      because: "A save compares them with what was read.", count: 100
    ) { shelf, count in
      let names = GrowthShelf.names(count)
      let volume = try shelf.objects {
        try Volume(
          tags: names, parts: Set(names.map { Volume.Part(name: $0, pages: [1]) }),
          notes: Dictionary(uniqueKeysWithValues: names.map { ($0, 1) })
        ).save().fetch()
      }
      return {
        try shelf.objects {
          var changed = volume
          changed.name = "Dune"
          _ = try changed.save()
        }
      }
    },
    GrowthRoute(
      "elements of a property that are added or removed",
      [
        "ParseOperation.add(_:objects:)", "ParseOperation.addUnique(_:objects:)",
        "ParseOperation.remove(_:objects:)",
      ],
      of: "ParseSwift", because: "All of them are one transform of a stored array.", count: 200
    ) { shelf, count in
      let names = GrowthShelf.names(2 * count)
      let volume = try shelf.objects { try Volume(tags: Array(names[..<count])).save() }
      return {
        try shelf.objects {
          let added = try volume.operation.addUnique("tags", objects: Array(names[count...])).save()
          _ = try added.operation.add("tags", objects: names).save()
          _ = try added.operation.remove("tags", objects: names).save()
        }
      }
    },
    GrowthRoute(
      "objects of a relation",
      [
        "ParseOperation.addRelation(_:objects:)", "ParseOperation.removeRelation(_:objects:)",
        "ParseRelation.add(_:objects:)", "ParseRelation.remove(_:objects:)",
      ],
      of: "ParseSwift", because: "All of them write one edge for each object.", count: 100
    ) { shelf, count in
      let all = try shelf.saved(count + 1)
      return {
        try shelf.objects {
          _ = try all[0].operation.addRelation("related", objects: Array(all[1...])).save()
          _ = try all[0].operation.removeRelation("related", objects: Array(all[1...])).save()
        }
      }
    },
    GrowthRoute(
      "the vertices of a polygon",
      ["ParsePolygon.init(_:)", "geoPoint(_:within:)", "withinPolygon(key:points:)"],
      of: "ParseSwift", because: "All check each point once."
    ) { shelf, count in
      let points = try (0..<count).map { index in
        let angle = Double(index) / Double(count) * 2 * .pi
        return try ParseGeoPoint(latitude: 10 + sin(angle), longitude: 10 + cos(angle))
      }
      _ = try shelf.objects { try Volume(place: points[0]).save() }
      return {
        try shelf.objects {
          _ = try ParsePolygon(points)
          _ = try Volume.query(withinPolygon(key: "place", points: points)).find()
        }
      }
    },
  ]

  static let objectQueries: [GrowthRoute] = [
    GrowthRoute(
      "constraints of a query",
      [
        "Query.where(_:)", "ParseObject.query(_:)", "ParseObject.query(_:_:)", "and(_:)",
        "and(queries:)", "or(_:)", "or(queries:)", "nor(_:)", "nor(queries:)",
      ],
      of: "ParseSwift", because: "All of them combine filters, which Hearth's routes measure.",
      count: 200
    ) { shelf, count in
      _ = try shelf.objects { try Volume(name: "Dune").save() }
      return {
        try shelf.objects {
          let all: [QueryConstraint] = GrowthShelf.names(count).map {
            equalTo(key: "name", value: $0)
          }
          _ = try Volume.query(all).find()
          _ = try Volume.query(or(all)).find()
          _ = try Volume.query(and(all)).find()
          _ = try Volume.query(nor(all)).find()
          _ = try Volume.query(or(queries: all.map { Volume.query($0) })).find()
        }
      }
    },
    GrowthRoute(
      "a list of values",
      [
        "containedBy(key:array:)", "containedIn(key:array:)", "containsAll(key:array:)",
        "notContainedIn(key:array:)",
      ],
      of: "ParseSwift", because: "All of them are filters of Hearth with the list.", count: 200
    ) { shelf, count in
      let names = GrowthShelf.names(count)
      _ = try shelf.objects { try Volume(name: "Dune", tags: names).save() }
      return {
        try shelf.objects {
          _ = try Volume.query(containedIn(key: "name", array: names)).find()
          _ = try Volume.query(notContainedIn(key: "name", array: names)).find()
          _ = try Volume.query(containsAll(key: "tags", array: names)).find()
          _ = try Volume.query(containedBy(key: "tags", array: names)).find()
        }
      }
    },
    GrowthRoute(
      "keys of a query",
      [
        "Query.include(_:)", "Query.select(_:)", "Query.exclude(_:)",
        "ParseObject.fetch(includeKeys:)",
        "ParseObject.fetch(includeKeys:callbackQueue:completion:)", "Pointer.fetch(includeKeys:)",
      ],
      of: "ParseSwift", because: "All of them are names of properties, in one query.", count: 100
    ) { shelf, count in
      let keys = GrowthShelf.names(count, "key").map { $0.replacing(" ", with: "") }
      let volume = try shelf.objects { try Volume(name: "Dune").save() }
      return {
        shelf.objects {
          _ = try? Volume.query("name" == "Dune").include(keys).find()
          _ = try? Volume.query("name" == "Dune").select(keys).find()
          _ = try? Volume.query("name" == "Dune").exclude(keys).find()
          _ = try? volume.fetch(includeKeys: keys)
        }
      }
    },
    GrowthRoute(
      "included objects of an array", [], of: "ParseSwift",
      because: "An array of pointers, whose objects a key includes.", count: 100
    ) { shelf, count in
      let all = try shelf.saved(count)
      let volume = try shelf.objects { try Volume(name: "Dune", sequels: all).save() }
      return {
        try shelf.objects {
          let found = try Volume.query("objectId" == volume.objectId).include("sequels").find()
          guard found.first?.sequels?.last?.name != nil else { throw GrowthShelf.IsWrong() }
        }
      }
    },
    GrowthRoute(
      "keys and aggregates of groups",
      ["Query.aggregate(by:_:as:)", "Query.aggregate(by:_:callbackQueue:completion:)"],
      of: "ParseSwift",
      because: "Both look up the value of each key, and of each aggregate, in each group.",
      count: 100
    ) { shelf, count in
      let names = GrowthShelf.names(count, "key").map { $0.replacing(" ", with: "") }
      _ = try shelf.objects {
        try (0..<10).map { number in
          Volume(notes: Dictionary(uniqueKeysWithValues: names.map { ($0, number) }))
        }.saveAll().map { try $0.get() }
      }
      return {
        try shelf.objects {
          let rows: [[String: Int]] = try Volume.query().aggregate(
            by: names.map { "notes." + $0 },
            Dictionary(uniqueKeysWithValues: names.map { ($0, .sum("notes." + $0)) }))
          guard rows.count == 10, rows.last?.count == 2 * count else {
            throw GrowthShelf.IsWrong()
          }
        }
      }
    },
    GrowthRoute(
      "orders of a query", ["Query.order(_:)"], of: "ParseSwift",
      because: "There is one call, for at most a hundred orders."
    ) { shelf, count in
      let keys = GrowthShelf.names(count, "key").map { $0.replacing(" ", with: "") }
      return {
        shelf.objects {
          _ = try? Volume.query("name" == "Dune").order(keys.map { .ascending($0) }).find()
        }
      }
    },
  ]
}
