import HearthGeometry
import HearthPatterns

@testable import Hearth
@testable import HearthEngine

/// The entries that an index should have, made without keys: what scans are held against.
struct EntryModel {
  struct Entry {
    var values: [Value]
    var path: ResourcePath
  }

  let definition: IndexDefinition
  /// In order.
  private(set) var entries: [Entry] = []

  init(_ definition: IndexDefinition, _ documents: [ResourcePath: MapValue]) {
    self.definition = definition
    var all: [Entry] = []
    for (path, fields) in documents
    where path.parent.id.utf8.elementsEqual(definition.collectionID.utf8) {
      all += rows(fields).map { Entry(values: $0, path: path) }
    }
    entries = all.sorted { compare($0, $1) < 0 }
  }

  private func rows(_ fields: MapValue) -> [[Value]] {
    if let words = definition.words { return rows(words, fields) }
    var rows: [[Value]] = [[]]
    for component in definition.components {
      guard let value = fields.value(at: component.field.names) else { return [] }
      var choices = [value]
      if component.kind == .contains {
        guard case .array(let elements) = value else { return [] }
        choices = []
        for element in elements
        where !choices.contains(where: { Value.compare($0, element) == 0 }) {
          choices.append(element)
        }
      }
      if component.kind == .cells {
        guard case .geoPoint(let point) = value else { return [] }
        let leaf = GeoCell.leaf(latitude: point.latitude, longitude: point.longitude)
        choices = [.bytes((0..<8).reversed().map { UInt8(leaf >> (8 * $0) & 0xFF) })]
      }
      rows = rows.flatMap { row in choices.map { row + [$0] } }
    }
    return rows
  }

  /// A row for each word of the document, with its numbers.
  private func rows(_ words: WordFields, _ fields: MapValue) -> [[Value]] {
    let tokenizer = WordTokenizer(words.language)
    var counts: [[UInt8]: Int] = [:]
    var length = 0
    for field in words.fields {
      var texts: [Value] = [fields.value(at: field.field.names) ?? .null]
      if case .array(let elements) = texts[0] { texts = elements }
      for case .string(let text) in texts {
        Array(text.utf8).withUnsafeBytes { bytes in
          tokenizer.forEachWord(in: bytes) { word, _, form in
            counts[[form.rawValue] + word, default: 0] += field.weight
            if form == .stem { length += field.weight }
          }
        }
      }
    }
    return counts.map { term, count in
      [.bytes(WordPosting(count: count, length: length).bytes(of: term))]
    }
  }

  func compare(_ one: Entry, _ other: Entry) -> Int {
    for (position, component) in definition.components.enumerated() {
      let order = Value.compare(one.values[position], other.values[position])
      if order != 0 { return component.isDescending ? -order : order }
    }
    return ResourcePath.compare(one.path, other.path)
  }

  /// Of a collection; of all if nil.
  func entries(in collection: ResourcePath?) -> [Entry] {
    guard let collection else { return entries }
    return entries.filter { $0.path.parent == collection }
  }
}
