import Foundation
internal import LMDB

/// The declared indexes: the content of a `firestore.indexes.json`.
///
///     { "indexes": [ … ], "fieldOverrides": [ … ] }
///
/// Indexes on several fields are in `indexes`. An index on one field is in the field's override, as
/// in Firebase. An override also limits learning: an index on the field that the override does not
/// name is never learned. Parts that Hearth does not use (vector and text indexes, times to live)
/// are kept and written back.
struct IndexConfiguration: Sendable, Equatable {
  struct Override: Sendable, Equatable {
    struct Mode: Hashable, Sendable {
      var kind: IndexDefinition.Component.Kind
      var scope: IndexDefinition.Scope
    }

    var collectionID: String
    /// Nil means every field, `*`.
    var field: FieldSegments?
    var modes: [Mode]
    var isTimeToLive: Bool?

    /// The indexes that it declares.
    var definitions: [IndexDefinition] {
      guard let field else { return [] }
      return modes.map { definition(of: field, $0) }
    }

    fileprivate func definition(of field: FieldSegments, _ mode: Mode) -> IndexDefinition {
      IndexDefinition(collectionID, scope: mode.scope, [.init(field: field, kind: mode.kind)])
    }
  }

  /// As declared, not in their stored form.
  private(set) var indexes: [IndexDefinition] = []
  private(set) var overrides: [Override] = []
  /// Entries of `indexes` of kinds that Hearth does not build, as JSON.
  private(set) var kept: [String] = []

  /// Every declared index, including those in overrides.
  var definitions: [IndexDefinition] { indexes + overrides.flatMap(\.definitions) }

  /// Adds an index, unless it is present. Replaces a rule for the same references that has another
  /// action.
  mutating func add(_ definition: IndexDefinition) {
    guard !definitions.contains(definition) else { return }
    indexes.removeAll { $0.hasSameReferences(as: definition) }
    guard definition.isSingleField else {
      indexes.append(definition)
      return
    }
    let component = definition.components[0]
    let mode = Override.Mode(kind: component.kind, scope: definition.scope)
    if let index = overrides.firstIndex(where: {
      UTF8Order.areEqual($0.collectionID, definition.collectionID) && $0.field == component.field
    }) {
      overrides[index].modes.append(mode)
    } else {
      overrides.append(
        Override(collectionID: definition.collectionID, field: component.field, modes: [mode]))
    }
  }

  /// Removes an index, declared in either direction. Also removes its override if that becomes
  /// empty.
  mutating func remove(_ definition: IndexDefinition) {
    let stored = definition.stored
    indexes.removeAll { $0.stored == stored }
    for index in overrides.indices.reversed() {
      guard let field = overrides[index].field else { continue }
      let override = overrides[index]
      let modes = override.modes.filter { override.definition(of: field, $0).stored != stored }
      if modes.count == override.modes.count { continue }
      overrides[index].modes = modes
      if modes.isEmpty, override.isTimeToLive == nil { overrides.remove(at: index) }
    }
  }

  /// Whether the index may be learned: every field of it is allowed by its override or has none.
  /// The override of a field also applies to its nested fields. The longest field path wins; `*`
  /// applies last.
  func mayLearn(_ definition: IndexDefinition) -> Bool {
    definition.components.allSatisfy { component in
      guard let override = override(of: component.field, in: definition.collectionID) else {
        return true
      }
      return override.modes.contains {
        $0.scope == definition.scope && ($0.kind == .contains) == (component.kind == .contains)
      }
    }
  }

  private func override(of field: FieldSegments, in collectionID: String) -> Override? {
    overrides.filter { override in
      UTF8Order.areEqual(override.collectionID, collectionID)
        && override.field.map { field.hasPrefix($0) } ?? true
    }.max { ($0.field?.names.count ?? 0) < ($1.field?.names.count ?? 0) }
  }
}

// MARK: - JSON

extension IndexConfiguration {
  /// Throws `invalidArgument`; the message names the invalid entry.
  package init(json: String) throws(Status) {
    guard let object = try? JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    else { throw .invalidArgument("The index configuration is not a JSON object.") }
    for entry in try Entry.list(object["indexes"], "indexes") { try add(indexEntry: entry) }
    for entry in try Entry.list(object["fieldOverrides"], "fieldOverrides") {
      overrides.append(try Override(entry))
    }
  }

  private mutating func add(indexEntry entry: Entry) throws(Status) {
    let fields = try Entry.list(entry.object["fields"], "\(entry.location).fields")
    let others = ["vectorConfig", "searchConfig"]
    if fields.contains(where: { field in others.contains { field.object[$0] != nil } }) {
      kept.append(IndexDefinition.text(entry.object))
      return
    }
    var components: [IndexDefinition.Component] = []
    var isNameDescending: Bool?
    if fields.contains(where: { $0.object["wordsConfig"] != nil }) {
      return add(try entry.wordIndex(fields))
    }
    for (position, field) in fields.enumerated() {
      let name = try field.string("fieldPath")
      if name == "__name__", position == fields.count - 1 {
        isNameDescending = try IndexDefinition.Component.Kind(field) == .descending
        continue
      }
      components.append(.init(field: try field.fieldPath(name), kind: try .init(field)))
    }
    let definition = IndexDefinition(
      try entry.string("collectionGroup"),
      scope: try entry.scope(), components, isNameDescending: isNameDescending,
      constraint: try entry.constraint())
    try entry.locating { () throws(Status) in try definition.check() }
    if let other = indexes.first(where: { $0.hasSameReferences(as: definition) }) {
      throw .invalidArgument("\(entry.location): there is another rule for this field: \(other).")
    }
    add(definition)
    // Both directions of an index are one stored index.
    guard indexes.count <= 2 * Limits.indexes else { throw .tooManyIndexes }
  }

  var json: String { text(isPretty: true) }

  /// The same JSON on one line.
  var line: String { text(isPretty: false) }

  private func text(isPretty: Bool) -> String {
    var entries: [Any] = indexes.map(\.jsonObject)
    for text in kept {
      if let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) {
        entries.append(object)
      }
    }
    let object: [String: Any] = [
      "indexes": entries, "fieldOverrides": overrides.map(\.jsonObject),
    ]
    return IndexDefinition.text(object, isPretty: isPretty)
  }
}

extension IndexConfiguration.Override {
  fileprivate init(_ entry: Entry) throws(Status) {
    collectionID = try entry.string("collectionGroup")
    let text = try entry.string("fieldPath")
    field = text == "*" ? nil : try entry.fieldPath(text)
    isTimeToLive = entry.object["ttl"] as? Bool
    modes = []
    for index in try Entry.list(entry.object["indexes"], "\(entry.location).indexes") {
      let mode = Mode(kind: try .init(index), scope: try index.scope())
      if !modes.contains(mode) { modes.append(mode) }
    }
    let id = collectionID
    try entry.locating { () throws(Status) in try ResourcePath.check(collectionGroupID: id) }
  }

  fileprivate var jsonObject: [String: Any] {
    var object: [String: Any] = [
      "collectionGroup": collectionID, "fieldPath": field?.canonicalText ?? "*",
      "indexes": modes.map { mode in
        IndexDefinition.Component(field: .documentID, kind: mode.kind)
          .jsonObject(queryScope: mode.scope)
      },
    ]
    if let isTimeToLive { object["ttl"] = isTimeToLive }
    return object
  }
}

/// An object of the configuration, and its position for error messages.
private struct Entry {
  var object: [String: Any]
  var location: String

  static func list(_ json: Any?, _ location: String) throws(Status) -> [Entry] {
    guard let json else { return [] }
    guard let list = json as? [Any] else {
      throw .invalidArgument("\(location) of the index configuration is not a list.")
    }
    var entries: [Entry] = []
    for (position, element) in list.enumerated() {
      guard let object = element as? [String: Any] else {
        throw .invalidArgument("\(location)[\(position)] is not an object.")
      }
      entries.append(Entry(object: object, location: "\(location)[\(position)]"))
    }
    return entries
  }

  func string(_ name: String) throws(Status) -> String {
    guard let string = object[name] as? String else {
      throw .invalidArgument("\(location) lacks \(name).")
    }
    return string
  }

  /// Nil if it is missing.
  private func boolean(_ name: String) throws(Status) -> Bool? {
    guard let value = object[name] else { return nil }
    guard let boolean = value as? Bool else {
      throw .invalidArgument("\(location).\(name) is neither true nor false.")
    }
    return boolean
  }

  func scope() throws(Status) -> IndexDefinition.Scope {
    try IndexDefinition.Scope(jsonName: object["queryScope"] as? String ?? "COLLECTION")
  }

  /// Puts the location before the message of an error.
  func locating<Result>(_ body: () throws(Status) -> Result) throws(Status) -> Result {
    do throws(Status) { return try body() } catch {
      throw .invalidArgument("\(location): \(error.message)")
    }
  }

  func constraint() throws(Status) -> IndexDefinition.Constraint {
    let isUnique = try boolean("unique") ?? false
    let mustExist = try boolean("mustExist")
    guard object["references"] != nil || object["onDelete"] != nil || mustExist != nil else {
      return isUnique ? .unique : .none
    }
    guard !isUnique else {
      throw .invalidArgument("\(location) is either unique or has references.")
    }
    let action = try string("onDelete")
    let target = try string("references")
    return try locating { () throws(Status) in
      .reference(
        ReferenceRule(
          try ReferenceRule.Action(jsonName: action), target: target,
          mustExist: mustExist ?? false))
    }
  }

  func fieldPath(_ text: String) throws(Status) -> FieldSegments {
    try locating { () throws(Status) in try FieldSegments(wireText: text) }
  }
}

extension Entry {
  /// An index on the words of these fields.
  fileprivate func wordIndex(_ fields: [Entry]) throws(Status) -> IndexDefinition {
    var texts: [(FieldSegments, Int)] = []
    for field in fields {
      guard let words = field.object["wordsConfig"] as? [String: Any] else {
        throw .invalidArgument("\(field.location) is not on words, as the other fields are.")
      }
      texts.append((try field.fieldPath(field.string("fieldPath")), words["weight"] as? Int ?? 1))
    }
    return try locating { () throws(Status) in
      let definition = IndexDefinition(
        try string("collectionGroup"), scope: try scope(),
        [.init(words: try WordFields(texts, language: object["language"] as? String ?? "simple"))])
      try definition.check()
      return definition
    }
  }
}

extension IndexDefinition.Component.Kind {
  fileprivate init(_ entry: Entry) throws(Status) {
    if entry.object["geoConfig"] as? String == "CELLS" {
      self = .cells
      return
    }
    switch (entry.object["order"] as? String, entry.object["arrayConfig"] as? String) {
    case ("ASCENDING", nil): self = .ascending
    case ("DESCENDING", nil): self = .descending
    case (nil, "CONTAINS"): self = .contains
    default:
      throw .invalidArgument(
        "\(entry.location) has neither an order, ASCENDING or DESCENDING, nor the array configuration "
          + "CONTAINS.")
    }
  }
}

// MARK: - In the file

/// On disk, in `meta` under "indexConfiguration": frame, JSON.
extension IndexConfiguration {
  private static let key = Store.indexConfigurationKey

  static func read(_ snapshot: StoreSnapshot) throws -> IndexConfiguration {
    guard let stored = try snapshot.lmdb.get(snapshot.tables.meta, key) else {
      return IndexConfiguration()
    }
    guard let text = String(storedUTF8: try RecordFrame.payload(of: stored, key: key)) else {
      throw Status.dataLoss("The stored index configuration is not UTF-8.")
    }
    do throws(Status) { return try IndexConfiguration(json: text) } catch {
      throw Status.dataLoss("The stored index configuration cannot be read: \(error.message)")
    }
  }

  func put(_ transaction: inout WriteTransaction, in store: Store) throws {
    try transaction.put(
      store.tables.meta, Self.key, RecordFrame.record(under: Self.key) { $0 += json.utf8 })
  }
}
