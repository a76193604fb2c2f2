import Testing

@testable import Hearth
@testable import HearthEngine

struct KeyLayoutTests {
  private static let roomy = KeyLimit(100_000)

  private func key(_ path: ResourcePath) -> [UInt8] { Self.roomy.documentKey(path).bytes }

  private func documentPaths(_ seed: UInt64, _ count: Int = 25) -> [ResourcePath] {
    var random = RandomValues(seed: seed)
    return (0..<count).map { _ in random.documentPath() }
  }

  @Test func `a document's key gives back its path`() throws {
    for seed in 1...100 as ClosedRange<UInt64> {
      for path in documentPaths(seed) {
        let decoded = try key(path).withUnsafeBytes { bytes in
          try KeyLayout.documentPath(fromKey: bytes, limit: Self.roomy)
        }
        #expect(decoded == path, "seed \(seed)")
      }
    }
  }

  @Test func `a collection is one range, in the order of ids`() {
    for seed in 1...100 as ClosedRange<UInt64> {
      let paths = documentPaths(seed).sorted { compareBytes(key($0), key($1)) < 0 }
      for collection in Set(paths.map(\.parent)) {
        let prefix = KeyLayout.collectionPrefix(collection)
        let inRange = paths.filter { key($0).starts(with: prefix) }
        #expect(inRange.allSatisfy { $0.parent == collection }, "seed \(seed)")
        #expect(inRange.count == paths.count { $0.parent == collection }, "seed \(seed)")
        for (one, next) in zip(inRange, inRange.dropFirst()) {
          #expect(ResourcePath.compare(segment: one.id, next.id) <= 0, "seed \(seed)")
        }
      }
    }
  }

  @Test func `a collection group is one range, in the order of parents and then of ids`() {
    for seed in 1...100 as ClosedRange<UInt64> {
      let paths = documentPaths(seed).sorted { compareBytes(key($0), key($1)) < 0 }
      for collectionID in Set(paths.map(\.parent.id)) {
        let prefix = KeyLayout.groupPrefix(collectionID)
        let inRange = paths.filter { key($0).starts(with: prefix) }
        #expect(inRange.count == paths.count { $0.parent.id.utf8.elementsEqual(collectionID.utf8) })
        for (one, next) in zip(inRange, inRange.dropFirst()) {
          let parents = ResourcePath.compare(one.parent.parent, next.parent.parent)
          let ids = ResourcePath.compare(segment: one.id, next.id)
          #expect(parents < 0 || (parents == 0 && ids <= 0), "seed \(seed)")
        }
      }
    }
  }

  @Test func `the catalogue is in pre-order, and what lies below a document is one range`() throws {
    for seed in 1...100 as ClosedRange<UInt64> {
      let collections = documentPaths(seed).map(\.parent)
      let keys = collections.map(KeyLayout.catalogueKey)
      for (left, one) in zip(collections, keys) {
        for (right, other) in zip(collections, keys) {
          let order = ResourcePath.compare(left, right).signum()
          #expect(compareBytes(one, other) == order, "seed \(seed)")
        }
        let decoded = try one.withUnsafeBytes { bytes in
          try KeyLayout.collectionPath(fromKey: bytes, limit: Self.roomy)
        }
        #expect(decoded == left, "seed \(seed)")
        for document in [ResourcePath.root, left.parent, left.appending("a")] {
          let prefix = KeyLayout.cataloguePrefix(below: document)
          for (collection, key) in zip(collections, keys) {
            #expect(key.starts(with: prefix) == collection.hasPrefix(document), "seed \(seed)")
          }
        }
      }
    }
  }

  @Test func `paths order as Firestore's do`() {
    let ordered = [
      "cola/__id-9223372036854775808__", "cola/\0", "cola/_", "cola\0/doca",
      "cola\0/doca/colb/__id-9223372036854775808__", "cola\0/doca/colb/\0",
      "cola\0/doca/colb/docb", "cola\0/doca\0", "cola\0/docb", "colb/doca",
    ].map { ResourcePath(relative: $0) }
    let keys = ordered.map { path in
      var buffer = KeyBuffer()
      buffer.append(path: path)
      return buffer.bytes
    }
    for (left, right) in zip(ordered.indices, ordered.indices.dropFirst()) {
      #expect(ResourcePath.compare(ordered[left], ordered[right]) < 0)
      #expect(compareBytes(keys[left], keys[right]) < 0)
    }
  }

  @Test func `cut document keys order up to the cut and do not tell the path`() throws {
    let limit = KeyLimitTests.tiny
    var runs = 0
    for seed in 1...200 as ClosedRange<UInt64> {
      let paths = documentPaths(seed)
      let stored = paths.map { limit.documentKey($0) }
      for (left, one) in zip(paths, stored) {
        let decoded = try one.bytes.withUnsafeBytes { bytes in
          try KeyLayout.documentPath(fromKey: bytes, limit: limit)
        }
        #expect(decoded == (one.isTruncated ? nil : left), "seed \(seed)")
        #expect(one.isTruncated == (one.bytes.count == limit.count))
        for (right, other) in zip(paths, stored) {
          let isRun = one.bytes.withUnsafeBytes { one in
            other.bytes.withUnsafeBytes { limit.sameRun(one, $0) }
          }
          if isRun {
            runs += 1
          } else {
            let order = compareBytes(key(left), key(right))
            #expect(compareBytes(one.bytes, other.bytes) == order, "seed \(seed)")
          }
        }
      }
    }
    #expect(runs > 1000)
  }

  @Test func `an entry of collection scope ends as the document's key does`() throws {
    for seed in 1...300 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let path = random.documentPath()
      let directions = [random.generator.one(in: 2), random.generator.one(in: 2)]
      var entry = KeyBuffer()
      entry.append(entryPrefix: 7, parent: path.parent.parent)
      for descending in directions { entry.append(random.value(), descending: descending) }
      entry.append(entryName: path, isGroup: false)

      var reader = KeyReader(entry.buffer)
      #expect(try reader.readIndex() == 7)
      let parent = try reader.readPath()
      #expect(parent == path.parent.parent, "seed \(seed)")
      for descending in directions { try reader.skipValue(descending: descending) }
      let name = Array(reader.rest)
      #expect(KeyLayout.collectionPrefix(path.parent) + name == key(path), "seed \(seed)")
    }
  }

  @Test func `the end of a prefix is the smallest bytes above all that begin with it`() {
    #expect(KeyLayout.end(ofPrefix: [1, 2]) == [1, 3])
    #expect(KeyLayout.end(ofPrefix: [1, 0xFF, 0xFF]) == [2])
    #expect(KeyLayout.end(ofPrefix: [0xFF, 0xFF]) == nil)
    #expect(KeyLayout.end(ofPrefix: []) == nil)
  }

  @Test func `sequences are scanned in order and come back`() throws {
    let sequences: [UInt64] = [0, 1, 255, 256, 1 << 40, .max]
    let keys = sequences.map(KeyLayout.sequenceKey)
    for (one, next) in zip(keys, keys.dropFirst()) { #expect(compareBytes(one, next) < 0) }
    #expect(try keys.map { try $0.withUnsafeBytes(KeyLayout.sequence) } == sequences)
    #expect(throws: Status.self) { try [1, 2, 3].withUnsafeBytes(KeyLayout.sequence) }
    #expect(throws: Status.self) {
      try ([UInt8](repeating: 0, count: 9)).withUnsafeBytes(KeyLayout.sequence)
    }
    #expect(try KeyLayout.indexKey(7).withUnsafeBytes(KeyLayout.index) == 7)
  }

  @Test func `damaged keys throw and are never read as another path`() {
    for seed in 1...20_000 as ClosedRange<UInt64> {
      var random = RandomValues(seed: seed)
      let path = random.documentPath()
      var (document, collection) = (key(path), KeyLayout.catalogueKey(path.parent))
      let place = random.generator.next()
      let byte = random.generator.pick([0, 1, 2, 3, 0xC3, 0xFF, UInt8(truncatingIfNeeded: place)])
      document[Int(place % UInt64(document.count))] = byte
      collection[Int(place % UInt64(collection.count))] = byte
      if random.generator.one(in: 4) {
        document.removeLast(1 + random.generator.below(document.count))
        collection.removeLast(1 + random.generator.below(collection.count))
      }
      do throws(Status) {
        let decoded = try read(document, KeyLayout.documentPath)
        if let decoded, key(decoded) != document { Issue.record("seed \(seed): \(document)") }
      } catch {
        if error.code != .dataLoss { Issue.record("seed \(seed): \(error)") }
      }
      do throws(Status) {
        let decoded = try read(collection, KeyLayout.collectionPath)
        if let decoded, KeyLayout.catalogueKey(decoded) != collection {
          Issue.record("seed \(seed): \(collection)")
        }
      } catch {
        if error.code != .dataLoss { Issue.record("seed \(seed): \(error)") }
      }
    }
  }

  private func read(
    _ bytes: [UInt8],
    _ parse: (UnsafeRawBufferPointer, KeyLimit) throws(Status) -> ResourcePath?
  ) throws(Status) -> ResourcePath? {
    try bytes.withUnsafeBufferPointer { buffer throws(Status) in
      try parse(UnsafeRawBufferPointer(buffer), Self.roomy)
    }
  }
}
