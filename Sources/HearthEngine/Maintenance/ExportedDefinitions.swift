internal import HearthText

/// The TTL policies and indexes of a database, in the first line of an export.
///
///     "expiry":[{"collectionGroup":"sessions","fieldPath":"until"}],"indexes":{…}
///
/// `indexes` is the content of a `firestore.indexes.json`.
struct ExportedDefinitions: Sendable, Equatable {
  /// As if they had just been set: no document has been scanned.
  private(set) var expiry = TTLPolicies()
  private(set) var indexes = IndexConfiguration()

  init() {}

  init(_ snapshot: StoreSnapshot) throws {
    for rule in try TTLPolicies.read(snapshot.lmdb, snapshot.tables).rules {
      if let field = rule.field { add(rule.collectionID, field) }
    }
    indexes = try IndexConfiguration.read(snapshot)
  }

  /// Throws `invalidArgument` if a definition is not valid.
  init(header: JSON) throws(Status) {
    if let rules = header["expiry"] {
      guard case .array(let rules) = rules else {
        throw .invalidArgument("The export's rules of expiry are not a list.")
      }
      for rule in rules {
        guard let id = rule["collectionGroup"]?.string, let field = rule["fieldPath"]?.string else {
          throw .invalidArgument("A rule of expiry lacks a collectionGroup or a fieldPath.")
        }
        try ResourcePath.check(collectionGroupID: id)
        let segments = try FieldSegments(wireText: field)
        try segments.checkNames()
        add(id, segments)
      }
    }
    if let configuration = header["indexes"] {
      indexes = try IndexConfiguration(json: configuration.text)
      try IndexDefinition.check(indexes.definitions)
    }
  }

  private mutating func add(_ collectionID: String, _ field: FieldSegments) {
    expiry[collectionID] = TTLPolicies.Rule(collectionID: collectionID, field: field, cursor: [0])
  }

  /// The members for the first line, each preceded by a comma; empty if there are none.
  var text: String {
    var text = ""
    if !expiry.rules.isEmpty {
      let rules = expiry.rules.map { rule in
        JSON.object([
          JSON.Member("collectionGroup", .string(rule.collectionID)),
          JSON.Member("fieldPath", .string(rule.field?.canonicalText ?? "")),
        ])
      }
      text += ",\"expiry\":" + JSON.array(rules).text
    }
    if indexes != IndexConfiguration() { text += ",\"indexes\":" + indexes.line }
    return text
  }

  /// Adds the definitions to an open database. Its own definitions stay.
  func adopt(into store: Store, _ manager: IndexManager) throws {
    if indexes != IndexConfiguration() { try manager.adopt(indexes) }
    let own = try store.read { try TTLPolicies.read($0.lmdb, store.tables) }
    for rule in expiry.rules where own[rule.collectionID]?.field == nil {
      try store.setTTL(rule.collectionID, rule.field)
    }
  }
}
