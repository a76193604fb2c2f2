import Foundation
import HearthText

/// The recorded cases, and what they have in places where one type is expected.
extension JSON {
  /// A file below `Resources`.
  init(resource path: String) throws {
    let url = Bundle.module.bundleURL.appendingPathComponent("Resources/" + path)
    self = try JSONReader.read([UInt8](Data(contentsOf: url)))
  }

  var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }
  var array: [JSON]? { if case .array(let value) = self { value } else { nil } }
  var object: [Member]? { if case .object(let value) = self { value } else { nil } }
}
