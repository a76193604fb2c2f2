import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

extension ParsedWrite {
  /// The body, decoded.
  var fields: MapValue { get throws { try body.map() } }
}

/// What a write comes to: body, mask and transforms.
struct ParsedWriteTests {
  private func set(_ data: [String: Any], _ merge: ParsedWrite.Merge? = nil) throws -> ParsedWrite {
    try ParsedWrite(set: data, merge: merge, database: nil)
  }

  private func update(_ data: [AnyHashable: Any]) throws -> ParsedWrite {
    try ParsedWrite(update: data, database: nil)
  }

  private func value(_ input: Any) throws -> Value {
    try UserDataReader.argument(input, database: nil)
  }

  private func texts(_ fields: [FieldSegments]?) -> [String]? { fields?.map(\.canonicalText) }

  private func texts(_ transforms: [UserDataReader.Transform]) -> [String] {
    transforms.map { "\($0.field.canonicalText): \($0.transform.methodName)" }
  }

  // MARK: setData

  @Test func `a set replaces the document`() throws {
    let parsed = try set(["a": 1, "m": ["b": "x", "e": [:] as [String: Any]]])
    #expect(parsed.mask == nil)
    #expect(parsed.transforms.isEmpty)
    #expect(
      try value(["a": 1, "m": ["b": "x", "e": [:] as [String: Any]]]) == .map(parsed.fields))
  }

  @Test func `dots in a set's names mean nothing`() throws {
    #expect(try set(["a.b": 1]).fields["a.b"] == .integer(1))
    #expect(try texts(set(["a.b": 1], .all).mask) == ["`a.b`"])
  }

  @Test func `sentinels leave the body and become transforms`() throws {
    let parsed = try set([
      "t": FieldValue.serverTimestamp(), "a": 1,
      "m": ["n": FieldValue.increment(2), "u": ["x": FieldValue.arrayUnion([1])]],
    ])
    #expect(
      texts(parsed.transforms) == [
        "m.n: FieldValue.increment()", "m.u.x: FieldValue.arrayUnion()",
        "t: FieldValue.serverTimestamp()",
      ])
    #expect(
      try .map(parsed.fields) == value(["a": 1, "m": ["u": [:] as [String: Any]]]))
  }

  // MARK: merge

  @Test func `a merge changes its leaves`() throws {
    let parsed = try set(
      [
        "a": 1, "array": [["x": 1]], "none": NSNull(),
        "m": ["b": "x", "empty": [:] as [String: Any], "deep": ["c": [1]]],
      ], .all)
    #expect(texts(parsed.mask) == ["a", "array", "m.b", "m.deep.c", "m.empty", "none"])
  }

  @Test func `a merge deletes and transforms`() throws {
    let parsed = try set(
      [
        "gone": FieldValue.delete(), "m": ["gone": FieldValue.delete(), "kept": 1],
        "only": ["t": FieldValue.serverTimestamp()], "n": FieldValue.increment(1),
      ], .all)
    #expect(texts(parsed.mask) == ["gone", "m.gone", "m.kept"])
    #expect(try parsed.fields["gone"] == nil)
    #expect(
      texts(parsed.transforms)
        == ["n: FieldValue.increment()", "only.t: FieldValue.serverTimestamp()"])
  }

  @Test func `an empty merge changes nothing but is a merge`() throws {
    #expect(try set([:], .all).mask == [])
    #expect(try set(["a": 1], .fields([])).mask == [])
  }

  // MARK: mergeFields

  @Test func `only the fields of the mask are merged`() throws {
    let data: [String: Any] = [
      "a": 1, "m": ["b": 2, "c": 3], "gone": FieldValue.delete(),
      "t": FieldValue.serverTimestamp(), "dotted.name": 4,
    ]
    let parsed = try set(
      data,
      .fields([
        "m.b", FieldPath(["dotted.name"]), "m.b", NSString(string: "a"), "a".dropFirst(0),
      ]))
    #expect(texts(parsed.mask) == ["a", "`dotted.name`", "m.b"])
    #expect(parsed.transforms.isEmpty)
    #expect(try texts(set(data, .fields(["gone"])).mask) == ["gone"])
    #expect(try set(data, .fields(["gone"])).fields["gone"] == nil)
  }

  @Test func `a field of the mask covers what is inside it`() throws {
    let data: [String: Any] = [
      "m": ["b": 2, "n": FieldValue.increment(1), "gone": FieldValue.delete()]
    ]
    let parsed = try set(data, .fields(["m.b", "m"]))
    #expect(texts(parsed.mask) == ["m"])
    #expect(texts(parsed.transforms) == ["m.n: FieldValue.increment()"])
  }

  @Test func `a transform in the mask is not deleted first`() throws {
    let parsed = try set(["n": FieldValue.increment(1), "a": 1], .fields(["n"]))
    #expect(parsed.mask == [])
    #expect(texts(parsed.transforms) == ["n: FieldValue.increment()"])
  }

  /// A search of every leaf for every name, as it is defined.
  @Test(arguments: [UInt64](1...60))
  func `the fields of a mask are those that a search of all fields finds`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func fields(_ depth: Int) -> [String: Any] {
      var made: [String: Any] = [:]
      for _ in 0..<random.below(5) {
        let name = random.pick(["a", "b", "ab", "a b", "é", "e\u{301}"])
        switch random.below(depth > 0 ? 5 : 3) {
        case 0: made[name] = FieldValue.increment(Int64(1))
        case 1: made[name] = FieldValue.delete()
        case 2: made[name] = 1
        default: made[name] = fields(depth - 1)
        }
      }
      return made
    }
    let data = fields(3)
    let all = try set(data, .all)
    let leaves = (all.mask ?? []) + all.transforms.map(\.field)
    guard !leaves.isEmpty else { return }
    let names = (0..<1 + random.below(6)).map { _ in
      let leaf = random.pick(leaves).names
      return FieldSegments(Array(leaf.prefix(1 + random.below(leaf.count))))
    }
    let parsed = try set(data, .fields(names.map { FieldPath($0.names) }))
    let covered = all.transforms.map(\.field).filter { field in
      names.contains { field.hasPrefix($0) }
    }
    #expect(parsed.transforms.map(\.field) == covered.sorted(), "seed \(seed)")
    let changed = Set(names).filter { !covered.contains($0) }
    let outermost = changed.filter { field in
      !changed.contains { $0 != field && field.hasPrefix($0) }
    }
    #expect(parsed.mask == outermost.sorted(), "seed \(seed)")
    #expect(throws: Status.self) { try set(data, .fields([FieldPath(["missing"])])) }
  }

  // MARK: updateData

  @Test func `an update's mask is its keys`() throws {
    let parsed = try update([
      "a": 1, "m.b": ["x": 1], "m.c.d": "deep", FieldPath(["dotted.name", "e"]): true,
      "gone": FieldValue.delete(), "m.gone": FieldValue.delete(), "replaced": ["f": NSNull()],
    ])
    #expect(
      texts(parsed.mask)
        == ["a", "`dotted.name`.e", "gone", "m.b", "m.c.d", "m.gone", "replaced"])
    #expect(
      try .map(parsed.fields)
        == value([
          "a": 1, "m": ["b": ["x": 1], "c": ["d": "deep"]] as [String: Any],
          "dotted.name": ["e": true], "replaced": ["f": NSNull()],
        ]))
    #expect(parsed.transforms.isEmpty)
  }

  @Test func `an update's transforms are not in the mask`() throws {
    let parsed = try update([
      "n": FieldValue.increment(1), "m.t": FieldValue.serverTimestamp(),
      "whole": ["t": FieldValue.serverTimestamp(), "b": 1] as [String: Any],
    ])
    #expect(texts(parsed.mask) == ["whole"])
    #expect(try .map(parsed.fields) == value(["whole": ["b": 1]]))
    #expect(
      texts(parsed.transforms) == [
        "m.t: FieldValue.serverTimestamp()", "n: FieldValue.increment()",
        "whole.t: FieldValue.serverTimestamp()",
      ])
  }

  @Test func `fields that only look alike are not inside one another`() throws {
    let parsed = try update(["a": 1, "a-b": 2, "ab": 3, "a b.c": 4])
    #expect(texts(parsed.mask) == ["a", "`a b`.c", "`a-b`", "ab"])
    #expect(try parsed.fields.count == 4)
  }

  @Test func `an empty update has an empty mask`() throws {
    let parsed = try update([:])
    #expect(parsed.mask == [])
    #expect(parsed.body == .empty)
  }

  @Test func `a nil in an update is null, and a sentinel may be optional`() throws {
    let parsed = try update([
      "a": Int?.none as Any, "gone": FieldValue.delete() as FieldValue? as Any,
    ])
    #expect(try parsed.fields["a"] == .null)
    #expect(texts(parsed.mask) == ["a", "gone"])
  }

  // MARK: Laws

  @Test(arguments: [UInt64](1...50))
  func `an update of a merge's leaves says the same as the merge`(seed: UInt64) throws {
    var random = RandomData(seed: seed)
    let data = random.map(depth: 4)
    let merge = try set(data, .all)
    #expect(try .map(merge.fields) == value(data), "seed \(seed)")
    #expect(try set(data).body == merge.body, "seed \(seed)")

    let leaves = try #require(merge.mask)
    var changes: [AnyHashable: Any] = [:]
    for leaf in leaves {
      let found = try leaf.names.reduce(Value.map(merge.fields) as Value?) { value, name in
        if case .map(let map) = value { map[name] } else { nil }
      }
      changes[FieldPath(leaf.names)] = AnyBridge.any(try #require(found)) { _ in NSNull() }
    }
    let update = try update(changes)
    #expect(update.body == merge.body, "seed \(seed)")
    #expect(update.mask == merge.mask, "seed \(seed)")

    let fields = leaves.map { FieldPath($0.names) } + data.keys.map { FieldPath([$0]) }
    let merged = try set(data, .fields(fields))
    #expect(merged.body == merge.body, "seed \(seed)")
    #expect(merged.mask == data.keys.map { FieldSegments([$0]) }.sorted(), "seed \(seed)")

    let encoded = try ParsedWrite(encoded: merge.body, sentinels: [], merge: .all)
    #expect(encoded.body == merge.body, "seed \(seed)")
    #expect(encoded.mask == merge.mask, "seed \(seed)")
  }

  /// Data without sentinels, of few names, so that paths share their beginnings.
  private struct RandomData {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    private mutating func below(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(bound))
    }

    mutating func map(depth: Int) -> [String: Any] {
      let names = ["a", "b", "a.b", "a-b", "é", "`", "aa", "0"]
      var map: [String: Any] = [:]
      for _ in 0..<below(6) { map[names[below(names.count)]] = value(depth: depth - 1) }
      return map
    }

    private mutating func value(depth: Int) -> Any {
      switch below(depth > 0 ? 12 : 6) {
      case 0: return NSNull()
      case 1: return below(9)
      case 2: return Double(below(9)) / 2
      case 3: return [below(2) == 0, "x"] as [Any]
      case 4: return "x"
      case 5: return GeoPoint(latitude: 1, longitude: Double(below(9)))
      default: return map(depth: depth)
      }
    }
  }

  // MARK: Encoded documents

  /// Splits sentinels off as an encoder does.
  private func encoded(
    _ data: [String: Any], _ merge: ParsedWrite.Merge? = nil
  ) throws -> ParsedWrite {
    var sentinels: [UserDataReader.Transform] = []
    func split(_ map: [String: Any], _ path: [String]) throws -> MapValue {
      MapValue(
        try map.compactMap { name, element in
          switch element {
          case let sentinel as FieldValue:
            sentinels.append((FieldSegments(path + [name]), sentinel.transform))
            return nil
          case let inner as [String: Any]: return (name, .map(try split(inner, path + [name])))
          default: return (name, try value(element))
          }
        })
    }
    let body = try split(data, [])
    return try ParsedWrite(encoded: DocumentBody(body), sentinels: sentinels, merge: merge)
  }

  @Test func `an encoded document is read as a dictionary is`() throws {
    let datas: [[String: Any]] = [
      [:],
      ["a": 1, "m": ["b": [["c": 1]], "empty": [:] as [String: Any]] as [String: Any]],
      [
        "only": ["t": FieldValue.serverTimestamp()],
        "m": ["n": FieldValue.increment(1), "b": 1] as [String: Any],
        "beside": ["empty": [:] as [String: Any], "t": FieldValue.increment(1)] as [String: Any],
      ],
    ]
    let merges: [ParsedWrite.Merge?] = [nil, .all, .fields([]), .fields(["m"])]
    for data in datas {
      for merge in merges where data["m"] != nil || merge == nil {
        let one = try encoded(data, merge)
        let other = try set(data, merge)
        #expect(one.body == other.body)
        #expect(one.mask == other.mask)
        #expect(texts(one.transforms) == texts(other.transforms))
      }
    }
    let deletes: [String: Any] = [
      "a": FieldValue.delete(), "m": ["b": FieldValue.delete(), "c": 1] as [String: Any],
    ]
    for merge in [ParsedWrite.Merge.all, .fields(["a"]), .fields(["m.b"]), .fields(["m"])] {
      #expect(try encoded(deletes, merge).mask == set(deletes, merge).mask)
      #expect(try encoded(deletes, merge).body == set(deletes, merge).body)
    }
  }

  /// The dictionary is read as a tree of values, the encoded document in place.
  @Test(arguments: [UInt64](1...200))
  func `a merge of encoded bytes is the merge of the dictionary`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func element(_ depth: Int) -> Any {
      switch random.below(depth > 0 ? 6 : 4) {
      case 0: NSNull()
      case 1: random.below(9)
      case 2: "x"
      case 3: GeoPoint(latitude: 1, longitude: 2)
      case 4: [["m": random.below(9)], ["e": [:] as [String: Any]]] as [[String: Any]]
      default: fields(depth - 1)
      }
    }
    func fields(_ depth: Int) -> [String: Any] {
      var made: [String: Any] = [:]
      for _ in 0..<random.below(5) {
        let name = random.pick(["a", "b", "ab", "a b", "a.b", "é", "e\u{301}"])
        switch random.below(6) {
        case 0: made[name] = FieldValue.increment(Int64(1))
        case 1: made[name] = FieldValue.delete()
        default: made[name] = element(depth)
        }
      }
      return made
    }
    let data = fields(3)
    let all = try set(data, .all)
    var merges = [ParsedWrite.Merge.all]
    let leaves = (all.mask ?? []) + all.transforms.map(\.field)
    if !leaves.isEmpty {
      merges.append(
        .fields(
          (0..<1 + random.below(4)).map { _ in
            let names = random.pick(leaves).names
            return FieldPath(Array(names.prefix(1 + random.below(names.count))))
          }))
    }
    for merge in merges {
      let (one, other) = (try encoded(data, merge), try set(data, merge))
      #expect(one.body == other.body, "seed \(seed)")
      #expect(one.mask == other.mask, "seed \(seed)")
      #expect(one.transforms.map(\.field) == other.transforms.map(\.field), "seed \(seed)")
    }
  }

  @Test func `an encoded document is refused as a dictionary is`() throws {
    func refused(_ fields: [(String, Value)]) -> String? {
      let body = DocumentBody(MapValue(fields))
      let all = refusal { try ParsedWrite(encoded: body, sentinels: [], merge: .all) }
      #expect(refusal { try ParsedWrite(encoded: body, sentinels: []) } == all)
      return all
    }
    let reserved = "Invalid data. Document fields cannot begin and end with \"__\""
    #expect(refused([("__a__", .null)]) == reserved + " (found in field __a__)")
    #expect(
      refused([("m", .map(MapValue([("__a__", .null)])))])
        == reserved + " (found in field m.__a__)")
    #expect(refused([("m", .array([.map(MapValue([("__a__", .null)]))]))]) == reserved)
    #expect(
      refused([("", .null)])
        == "Invalid data. Document fields must not be empty (found in field ``)")
    #expect(refused([("a", .array([.array([])]))]) == "Nested arrays are not supported")
    let deep = (0..<21).reduce(Value.null) { inner, _ in .map(MapValue([("a", inner)])) }
    #expect(
      refused([("a", deep)])
        == "Property a contains an invalid nested entity. "
        + "Maps and arrays may be nested 20 levels deep.")
    let flat = (0..<20).reduce(Value.array([])) { inner, _ in .map(MapValue([("a", inner)])) }
    #expect(refused([("a", flat)])?.hasPrefix("Property a contains") == true)

    #expect(
      refusal { try encoded(["foo": ["bar": FieldValue.delete()]]) }
        == "FieldValue.delete() can only be used with updateData() and setData() with merge:true "
        + "(found in field foo.bar)")
    #expect(
      refusal { try encoded(["__a__": FieldValue.increment(1)]) }
        == reserved + " (found in field __a__)")
    #expect(
      refusal { try encoded(["a": 1], .fields(["b"])) }
        == "Field 'b' is specified in your field mask but missing from your input data.")
  }
}
