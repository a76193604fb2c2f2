import DataConnectModel

/// Names that clash.
extension SchemaBuilder {
  func checkClashes(_ schema: Schema) {
    func report(_ message: String, _ type: String, field: String? = nil) {
      let position =
        field.flatMap { fieldPositions[type]?[$0] } ?? draftsByName[type]?.name.position
      if let position { session.error(message, at: position) }
    }

    var collections: [String: String] = [:]
    var rootFields: [String: String] = [:]
    for table in schema.tables {
      if let other = collections.updateValue(table.typeName, forKey: table.collectionID) {
        report(
          "\(other) and \(table.typeName) have the same collection \"\(table.collectionID)\": give "
            + "one of them another name in @table.", table.typeName)
      }
      for field in RootFieldShape.all(of: table) {
        let key = "\(field.kind.rawValue) \(field.name)"
        if let other = rootFields.updateValue(table.typeName, forKey: key) {
          report(
            "\(other) and \(table.typeName) have the same root field \(field.name): give one of "
              + "them another singular or plural in @table.", table.typeName)
          break
        }
      }
    }
    let generated = Set((session.types.tableObjects + session.types.enumObjects).map(\.name))
    for table in schema.tables where generated.contains(table.typeName) {
      report("\(table.typeName) is the name of a generated type: use another one.", table.typeName)
    }

    for table in schema.tables {
      let type = table.typeName
      var origins: [String: String] = [:]
      var reported: Set<String> = []
      func check(_ name: String, _ origin: String, field: String?, in owner: String) {
        guard let other = origins.updateValue(origin, forKey: name), reported.insert(name).inserted
        else { return }
        report("\(type).\(name) is \(other) and \(origin): use another name.", owner, field: field)
      }
      for column in table.columns {
        check(column.name, "a column", field: column.name, in: type)
      }
      for reference in table.references {
        check(reference.name, "a reference", field: reference.name, in: type)
      }
      for relation in session.types.relations[type] ?? [] {
        let owner: String
        let field: String
        switch relation.kind {
        case .referring(let source, let reference, _): (owner, field) = (source, reference)
        case .via(let join, let near, _): (owner, field) = (join, near)
        default: continue
        }
        check(
          relation.name, "the relation of \(owner).\(field)", field: field, in: owner)
      }
      for aggregate in table.aggregates where aggregate.column != nil {
        check(aggregate.name, "an aggregate", field: aggregate.name, in: type)
      }
      guard let data = session.types.object("\(type)_Data") else { continue }
      var names: Set<String> = []
      for field in data.fields where !names.insert(field.name).inserted {
        guard reported.insert(field.name).inserted else { continue }
        report(
          "\(type)_Data has two fields \(field.name), one for another column: rename the column "
            + "\(field.name).", type, field: field.name)
      }
    }
  }
}
