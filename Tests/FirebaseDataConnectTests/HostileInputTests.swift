import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// Values of variables that somebody made to do harm.
@Suite struct HostileInputTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        type Event @table(key: "name") {
          name: String!
          at: Timestamp
          day: Date
          count: Int64
          payload: Any
          tags: [String!]
        }
        """,
      operations: """
        mutation Save($name: String!, $at: Timestamp, $day: Date, $count: Int64, $payload: Any) {
          event_upsert(data: {name: $name, at: $at, day: $day, count: $count, payload: $payload})
        }
        mutation Move($name: String!, $unit: Int!) {
          event_update(key: {name: $name}, data: {
            at_update: [{inc: {years: $unit}}], day_update: [{dec: {days: $unit}}]
          })
        }
        mutation Add($name: String!, $by: Int64!) {
          event_update(key: {name: $name}, data: {count_update: {inc: $by}})
        }
        query Recent($days: Int!) { events(where: {at: {ge_time: {now: true, sub: {days: $days}}}}) { name } }
        query Matching($filter: Event_Filter) { events(where: $filter) { name } }
        query Get($name: String!) { event(key: {name: $name}) { name at day count payload } }
        mutation SaveData($data: Event_Data!) { event_upsert(data: $data) }
        query ByKey($key: Event_Key!) { event(key: $key) { name } }
        query Page($limit: Int, $offset: Int) { events(limit: $limit, offset: $offset) { name } }
        """)
  }

  /// Nothing traps; an error is an error of the operation.
  private func run(_ body: () async throws -> Void) async {
    do {
      try await body()
    } catch {
      #expect(error is DataConnectOperationError || error is DataConnectCodecError, "\(error)")
    }
  }

  @Test func `variables have no expressions, at any depth`() async throws {
    let service = try connector.dataConnect.service()
    let cases: [(kind: String, variables: DataObject, place: String)] = [
      ("ByKey", ["key": ["name_expr": "auth.uid"]], "$key.name_expr"),
      ("SaveData", ["data": ["name_expr": "'x'"]], "$data.name_expr"),
      ("SaveData", ["data": ["name": "a", "at_time": ["now": true]]], "$data.at_time"),
      ("SaveData", ["data": ["name": "a", "count_update": [["inc": 1]]]], "$data.count_update"),
      ("Matching", ["filter": ["name": ["eq_expr": "'x'"]]], "$filter.name.eq_expr"),
      (
        "Matching", ["filter": ["_or": [["_not": ["at": ["ge_time": ["now": true]]]]]]],
        "$filter._or[0]._not.at.ge_time"
      ),
      ("Matching", ["filter": ["_and": ["name": ["eq_expr": "'x'"]]]], "name.eq_expr"),
    ]
    for (name, variables, place) in cases {
      let response =
        try await name == "SaveData"
        ? service.mutate(name, variables, nil) : service.query(name, variables, nil)
      let text = response.errors.map(\.message).joined()
      #expect(text.contains(place) && text.contains("not in variables"), "\(name): \(text)")
    }
    let unknown = try await service.query("Matching", ["filter": ["title": ["eq": "x"]]], nil)
    #expect(unknown.errors.map(\.message) == ["$filter has no field title."])
    // Values of an Any are values, whatever their names are.
    let data: DataObject = ["name": "a", "payload": ["name_expr": "auth.uid"]]
    try await connector.mutate("SaveData", ["data": .object(data)])
    #expect(
      try await connector.query("Get", ["name": "a"])["event"]?["payload"]
        == ["name_expr": "auth.uid"])
  }

  @Test func `numbers at the ends of their ranges are values or errors`() async throws {
    let extremes: [Int64] = [.min, .min + 1, -1, 0, 1, 1 << 31, 1 << 40, .max - 1, .max]
    for number in extremes {
      await run {
        try await connector.mutate(
          "Save",
          ["name": "a", "count": .int(number), "at": "2026-01-01T00:00:00Z", "day": "2026-01-01"])
      }
      for other in extremes {
        await run { try await connector.mutate("Add", ["name": "a", "by": .int(other)]) }
        await run { try await connector.mutate("Move", ["name": "a", "unit": .int(other)]) }
      }
      await run { _ = try await connector.query("Recent", ["days": .int(number)]) }
      await run {
        _ = try await connector.query("Page", ["limit": .int(number), "offset": .int(number)])
      }
    }
    #expect(
      await message {
        try await connector.mutate("Save", ["name": "a", "count": "9223372036854775808"])
      }
      .contains("$count must be of the type Int64"))
    #expect(
      await message {
        try await connector.mutate("Save", ["name": "a", "at": "0001-01-01T00:00:00Z"])
      }
      .contains("$at must be of the type Timestamp"))
  }

  @Test func `keys are any text, and no two have one document`() async throws {
    var names = [
      "", "%", "%25", "a/b", "a:b", ".", "..", "__x__", "_", "é", "e\u{301}", "\u{0}", "\n",
      "a%2Fb", " ",
      "\u{1F600}",
    ]
    names += (0..<64).map { _ in
      String((0..<Int.random(in: 1...6)).map { _ in "/:%._ aé".randomElement() ?? "x" })
    }
    // Firestore's ids are bytes; two texts that are equal to Swift have other bytes.
    for name in names {
      try await connector.mutate("Save", ["name": .string(name), "payload": .string(name)])
      let found = try await connector.query("Get", ["name": .string(name)])["event"]
      #expect(
        found?["payload"]?.text.map { Array($0.utf8) } == Array(name.utf8),
        "\(name.debugDescription)")
    }
    let documents = try await connector.firestore.collection("event").getDocuments().documents
    #expect(documents.count == Set(names.map { Array($0.utf8) }).count)
    for document in documents {
      let values = RowKey.values(of: document.documentID, types: [.string])
      #expect(values?.first?.text == document["name"] as? String)
    }
    let long = String(repeating: "x", count: 5000)
    await run { try await connector.mutate("Save", ["name": .string(long)]) }
  }

  @Test func `values that are nested too deeply are refused`() async throws {
    var deep = DataValue.object(["name": ["eq": "a"]])
    for _ in 0..<10_000 { deep = .object(["_not": deep]) }
    for (operation, variables) in [
      ("Save", ["name": "a", "payload": deep] as DataObject), ("Matching", ["filter": deep]),
    ] {
      let text = await message {
        if operation == "Save" {
          try await connector.mutate(operation, variables)
        } else {
          _ = try await connector.query(operation, variables)
        }
      }
      #expect(text.contains("levels deep"), "\(text.prefix(200))")
    }
    // Taken apart level by level: a value this deep is not released in one call.
    while case .object(let object) = deep, let inner = object["_not"] { deep = inner }
  }

  @Test func `any JSON is kept as it is`() async throws {
    for json in [
      "null", "[]", "{}", "[[1, [2, [3]]], []]", "{\"a\": [[], [{}]], \"b\": null}", "1.5", "\"x\"",
      "{\"[]\": 1}", "{\"[]\": [1]}", "[{\"[]\": [1]}, [[1]]]", "{\"[][]x\": 2}",
      "[1, \"2\", null, true, {\"c\": [[\"d\"]]}]",
    ] {
      let value = try DataValue(json: json)
      try await connector.mutate("Save", ["name": "a", "payload": value])
      let found = try await connector.query("Get", ["name": "a"])["event"]?["payload"]
      #expect(found?.canonicalText == value.canonicalText, "\(json)")
    }
  }
}
