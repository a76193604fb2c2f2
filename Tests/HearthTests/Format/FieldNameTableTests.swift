import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// A body as it is stored with a name table. Keeps the memory that both borrow.
final class BodyWithoutNames {
  private let cache = FieldNameTableCache()
  let bytes: [UInt8]
  private let nameTable: UnsafePointer<FieldNameTable>
  var innerCount: Int { nameTable.pointee.inner.count }

  /// Nil for a body that no name table can have.
  /// - Parameter inner: Whether the name table also has the names of the maps inside.
  init?(_ body: DocumentBody, inner: Bool = true) throws {
    let scratch = DocumentWriter.borrow()
    defer { scratch.giveBack() }
    let table: PinnedNameTable? = try body.withBytes { bytes in
      let map = try MapView(body: bytes)
      guard map.count > 0, map.count <= FieldNameTable.fieldLimit else { return nil }
      var names = InnerNames()
      if inner { guard try names.collect(from: map) else { return nil } }
      let head = FieldNameTable.head(map.names, inner: names.lists)
      return try head.withUnsafeBytes { try PinnedNameTable(copying: $0) }
    }
    guard let table else { return nil }
    bytes = try body.withBytes { body in
      let parts = try BodyParts(body, nameTable: table.table, scratch: scratch)
      return [UInt8](unsafeUninitializedCapacity: parts.count) { buffer, count in
        if let start = buffer.baseAddress { parts.copy(to: UnsafeMutableRawPointer(start)) }
        count = parts.count
      }
    }
    let head = FieldNameTable.head(table.table.names, inner: Array(table.table.inner))
    let cache = cache
    nameTable = try head.withUnsafeBytes { try cache.learn(table.table.id, $0) }
  }

  func with<Result>(_ body: (StoredBody) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes { try body(StoredBody($0, nameTable)) }
  }

  /// With other bytes, if they refer to this name table at all.
  func with<Result>(
    _ bytes: UnsafeRawBufferPointer, _ body: (StoredBody) throws -> Result
  ) throws -> Result {
    guard let id = StoredBody.nameTableID(bytes) else { return try body(StoredBody(bytes)) }
    guard id == nameTable.pointee.id else { throw Status.unknownNameTable }
    return try body(StoredBody(bytes, nameTable))
  }
}

struct FieldNameTableTests {
  @Test(arguments: [1, 2, 3, 4] as [UInt64], [false, true])
  func `a body without its names is the same body`(seed: UInt64, inner: Bool) throws {
    var random = FormatGenerator(seed: seed)
    var stored = 0
    var withMaps = 0
    let rounds = Soak.isOn ? 3000 : 800
    for _ in 0..<rounds {
      let fields = MapValue(random.fields(upTo: 9))
      let body = try DocumentBody(encoding: fields)
      guard let without = try BodyWithoutNames(body, inner: inner) else { continue }
      stored += 1
      if without.innerCount > 0 { withMaps += 1 }
      try without.with { stored in
        #expect(try DocumentBody(copying: stored) == body, "seed \(seed)")
        #expect(try MapView(body: stored).value() == fields, "seed \(seed)")
        #expect(StoredBody.nameTableID(stored.bytes) == stored.nameTable?.pointee.id)
        try DocumentBody.validate(stored)
        let map = try MapView(body: stored)
        for index in 0..<map.count {
          #expect(try map.index(of: map.name(at: index)) == index)
        }
        let dump = body.dump().split(separator: "\n").count
        #expect(DocumentBody.dump(stored).split(separator: "\n").count == dump)
        try body.withBytes { bytes in
          let whole = ValueView(StoredBody(bytes))
          #expect(try ValueView.compare(ValueView(stored), whole) == 0)
          #expect(!ValueView(stored).isIdentical(to: whole))
          let wholeMap = try MapView(body: bytes)
          for index in 0..<map.count {
            let (one, other) = (try map.value(at: index), try wholeMap.value(at: index))
            #expect(try ValueView.compare(one, other) == 0)
            #expect(one.isIdentical(to: other) == !one.mayHoldMaps)
            #expect(one.isIdentical(to: one))
          }
        }
      }
      // The tag and the id, for what the count, the ends and the names take. Maps inside are
      // shorter, too.
      let names = try body.withView { map throws(Status) in map.names.headByteCount }
      let expected = body.bytes.count - names + StoredBody.headBytes
      if without.innerCount == 0 {
        #expect(without.bytes.count == expected)
      } else {
        #expect(without.bytes.count <= expected - 2 * without.innerCount)
      }
    }
    #expect(stored > rounds * 2 / 3)
    #expect(inner ? withMaps > rounds / 6 : withMaps == 0)
  }

  @Test func `a map's names are found wherever the map is`() throws {
    let seat = Value.map(MapValue([("row", .integer(1)), ("number", .string("7b"))]))
    let fields = MapValue([
      ("best", seat), ("others", .array([seat, .null, .map(MapValue()), seat])),
      ("hall", .map(MapValue([("doors", .array([seat])), ("name", .string("A"))]))),
    ])
    let body = try DocumentBody(encoding: fields)
    let without = try #require(try BodyWithoutNames(body))
    // The names of a seat and of a hall. An empty map has none.
    #expect(without.innerCount == 2)
    let copy = try without.with { try DocumentBody(copying: $0) }
    #expect(copy == body)
    let text = String(decoding: without.bytes, as: UTF8.self)
    #expect(!text.contains("row") && !text.contains("doors") && text.contains("7b"))
  }

  @Test func `a map that becomes shorter has narrower offsets, and a longer one wider`() throws {
    // Around the sizes at which offsets need two bytes, and four, with names and without.
    for size in [200, 230, 240, 250, 255, 256, 65_300, 65_500, 65_535, 65_536] {
      let long = Value.string(String(repeating: "x", count: size))
      for names in [1, 3, 40] {
        let inner = MapValue((0..<names).map { ("name number \($0)", .integer(Int64($0))) })
        for fields in [
          MapValue([("map", .map(inner)), ("text", long)]),
          MapValue([("list", .array([.map(inner), long, .map(inner)]))]),
          MapValue([("outer", .map(MapValue([("map", .map(inner)), ("text", long)])))]),
        ] {
          let body = try DocumentBody(encoding: fields)
          let without = try #require(try BodyWithoutNames(body))
          #expect(without.innerCount > 0)
          try without.with { stored in
            try DocumentBody.validate(stored)
            #expect(try DocumentBody(copying: stored) == body)
          }
        }
      }
    }
  }

  @Test func `a map with its names in a document whose name table has them is refused`() throws {
    let inner = Value.map(MapValue([("a", .integer(1))]))
    let body = try DocumentBody(encoding: MapValue([("m", inner)]))
    let without = try #require(try BodyWithoutNames(body))
    let outerOnly = try #require(try BodyWithoutNames(body, inner: false))
    // The same document, once with the other's values.
    let head = Array(without.bytes.prefix(StoredBody.headBytes))
    let mixed = head + outerOnly.bytes.dropFirst(StoredBody.headBytes)
    try mixed.withUnsafeBytes { bytes in
      try without.with(bytes) { stored in
        let read = try MapView(body: stored).value()
        #expect(read == MapValue([("m", inner)]))
        let error = #expect(throws: Status.self) { try DocumentBody.validate(stored) }
        #expect(
          error?.message == "A stored map has its names elsewhere than its document says.")
      }
    }
    // Names that the table does not have.
    var other = without.bytes
    other[StoredBody.headBytes + 2] = 9
    try other.withUnsafeBytes { bytes in
      try without.with(bytes) { stored in
        let error = #expect(throws: Status.self) { try MapView(body: stored).value() }
        #expect(error?.code == .dataLoss)
      }
    }
    // A map without names where there is no name table.
    without.bytes.withUnsafeBytes { bytes in
      let map = UnsafeRawBufferPointer(rebasing: bytes[(StoredBody.headBytes + 1)...])
      #expect(throws: Status.self) { try ValueView(StoredBody(map)).value() }
      #expect(throws: Status.self) { try DocumentBody.validate(map) }
    }
  }

  @Test func `a body without its names that is too long or too short is refused`() throws {
    let fields = MapValue([("a", .integer(1)), ("b", .string("text"))])
    let stored = try #require(try BodyWithoutNames(DocumentBody(encoding: fields)))
    let lengths: [[UInt8]] = [
      stored.bytes + [0], Array(stored.bytes.dropLast()), Array(stored.bytes.prefix(6)),
    ]
    for bytes in lengths {
      try bytes.withUnsafeBytes { bytes in
        try stored.with(bytes) { body in
          _ = #expect(throws: Status.self) { try MapView(body: body) }
        }
      }
    }
  }

  @Test func `offsets that are wider than they need to be are another form, which no writer makes`()
    throws
  {
    let fields = MapValue([("a", .integer(1)), ("b", .string("text"))])
    let stored = try #require(try BodyWithoutNames(DocumentBody(encoding: fields)))
    let (head, ends) = (stored.bytes[..<StoredBody.headBytes], stored.bytes[5..<7])
    let wide = [head[0] | 1] + head.dropFirst() + ends.flatMap { [$0, 0] } + stored.bytes[7...]
    try wide.withUnsafeBytes { wide in
      try stored.with(wide) { body in
        let read = try MapView(body: body).value()
        #expect(read == fields)
        let error = #expect(throws: Status.self) { try DocumentBody.validate(body) }
        #expect(error?.message == "A stored map's offsets are wider than they need to be.")
      }
    }
  }

  @Test func `a damaged name table is refused, or has names that can be read`() throws {
    let cache = FieldNameTableCache()
    var random = FormatGenerator(seed: 11)
    var refused = 0
    let rounds = Soak.isOn ? 20_000 : 4000
    for _ in 0..<rounds {
      let fields = MapValue([("k", .null)] + random.fields(upTo: 5))
      guard
        let names = try DocumentBody(encoding: fields).withBytes({ bytes -> [UInt8]? in
          let map = try MapView(body: bytes)
          var inner = InnerNames()
          guard try inner.collect(from: map) else { return nil }
          return FieldNameTable.head(map.names, inner: inner.lists)
        })
      else { continue }
      var head = names
      for _ in 0...random.below(2) {
        head[random.below(head.count)] = UInt8(random.below(256))
        if random.below(4) == 0 { head.removeLast(min(head.count, random.below(5))) }
        if head.isEmpty { head = [0x90] }
      }
      head.withUnsafeBytes { head in
        do throws(Status) {
          let pinned = try PinnedNameTable(copying: head)
          #expect(throws: Status.self) { try cache.learn(pinned.table.id &+ 1, head) }
          withUnsafePointer(to: pinned.table) { table in
            let outer = [DocumentFormat.Tag.mapWithoutNames, 0, 0, 0, 0]
            let inner = (0..<table.pointee.inner.count).map {
              [DocumentFormat.Tag.innerMapWithoutNames, UInt8($0)]
            }
            let counts = [table.pointee.names.count] + table.pointee.inner.map(\.count)
            for (start, count) in zip([outer] + inner, counts) {
              (start + [UInt8](repeating: 0, count: count)).withUnsafeBytes { bytes in
                let map = try? MapView(trusting: bytes, in: table)
                #expect(map != nil)
                for index in 0..<(map?.count ?? 0) { _ = try? map?.name(at: index) }
              }
            }
          }
        } catch {
          refused += 1
          #expect(error.code == .dataLoss)
        }
      }
    }
    #expect((rounds / 20..<rounds - rounds / 20).contains(refused))
  }
}
