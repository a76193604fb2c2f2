import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct IndexConfigurationTests {
  private let text = """
    {
      "indexes": [
        { "collectionGroup": "cities", "queryScope": "COLLECTION",
          "fields": [ {"fieldPath": "country", "order": "ASCENDING"},
                      {"fieldPath": "tags", "arrayConfig": "CONTAINS"},
                      {"fieldPath": "size.`total area`", "order": "DESCENDING"} ] },
        { "collectionGroup": "cities", "queryScope": "COLLECTION_GROUP", "density": "SPARSE_ALL",
          "fields": [ {"fieldPath": "country", "order": "ASCENDING"},
                      {"fieldPath": "name", "order": "ASCENDING"},
                      {"fieldPath": "__name__", "order": "DESCENDING"} ] },
        { "collectionGroup": "cities", "queryScope": "COLLECTION",
          "fields": [ {"fieldPath": "vector", "vectorConfig": {"dimension": 3, "flat": {}}} ] }
      ],
      "fieldOverrides": [
        { "collectionGroup": "cities", "fieldPath": "name", "indexes": [
            {"queryScope": "COLLECTION", "order": "ASCENDING"},
            {"queryScope": "COLLECTION", "order": "DESCENDING"},
            {"queryScope": "COLLECTION_GROUP", "arrayConfig": "CONTAINS"} ] },
        { "collectionGroup": "cities", "fieldPath": "expires", "ttl": true, "indexes": [] },
        { "collectionGroup": "towns", "fieldPath": "*", "indexes": [] }
      ]
    }
    """

  @Test func `both directions of an index are one of the thousand`() throws {
    var configuration = IndexConfiguration()
    for number in 0..<600 {
      let index = IndexDefinition(
        "c", [.init("f\(number)", .ascending), .init("n", .ascending)])
      configuration.add(index)
      configuration.add(index.turned)
    }
    let stored = try IndexConfiguration(json: configuration.line)
    #expect(Set(stored.definitions) == Set(configuration.definitions))
  }

  @Test func `a file of Firebase's command line is read and told again`() throws {
    let configuration = try IndexConfiguration(json: text)
    let descriptions = configuration.definitions.map { "\($0) \($0.isNameDescending ? "↓" : "↑")" }
    #expect(
      descriptions == [
        "cities: country ↑, tags ∋, size.`total area` ↓ ↓",
        "all cities: country ↑, name ↑ ↓", "cities: name ↑ ↑", "cities: name ↓ ↓",
        "all cities: name ∋ ↑",
      ])
    #expect(configuration.overrides.map(\.isTimeToLive) == [nil, true, nil])
    #expect(configuration.kept.count == 1)
    #expect(try IndexConfiguration(json: configuration.json) == configuration)
    #expect(configuration.json.contains("\"dimension\" : 3"))
  }

  @Test func `an index and its mirror image are stored as one`() {
    let one = IndexDefinition("c", [.init("a", .ascending), .init("b", .descending)])
    let other = IndexDefinition("c", [.init("a", .descending), .init("b", .ascending)])
    #expect(one.stored == other.stored)
    #expect(one.stored == other && one != other)
    #expect(one.turned.turned == one)
    let single = IndexDefinition("c", [.init("a", .descending)])
    #expect(single.stored == IndexDefinition("c", [.init("a", .ascending)]))
    let tags = IndexDefinition("c", [.init("a", .descending), .init("t", .contains)])
    #expect(tags.isNameDescending)
    #expect(tags.stored.components.map(\.kind) == [.ascending, .contains])
  }

  @Test func `an index tells the entry that declares it`() throws {
    let pair = IndexDefinition("books", [.init("author", .ascending), .init("year", .descending)])
    #expect(
      pair.json == """
        {"collectionGroup":"books","fields":[{"fieldPath":"author","order":"ASCENDING"},\
        {"fieldPath":"year","order":"DESCENDING"}],"queryScope":"COLLECTION"}
        """)
    let single = IndexDefinition("books", scope: .group, [.init("tags", .contains)])
    #expect(
      single.json == """
        {"collectionGroup":"books","fieldPath":"tags","indexes":[{"arrayConfig":"CONTAINS",\
        "queryScope":"COLLECTION_GROUP"}]}
        """)
    for definition in [pair, pair.turned, pair.stored, single] {
      var configuration = IndexConfiguration()
      configuration.add(definition)
      #expect(try IndexConfiguration(json: configuration.json).definitions == [definition])
      configuration.remove(definition.turned)
      #expect(configuration == IndexConfiguration())
    }
  }

  @Test func `what is exempt is not learned`() throws {
    let configuration = try IndexConfiguration(json: text)
    func may(
      _ id: String, _ scope: IndexDefinition.Scope,
      _ parts: (String, IndexDefinition.Component.Kind)...
    )
      -> Bool
    {
      configuration.mayLearn(
        IndexDefinition(id, scope: scope, parts.map { .init($0.0, $0.1) }))
    }
    #expect(may("cities", .collection, ("name", .descending)))
    #expect(may("cities", .collection, ("name", .descending), ("population", .ascending)))
    #expect(!may("cities", .collection, ("name", .contains)))
    #expect(may("cities", .group, ("name", .contains)))
    #expect(!may("cities", .group, ("name", .ascending)))
    #expect(!may("cities", .collection, ("expires", .ascending)))
    #expect(!may("cities", .collection, ("population", .ascending), ("expires.at", .ascending)))
    #expect(may("cities", .collection, ("expired", .ascending)))
    #expect(!may("towns", .collection, ("anything", .ascending)))
    #expect(may("villages", .collection, ("anything", .ascending)))
  }

  @Test(arguments: [
    ("[]", "not a JSON object"), ("{", "not a JSON object"),
    (#"{"indexes": {}}"#, "indexes of the index configuration is not a list"),
    (#"{"indexes": [1]}"#, "indexes[0] is not an object"),
    (#"{"indexes": [{"fields": []}]}"#, "indexes[0] lacks collectionGroup"),
    (#"{"indexes": [{"collectionGroup": "c", "fields": []}]}"#, "at least one field"),
    (
      #"{"indexes": [{"collectionGroup": "c/d", "fields": [{"fieldPath": "a", "order": "ASCENDING"}]}]}"#,
      "indexes[0]"
    ),
    (
      #"{"indexes": [{"collectionGroup": "c", "queryScope": "ALL", "fields": []}]}"#,
      "No such query scope: ALL"
    ),
    (
      #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "order": "UP"}]}]}"#,
      "indexes[0].fields[0] has neither"
    ),
    (
      #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a..b", "order": "ASCENDING"}]}]}"#,
      "indexes[0].fields[0]"
    ),
    (
      #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "arrayConfig": "CONTAINS"}, {"fieldPath": "b", "arrayConfig": "CONTAINS"}]}]}"#,
      "at most one field with an array configuration"
    ),
    (
      #"{"indexes": [{"collectionGroup": "c", "fields": [{"fieldPath": "a", "order": "ASCENDING"}, {"fieldPath": "a", "order": "ASCENDING"}]}]}"#,
      "every field once"
    ),
    (#"{"fieldOverrides": [{"collectionGroup": "c"}]}"#, "fieldOverrides[0] lacks fieldPath"),
  ])
  func `what is wrong is told with its place`(json: String, sentence: String) {
    let error = #expect(throws: Status.self) { try IndexConfiguration(json: json) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains(sentence) == true, "\(error?.message ?? "")")
  }
}
