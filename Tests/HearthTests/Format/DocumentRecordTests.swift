import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct DocumentRecordTests {
  @Test func `a record gives back its header and its body`() throws {
    var random = FormatGenerator(seed: 3)
    for _ in 0..<2_000 {
      let body = DocumentBody(MapValue(random.fields(upTo: 4)))
      let sequence = random.next() >> UInt64(random.below(64))
      let (updated, created) = (random.instant(), random.instant())
      let path = random.below(2) == 0 ? random.path().text : nil
      let key = (0..<random.below(30)).map { _ in UInt8(random.below(256)) }
      let bytes = encodeRecord(
        sequence: sequence, updateTime: updated, createTime: created, path: path, body: body,
        key: key)
      try bytes.withUnsafeBytes { bytes in
        let record = try DocumentRecord(parsing: bytes)
        #expect(record.sequence == sequence)
        #expect(record.updateTime == updated)
        #expect(record.createTime == created)
        #expect(record.path == path)
        #expect(Array(record.storedBody) == body.bytes)
        try key.withUnsafeBytes { try record.verifyChecksum(key: $0) }
      }
    }
  }

  private var sample: [UInt8] {
    encodeRecord(
      sequence: 300, updateTime: Instant(microseconds: 1_700_000_000_000_000),
      createTime: Instant(microseconds: 1_699_999_999_000_000), path: nil,
      body: DocumentBody(MapValue([("title", .string("Dune")), ("pages", .integer(412))])),
      key: Array("dune".utf8))
  }

  @Test func `every flipped bit is noticed`() throws {
    let sample = sample
    for bit in 0..<sample.count * 8 {
      var bytes = sample
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      #expect(throws: Status.self, "bit \(bit)") {
        try bytes.withUnsafeBytes { bytes in
          try Array("dune".utf8).withUnsafeBytes { key in
            try DocumentRecord(parsing: bytes).verifyChecksum(key: key)
          }
        }
      }
    }
  }

  @Test func `a record filed under another key is noticed`() throws {
    #expect(throws: Status.self) {
      try sample.withUnsafeBytes { bytes in
        try Array("emma".utf8).withUnsafeBytes { key in
          try DocumentRecord(parsing: bytes).verifyChecksum(key: key)
        }
      }
    }
  }

  @Test func `a newer version is refused by name`() throws {
    var bytes = sample
    bytes[0] = bytes[0] & 0xF0 | 2
    let error = #expect(throws: Status.self) {
      try bytes.withUnsafeBytes { _ = try DocumentRecord(parsing: $0) }
    }
    #expect(error?.code == .failedPrecondition)
    #expect(error?.message.contains("written by a newer Hearth") == true)
  }
}
