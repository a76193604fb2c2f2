internal import LMDB

/// Finds references to documents that do not exist, in the field of a rule.
struct TargetCheck {
  private(set) var found = IndexViolations()

  /// Adds what documents refer to by the rule.
  ///
  /// - Parameter existing: Returns those of the documents that exist.
  mutating func add(
    _ documents: [(path: ResourcePath, references: [ResourcePath])],
    _ existing: (Set<ResourcePath>) throws -> Set<ResourcePath>
  ) throws {
    let targets = Set(documents.flatMap(\.references))
    if targets.isEmpty { return }
    let missing = targets.subtracting(try existing(targets))
    if missing.isEmpty { return }
    for (path, references) in documents {
      var seen: Set<ResourcePath> = []
      for target in references where missing.contains(target) && seen.insert(target).inserted {
        found.add(path, target)
      }
    }
  }

  static func violations(
    of rule: IndexDefinition, _ snapshot: StoreSnapshot
  ) throws -> IndexViolations {
    var check = TargetCheck()
    let prefix = snapshot.keyLimit.scanPrefix(KeyLayout.groupPrefix(rule.collectionID))
    var walk = try PrefixWalk(prefix, of: snapshot.tables.documents, in: snapshot.lmdb)
    while try walk.advance() {
      let entry = StoredEntry(key: walk.cursor.key, record: walk.cursor.value)
      let path = try snapshot.path(of: entry)
      // Long ids share a prefix.
      if UTF8Order.areEqual(path.parent.id, rule.collectionID) {
        let value = try snapshot.fields(ofRecord: entry.record)
          .value(at: rule.components[0].field)?.value(depthLeft: DocumentFormat.maximumDepth)
        try check.add([(path, rule.references(in: value))]) { targets in
          try targets.filter { try snapshot.storedEntry(of: snapshot.name($0)) != nil }
        }
      }
    }
    return check.found
  }
}

extension IndexViolations {
  mutating func add(_ first: ResourcePath, _ second: ResourcePath) {
    count += 1
    if examples.count < Self.exampleLimit { examples.append(.init(first: first, second: second)) }
  }
}
