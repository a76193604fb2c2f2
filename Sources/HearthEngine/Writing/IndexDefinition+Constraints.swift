/// Constraints, for every backend.
extension IndexDefinition {
  /// Every document that the index might contain, in the order of names.
  package var everyDocument: StructuredQuery {
    var query = StructuredQuery(.group(collectionID, below: .root))
    query.orders = [StructuredQuery.Order(field: .documentID)]
    return query
  }

  /// The references of a document that the rule is for, each once.
  package func references(of document: StoredDocument) throws -> [ResourcePath] {
    var seen: Set<ResourcePath> = []
    return references(in: try document.body.map().value(at: components[0].field.names))
      .filter { seen.insert($0).inserted }
  }

  /// The references of a value of the field that the rule is for.
  func references(in value: Value?) -> [ResourcePath] {
    guard let target = referenceRule?.target, let value else { return [] }
    var values = [value]
    if components[0].kind == .contains {
      guard case .array(let elements) = value else { return [] }
      values = elements
    }
    return values.compactMap { value in
      guard case .reference(let path) = value, path.isDocument,
        UTF8Order.areEqual(path.parent.id, target)
      else { return nil }
      return path
    }
  }

  /// Removes dangling references from a document that was read, if it is unchanged and none of the
  /// targets exists.
  package func repair(
    of document: StoredDocument, without targets: [ResourcePath]
  ) throws(Status) -> [Mutation] {
    var mutations = targets.map {
      Mutation(path: $0, operation: .verify, precondition: .exists(false))
    }
    for target in targets {
      var mutation = try mutation(of: document.path, afterDeleting: target)
      mutation.precondition = .updateTime(document.updateTime)
      mutations.append(mutation)
      // Deleted once, it is gone.
      if referenceRule?.action != .nullify { break }
    }
    return mutations
  }

  /// The write that a rule demands of a document that refers to a deleted one.
  func mutation(
    of path: ResourcePath, afterDeleting deleted: ResourcePath
  ) throws(Status) -> Mutation {
    guard referenceRule?.action == .nullify else {
      return Mutation(path: path, operation: .delete)
    }
    var mutation = Mutation(path: path, operation: .patch(.empty, mask: []))
    let component = components[0]
    if component.kind == .contains {
      mutation.transforms = [(component.field, .arrayRemove([.reference(deleted)]))]
    } else {
      var fields = MapValue()
      fields.set(.null, at: component.field.names)
      mutation.operation = .patch(try DocumentBody(encoding: fields), mask: [component.field])
    }
    return mutation
  }

  /// The documents with a reference to `path`.
  func query(referringTo path: ResourcePath) -> StructuredQuery {
    let component = components[0]
    var query = StructuredQuery(.group(collectionID, below: .root))
    query.filters = [
      .comparison(
        .init(
          field: component.field,
          operator: component.kind == .contains ? .arrayContains : .equal,
          operand: .reference(path)))
    ]
    return query
  }
}
