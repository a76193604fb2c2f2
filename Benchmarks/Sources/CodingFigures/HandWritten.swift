import Foundation

/// Writes and reads the same bytes as the coder, as someone would who knows the model and has all day:
/// what is left of the coder's time is what `Codable` costs.
protocol HandWritten {
  static func write(_ value: Self, to writer: inout HandWriter)
  static func read(_ bytes: UnsafeRawBufferPointer) -> Self
}

/// A map whose names are known beforehand, in their order.
struct MapShape {
  /// Tag, count and the ends of the names.
  let head: [UInt8]
  let names: [UInt8]
  let count: Int
  /// In bytes, of a value's end.
  let valueWidth: Int

  init(_ sorted: [String], valueWidth: Int) {
    names = sorted.flatMap { Array($0.utf8) }
    count = sorted.count
    self.valueWidth = valueWidth
    let nameWidth = names.count < 256 ? 1 : 2
    var head = [0x90 | UInt8(nameWidth - 1) << 2 | UInt8(valueWidth - 1), UInt8(sorted.count)]
    var end = 0
    for name in sorted {
      end += name.utf8.count
      head.append(UInt8(end & 0xFF))
      if nameWidth == 2 { head.append(UInt8(end >> 8)) }
    }
    self.head = head
  }
}

struct HandWriter: ~Copyable {
  private let base = UnsafeMutableRawPointer.allocate(byteCount: 65_536, alignment: 16)
  private var at: UnsafeMutableRawPointer

  init() { at = base }

  deinit { base.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: at - base) }

  mutating func reset() { at = base }

  /// A map being written: its values come in the order of their names, `end` behind each.
  struct Map {
    fileprivate var ends: UnsafeMutableRawPointer
    fileprivate let values: UnsafeMutableRawPointer
    fileprivate let width: Int
  }

  @inline(__always)
  mutating func map(_ shape: MapShape) -> Map {
    precondition(at - base < 32_768, "The documents here are small.")
    shape.head.withUnsafeBytes { copy($0) }
    let ends = at
    at += shape.count * shape.valueWidth
    shape.names.withUnsafeBytes { copy($0) }
    return Map(ends: ends, values: at, width: shape.valueWidth)
  }

  @inline(__always)
  mutating func end(_ map: inout Map) {
    let end = at - map.values
    if map.width == 1 {
      map.ends.storeBytes(of: UInt8(truncatingIfNeeded: end), as: UInt8.self)
    } else {
      map.ends.storeBytes(of: UInt16(truncatingIfNeeded: end).littleEndian, as: UInt16.self)
    }
    map.ends += map.width
  }

  @inline(__always)
  private mutating func copy(_ bytes: UnsafeRawBufferPointer) {
    if let source = bytes.baseAddress { at.copyMemory(from: source, byteCount: bytes.count) }
    at += bytes.count
  }

  @inline(__always)
  mutating func string(_ value: String) {
    var value = value
    value.withUTF8 { utf8 in
      precondition(utf8.count < 4096, "The texts here are short.")
      if utf8.count < 64 {
        tag(0x40 | UInt8(utf8.count))
      } else {
        tag(0x80)
        if utf8.count < 128 {
          tag(UInt8(utf8.count))
        } else {
          tag(UInt8(utf8.count & 0x7F | 0x80))
          tag(UInt8(utf8.count >> 7))
        }
      }
      copy(UnsafeRawBufferPointer(utf8))
    }
  }

  @inline(__always)
  mutating func integer(_ value: Int, tag first: UInt8 = 0x10) {
    let count = value == 0 ? 0 : (72 - (value < 0 ? ~value : value).leadingZeroBitCount) >> 3
    at.storeBytes(of: first | UInt8(count), as: UInt8.self)
    (at + 1).storeBytes(of: value.littleEndian, as: Int.self)
    at += 1 + count
  }

  @inline(__always)
  mutating func date(_ value: Date) {
    integer(Int((value.timeIntervalSince1970 * 1e6).rounded()), tag: 0x30)
  }

  @inline(__always)
  mutating func double(_ value: Double) {
    let float = Float(value)
    if Double(float) == value {
      tag(0x21)
      at.storeBytes(of: float.bitPattern.littleEndian, as: UInt32.self)
      at += 4
    } else {
      tag(0x20)
      at.storeBytes(of: value.bitPattern.littleEndian, as: UInt64.self)
      at += 8
    }
  }

  @inline(__always)
  mutating func boolean(_ value: Bool) { tag(value ? 2 : 1) }

  @inline(__always)
  private mutating func tag(_ byte: UInt8) {
    at.storeBytes(of: byte, as: UInt8.self)
    at += 1
  }

  /// Gives where the elements begin, for `end(array:)`.
  @inline(__always)
  mutating func array(_ count: Int) -> UnsafeMutableRawPointer {
    tag(0x84)
    tag(0)
    tag(UInt8(count))
    return at - 1
  }

  @inline(__always)
  mutating func end(array start: UnsafeMutableRawPointer) {
    precondition(at - start < 128, "The arrays here are short.")
    (start - 1).storeBytes(of: UInt8(at - start), as: UInt8.self)
  }
}

/// Reads one map of a shape that is known.
struct HandMap {
  private let ends: UnsafeRawPointer
  private let values: UnsafeRawPointer
  private let width: Int
  let byteCount: Int

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, _ shape: MapShape) {
    let ends = shape.head.count
    let names = ends + shape.count * shape.valueWidth
    let values = names + shape.names.count
    guard bytes.count >= values, let base = bytes.baseAddress,
      memcmp(base, shape.head, shape.head.count) == 0,
      memcmp(base + names, shape.names, shape.names.count) == 0
    else { preconditionFailure("The bytes are of that shape.") }
    self.ends = base + ends
    self.values = base + values
    width = shape.valueWidth
    byteCount = values + HandMap.end(base + ends, shape.count - 1, width)
    precondition(byteCount <= bytes.count, "The bytes are whole.")
  }

  @inline(__always)
  private static func end(_ ends: UnsafeRawPointer, _ index: Int, _ width: Int) -> Int {
    width == 1
      ? Int(ends.load(fromByteOffset: index, as: UInt8.self))
      : Int(UInt16(littleEndian: ends.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self)))
  }

  @inline(__always)
  subscript(index: Int) -> UnsafeRawBufferPointer {
    let start = index == 0 ? 0 : HandMap.end(ends, index - 1, width)
    let end = HandMap.end(ends, index, width)
    precondition(start < end && end <= byteCount, "The ends are in order.")
    return UnsafeRawBufferPointer(start: values + start, count: end - start)
  }
}

enum HandReader {
  @inline(__always)
  static func stringLength(_ bytes: UnsafeRawBufferPointer) -> (start: Int, count: Int) {
    let tag = bytes[0]
    if tag & 0xC0 == 0x40 { return (1, Int(tag & 0x3F)) }
    precondition(tag == 0x80, "A string is there.")
    if bytes[1] < 128 { return (2, Int(bytes[1])) }
    return (3, Int(bytes[1] & 0x7F) | Int(bytes[2]) << 7)
  }

  @inline(__always)
  static func string(_ bytes: UnsafeRawBufferPointer) -> String {
    let (start, count) = stringLength(bytes)
    return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]), as: UTF8.self)
  }

  @inline(__always)
  static func integer(_ bytes: UnsafeRawBufferPointer, tag: UInt8 = 0x10) -> Int {
    precondition(bytes[0] & 0xF0 == tag, "A number is there.")
    let count = Int(bytes[0] & 0x0F)
    var bits: UInt64 = 0
    for index in stride(from: count, to: 0, by: -1) { bits = bits << 8 | UInt64(bytes[index]) }
    let unused = 64 - 8 * count
    return count == 0 ? 0 : Int(truncatingIfNeeded: Int64(bitPattern: bits << unused) >> unused)
  }

  @inline(__always)
  static func date(_ bytes: UnsafeRawBufferPointer) -> Date {
    Date(timeIntervalSince1970: Double(integer(bytes, tag: 0x30)) / 1e6)
  }

  @inline(__always)
  static func double(_ bytes: UnsafeRawBufferPointer) -> Double {
    if bytes[0] == 0x21 {
      precondition(bytes.count == 5, "A float is there.")
      return Double(
        Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt32.self))))
    }
    precondition(bytes[0] == 0x20 && bytes.count == 9, "A double is there.")
    return Double(
      bitPattern: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self)))
  }

  @inline(__always)
  static func boolean(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes[0] == 2 }

  @inline(__always)
  static func array<Element>(
    _ bytes: UnsafeRawBufferPointer,
    _ read: (UnsafeRawBufferPointer) -> (element: Element, byteCount: Int)
  ) -> [Element] {
    precondition(bytes[0] == 0x84 && bytes[1] < 128, "A short array is there.")
    let count = Int(bytes[2])
    var rest = UnsafeRawBufferPointer(rebasing: bytes[3...])
    var elements: [Element] = []
    elements.reserveCapacity(count)
    for _ in 0..<count {
      let (element, byteCount) = read(rest)
      elements.append(element)
      rest = UnsafeRawBufferPointer(rebasing: rest[byteCount...])
    }
    return elements
  }
}

// MARK: - The models

extension Tag: HandWritten {
  private static let shape = MapShape(["color", "title"], valueWidth: 1)

  static func write(_ value: Tag, to writer: inout HandWriter) {
    var map = writer.map(shape)
    writer.string(value.color)
    writer.end(&map)
    writer.string(value.title)
    writer.end(&map)
  }

  static func read(_ bytes: UnsafeRawBufferPointer) -> Tag { measured(bytes).element }

  static func measured(_ bytes: UnsafeRawBufferPointer) -> (element: Tag, byteCount: Int) {
    let map = HandMap(bytes, shape)
    let tag = Tag(title: HandReader.string(map[1]), color: HandReader.string(map[0]))
    return (tag, map.byteCount)
  }
}

private let bookShape = MapShape(
  [
    "author", "cover", "genres", "isAvailable", "isbn", "numberOfPages", "published", "rating",
    "tags", "title",
  ], valueWidth: 2)
private let coverShape = MapShape(["large", "medium", "small"], valueWidth: 1)

extension Book: HandWritten {
  static func write(_ value: Book, to writer: inout HandWriter) {
    var map = writer.map(bookShape)
    writer.string(value.author)
    writer.end(&map)
    var cover = writer.map(coverShape)
    writer.string(value.cover.large)
    writer.end(&cover)
    writer.string(value.cover.medium)
    writer.end(&cover)
    writer.string(value.cover.small)
    writer.end(&cover)
    writer.end(&map)
    let genres = writer.array(value.genres.count)
    for genre in value.genres { writer.string(genre) }
    writer.end(array: genres)
    writer.end(&map)
    writer.boolean(value.isAvailable)
    writer.end(&map)
    writer.string(value.isbn)
    writer.end(&map)
    writer.integer(value.numberOfPages)
    writer.end(&map)
    writer.date(value.published)
    writer.end(&map)
    writer.double(value.rating)
    writer.end(&map)
    let tags = writer.array(value.tags.count)
    for tag in value.tags { Tag.write(tag, to: &writer) }
    writer.end(array: tags)
    writer.end(&map)
    writer.string(value.title)
    writer.end(&map)
  }

  static func read(_ bytes: UnsafeRawBufferPointer) -> Book {
    let map = HandMap(bytes, bookShape)
    let cover = HandMap(map[1], coverShape)
    return Book(
      title: HandReader.string(map[9]), author: HandReader.string(map[0]),
      isbn: HandReader.string(map[4]), numberOfPages: HandReader.integer(map[5]),
      rating: HandReader.double(map[7]), published: HandReader.date(map[6]),
      isAvailable: HandReader.boolean(map[3]),
      tags: HandReader.array(map[8]) { Tag.measured($0) },
      genres: HandReader.array(map[2]) { text in
        let (start, count) = HandReader.stringLength(text)
        return (HandReader.string(text), start + count)
      },
      cover: Cover(
        small: HandReader.string(cover[2]), medium: HandReader.string(cover[1]),
        large: HandReader.string(cover[0])))
  }
}

extension LinkedBook: HandWritten {
  static func write(_ value: LinkedBook, to writer: inout HandWriter) {
    Book.write(
      Book(
        title: value.title, author: value.author, isbn: value.isbn,
        numberOfPages: value.numberOfPages, rating: value.rating, published: value.published,
        isAvailable: value.isAvailable, tags: value.tags, genres: value.genres,
        cover: Book.Cover(
          small: value.cover.small.absoluteString, medium: value.cover.medium.absoluteString,
          large: value.cover.large.absoluteString)), to: &writer)
  }

  static func read(_ bytes: UnsafeRawBufferPointer) -> LinkedBook {
    let book = Book.read(bytes)
    guard let small = URL(string: book.cover.small), let medium = URL(string: book.cover.medium),
      let large = URL(string: book.cover.large)
    else { preconditionFailure("Covers have URLs.") }
    return LinkedBook(
      title: book.title, author: book.author, isbn: book.isbn, numberOfPages: book.numberOfPages,
      rating: book.rating, published: book.published, isAvailable: book.isAvailable,
      tags: book.tags, genres: book.genres,
      cover: Cover(small: small, medium: medium, large: large))
  }
}

extension Reading: HandWritten {
  private static let shape = MapShape(
    ["count", "isValid", "sensor", "taken", "value"], valueWidth: 1)

  static func write(_ value: Reading, to writer: inout HandWriter) {
    var map = writer.map(shape)
    writer.integer(value.count)
    writer.end(&map)
    writer.boolean(value.isValid)
    writer.end(&map)
    writer.string(value.sensor)
    writer.end(&map)
    writer.date(value.taken)
    writer.end(&map)
    writer.double(value.value)
    writer.end(&map)
  }

  static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
    let map = HandMap(bytes, shape)
    return Reading(
      sensor: HandReader.string(map[2]), value: HandReader.double(map[4]),
      count: HandReader.integer(map[0]), isValid: HandReader.boolean(map[1]),
      taken: HandReader.date(map[3]))
  }
}
