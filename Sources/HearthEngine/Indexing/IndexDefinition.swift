/// The definition of an index: the documents of one collection id, by some of their fields.
///
///     books: author ↑, year ↓         each collection `books` separately
///     all books: tags ∋, year ↑       all collections `books` together
///
/// The index contains the documents that have every field. `∋` indexes each distinct element of an
/// array. The document's name is the last component.
package struct IndexDefinition: Sendable {
  /// On disk. Changing a raw value changes the file format; see StorageLayout.md.
  package enum Scope: UInt8, Sendable {
    case collection = 0
    case group = 1
  }

  package struct Component: Hashable, Sendable {
    /// On disk. Changing a raw value changes the file format; see StorageLayout.md.
    package enum Kind: UInt8, Sendable {
      case ascending = 0
      case descending = 1
      case contains = 2
    }

    var field: FieldSegments
    var kind: Kind

    package init(field: FieldSegments, kind: IndexDefinition.Component.Kind) {
      self.field = field
      self.kind = kind
    }

    var isDescending: Bool { kind == .descending }
  }

  var collectionID: String
  var scope: Scope
  var components: [Component]
  var isNameDescending: Bool

  /// - Parameter isNameDescending: Defaults to the direction of the last ordered field.
  package init(
    _ collectionID: String, scope: Scope = .collection, _ components: [Component],
    isNameDescending: Bool? = nil
  ) {
    self.collectionID = collectionID
    self.scope = scope
    self.components = components
    self.isNameDescending =
      isNameDescending ?? components.last { $0.kind != .contains }?.isDescending ?? false
  }

  /// The definition with all directions reversed: the same entries, read backwards.
  var turned: IndexDefinition {
    var turned = self
    for index in components.indices {
      switch components[index].kind {
      case .ascending: turned.components[index].kind = .descending
      case .descending: turned.components[index].kind = .ascending
      case .contains: break
      }
    }
    turned.isNameDescending.toggle()
    return turned
  }

  /// The stored form, in which names ascend: `self` or `turned`. The other form is read backwards.
  var stored: IndexDefinition { isNameDescending ? turned : self }

  var containsIndex: Int? { components.firstIndex { $0.kind == .contains } }
}

extension IndexDefinition: Hashable {
  package static func == (lhs: IndexDefinition, rhs: IndexDefinition) -> Bool {
    UTF8Order.areEqual(lhs.collectionID, rhs.collectionID) && lhs.scope == rhs.scope
      && lhs.components == rhs.components && lhs.isNameDescending == rhs.isNameDescending
  }

  package func hash(into hasher: inout Hasher) {
    var collectionID = collectionID
    collectionID.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(scope)
    hasher.combine(components)
  }
}

extension IndexDefinition: CustomStringConvertible {
  package var description: String {
    let fields = components.map { component in
      let arrow =
        switch component.kind {
        case .ascending: "↑"
        case .descending: "↓"
        case .contains: "∋"
        }
      return "\(component.field.canonicalText) \(arrow)"
    }
    return (scope == .group ? "all " : "") + "\(collectionID): \(fields.joined(separator: ", "))"
  }

  /// Throws `invalidArgument` for a definition that no database accepts.
  package func check() throws(Status) {
    try ResourcePath.check(collectionGroupID: collectionID)
    guard !components.isEmpty else {
      throw .invalidArgument("An index has at least one field.")
    }
    guard components.count <= Limits.fieldsPerIndex else {
      throw .invalidArgument("An index has at most \(Limits.fieldsPerIndex) fields.")
    }
    guard components.count(where: { $0.kind == .contains }) <= 1 else {
      throw .invalidArgument("An index has at most one field with an array configuration.")
    }
    for component in components {
      _ = try FieldSegments(checkingNames: component.field.names)
      guard !component.field.isDocumentID else {
        throw .invalidArgument("The name of the document is the last field of every index.")
      }
    }
    guard Set(components.map(\.field)).count == components.count else {
      throw .invalidArgument("An index has every field once.")
    }
  }
}
