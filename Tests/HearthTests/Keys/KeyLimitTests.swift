import Testing

@testable import Hearth
@testable import HearthEngine

struct KeyLimitTests {
  static let tiny = KeyLimit(24)
  /// Every two cut keys of a run collide.
  static let colliding = KeyLimit(24) { _ in 42 }

  private func encode(_ value: Value, descending: Bool = false) -> [UInt8] {
    var buffer = KeyBuffer()
    buffer.append(value, descending: descending)
    return buffer.bytes
  }

  private func truncated(_ full: [UInt8], _ limit: KeyLimit) -> [UInt8] {
    full.withUnsafeBytes { limit.truncated($0).bytes }
  }

  private func sameRun(_ one: [UInt8], _ other: [UInt8], _ limit: KeyLimit) -> Bool {
    one.withUnsafeBytes { one in other.withUnsafeBytes { limit.sameRun(one, $0) } }
  }

  @Test(arguments: [KeyLimit.standard.count, 24])
  func `cut keys order up to the cut`(count: Int) {
    let limit = KeyLimit(count)
    var (pairs, cutPairs, runs) = (0, 0, 0)
    for seed in 1...1000 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let values = random.family(16)
      let descending = random.generator.one(in: 2)
      let keys = values.map { truncated(encode($0, descending: descending), limit) }
      for left in values.indices {
        for right in values.indices[left...] {
          var order = Value.compare(values[left], values[right]).signum()
          if descending { order = -order }
          pairs += 1
          if limit.isTruncated(keys[left]), limit.isTruncated(keys[right]) { cutPairs += 1 }
          let found = compareBytes(keys[left], keys[right])
          if sameRun(keys[left], keys[right], limit) {
            runs += 1
            if order == 0 && found != 0 { Issue.record("seed \(seed): equal \(values[left])") }
          } else if found != order {
            Issue.record("seed \(seed): \(values[left]) and \(values[right]), expected \(order)")
          }
        }
      }
    }
    #expect(pairs >= 100_000)
    #expect(cutPairs > 1000 && runs > 1000)
  }

  @Test func `a range of cut keys misses nothing, and what does not belong is in runs at its ends`()
  {
    for limit in [Self.tiny, Self.colliding] {
      for seed in 1...300 as ClosedRange<UInt64> {
        var random = RandomValues(seed: seed)
        let full = random.family(12).map { encode($0) }
        let stored = full.map { truncated($0, limit) }
        let bounds = [random.generator.pick(full), random.generator.pick(full)]
          .sorted { compareBytes($0, $1) < 0 }
        let start = limit.scanStart(bounds[0])
        let end = limit.scanEnd(bounds[1])
        for (full, stored) in zip(full, stored) {
          let belongs = compareBytes(full, bounds[0]) >= 0 && compareBytes(full, bounds[1]) < 0
          let isScanned =
            compareBytes(stored, start) >= 0 && end.map { compareBytes(stored, $0) < 0 } ?? true
          let isAtEnd = bounds.contains { sameRun(stored, truncated($0, limit), limit) }
          #expect(isScanned == belongs || (isScanned && isAtEnd), "seed \(seed)")
        }
      }
    }
  }

  @Test func `a scan prefix finds every key that begins with it`() {
    for seed in 1...500 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let full = encode(random.value())
      let prefix = Array(full.prefix(random.generator.below(full.count + 1)))
      #expect(truncated(full, Self.tiny).starts(with: Self.tiny.scanPrefix(prefix)), "seed \(seed)")
      #expect(Self.tiny.scanPrefix(prefix).count <= Self.tiny.truncatedCount)
    }
  }

  @Test func `a key is cut when it does not leave room for the hash`() {
    let limit = Self.tiny
    let fits = [UInt8](repeating: 7, count: 15)
    #expect(truncated(fits, limit) == fits)
    #expect(!limit.isTruncated(truncated(fits, limit)))
    let long = fits + [8]
    let stored = truncated(long, limit)
    #expect(stored.count == 24)
    #expect(limit.isTruncated(stored))
    #expect(Array(stored.prefix(15)) == fits)
    #expect(stored.last == 0)
    #expect(sameRun(stored, truncated(fits + [9], limit), limit))
    #expect(!sameRun(stored, truncated([6] + long, limit), limit))
    #expect(stored != truncated(fits + [9], limit))
    #expect(KeyLimit.standard.truncatedCount == 502)
  }

  @Test func `the cut in place is the same`() {
    for length in [0, 14, 15, 16, 24, 40] {
      let full = (0..<length).map { UInt8($0) }
      var buffer = KeyBuffer()
      buffer.append(raw: full)
      let isTruncated = Self.tiny.truncated(&buffer)
      #expect(buffer.bytes == truncated(full, Self.tiny))
      #expect(isTruncated == (length > 15))
    }
  }

  @Test func `colliding keys are told apart by their ordinals`() {
    let limit = Self.colliding
    let one = truncated([UInt8](repeating: 7, count: 30), limit)
    let other = truncated([UInt8](repeating: 7, count: 31), limit)
    #expect(one == other)
    let second: [UInt8] = Array(other.dropLast()) + [1]
    #expect(second != one)
    #expect(sameRun(second, one, limit))
    #expect(compareBytes(one, second) < 0)
  }

  @Test func `the hash is XXH3 of the whole key, big-endian`() {
    // The published hash of no bytes.
    #expect([UInt8]().withUnsafeBytes(KeyLimit.xxh3) == 0x2D06_8005_38D3_94C2)
    let full = [UInt8](repeating: 7, count: 30)
    let hash = full.withUnsafeBytes(KeyLimit.xxh3)
    let stored = truncated(full, Self.tiny)
    #expect(stored[15..<23].reduce(0) { $0 << 8 | UInt64($1) } == hash)
  }
}
