import Foundation
import HearthText
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Firestore's recorded answers, over the backend that the tests are run with.
@Suite struct RecordedQueryTests {
  /// How a replay went, for eyes and for the expectation that it replayed something.
  struct Tally {
    var passed = 0
    var failed: [String] = []
    var notRequired = 0
    var notSayable = 0
    var saidInPublic = 0
  }

  @Test func `every recorded query finds what Firestore found`() async throws {
    let json = try JSON(resource: "vectors/queries.json")
    let folder = TemporaryFolder()
    let firestore = try Self.open(folder)
    let backend = try firestore.database().backend
    try await backend.add(try RecordedQuery.documents(json))
    var tally = Tally()
    for element in json["queries"]?.array ?? [] {
      let id = element["id"]?.string ?? "?"
      if element["emulatorOnly"]?.boolean == true {
        tally.notRequired += 1
        continue
      }
      let expected = (element["expected"]?.array ?? []).compactMap(\.string)
      let fields = try element["expectedFields"]?.array?.map(ProtoJSON.fields)
      let query = try RecordedQuery.read(element)
      var outcomes: [(String, [StoredDocument])] = []
      do {
        try query.check()
        outcomes.append(
          ("internal", try await backend.read(.results(EffectiveQuery(query))).results))
        if let server = element["serverQuery"] {
          let turned = try RecordedQuery.read(server, parent: element["parent"]?.string)
          let found = try await backend.read(.results(EffectiveQuery(turned))).results
          outcomes.append(("server", found.reversed()))
        }
        if let said = RecordedQuery.said(query, to: firestore), said.validationError == nil {
          tally.saidInPublic += 1
          let snapshot = try await said.getDocuments()
          outcomes.append(("public", snapshot.documents.compactMap(\.stored)))
        }
      } catch {
        tally.failed.append("\(id): \(error)")
        continue
      }
      var isRight = true
      for (who, found) in outcomes {
        if found.map(\.path.text) != expected {
          tally.failed.append("\(id) \(who): \(found.map(\.path.text)), not \(expected)")
          isRight = false
        } else if let fields, try found.map({ try $0.body.map() }) != fields {
          tally.failed.append("\(id) \(who): other fields")
          isRight = false
        }
      }
      if isRight { tally.passed += 1 }
    }
    #expect(tally.failed == [])
    print("queries: \(tally)")
    #expect(tally.passed == 1494 && tally.saidInPublic > 1300)
    try await firestore.terminate()
  }

  @Test func `every recorded refusal is one`() async throws {
    let json = try JSON(resource: "vectors/queries.json")
    let folder = TemporaryFolder()
    let firestore = try Self.open(folder)
    var tally = Tally()
    for element in json["invalid"]?.array ?? [] {
      let id = element["id"]?.string ?? "?"
      if element["emulatorOnly"]?.boolean == true {
        tally.notRequired += 1
        continue
      }
      do {
        try RecordedQuery.read(element).check()
        tally.failed.append("\(id) was accepted: \(element["message"]?.string ?? "")")
        continue
      } catch is RecordedQuery.NotSayable {
        tally.notSayable += 1
        continue
      } catch let status as Status {
        #expect(status.code == .invalidArgument && element["code"]?.string == "INVALID_ARGUMENT")
        tally.passed += 1
      }
      guard let refused = try? RecordedQuery.read(element),
        let said = RecordedQuery.said(refused, to: firestore)
      else { continue }
      tally.saidInPublic += 1
      do {
        _ = try await said.getDocuments()
        tally.failed.append("\(id) public was accepted: \(element["message"]?.string ?? "")")
      } catch {
        #expect(FirestoreErrorCode.invalidArgument ~= error, "\(id): \(error)")
      }
    }
    #expect(tally.failed == [])
    print("refusals: \(tally)")
    #expect(tally.passed == 185 && tally.saidInPublic > 100)
    try await firestore.terminate()
  }

  @Test func `every recorded aggregation comes out the same`() async throws {
    let json = try JSON(resource: "vectors/aggregates.json")
    let folder = TemporaryFolder()
    let firestore = try Self.open(folder)
    let backend = try firestore.database().backend
    try await backend.add(try RecordedQuery.documents(json))
    var tally = Tally()
    for element in json["cases"]?.array ?? [] {
      let id = element["id"]?.string ?? "?"
      if element["emulatorOnly"]?.boolean == true {
        tally.notRequired += 1
        continue
      }
      do {
        let query = try RecordedQuery.read(element)
        let aggregations = try (element["aggregations"]?.array ?? []).map(Self.aggregation)
        try query.check(aggregations)
        let found = try await backend.awaiting {
          backend.read(.values(of: aggregations, over: query), .lent, $0)
        }.answer.values
        let aliases = try Aggregation.aliases(aggregations)
        let expected = try (element["expected"]?.object ?? []).map {
          ($0.name, try ProtoJSON.value($0.value))
        }
        let isRight =
          expected.count == found.count
          && zip(aliases, found).allSatisfy { alias, value in
            expected.first { $0.0 == alias }.map { Self.areClose($0.1, value) } ?? false
          }
        guard isRight else {
          tally.failed.append("\(id): \(found), not \(expected)")
          continue
        }
        tally.passed += 1
        guard let fields = RecordedQuery.said(aggregations),
          let said = RecordedQuery.said(query, to: firestore)
        else { continue }
        tally.saidInPublic += 1
        let numbers = try await said.aggregate(fields).getAggregation(source: .server)
        for (field, value) in zip(fields, found) where !Self.isSame(numbers.get(field), value) {
          tally.failed.append("\(id) public: \(field) is \(numbers.get(field)), not \(value)")
        }
      } catch is RecordedQuery.NotSayable {
        tally.notSayable += 1
      } catch let status as Status {
        if element["code"]?.string == "INVALID_ARGUMENT", status.code == .invalidArgument {
          tally.passed += 1
        } else {
          tally.failed.append("\(id): \(status)")
        }
      }
    }
    #expect(tally.failed == [])
    print("aggregations: \(tally)")
    #expect(tally.passed == 212 && tally.saidInPublic > 150)
    try await firestore.terminate()
  }

  @Test func `every recorded search finds the same neighbours`() async throws {
    let json = try JSON(resource: "vectors/findnearest.json")
    let folder = TemporaryFolder()
    let firestore = try Self.open(folder)
    let backend = try firestore.database().backend
    try await backend.add(try RecordedQuery.documents(json))
    let tolerance = json["tolerance"]?.number ?? 1e-6
    var tally = Tally()
    for element in json["cases"]?.array ?? [] {
      let id = element["id"]?.string ?? "?"
      if element["emulatorOnly"]?.boolean == true {
        tally.notRequired += 1
        continue
      }
      do {
        let query = try RecordedQuery.read(element)
        try query.check()
        let internally = try await Self.fault(element, tolerance, query) { query in
          try await backend.read(.results(EffectiveQuery(query))).results
        }
        if let internally {
          tally.failed.append("\(id): \(internally)")
          continue
        }
        tally.passed += 1
        guard RecordedQuery.said(query, to: firestore) != nil else { continue }
        tally.saidInPublic += 1
        let publicly = try await Self.fault(element, tolerance, query) { query in
          try await RecordedQuery.said(query, to: firestore)?.getDocuments().documents
            .compactMap(\.stored) ?? []
        }
        if let publicly { tally.failed.append("\(id) public: \(publicly)") }
      } catch is RecordedQuery.NotSayable {
        tally.notSayable += 1
      } catch let status as Status {
        if element["code"]?.string == "INVALID_ARGUMENT", status.code == .invalidArgument {
          tally.passed += 1
        } else {
          tally.failed.append("\(id): \(status)")
        }
      }
    }
    #expect(tally.failed == [])
    print("searches: \(tally)")
    #expect(tally.passed == 65 && tally.saidInPublic > 40)
    try await firestore.terminate()
  }

  /// Documents at equal distance may come in any order, and any of them may be left out at the end.
  private static func fault(
    _ element: JSON, _ tolerance: Double, _ query: StructuredQuery,
    _ documents: (StructuredQuery) async throws -> [StoredDocument]
  ) async throws -> String? {
    guard element["code"] == nil else { return "was accepted" }
    let expected = (element["expected"]?.array ?? []).compactMap(\.string)
    let distances = (element["distances"]?.array ?? []).map { $0.number ?? .nan }
    var measured = query
    // Only where it does not take the place of what is compared.
    var nearest = try RecordedQuery.require(query.nearest)
    let hasOwnField = nearest.distanceField != nil
    let field = nearest.distanceField ?? FieldSegments(["distanceFound"])
    nearest.distanceField = field
    measured.question = .nearest(nearest)
    measured.projection = hasOwnField ? query.projection : []
    let found = try await documents(measured)
    let names = found.map(\.path.text)
    let own = try found.map { document -> Double in
      guard case .double(let distance)? = try document.body.map()[field.names[0]] else {
        return .nan
      }
      return distance
    }
    guard names.count == expected.count else { return "\(names), not \(expected)" }
    func areClose(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= tolerance * max(1, abs(b)) }
    for (index, pair) in zip(own, distances).enumerated() where !areClose(pair.0, pair.1) {
      return "distance \(pair.0) of \(names[index]), not \(pair.1)"
    }
    let last = distances.last ?? .nan
    let certain = Set(zip(expected, distances).filter { !areClose($0.1, last) }.map(\.0))
    guard certain.isSubset(of: names) else { return "\(names), not \(expected)" }
    guard let fields = try element["expectedFields"]?.array?.map(ProtoJSON.fields) else {
      return nil
    }
    let shown = try await documents(query)
    for (name, expectedFields) in zip(expected, fields) where certain.contains(name) {
      guard let document = shown.first(where: { $0.path.text == name }) else { return "no \(name)" }
      let map = try document.body.map()
      guard map.fields.map(\.name) == expectedFields.fields.map(\.name) else {
        return "\(name) has \(map), not \(expectedFields)"
      }
      for (mine, theirs) in zip(map.fields, expectedFields.fields) {
        if case .double(let a) = mine.value, case .double(let b) = theirs.value, areClose(a, b) {
          continue
        }
        guard mine.value == theirs.value else { return "\(name).\(mine.name) is \(mine.value)" }
      }
    }
    return nil
  }

  private static func aggregation(_ json: JSON) throws -> Aggregation {
    let alias = json["alias"]?.string.flatMap { $0.isEmpty ? nil : $0 }
    func field(_ json: JSON) throws -> FieldSegments {
      try RecordedQuery.field(json)
    }
    if let count = json["count"] {
      return Aggregation(
        .count(upTo: count["upTo"]?.string.flatMap { Int64($0) }), alias: alias)
    }
    if let sum = json["sum"] { return Aggregation(.sum(try field(sum)), alias: alias) }
    if let average = json["avg"] { return Aggregation(.average(try field(average)), alias: alias) }
    throw RecordedQuery.NotSayable()
  }

  /// Whether what a user gets is the number, of the same type.
  private static func isSame(_ any: Any, _ value: Value) -> Bool {
    guard let number = any as? NSNumber else { return any is NSNull && value == .null }
    let isDouble = String(cString: number.objCType) == "d"
    switch value {
    case .integer(let integer): return !isDouble && number.int64Value == integer
    case .double(let double):
      return isDouble && areClose(.double(double), .double(number.doubleValue))
    default: return false
    }
  }

  private static func areClose(_ expected: Value, _ found: Value) -> Bool {
    guard case .double(let a) = expected, case .double(let b) = found else {
      return expected == found
    }
    return expected == found || abs(a - b) <= 1e-9 * max(abs(a), abs(b))
  }

  static func open(_ folder: TemporaryFolder) throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: folder.path + "/recorded.hearth", settings: settings)
  }
}
