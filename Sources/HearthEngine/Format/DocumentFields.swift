import Synchronization

/// The names of the fields of a `DocumentCodable` type. A field is denoted by its index here.
///
///     extension Book {
///       static let documentFields = DocumentFields<Book>("author", "pages", "title")
///     }
///
/// Fields are stored in the order of their names' UTF-8 bytes. A type that lists and writes them in
/// that order is encoded fastest; any other order is right, too.
public struct DocumentFields<Model>: Sendable {
  /// Constant and immortal, so that documents are read without counting references.
  @usableFromInline
  nonisolated(unsafe) let table: UnsafePointer<DocumentFieldTable>

  /// - Parameter names: A type with two equal names, an empty one, or one that begins and ends with
  ///   `__`, is coded by `Codable`, which returns the error.
  public init(_ names: String...) { self.init(names) }

  /// Same, for names in an array.
  public init(_ names: [String]) {
    // `Codable` prefers raw values to properties.
    let isMap = !(Model.self is any RawRepresentable.Type)
    table = DocumentFieldTable.shared(isMap ? names : [""])
  }

  /// The type of a property, for code that cannot name it:
  ///
  ///     let pages = DocumentFields<Book>.type { $0.pages }
  ///     let value = try fields.read(pages, at: 0)
  @inlinable
  @inline(__always)
  public static func type<Value>(of property: (Model) -> Value) -> Value.Type { Value.self }

  /// The names in the order in which they were given.
  public var names: [String] {
    (0..<table.pointee.count).map { table.pointee.name(atRank: Int(table.pointee.ranks[$0])) }
  }
}

/// The names of a type's fields as a map stores them.
///
///     ┌───────┬───────────────────┬───────┐
///     │ count │ ends of the names │ names │   sorted by their bytes
///     └───────┴───────────────────┴───────┘
@usableFromInline
struct DocumentFieldTable {
  /// Distinguishes the tables of a process. Sessions have a slot for each of the first ones.
  let number: Int
  let count: Int
  /// The position in the sorted order, for each index.
  let ranks: UnsafePointer<UInt16>
  /// The count, the ends of the names, and the names.
  let head: UnsafeRawPointer
  /// The length of the count and the ends, in bytes.
  let headBytes: Int
  let nameBytes: Int
  let nameWidthCode: Int
  /// False if the names cannot be a map's: the type is coded by `Codable`.
  let isValid: Bool
  /// See `DocumentBody.needsCheck`.
  let hasUnusualNames: Bool

  private static let lastNumber = Atomic<Int>(0)
  private static let fieldLimit = 1000

  /// Types with the same names share one, which is never freed. A generic type, which can have no
  /// stored constant, makes its `DocumentFields` for each use.
  private static let known = Guarded<
    [[BytewiseString]: UnsafePointer<DocumentFieldTable>]
  >([:])

  static func shared(_ names: [String]) -> UnsafePointer<DocumentFieldTable> {
    known.withLock { known in
      let key = names.map { BytewiseString($0) }
      if let table = known[key] { return table }
      let table = UnsafeMutablePointer<DocumentFieldTable>.allocate(capacity: 1)
      table.initialize(to: DocumentFieldTable(names))
      known[key] = UnsafePointer(table)
      return UnsafePointer(table)
    }
  }

  private init(_ names: [String]) {
    number = DocumentFieldTable.lastNumber.wrappingAdd(1, ordering: .relaxed).oldValue
    let texts = names.map { Array($0.utf8) }
    let sorted = texts.indices.sorted { texts[$0].lexicographicallyPrecedes(texts[$1]) }
    let areDifferent = zip(sorted, sorted.dropFirst()).allSatisfy { texts[$0] != texts[$1] }
    let areValid = texts.allSatisfy { text in
      let underscores = Array("__".utf8)
      let isReserved =
        text.count >= 4 && text.starts(with: underscores)
        && text.suffix(2).elementsEqual(underscores)
      return !text.isEmpty && !isReserved
    }
    isValid = names.count <= DocumentFieldTable.fieldLimit && areDifferent && areValid
    hasUnusualNames = texts.contains {
      $0.count > Int(DocumentWriter.usualNameBytes) || $0.first == UInt8(ascii: "_")
    }
    count = isValid ? names.count : 0
    let nameBytes = texts.reduce(0) { $0 + $1.count }
    self.nameBytes = nameBytes
    let widthCode = DocumentFormat.widthCode(nameBytes)
    nameWidthCode = widthCode
    headBytes = DocumentFormat.varintCount(UInt64(names.count)) + names.count << widthCode

    let ranks = UnsafeMutablePointer<UInt16>.allocate(capacity: max(1, names.count))
    for (rank, index) in sorted.enumerated() {
      ranks[index] = UInt16(truncatingIfNeeded: rank)
    }
    self.ranks = UnsafePointer(ranks)
    let start = headBytes
    let block = UnsafeMutableRawPointer.allocate(
      byteCount: start + nameBytes + DocumentWriter.slack, alignment: 8)
    var ends = DocumentWriter.store(varint: UInt64(names.count), at: block)
    var end = 0
    for index in sorted {
      texts[index].withUnsafeBytes { text in
        guard let source = text.baseAddress else { return }
        (block + start + end).copyMemory(from: source, byteCount: text.count)
      }
      end += texts[index].count
      ends = DocumentWriter.store(end: end, widthCode: widthCode, at: ends)
    }
    head = UnsafeRawPointer(block)
  }

  var nameEnds: UnsafeRawPointer { head + (headBytes - count << nameWidthCode) }
  var names: UnsafeRawPointer { head + headBytes }

  @inline(__always)
  func nameBytes(atRank rank: Int) -> UnsafeRawBufferPointer {
    let code = UInt8(truncatingIfNeeded: nameWidthCode)
    let start = rank == 0 ? 0 : MapView.end(at: nameEnds, index: rank - 1, widthCode: code)
    let end = MapView.end(at: nameEnds, index: rank, widthCode: code)
    return UnsafeRawBufferPointer(start: names + start, count: end - start)
  }

  func name(atRank rank: Int) -> String {
    String(decoding: nameBytes(atRank: rank), as: UTF8.self)
  }
}
