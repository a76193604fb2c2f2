/// A key that no type declares: an index, `super`, or a name after conversion.
enum AnyCodingKey: CodingKey {
  case name(String)
  case index(Int)

  static let `super` = AnyCodingKey.name("super")

  init(stringValue: String) { self = .name(stringValue) }
  init(intValue: Int) { self = .index(intValue) }

  var stringValue: String {
    switch self {
    case .name(let name): name
    case .index(let index): "Index \(index)"
    }
  }

  var intValue: Int? {
    switch self {
    case .name: nil
    case .index(let index): index
    }
  }
}
