import LMDB
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct EntryScanTests {
  enum World: String, CaseIterable, CustomTestStringConvertible {
    case whole, truncated, colliding

    var testDescription: String { rawValue }

    func configure(_ configuration: inout StoreConfiguration) {
      switch self {
      case .whole: break
      case .truncated: configuration.keyLimit = KeyLimit(24)
      case .colliding: configuration.keyLimit = KeyLimit(24) { _ in 7 }
      }
    }
  }

  private struct Fixture {
    let store: StoreFixture
    let index: StoredIndex
    var documents: [ResourcePath: MapValue] = [:]
  }

  private static let definitions: [IndexDefinition] = [
    IndexDefinition("c", [.init("a", .ascending)]),
    IndexDefinition("c", [.init("a", .descending), .init("b", .ascending)]),
    IndexDefinition("c", scope: .group, [.init("b", .descending), .init("a", .ascending)]),
    IndexDefinition("c", [.init("t", .contains), .init("a", .ascending)]),
    IndexDefinition("c", scope: .group, [.init("a", .ascending)]),
  ]

  private func fixture(
    _ definition: IndexDefinition, _ world: World, _ random: inout RandomValues, count: Int
  ) throws -> Fixture {
    let store = try StoreFixture(world.configure)
    let index = StoredIndex(
      number: 3, definition: definition.stored, state: .ready, origin: .declared)
    try store.putIndex(index)
    var fixture = Fixture(store: store, index: index)
    let collections = ["c", "d/x/c", "c/y/c", "d"].map { ResourcePath(relative: $0) }
    for _ in 0..<count {
      let path = random.generator.pick(collections).appending(random.id())
      let delete = random.generator.one(in: 6)
      var fields = MapValue()
      for name in ["a", "b", "t"] where !random.generator.one(in: 5) {
        fields[name] = random.generator.one(in: 3) ? .integer(1) : random.value()
        if name == "t" {
          fields[name] = .array((0..<random.generator.below(5)).map { _ in random.value(depth: 0) })
        }
      }
      // Some random values are refused.
      let isDone: Void? = try? store.commit(
        delete ? store.delete(path) : store.set(path, fields))
      if isDone != nil { fixture.documents[path] = delete ? nil : fields }
    }
    return fixture
  }

  @Test(arguments: World.allCases, 0..<definitions.count)
  func `a scan tells the entries of a range in order, both ways`(
    _ world: World, _ definition: Int
  ) throws {
    var pageSteps = 0
    for seed in 1...3 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let fixture = try fixture(Self.definitions[definition], world, &random, count: 200)
      let collection: ResourcePath? =
        fixture.index.isGroup
        ? nil : random.generator.pick([ResourcePath(["c"]), ResourcePath(["d", "x", "c"])])
      let model = EntryModel(fixture.index.definition, fixture.documents)
      let all = model.entries(in: collection)
      try fixture.store.store.read { snapshot in
        for _ in 0..<40 {
          var range = EntryRange(fixture.index, in: collection)
          var expected = all
          if random.generator.one(in: 2) {
            let value = random.generator.pick(all.map(\.values[0]) + [random.value()])
            range.fix(value)
            expected = expected.filter { Value.compare($0.values[0], value) == 0 }
          }
          let fixed = range.fixedCount
          if fixed < fixture.index.definition.components.count, random.generator.one(in: 2) {
            let value = random.generator.pick(all.map(\.values[fixed]) + [random.value()])
            let bound = random.generator.pick([
              EntryRange.Bound.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
            ])
            range.keep(bound, value)
            expected = expected.filter {
              let order = Value.compare($0.values[fixed], value)
              switch bound {
              case .lessThan: return order < 0
              case .lessThanOrEqual: return order <= 0
              case .greaterThan: return order > 0
              case .greaterThanOrEqual: return order >= 0
              }
            }
            if random.generator.one(in: 2) {
              range.keep(value.typeClass)
              expected = expected.filter { $0.values[fixed].typeClass == value.typeClass }
            }
          }
          if random.generator.one(in: 3), let place = all.randomElement(using: &random.generator) {
            let isWithName = random.generator.one(in: 2)
            let side = random.generator.one(in: 2) ? EntryRange.Side.before : .behind
            var count = fixture.index.definition.components.count
            if !isWithName { count = fixed + random.generator.below(count - fixed + 1) }
            let values = Array(place.values[fixed..<count])
            let isBegin = random.generator.one(in: 2)
            if isBegin {
              range.begin(side, values, name: isWithName ? place.path : nil)
            } else {
              range.end(side, values, name: isWithName ? place.path : nil)
            }
            expected = expected.filter { entry in
              var order = 0
              for position in fixed..<count where order == 0 {
                order = Value.compare(entry.values[position], place.values[position])
                if fixture.index.definition.components[position].isDescending { order = -order }
              }
              if order == 0, isWithName { order = ResourcePath.compare(entry.path, place.path) }
              let isBefore = side == .before ? order < 0 : order <= 0
              return isBegin ? !isBefore : isBefore
            }
          }
          for isBackwards in [false, true] {
            let scan = try EntryScan(
              range, in: snapshot, isBackwards: isBackwards,
              stepsBeforePages: random.generator.pick([1, 1, 3, 100]))
            let seeks = random.generator.one(in: 2)
            var wanted = (isBackwards ? expected.reversed() : expected)[...]
            while let entry = try scan.next() {
              if scan.isInPages { pageSteps += 1 }
              let first = wanted.popFirst()
              let next = try #require(first, "seed \(seed): one too many")
              let path = try scan.path(of: entry)
              #expect(path == next.path, "seed \(seed)")
              #expect(try snapshot.path(of: scan.document(of: entry)) == next.path)
              for position in fixed..<next.values.count {
                if let value = try scan.value(of: position, in: entry) {
                  #expect(value == next.values[position], "seed \(seed)")
                }
              }
              if seeks, random.generator.one(in: 4),
                let target = wanted.randomElement(using: &random.generator)
              {
                // Seek to where the target is, as another index would know it.
                var key = KeyBuffer()
                for position in fixed..<target.values.count {
                  key.append(
                    target.values[position],
                    descending: fixture.index.definition.components[position].isDescending)
                }
                key.append(entryName: target.path, isGroup: fixture.index.isGroup)
                scan.seek(to: key.buffer)
                let order = isBackwards ? -1 : 1
                wanted = wanted.drop { model.compare($0, target) * order < 0 }
              }
            }
            #expect(wanted.isEmpty, "seed \(seed): \(wanted.count) too few")
          }
        }
      }
    }
    #expect(world != .whole || pageSteps > 50, "\(world) \(definition) \(pageSteps)")
  }

  @Test(arguments: [World.whole, .truncated])
  func `a name from elsewhere lies where its path lies among those of the collection`(
    _ world: World
  ) throws {
    var random = RandomValues(seed: 1)
    let fixture = try fixture(Self.definitions[0], world, &random, count: 0)
    let paths = ["c/a", "c/b", "c/b/c/x", "c/e"].map { ResourcePath(relative: $0) }
    for path in paths {
      try fixture.store.commit(fixture.store.set(path, MapValue([("a", .integer(1))])))
    }
    let names = [
      "a", "b/x", "c", "c/a", "c/a/c/x", "c/b", "c/b/c/x", "c/c", "c/e", "c/e/a/a", "c/z", "d",
      "d/a", "", "c/__id3__",
    ].map { ResourcePath(relative: $0) }
    try fixture.store.store.read { snapshot in
      for name in names {
        for side in [EntryRange.Side.before, .behind] {
          for isBegin in [true, false] {
            var range = EntryRange(fixture.index, in: ResourcePath(["c"]))
            let values = [Value.integer(1)]
            if isBegin {
              range.begin(side, values, name: name)
            } else {
              range.end(side, values, name: name)
            }
            let scan = try EntryScan(range, in: snapshot)
            var told: [ResourcePath] = []
            while let entry = try scan.next() { told.append(try scan.path(of: entry)) }
            let expected = paths.filter { path in
              guard path.parent == ResourcePath(["c"]) else { return false }
              let order = ResourcePath.compare(path, name)
              let isBefore = side == .before ? order < 0 : order <= 0
              return isBegin ? !isBefore : isBefore
            }
            #expect(told == expected, "\(name.text) \(side) \(isBegin)")
          }
        }
      }
    }
  }

  @Test(arguments: [1, 100])
  func `to be sought to where it is or was does not make a scan tell again`(
    _ stepsBeforePages: Int
  ) throws {
    var random = RandomValues(seed: 1)
    let fixture = try fixture(Self.definitions[0], .whole, &random, count: 0)
    for number in 0..<10 as Range<Int64> {
      try fixture.store.commit(
        fixture.store.set(
          ResourcePath(relative: "c/\(number)"), MapValue([("a", .integer(number))])))
    }
    try fixture.store.store.read { snapshot in
      for isBackwards in [false, true] {
        let scan = try EntryScan(
          EntryRange(fixture.index, in: ResourcePath(["c"])), in: snapshot,
          isBackwards: isBackwards, stepsBeforePages: stepsBeforePages)
        var suffixes: [[UInt8]] = []
        while let entry = try scan.next() {
          suffixes.append(Array(entry.suffix))
          for suffix in suffixes { suffix.withUnsafeBytes { scan.seek(to: $0) } }
        }
        #expect(suffixes.count == 10)
      }
    }
  }
}

extension IndexDefinition.Component {
  init(_ field: String, _ kind: Kind) {
    self.init(field: FieldSegments(field.split(separator: ".").map(String.init)), kind: kind)
  }
}
