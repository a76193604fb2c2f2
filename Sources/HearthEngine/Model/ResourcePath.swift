/// A path of collection and document ids, relative to the database: `books/dune/reviews/r1`.
///
/// An odd number of segments is a collection, an even number a document, no segments the root.
/// Paths sort segment by segment; numeric ids (`__id7__`) come before all others, by number.
package struct ResourcePath: Sendable {
  package var segments: [String]

  package init(_ segments: [String] = []) { self.segments = segments }

  /// Splits at slashes and drops empty segments. For users' input, see `init(checkingCollection:)`
  /// and `init(checkingDocument:)`.
  package init(relative text: String) {
    // By bytes: a slash separates, even if a combining accent follows it.
    segments = text.withUTF8Bytes { Self.segments(ofUTF8: $0) }
  }

  /// The bytes must be UTF-8.
  private static func segments(ofUTF8 text: UnsafeRawBufferPointer) -> [String] {
    var segments: [String] = []
    var start = 0
    for end in 0...text.count where end == text.count || text[end] == UInt8(ascii: "/") {
      if end > start {
        if segments.isEmpty { segments.reserveCapacity(2) }
        segments.append(
          String(decoding: UnsafeRawBufferPointer(rebasing: text[start..<end]), as: UTF8.self))
      }
      start = end + 1
    }
    return segments
  }

  package static let root = ResourcePath()

  package var isRoot: Bool { segments.isEmpty }
  package var isDocument: Bool { segments.count % 2 == 0 && !segments.isEmpty }
  package var isCollection: Bool { segments.count % 2 == 1 }
  /// The last segment; empty for the root.
  package var id: String { segments.last ?? "" }
  /// The path without its last segment; the root is its own parent.
  package var parent: ResourcePath { ResourcePath(Array(segments.dropLast())) }
  /// `books/dune/reviews/r1`.
  package var text: String { segments.joined(separator: "/") }
  /// The length of `text`, in UTF-8.
  var byteCount: Int { segments.reduce(max(0, segments.count - 1)) { $0 + $1.utf8.count } }

  package func appending(_ segment: String) -> ResourcePath {
    ResourcePath(
      Array(unsafeUninitializedCapacity: segments.count + 1) { buffer, count in
        _ = buffer.initialize(fromContentsOf: segments)
        buffer.initializeElement(at: segments.count, to: segment)
        count = segments.count + 1
      })
  }

  package func appending(_ path: ResourcePath) -> ResourcePath {
    ResourcePath(segments + path.segments)
  }

  package func hasPrefix(_ prefix: ResourcePath) -> Bool {
    guard segments.count >= prefix.segments.count else { return false }
    for index in prefix.segments.indices
    where !UTF8Order.areEqual(segments[index], prefix.segments[index]) {
      return false
    }
    return true
  }

  /// Negative, zero or positive as `lhs` sorts before, with or after `rhs`.
  package static func compare(_ lhs: ResourcePath, _ rhs: ResourcePath) -> Int {
    for (left, right) in zip(lhs.segments, rhs.segments) {
      let order = compare(segment: left, right)
      if order != 0 { return order }
    }
    return lhs.segments.count - rhs.segments.count
  }

  static func compare(segment lhs: String, _ rhs: String) -> Int {
    lhs.withUTF8Bytes { left in rhs.withUTF8Bytes { compare(segment: left, $0) } }
  }

  static func compare(
    segment lhs: UnsafeRawBufferPointer, _ rhs: UnsafeRawBufferPointer
  ) -> Int {
    switch (numericID(utf8: lhs), numericID(utf8: rhs)) {
    case (let left?, let right?): Value.order(left, right)
    case (_?, nil): -1
    case (nil, _?): 1
    case (nil, nil): UTF8Order.compare(lhs, rhs)
    }
  }

  /// The number in an id of the form `__id<int64>__`, without leading zeros or plus sign. Zero is
  /// excluded: Datastore's numeric ids are non-zero.
  static func numericID(_ segment: String) -> Int64? {
    segment.withUTF8Bytes { numericID(utf8: $0) }
  }

  static func numericID(utf8 id: UnsafeRawBufferPointer) -> Int64? {
    let underscore = UInt8(ascii: "_")
    let last = id.count - 1
    guard (7...26).contains(id.count), id[0] == underscore, id[1] == underscore,
      id[2] == UInt8(ascii: "i"), id[3] == UInt8(ascii: "d"), id[last] == underscore,
      id[last - 1] == underscore
    else { return nil }
    let isNegative = id[4] == UInt8(ascii: "-")
    let digits = id[(isNegative ? 5 : 4)..<(last - 1)]
    guard let first = digits.first, first != UInt8(ascii: "0") else { return nil }
    var number: Int64 = 0
    for byte in digits {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
      let digit = Int64(byte - UInt8(ascii: "0"))
      let (sum, carry) =
        isNegative
        ? tenfold.subtractingReportingOverflow(digit) : tenfold.addingReportingOverflow(digit)
      guard !overflow, !carry else { return nil }
      number = sum
    }
    return number
  }
}

extension ResourcePath: Hashable {
  package static func == (lhs: ResourcePath, rhs: ResourcePath) -> Bool {
    lhs.segments.count == rhs.segments.count && lhs.hasPrefix(rhs)
  }

  /// By bytes, like `==`. `String`'s own hash is valid too, but ignores differences of bytes.
  package func hash(into hasher: inout Hasher) {
    for segment in segments {
      hasher.combine(BytewiseString(segment))
      hasher.combine(0 as UInt8)
    }
  }
}
