import Hearth

/// Finds the fields that a model writes directly, and otherwise than through `Codable`.
struct DirectComparison {
  typealias Field = RoundTripDifference.Field

  private var differences: [Field] = []

  /// Empty for a model without types that are coded directly.
  static func differences<Model: Codable>(
    in model: Model, encoder: Firestore.Encoder
  ) throws -> [Field] {
    let direct = try encoder.encodeDocument(model)
    let codable = try encoder.encodeDocument(CodableOnly(model))
    guard !areSame(direct, codable) else { return [] }
    // A type may write something else each time, such as the current date.
    guard try areSame(codable, encoder.encodeDocument(CodableOnly(model))) else { return [] }
    var comparison = DirectComparison()
    try comparison.compare(.map(codable.body.map()), .map(direct.body.map()), "")
    comparison.compare(transforms(of: codable), transforms(of: direct))
    if comparison.differences.isEmpty { comparison.note("other bytes", "these bytes", "self") }
    return comparison.differences
  }

  private static func areSame(_ lhs: EncodedDocument, _ rhs: EncodedDocument) -> Bool {
    lhs.body == rhs.body && transforms(of: lhs) == transforms(of: rhs)
  }

  /// By the names of their fields.
  private static func transforms(of document: EncodedDocument) -> [String: String] {
    Dictionary(
      document.transforms.map { ($0.field.names.joined(separator: "."), "\($0.transform)") },
      uniquingKeysWith: { _, last in last })
  }

  private mutating func compare(_ codable: Value, _ direct: Value, _ path: String) {
    if codable == direct { return }
    switch (codable, direct) {
    case (.map(let map), .map(let other)):
      let values = Dictionary(
        map.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
      let others = Dictionary(
        other.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last })
      for name in Set(values.keys).union(others.keys).sorted() {
        compareMembers(values[name], others[name], path.isEmpty ? name : "\(path).\(name)")
      }
    case (.array(let array), .array(let other)):
      for index in 0..<max(array.count, other.count) {
        compareMembers(
          index < array.count ? array[index] : nil, index < other.count ? other[index] : nil,
          "\(path)[\(index)]")
      }
    default: note(Self.text(codable), Self.text(direct), path)
    }
  }

  /// `codable` or `direct` is nil if the member is missing.
  private mutating func compareMembers(_ codable: Value?, _ direct: Value?, _ path: String) {
    if let codable, let direct {
      compare(codable, direct, path)
    } else {
      note(codable.map(Self.text) ?? "nothing", direct.map(Self.text) ?? "nothing", path)
    }
  }

  private mutating func compare(_ codable: [String: String], _ direct: [String: String]) {
    for path in Set(codable.keys).union(direct.keys).sorted() where codable[path] != direct[path] {
      note(codable[path] ?? "nothing", direct[path] ?? "nothing", path)
    }
  }

  private mutating func note(_ codable: String, _ direct: String, _ path: String) {
    differences.append(
      Field(
        path: path, written: codable, read: direct,
        hint: differences.isEmpty ? "DocumentCodable must write what Codable writes." : nil))
  }

  /// With its kind where numbers look alike: 412 and 412.0.
  private static func text(_ value: Value) -> String {
    switch value {
    case .integer(let number): "\(number)"
    case .double(let number): "\(number)"
    default: Shown.value(AnyBridge.any(value) { $0.text })
    }
  }
}
