/// A path to a field inside a document, as names: `["address", "city"]`.
///
/// The engine's form of the public `FieldPath`. Text forms are in `FieldSegments+Text.swift`.
package struct FieldSegments: Sendable {
  package var names: [String]

  /// No checks: for names the engine made or has checked.
  package init(_ names: [String]) { self.names = names }

  /// The pseudo-field of a document's own name.
  package static let documentID = FieldSegments(["__name__"])

  package var isDocumentID: Bool { names.count == 1 && names[0] == "__name__" }

  func appending(_ name: String) -> FieldSegments { FieldSegments(names + [name]) }

  package func hasPrefix(_ prefix: FieldSegments) -> Bool {
    names.count >= prefix.names.count
      && zip(names, prefix.names).allSatisfy { UTF8Order.areEqual($0, $1) }
  }
}

extension FieldSegments: Hashable, Comparable {
  package static func == (lhs: FieldSegments, rhs: FieldSegments) -> Bool {
    lhs.names.count == rhs.names.count && lhs.hasPrefix(rhs)
  }

  package func hash(into hasher: inout Hasher) {
    for name in names {
      hasher.combine(BytewiseString(name))
      hasher.combine(0 as UInt8)
    }
  }

  /// Compares name by name, by UTF-8 bytes. A prefix of a path comes before the path.
  package static func < (lhs: FieldSegments, rhs: FieldSegments) -> Bool {
    for (left, right) in zip(lhs.names, rhs.names) {
      let order = UTF8Order.compare(left, right)
      if order != 0 { return order < 0 }
    }
    return lhs.names.count < rhs.names.count
  }
}
