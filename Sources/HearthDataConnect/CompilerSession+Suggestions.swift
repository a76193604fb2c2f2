import DataConnectModel
internal import HearthText

/// The names that errors suggest: "Did you mean …?"
extension CompilerSession {
  /// Each search compares with all candidates.
  private static let maximumSuggestions = 300

  /// ` Did you mean "title"?`, with a space before it, for the first names only. Without a
  /// suggestion the remedy, or nothing.
  func suggestion(
    for name: String, among candidates: some Sequence<String>, otherwise remedy: String? = nil
  ) -> String {
    closestName(to: name, among: candidates).map { " Did you mean \"\($0)\"?" }
      ?? remedy.map { " \($0)" } ?? ""
  }

  /// The name that has the rules of names on its side, or else `Suggestion.closest`.
  func closestName(to name: String, among candidates: some Sequence<String>) -> String? {
    guard suggestionCount < Self.maximumSuggestions else { return nil }
    suggestionCount += 1
    let candidates = Array(candidates)
    return regularName(for: name, among: candidates)
      ?? Suggestion.closest(to: name, among: candidates)
  }

  /// Reports a name that a table does not have, unless its declaration has an error.
  func reportUnknown(
    _ name: Name, as kind: String = "field", of table: String, among names: some Sequence<String>
  ) {
    if brokenFields[table]?.contains(name.text) == true { return }
    error(
      "\(table) has no \(kind) \"\(name.text)\"."
        + suggestion(for: name.text, among: names, otherwise: "Name another."),
      at: name.position)
  }

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
