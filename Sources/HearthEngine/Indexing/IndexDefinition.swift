/// The definition of an index: the documents of one collection id, by some of their fields.
///
///     books: author ↑, year ↓         each collection `books` separately
///     all books: tags ∋, year ↑       all collections `books` together
///     unique users: email ↑           no two documents of a collection have the same value
///
/// The index contains the documents that have every field. `∋` indexes each distinct element of an
/// array. The document's name is the last component.
package struct IndexDefinition: Hashable, Sendable {
  /// On disk. Changing a raw value changes the file format; see StorageLayout.md.
  package enum Scope: UInt8, CaseIterable, Sendable {
    case collection = 0
    case group = 1
  }

  package struct Component: Hashable, Sendable {
    /// On disk. Changing a raw value changes the file format; see StorageLayout.md.
    package enum Kind: UInt8, Sendable {
      case ascending = 0
      case descending = 1
      case contains = 2
      /// The cell of a point; see `GeoCell`.
      case cells = 3
      /// The words of texts; see `WordPosting`.
      case words = 4

      /// Entries have the field's values, in order.
      var hasValues: Bool { self == .ascending || self == .descending }
    }

    /// Of an index on words, the first of the fields.
    var field: FieldSegments
    var kind: Kind
    /// Of an index on words.
    var words: WordFields?

    package init(field: FieldSegments, kind: IndexDefinition.Component.Kind) {
      self.field = field
      self.kind = kind
    }

    package init(words: WordFields) {
      field = words.fields.first?.field ?? .documentID
      kind = .words
      self.words = words
    }

    var isDescending: Bool { kind == .descending }
  }

  /// A condition that every commit has to meet.
  package enum Constraint: Hashable, Sendable {
    case none
    /// Two documents never have equal values in all fields. A document that lacks a field, or has
    /// null in it, is not constrained.
    case unique
    /// The field has references; see `ReferenceRule`.
    case reference(ReferenceRule)
  }

  @BytewiseString var collectionID: String
  var scope: Scope
  var components: [Component]
  var isNameDescending: Bool
  package var constraint: Constraint

  /// - Parameter isNameDescending: Defaults to the direction of the last ordered field.
  package init(
    _ collectionID: String, scope: Scope = .collection, _ components: [Component],
    isNameDescending: Bool? = nil, constraint: Constraint = .none
  ) {
    self.collectionID = collectionID
    self.scope = scope
    self.components = components
    self.constraint = constraint
    self.isNameDescending =
      isNameDescending ?? components.last { $0.kind.hasValues }?.isDescending ?? false
  }

  /// The definition with all directions reversed: the same entries, read backwards.
  var turned: IndexDefinition {
    var turned = self
    for index in components.indices {
      switch components[index].kind {
      case .ascending: turned.components[index].kind = .descending
      case .descending: turned.components[index].kind = .ascending
      case .contains, .cells, .words: break
      }
    }
    turned.isNameDescending.toggle()
    return turned
  }

  /// The stored form, in which names ascend: `self` or `turned`. The other form is read backwards.
  var stored: IndexDefinition { isNameDescending ? turned : self }

  var containsIndex: Int? { components.firstIndex { $0.kind == .contains } }

  /// Of an index on words.
  var words: WordFields? { components[0].words }

  var isUnique: Bool { constraint == .unique }

  /// Whether commits store no reference to a document that does not exist.
  var requiresTargets: Bool { referenceRule?.mustExist ?? false }

  /// Whether documents that are older than the index may violate its constraint.
  var isVerified: Bool { isUnique || requiresTargets }

  /// The rule of a reference; nil for other indexes.
  package var referenceRule: ReferenceRule? {
    if case .reference(let rule) = constraint { rule } else { nil }
  }

  /// Whether both are rules for the same references: of one field to one target. They may have
  /// different actions, and differ in `mustExist`.
  func hasSameReferences(as other: IndexDefinition) -> Bool {
    guard let own = references else { return false }
    return own == other.references
  }

  /// The rule with what is the same for all; nil for other indexes.
  private var references: IndexDefinition? {
    guard let referenceRule else { return nil }
    var references = self
    references.constraint = .reference(ReferenceRule(.restrict, target: referenceRule.target))
    return references
  }

  /// Throws `invalidArgument` for a definition that no database accepts, and for two rules for the
  /// same references, of which only one can hold.
  package static func check(_ definitions: [IndexDefinition]) throws(Status) {
    var rules: Set<IndexDefinition> = []
    for definition in definitions {
      try definition.check()
      guard let references = definition.references, !rules.insert(references).inserted else {
        continue
      }
      throw .invalidArgument(
        "\(definition): there is another rule for this field and these documents. Declare one.")
    }
  }
}

/// The effect of a deletion on the documents that refer to the deleted document, and whether a document
/// must exist when a reference to it is stored.
package struct ReferenceRule: Hashable, Sendable {
  /// On disk. Changing a raw value changes the file format; see StorageLayout.md.
  package enum Action: UInt8, CaseIterable, Sendable {
    /// The referenced document cannot be deleted.
    case restrict = 0
    /// The document is deleted, too.
    case cascade = 1
    /// The field becomes null, or the element is removed from the array.
    case nullify = 2
  }

  package var action: Action
  /// The collection id of the referenced documents.
  @BytewiseString package var target: String
  /// Commits store no reference to a document that does not exist.
  package var mustExist: Bool

  package init(_ action: Action, target: String, mustExist: Bool = false) {
    self.action = action
    self.target = target
    self.mustExist = mustExist
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
        case .cells: "⊂ cells"
        case .words: component.words.map(\.description) ?? ""
        }
      return component.kind == .words ? arrow : "\(component.field.canonicalText) \(arrow)"
    }
    let all = scope == .group ? "all " : ""
    let list = "\(collectionID): \(fields.joined(separator: ", "))"
    return switch constraint {
    case .none: all + list
    case .unique: "unique " + all + list
    case .reference(let rule):
      "\(all)\(list) → \(rule.target), on delete \(rule.action)"
        + (rule.mustExist ? ", must exist" : "")
    }
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
    for component in components where component.kind == .cells || component.kind == .words {
      guard components.count == 1, constraint == .none else {
        throw .invalidArgument(
          "An index on cells or on words has no other field and no constraint.")
      }
      try component.words?.check()
    }
    guard Set(components.map(\.field)).count == components.count else {
      throw .invalidArgument("An index has every field once.")
    }
    guard let referenceRule else { return }
    try ResourcePath.check(collectionGroupID: referenceRule.target)
    guard components.count == 1, scope == .group, components[0].kind != .descending else {
      throw .invalidArgument("A reference rule is on one field, or one array, of a collection id.")
    }
  }
}
