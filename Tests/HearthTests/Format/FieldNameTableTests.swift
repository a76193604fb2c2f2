import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// A body, as it is stored with a shape. Keeps the memory that both borrow.
final class ShapedBody {
  private let memory = FieldNameTableCache()
  let bytes: [UInt8]
  private let nameTable: UnsafePointer<FieldNameTable>

  /// Nil for a body that has no shape.
  init?(_ body: DocumentBody) throws {
    let parts: (UInt32, [UInt8], [UInt8])? = try body.withView { map throws(Status) in
      guard map.count > 0, map.count <= FieldNameTable.fieldLimit else { return nil }
      let head = map.headBytes
      let id = FieldNameTable.id(ends: map.nameEndBytes, names: map.nameBytes)
      let parts = BodyParts(map, nameTable: id)
      let bytes = [UInt8](unsafeUninitializedCapacity: parts.count) { buffer, count in
        if let start = buffer.baseAddress { parts.copy(to: UnsafeMutableRawPointer(start)) }
        count = parts.count
      }
      return (id, head, bytes)
    }
    guard let (id, head, bytes) = parts else { return nil }
    let memory = memory
    self.bytes = bytes
    nameTable = try head.withUnsafeBytes { try memory.learn(id, $0) }
  }

  func with<Result>(_ body: (StoredBody) throws -> Result) rethrows -> Result {
    try bytes.withUnsafeBytes { try body(StoredBody($0, nameTable)) }
  }

  /// With other bytes, as far as they ask for this shape at all.
  func with<Result>(
    _ bytes: UnsafeRawBufferPointer, _ body: (StoredBody) throws -> Result
  ) throws -> Result {
    guard let id = StoredBody.nameTableID(bytes) else { return try body(StoredBody(bytes)) }
    guard id == nameTable.pointee.id else { throw Status.unknownNameTable }
    return try body(StoredBody(bytes, nameTable))
  }
}

struct FieldNameTableTests {
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func `a body without its names is the same body`(seed: UInt64) throws {
    var random = FormatGenerator(seed: seed)
    var shaped = 0
    for _ in 0..<3000 {
      let fields = MapValue(random.fields(upTo: 9))
      let body = try DocumentBody(encoding: fields)
      guard let stored = try ShapedBody(body) else { continue }
      shaped += 1
      try stored.with { stored in
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
      }
      // The tag and the id, for what the count, the ends and the names take.
      let names = try body.withView { map throws(Status) in map.headBytes.count }
      #expect(stored.bytes.count == body.bytes.count - names + StoredBody.headBytes)
    }
    #expect(shaped > 2000)
  }

  @Test func `a body without its names that is too long or too short is refused`() throws {
    let fields = MapValue([("a", .integer(1)), ("b", .string("text"))])
    let shaped = try #require(try ShapedBody(DocumentBody(encoding: fields)))
    let lengths: [[UInt8]] = [
      shaped.bytes + [0], Array(shaped.bytes.dropLast()), Array(shaped.bytes.prefix(6)),
    ]
    for bytes in lengths {
      try bytes.withUnsafeBytes { bytes in
        try shaped.with(bytes) { body in
          _ = #expect(throws: Status.self) { try MapView(body: body) }
        }
      }
    }
  }

  @Test func `offsets that are wider than they need to be are another form, which no writer makes`()
    throws
  {
    let fields = MapValue([("a", .integer(1)), ("b", .string("text"))])
    let shaped = try #require(try ShapedBody(DocumentBody(encoding: fields)))
    let (head, ends) = (shaped.bytes[..<StoredBody.headBytes], shaped.bytes[5..<7])
    let wide = [head[0] | 1] + head.dropFirst() + ends.flatMap { [$0, 0] } + shaped.bytes[7...]
    try wide.withUnsafeBytes { wide in
      try shaped.with(wide) { body in
        let read = try MapView(body: body).value()
        #expect(read == fields)
        let error = #expect(throws: Status.self) { try DocumentBody.validate(body) }
        #expect(error?.message == "A stored map's offsets are wider than they need to be.")
      }
    }
  }

  @Test func `what a shape's bytes say is not believed`() throws {
    let memory = FieldNameTableCache()
    var random = FormatGenerator(seed: 11)
    var refused = 0
    for _ in 0..<20_000 {
      var head = try DocumentBody(encoding: MapValue([("k", .null)] + random.fields(upTo: 5)))
        .withView { map throws(Status) in map.headBytes }
      for _ in 0...random.below(2) {
        head[random.below(head.count)] = UInt8(random.below(256))
        if random.below(4) == 0 { head.removeLast(min(head.count, random.below(5))) }
        if head.isEmpty { head = [0x90] }
      }
      head.withUnsafeBytes { head in
        do throws(Status) {
          let nameTable = try FieldNameTable(parsing: head)
          #expect(throws: Status.self) { try memory.learn(nameTable.id &+ 1, head) }
          let body =
            [DocumentFormat.Tag.mapWithoutNames, 0, 0, 0, 0] + [UInt8](repeating: 0, count: 300)
          withUnsafePointer(to: nameTable) { nameTable in
            body.withUnsafeBytes { body in
              let whole = UnsafeRawBufferPointer(rebasing: body[..<(5 + nameTable.pointee.count)])
              let map = try? MapView(body: StoredBody(whole, nameTable))
              for index in 0..<(map?.count ?? 0) { _ = try? map?.name(at: index) }
            }
          }
        } catch {
          refused += 1
          #expect(error.code == .dataLoss)
        }
      }
    }
    #expect((1000..<19_000).contains(refused))
  }
}
