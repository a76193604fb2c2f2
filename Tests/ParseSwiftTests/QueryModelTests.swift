import Foundation
import Hearth
import HearthTesting
import ParseSwift
import TestSupport
import Testing

/// Random queries, beside a plain evaluation of each object: find, pages, counts, groups and live queries
/// return what it returns.
@Suite struct QueryModelTests {
  private static let seeds = Soak.seeds(Soak.isOn ? 200 : 8)

  /// A condition, and what it means for one plan.
  private struct Condition {
    var text: String
    var constraint: QueryConstraint
    var holds: (Plan) -> Bool
  }

  private struct World {
    var random: SeededGenerator

    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    mutating func number() -> Int? { below(3) == 0 ? nil : below(4) }
    mutating func drug() -> String? { below(4) == 0 ? nil : ["ibu", "asa", "par"][below(3)] }

    mutating func plan(_ name: String) -> Plan {
      let doses = (0..<below(3)).map { _ in Plan.Dose(drug: drug(), amount: number()) }
      return Plan(
        name: name, points: number(), rank: number(), doses: below(3) == 0 ? nil : doses,
        ward: below(2) == 0
          ? nil : Plan.Ward(name: drug(), beds: below(2) == 0 ? nil : [.init(number: number())])
      )
    }

    /// The values of a dotted key, none of them nil.
    private static func drugs(_ plan: Plan) -> [String] { plan.doses?.compactMap(\.drug) ?? [] }
    private static func amounts(_ plan: Plan) -> [Int] { plan.doses?.compactMap(\.amount) ?? [] }
    private static func beds(_ plan: Plan) -> [Int] { plan.ward?.beds?.compactMap(\.number) ?? [] }

    mutating func condition(_ depth: Int = 2) -> Condition {
      if depth > 0, below(3) == 0 {
        let parts = (0..<(1 + below(3))).map { _ in condition(depth - 1) }
        let text = parts.map(\.text).joined(separator: ", ")
        let constraints = parts.map(\.constraint)
        switch below(3) {
        case 0:
          return Condition(text: "and(\(text))", constraint: and(constraints)) { plan in
            parts.allSatisfy { $0.holds(plan) }
          }
        case 1:
          return Condition(text: "or(\(text))", constraint: or(constraints)) { plan in
            parts.contains { $0.holds(plan) }
          }
        default:
          return Condition(text: "nor(\(text))", constraint: nor(constraints)) { plan in
            !parts.contains { $0.holds(plan) }
          }
        }
      }
      let (number, drug) = (number(), drug())
      let other = below(4)
      switch below(12) {
      case 0:
        return Condition(text: "points == \(number as Any)", constraint: "points" == number) {
          $0.points == number
        }
      case 1:
        return Condition(text: "points != \(number as Any)", constraint: "points" != number) {
          $0.points != number
        }
      case 2:
        return Condition(text: "rank > \(other)", constraint: "rank" > other) {
          $0.rank.map { $0 > other } ?? false
        }
      case 3:
        return Condition(
          text: "points in [\(number as Any), \(other)]",
          constraint: containedIn(key: "points", array: [number, other])
        ) { $0.points == number || $0.points == other }
      case 4:
        return Condition(text: "exists rank", constraint: exists(key: "rank")) { $0.rank != nil }
      case 5:
        return Condition(
          text: "doses.drug == \(drug as Any)", constraint: "doses.drug" == drug
        ) { plan in drug.map { Self.drugs(plan).contains($0) } ?? Self.drugs(plan).isEmpty }
      case 6:
        return Condition(
          text: "doses.drug != \(drug as Any)", constraint: "doses.drug" != drug
        ) { plan in !(drug.map { Self.drugs(plan).contains($0) } ?? Self.drugs(plan).isEmpty) }
      case 7:
        return Condition(text: "doses.amount <= \(other)", constraint: "doses.amount" <= other) {
          Self.amounts($0).contains { $0 <= other }
        }
      case 8:
        return Condition(
          text: "ward.beds.number == \(other)", constraint: "ward.beds.number" == other
        ) { Self.beds($0).contains(other) }
      case 9:
        return Condition(text: "ward.name == \(drug as Any)", constraint: "ward.name" == drug) {
          $0.ward?.name == drug
        }
      case 10:
        return Condition(
          text: "prefix a", constraint: hasPrefix(key: "doses.drug", prefix: "a")
        ) { Self.drugs($0).contains { $0.hasPrefix("a") } }
      default:
        return Condition(
          text: "not among ibu, \(drug as Any)",
          constraint: notContainedIn(key: "doses.drug", array: ["ibu", drug])
        ) { plan in
          let drugs = Self.drugs(plan)
          if drug == nil, drugs.isEmpty { return false }
          return !drugs.contains { $0 == "ibu" || $0 == drug }
        }
      }
    }
  }

  /// A key of the order, and its value: nil comes first.
  private static let keys: [(String, @Sendable (Plan) -> Int?)] = [
    ("points", { $0.points }), ("rank", { $0.rank }),
  ]

  private static func isBefore(_ one: Int?, _ other: Int?) -> Bool {
    guard let other else { return false }
    return one.map { $0 < other } ?? true
  }

  @Test(.timeLimit(patience))
  func `random queries find what a plain evaluation finds`() async throws {
    for seed in Self.seeds {
      let database = try TemporaryDatabase()
      try await ParseSwift.withFirestore(database.firestore) {
        try await run(seed, database.firestore)
      }
      try await database.firestore.terminate()
    }
  }

  private func run(_ seed: UInt64, _ firestore: Firestore) async throws {
    var world = World(random: SeededGenerator(seed: seed))
    var plans = (0..<30).map { world.plan("\($0)") }
    plans = try await plans.saveAll(transaction: true).map { try $0.get() }
    if seed % 2 == 1 {
      try await firestore.indexes.declare([
        FirestoreIndex("Plan", .ascending("points")), FirestoreIndex("Plan", .ascending("rank")),
        FirestoreIndex("Plan", .ascending("points"), .descending("rank")),
        FirestoreIndex("Plan", .ascending("ward.name")),
      ])
      try await firestore.indexes.waitUntilReady()
    }
    for round in 0..<60 {
      let conditions = (0..<world.below(3)).map { _ in world.condition() }
      var orders: [PlanOrder] = []
      var sorted = plans.filter { plan in conditions.allSatisfy { $0.holds(plan) } }
      let chosen: [(key: String, value: @Sendable (Plan) -> Int?, isDescending: Bool)] = Self.keys
        .shuffled(using: &world.random).prefix(world.below(3)).map { key in
          (key: key.0, value: key.1, isDescending: world.below(2) == 0)
        }
      for (key, _, isDescending) in chosen {
        orders.append(isDescending ? .descending(key) : .ascending(key))
      }
      sorted.sort { one, other in
        for (_, value, isDescending) in chosen where value(one) != value(other) {
          return Self.isBefore(value(one), value(other)) != isDescending
        }
        return (one.id < other.id) != (chosen.last?.isDescending ?? false)
      }
      let query = Plan.query(conditions.map(\.constraint)).order(orders)
      let name: Comment =
        "seed \(seed), round \(round): \(conditions.map(\.text)) \(orders)"
      let (skip, limit) = (world.below(4), 1 + world.below(8))
      let part = Array(sorted.dropFirst(skip).prefix(limit))
      let paged = query.skip(skip).limit(limit)

      let found = try await query.find()
      #expect(found == sorted, name)
      let page = try await paged.find()
      #expect(page == part, name)
      let (again, count) = try await paged.withCount()
      #expect(again == part && count == sorted.count, name)
      let (counted, first) = try await (paged.count(), try? query.first())
      #expect(counted == sorted.count && first == sorted.first, name)
      if let last = part.last, let position = sorted.firstIndex(of: last) {
        let next = try await query.limit(limit).after(last).find()
        #expect(next == Array(sorted.dropFirst(position + 1).prefix(limit)), name)
      }
      if round % 3 == 0 {
        struct Row: Decodable, Sendable {
          var points: Int?
          var count: Int
        }
        let rows = try await Plan.query(conditions.map(\.constraint)).aggregate(
          by: ["points"], ["count": .count], as: Row.self)
        let groups = Dictionary(grouping: sorted, by: \.points).mapValues(\.count)
        #expect(
          Dictionary(uniqueKeysWithValues: rows.map { ($0.points, $0.count) }) == groups, name)
      }
      if round % 5 == 0 {
        var results = paged.results.makeAsyncIterator()
        #expect(try await results.next() == part, name)
        let changed = world.below(plans.count)
        plans[changed] = try await plans[changed].set(\.rank, to: world.number())
          .set(\.points, to: world.number()).set(\.name, to: "\(round)").save()
        let now = try await paged.find()
        if now != part { #expect(try await results.next() == now, name) }
      }
    }
  }
}
