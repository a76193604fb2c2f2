import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

private let damageCount =
  Soak.isOn ? 2_000_000 : 5000

/// Whatever the stored bytes are, reading them gives values or a `Status`, and never traps.
struct DocumentDamageTests {
  @Test(arguments: [7, 77, 777, 7777] as [UInt64])
  func `damaged records throw, and never trap`(seed: UInt64) throws {
    var random = FormatGenerator(seed: seed)
    var deep = 0
    var refused = 0
    let key: [UInt8] = Array("books/dune".utf8)
    for _ in 0..<damageCount {
      let whole = record(&random, key: key)
      let damaged = damage(whole, &random, other: record(&random, key: key), key: key)
      damaged.withUnsafeBytes { bytes in
        do throws(Status) {
          let parsed = try DocumentRecord(parsing: bytes)
          if try readFields(StoredBody(parsed.storedBody)) { deep += 1 }
          _ = parsed.dump()
          try DocumentBody.validate(parsed.storedBody)
        } catch {
          refused += 1
          #expect(error.code == .dataLoss || error.code == .failedPrecondition, "seed \(seed)")
        }
      }
    }
    // Damage that never gets past the header would prove nothing about what lies behind it.
    #expect(Double(deep) / Double(damageCount) > 0.3, "seed \(seed)")
    #expect(Double(refused) / Double(damageCount) > 0.3, "seed \(seed)")
  }

  @Test(arguments: [7, 77] as [UInt64])
  func `damaged bodies without names throw, and never trap`(seed: UInt64) throws {
    var random = FormatGenerator(seed: seed)
    var deep = 0
    var refused = 0
    for _ in 0..<damageCount {
      let fields = MapValue([(random.name(), random.value())] + random.fields(upTo: 6))
      let inner = random.below(4) > 0
      guard let whole = try BodyWithoutNames(DocumentBody(encoding: fields), inner: inner) else {
        continue
      }
      var bytes = whole.bytes
      for _ in 0...random.below(3) {
        // The id says which name table has the names; it is another's if it is damaged.
        let place = random.below(2) == 0 ? 0 : StoredBody.headBytes
        guard bytes.count > place else { break }
        bytes[place + random.below(bytes.count - place)] = UInt8(random.below(256))
        if random.below(5) == 0 { bytes.removeLast(min(bytes.count, random.below(4))) }
      }
      bytes.withUnsafeBytes { bytes in
        do {
          try whole.with(bytes) { body in
            if try readFields(body) { deep += 1 }
            _ = DocumentBody.dump(body)
            _ = try DocumentBody(copying: body)
            try DocumentBody.validate(body)
          }
        } catch {
          refused += 1
          #expect((error as? Status)?.code == .dataLoss, "seed \(seed)")
        }
      }
    }
    #expect(Double(deep) / Double(damageCount) > 0.3, "seed \(seed)")
    #expect(Double(refused) / Double(damageCount) > 0.3, "seed \(seed)")
  }

  private func record(_ random: inout FormatGenerator, key: [UInt8]) -> [UInt8] {
    let body = DocumentBody(
      MapValue([(random.name(), random.value())] + random.fields(upTo: 6)))
    return encodeRecord(
      sequence: random.next() >> UInt64(random.below(64)), updateTime: random.instant(),
      createTime: random.instant(), path: random.below(4) == 0 ? "books/dune" : nil, body: body,
      key: key)
  }

  private func damage(
    _ whole: [UInt8], _ random: inout FormatGenerator, other: [UInt8], key: [UInt8]
  ) -> [UInt8] {
    var bytes = whole
    for _ in 0...random.below(3) {
      guard !bytes.isEmpty else { break }
      let place = random.below(bytes.count)
      switch random.below(9) {
      case 0, 1, 2: bytes[place] ^= 1 << UInt8(random.below(8))
      case 3, 4, 5: bytes[place] = UInt8(random.below(256))
      case 6: bytes.removeSubrange(place..<min(bytes.count, place + random.below(9)))
      case 7:
        bytes.insert(contentsOf: other.dropFirst(random.below(other.count)).prefix(9), at: place)
      default: if random.below(4) == 0 { bytes.removeSubrange(place...) }
      }
    }
    if bytes.count >= 5 {
      let sum = bytes.withUnsafeBytes { bytes in
        key.withUnsafeBytes { RecordFrame.checksum(of: bytes, key: $0) }
      }
      withUnsafeBytes(of: sum.littleEndian) { bytes.replaceSubrange(1..<5, with: $0) }
    }
    return bytes
  }

  /// Reads every field that can be read; true if a field's decoder was reached.
  private func readFields(_ body: StoredBody) throws(Status) -> Bool {
    let view: MapView
    do throws(Status) { view = try MapView(body: body) } catch { return false }
    var reached = false
    for index in 0..<view.count {
      do throws(Status) {
        let name = try view.name(at: index)
        _ = try view.index(of: name)
        let value = try view.value(at: index)
        reached = true
        _ = try value.value()
      } catch {
        #expect(error.code == .dataLoss)
      }
    }
    return reached
  }

  @Test func `bytes at random throw, and never trap`() {
    var random = FormatGenerator(seed: 5)
    for _ in 0..<damageCount {
      var bytes = (0..<random.below(40)).map { _ in UInt8(random.below(256)) }
      if random.below(2) == 0, !bytes.isEmpty { bytes[0] = 0x90 | bytes[0] & 0x0F }
      bytes.withUnsafeBytes { bytes in
        do throws(Status) {
          _ = try ValueView(trusting: bytes, in: nil).value()
          try DocumentBody.validate(bytes)
        } catch {
          #expect(error.code == .dataLoss)
        }
      }
    }
  }
}

func encodeRecord(
  sequence: UInt64, updateTime: Instant, createTime: Instant, path: String?, body: DocumentBody,
  key: [UInt8]
) -> [UInt8] {
  key.withUnsafeBytes { key in
    body.withBytes { body in
      DocumentRecord.encode(
        sequence: sequence, updateTime: updateTime, createTime: createTime, path: path,
        body: BodyParts(body), key: key)
    }
  }
}
