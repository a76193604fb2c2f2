import DataConnectModel

extension CompilerSession {
  /// The name that a field has by the rules of names, for one that follows other rules. Nil if there is
  /// none among the candidates.
  ///
  ///     persons, person_search     people, people_search      the plural of the table
  ///     films                      movies                     with @table(plural: "movies")
  ///     reviews                    reviews_on_movie           rows that refer to the row
  ///     actors, actors_on_movie    actors_via_MovieActor      rows behind a join table
  func regularName(for name: String, among candidates: [String]) -> String? {
    let names = Set(candidates)
    let head = String(name.prefix { $0 != "_" })
    let tail = name.dropFirst(head.count)
    var heads = [head]
    for fields in tables.values.sorted(by: { $0.table.typeName < $1.table.typeName }) {
      let table = fields.table
      let singular = Naming.lowerFirst(table.typeName)
      let others = [table.singular + "s", singular + "s", Naming.plural(singular)]
      guard table.plural != head, others.contains(head) else { continue }
      if names.contains(table.plural + tail) { return table.plural + tail }
      heads.append(table.plural)
    }
    let isRelation = tail.hasPrefix("_on_") || tail.hasPrefix("_via_")
    guard tail.isEmpty || isRelation else { return nil }
    let links = isRelation ? ["_via_"] : ["_on_", "_via_"]
    return heads.lazy.flatMap { head in links.lazy.map { head + $0 } }
      .compactMap { start in candidates.filter { $0.hasPrefix(start) }.min() }.first
  }

  /// Why a relation through a table does not exist, with a space before it. Nil for another name.
  func missingJoin(_ name: String) -> String? {
    guard let link = name.firstRange(of: "_via_"),
      let table = tables[String(name[link.upperBound...])]?.table, table.joinReferences == nil
    else { return nil }
    let references = table.references.map(\.name)
    guard references.count > 1 else {
      return " \(table.typeName) is not a join table: it needs two references."
    }
    let key = references.prefix(2).map { "\"\($0)\"" }.joined(separator: ", ")
    return
      " \(table.typeName) is a join table if its key is two references and nothing else, as in "
      + "@table(key: [\(key)])."
  }
}
