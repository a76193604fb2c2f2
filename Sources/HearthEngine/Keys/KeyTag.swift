/// The first byte of a component: its type, in the order of types. The numbers are those of
/// Firestore's own index encoding.
///
/// On disk. Changing a raw value changes the file format; see KeyEncoding.md.
enum KeyTag: UInt8, CaseIterable, Sendable {
  case null = 5
  case boolean = 10
  case nan = 13
  case number = 15
  case timestamp = 20
  case string = 25
  case bytes = 30
  case reference = 37
  case geoPoint = 45
  case array = 50
  case vector = 53
  case map = 55

  /// A range filter stays within one class, which is one tag.
  init(_ typeClass: Value.TypeClass) {
    switch typeClass {
    case .null: self = .null
    case .boolean: self = .boolean
    case .nan: self = .nan
    case .number: self = .number
    case .timestamp: self = .timestamp
    case .string: self = .string
    case .bytes: self = .bytes
    case .reference: self = .reference
    case .geoPoint: self = .geoPoint
    case .array: self = .array
    case .vector: self = .vector
    case .map: self = .map
    }
  }
}
