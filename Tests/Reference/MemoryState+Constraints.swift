#if DEBUG
  @testable import HearthEngine

  /// An index of the memory backend: a constraint, or nothing but a name.
  struct MemoryIndex: Sendable, Equatable {
    var definition: IndexDefinition
    /// The violations because of which it is invalid; none if it is ready.
    var violations = IndexViolations()

    private var stored: StoredIndex {
      StoredIndex(
        number: 0, definition: definition.stored,
        state: violations.count == 0 ? .ready : .invalid(violations), origin: .declared)
    }

    var info: IndexInfo { IndexInfo(stored) }

    /// Throws `failedPrecondition` for a constraint that documents violate.
    func checkValid() throws(Status) { try stored.checkValid() }

    /// The document's values, each with those of the other fields. Values with null are not
    /// constrained.
    func values(of path: ResourcePath, _ fields: MapValue) -> [[Value]] {
      guard UTF8Order.areEqual(path.parent.id, definition.collectionID) else { return [] }
      var rows: [[Value]] = [[]]
      for component in definition.components {
        guard let value = fields.value(at: component.field.names) else { return [] }
        var options = [value]
        if component.kind == .contains {
          guard case .array(let elements) = value else { return [] }
          options = elements
        }
        options.removeAll { $0 == .null }
        rows = rows.flatMap { row in options.map { row + [$0] } }
      }
      return rows
    }

    func isSame(_ one: [Value], _ other: [Value]) -> Bool {
      zip(one, other).allSatisfy {
        ReferenceOrder.compare(ReferenceOrder.terms($0), ReferenceOrder.terms($1)) == 0
      }
    }

    /// Whether the index compares the documents with each other.
    func compares(_ one: ResourcePath, _ other: ResourcePath) -> Bool {
      one != other && (definition.scope == .group || one.parent == other.parent)
    }
  }

  extension MemoryState {
    mutating func declare(_ definitions: [IndexDefinition]) throws(Status) {
      for definition in definitions {
        indexes.removeAll {
          $0.definition.stored == definition.stored
            || $0.definition.hasSameReferences(as: definition)
        }
        var index = MemoryIndex(definition: definition)
        if definition.isUnique { index.violations = try duplicates(in: index) }
        if definition.requiresTargets { index.violations = try missingTargets(of: definition) }
        indexes.append(index)
      }
    }

    mutating func drop(_ definitions: [IndexDefinition]) {
      let dropped = definitions.map(\.stored)
      indexes.removeAll { dropped.contains($0.definition.stored) }
    }

    private func missingTargets(of rule: IndexDefinition) throws(Status) -> IndexViolations {
      var check = TargetCheck()
      let referring = documents.values
        .filter { UTF8Order.areEqual($0.path.parent.id, rule.collectionID) }
        .sorted { ResourcePath.compare($0.path, $1.path) < 0 }
      do {
        let references = try referring.map { ($0.path, try rule.references(of: $0)) }
        try check.add(references) { targets in targets.filter { documents[$0] != nil } }
      } catch {
        throw Status(readingFailed: error)
      }
      return check.found
    }

    private func duplicates(in index: MemoryIndex) throws(Status) -> IndexViolations {
      var found = IndexViolations()
      var rows: [(path: ResourcePath, values: [Value])] = []
      for document in documents.values {
        for values in index.values(of: document.path, try document.body.map()) {
          rows.append((document.path, values))
        }
      }
      rows.sort { ResourcePath.compare($0.path, $1.path) < 0 }
      for (position, row) in rows.enumerated() {
        func others(_ rows: ArraySlice<(path: ResourcePath, values: [Value])>) -> [ResourcePath] {
          rows.filter { index.compares($0.path, row.path) && index.isSame($0.values, row.values) }
            .map(\.path)
        }
        guard others(rows[..<position]).isEmpty, let other = others(rows[position...]).first else {
          continue
        }
        found.add(row.path, other)
      }
      return found
    }
  }

  extension MemoryState.StagedRequest {
    /// As `CommitPlan` does, by looking at every document.
    mutating func enforceConstraints() throws(Status) {
      if isCopy { return }
      for path in wasDeleted where fields[path].flatMap(\.self) == nil {
        for rule in rules(for: path) where rule.referenceRule?.action == .restrict {
          if let other = try referring(to: path, by: rule).first {
            throw .referenced(path, by: other, rule)
          }
        }
      }
      try checkTargets(of: base.indexes.map(\.definition.stored).filter(\.requiresTargets))
      for index in base.indexes where index.definition.isUnique { try check(index) }
    }

    private mutating func checkTargets(of rules: [IndexDefinition]) throws(Status) {
      for rule in rules {
        let field = rule.components[0].field.names
        for path in order where UTF8Order.areEqual(path.parent.id, rule.collectionID) {
          guard let after = fields[path].flatMap(\.self) else { continue }
          let targets = rule.references(in: after.value(at: field))
          if targets.isEmpty { continue }
          let before = Set(
            rule.references(in: try base.documents[path]?.body.map().value(at: field)))
          for target in targets {
            // Unchanged, or older than the rule.
            let wasMissing = base.documents[target] == nil
            if before.contains(target), fields[target] == nil || wasMissing { continue }
            let exists = fields[target].map { $0 != nil } ?? !wasMissing
            if !exists { throw .dangling(target, in: path, rule) }
          }
        }
      }
    }

    private mutating func check(_ index: MemoryIndex) throws(Status) {
      for path in order {
        guard let after = fields[path].flatMap(\.self) else { continue }
        let before = try base.documents[path].map { document throws(Status) in
          index.values(of: path, try document.body.map())
        }
        for values in index.values(of: path, after) {
          if before?.contains(where: { index.isSame($0, values) }) == true { continue }
          for other in try documents() where index.compares(path, other.path) {
            let others = index.values(of: other.path, try other.body.map())
            if others.contains(where: { index.isSame($0, values) }) {
              throw .duplicate(of: other.path, at: path, index.definition.stored)
            }
          }
        }
      }
    }

    private func rules(for path: ResourcePath) -> [IndexDefinition] {
      base.indexes.map(\.definition).filter { definition in
        definition.referenceRule.map { UTF8Order.areEqual($0.target, path.parent.id) } ?? false
      }
    }

    /// Does what the rules demand after the deletion of a document.
    mutating func followDeletion(of path: ResourcePath) throws(Status) {
      var deleted = [path]
      while let path = deleted.popLast() {
        for rule in rules(for: path) where rule.referenceRule?.action != .restrict {
          for other in try referring(to: path, by: rule) {
            cascadedBytes += base.documents[other]?.body.bytes.count ?? 0
            guard cascaded.count < Limits.cascadedDocuments, cascadedBytes <= Limits.cascadedBytes
            else { throw .tooManyReferences(to: path) }
            _ = try apply(rule.mutation(of: other, afterDeleting: path))
            cascaded.append(other)
            if fields[other].flatMap(\.self) != nil { continue }
            deletedByRule.insert(other)
            deleted.append(other)
          }
        }
      }
    }

    private mutating func referring(
      to path: ResourcePath, by rule: IndexDefinition
    ) throws(Status) -> [ResourcePath] {
      let query = EffectiveQuery(rule.query(referringTo: path))
      do {
        return try MemoryAnswer(query).documents(documents()).map(\.path)
      } catch {
        throw Status(readingFailed: error)
      }
    }
  }
#endif
