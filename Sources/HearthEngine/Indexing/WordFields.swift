internal import HearthPatterns

/// The texts of an index on words, and of a search: fields with weights, and a language.
///
/// A field is a string, or an array of strings. A word counts as often as the weight of its field
/// says; the length of a document is the sum of the counts of its words.
package struct WordFields: Hashable, Sendable {
  struct Field: Hashable, Sendable {
    var field: FieldSegments
    var weight: Int
  }

  var fields: [Field]
  var language: WordLanguage

  static let weightLimit = 100
  static let fieldLimit = 16

  init(_ fields: [Field], _ language: WordLanguage) {
    // The order of fields has no meaning.
    self.fields = fields.sorted { $0.field < $1.field }
    self.language = language
  }

  /// - Parameter language: An ISO 639-1 code, or "simple" for no stemming.
  package init(
    _ fields: [(field: FieldSegments, weight: Int)], language code: String
  ) throws(Status) {
    guard let language = WordLanguage(code: code) else {
      let known = WordLanguage.allCases.map(\.code).joined(separator: ", ")
      throw .invalidArgument("Words are not stemmed in '\(code)'. The languages are \(known).")
    }
    self.init(fields.map { Field(field: $0.field, weight: $0.weight) }, language)
    try check()
  }

  /// The words of a text, as an index on the fields has them.
  package func words(in text: String) -> [String] { WordTokenizer(language).words(in: text) }

  func check() throws(Status) {
    guard (1...Self.fieldLimit).contains(fields.count) else {
      throw .invalidArgument("Words are of 1 to \(Self.fieldLimit) fields.")
    }
    for field in fields {
      _ = try FieldSegments(checkingNames: field.field.names)
      guard !field.field.isDocumentID else {
        throw .invalidArgument("The name of a document is no text.")
      }
      guard (1...Self.weightLimit).contains(field.weight) else {
        throw .invalidArgument("The weight of a field is 1 to \(Self.weightLimit).")
      }
    }
    guard Set(fields.map(\.field)).count == fields.count else {
      throw .invalidArgument("Words are of every field once.")
    }
  }

  /// Calls `body` with each text of a document.
  func forEachText(
    in document: MapView, _ body: (UnsafeRawBufferPointer, _ weight: Int) throws -> Void
  ) throws {
    for field in fields {
      guard let value = try document.value(at: field.field) else { continue }
      if let text = try value.stringBytes() {
        try body(text, field.weight)
      } else if var elements = try value.array() {
        for _ in 0..<elements.count {
          if let text = try elements.next().stringBytes() { try body(text, field.weight) }
        }
      }
    }
  }
}

extension WordFields: CustomStringConvertible {
  package var description: String {
    let list = fields.map { field in
      field.weight == 1
        ? field.field.canonicalText : "\(field.field.canonicalText) × \(field.weight)"
    }
    return "words of \(list.joined(separator: ", ")) (\(language.code))"
  }
}

/// The words of a document, as an index on words has them.
struct WordCounts {
  /// By form and word: see `WordPosting.term`.
  private(set) var counts: [[UInt8]: Int] = [:]
  /// Of the document, in weighted words.
  private(set) var length = 0

  init(_ fields: WordFields, of document: MapView) throws {
    let tokenizer = WordTokenizer(fields.language)
    try fields.forEachText(in: document) { text, weight in
      tokenizer.forEachWord(in: text) { word, _, form in
        counts[WordPosting.term(word, form), default: 0] += weight
        if form == .stem { length += weight }
      }
    }
    length = min(length, WordPosting.lengthLimit)
  }
}

/// An entry of an index on words: a word in a document.
///
///     entry     form ‖ word ‖ 00 ‖ class of the count, class of the length (1 B each)
///               ‖ count (2 B) ‖ length of the document (3 B)
///
/// On disk. Changing a value changes the file format; see StorageLayout.md.
///
/// The bytes are one component of the entry's key. A word's entries are in classes: all with similar
/// counts and lengths have similar scores, so that those with lower scores need not be read.
struct WordPosting {
  var count: Int
  var length: Int

  static let countLimit = 0xFFFF
  static let lengthLimit = 0xFF_FFFF

  static func term(_ word: UnsafeRawBufferPointer, _ form: WordTokenizer.Form) -> [UInt8] {
    [form.rawValue] + word
  }

  init(count: Int, length: Int) {
    self.count = min(count, Self.countLimit)
    self.length = min(length, Self.lengthLimit)
  }

  /// A class of counts or lengths: exact up to 8, then four for each doubling.
  static func impactClass(_ number: Int) -> UInt8 {
    if number <= 8 { return UInt8(max(number, 0)) }
    let exponent = Int.bitWidth - 1 - number.leadingZeroBitCount
    return UInt8(8 + (exponent - 3) * 4 + (number >> (exponent - 2)) & 3)
  }

  /// The smallest number of a class.
  static func smallest(of impactClass: UInt8) -> Int {
    if impactClass <= 8 { return Int(impactClass) }
    let steps = Int(impactClass) - 8
    return (4 + steps % 4) << (steps / 4 + 1)
  }

  /// The largest number of a class.
  static func largest(of impactClass: UInt8) -> Int {
    smallest(of: impactClass + 1) - 1
  }

  /// The bytes of the component.
  func bytes(of term: [UInt8]) -> [UInt8] {
    term + [0, Self.impactClass(count), Self.impactClass(length)]
      + [UInt8(count >> 8), UInt8(count & 0xFF)]
      + [UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)]
  }

  /// From the bytes of a component.
  static func decode(_ bytes: [UInt8]) throws(Status) -> WordPosting {
    let end = bytes.count - 8
    guard end > 0, bytes[end] == 0 else { throw .dataLoss("An index entry is of no word.") }
    let numbers = bytes[(end + 3)...].map(Int.init)
    return WordPosting(
      count: numbers[0] << 8 | numbers[1],
      length: numbers[2] << 16 | numbers[3] << 8 | numbers[4])
  }

  /// The beginning of the key component of every entry of a term, or of a class of it.
  static func prefix(_ term: [UInt8], _ classes: [UInt8] = []) -> [UInt8] {
    prefix(termsWith: term + [0] + classes)
  }

  /// The beginning of the key component of every term that begins with these bytes.
  static func prefix(termsWith beginning: [UInt8]) -> [UInt8] {
    var key = KeyBuffer(minimumCapacity: 64)
    key.append(.bytes(beginning))
    return key.bytes.dropLast()
  }
}

/// A number of documents, of all in a collection or of those with one word: for BM25.
/// On disk. Changing a value changes the file format; see StorageLayout.md.
///
///     FF ‖ index, [collection] ‖ [word]     documents (8 B), [length of all (8 B)], little-endian
///
/// In the `entries` table, after all entries: one record for each word, with the number of documents
/// that have it, and one for all words. No record has zeros.
struct WordStatistic {
  var documents: Int64 = 0
  var length: Int64 = 0

  var isEmpty: Bool { documents == 0 && length == 0 }

  init() {}

  init(_ value: UnsafeRawBufferPointer) throws(Status) {
    guard value.count == 16 else { throw .dataLoss("The statistic of a word is damaged.") }
    var reader = ByteCursor(value)
    documents = Int64(bitPattern: try reader.fixed64())
    length = Int64(bitPattern: try reader.fixed64())
  }

  /// Throws `dataLoss` on overflow: the stored sum has no checksum.
  mutating func add(_ change: WordStatistic) throws(Status) {
    let documents = documents.addingReportingOverflow(change.documents)
    let length = length.addingReportingOverflow(change.length)
    guard !documents.overflow, !length.overflow else {
      throw .dataLoss("The statistic of a word is damaged.")
    }
    (self.documents, self.length) = (documents.partialValue, length.partialValue)
  }

  var encoded: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt64(bitPattern: documents))
    bytes.append(littleEndian: UInt64(bitPattern: length))
    return bytes
  }

  /// The first byte of the keys.
  static let marker: UInt8 = 0xFF

  /// - Parameters:
  ///   - prefix: That of the entries: index, and collection.
  ///   - term: Nil for all words.
  static func key(_ prefix: some Sequence<UInt8>, _ term: [UInt8]?, _ limit: KeyLimit) -> [UInt8] {
    var key = [marker] + prefix
    if let term {
      var component = KeyBuffer(minimumCapacity: 32)
      component.append(.bytes(term))
      key += component.bytes
    }
    return key.withUnsafeBytes { limit.truncated($0).bytes }
  }
}
