import Foundation

/// Entries of a `firestore.indexes.json`, in the format of the Firebase command line.
extension IndexDefinition {
  /// Firebase stores indexes on one field as overrides of that field.
  /// Constraints are Hearth's own, and stand among the others.
  var isSingleField: Bool {
    components.count == 1 && isNameDescending == impliedNameDirection && constraint == .none
      && words == nil
  }

  private var impliedNameDirection: Bool {
    IndexDefinition(collectionID, scope: scope, components).isNameDescending
  }

  /// This index as an entry to paste into the file: into `indexes`, or into `fieldOverrides` for a
  /// single field.
  ///
  ///     {"collectionGroup":"books","fields":[…],"queryScope":"COLLECTION"}
  package var json: String { IndexDefinition.text(jsonObject) }

  var jsonObject: [String: Any] {
    guard !isSingleField else {
      return [
        "collectionGroup": collectionID, "fieldPath": components[0].field.canonicalText,
        "indexes": [components[0].jsonObject(queryScope: scope)],
      ]
    }
    if let words {
      return [
        "collectionGroup": collectionID, "queryScope": scope.jsonName,
        "language": words.language.code,
        "fields": words.fields.map { field in
          ["fieldPath": field.field.canonicalText, "wordsConfig": ["weight": field.weight]]
            as [String: Any]
        },
      ]
    }
    var fields = components.map { component in
      component.jsonObject(queryScope: nil)
        .merging(["fieldPath": component.field.canonicalText]) { $1 }
    }
    if isNameDescending != impliedNameDirection {
      fields.append([
        "fieldPath": "__name__", "order": isNameDescending ? "DESCENDING" : "ASCENDING",
      ])
    }
    var object: [String: Any] = [
      "collectionGroup": collectionID, "queryScope": scope.jsonName, "fields": fields,
    ]
    switch constraint {
    case .none: break
    case .unique: object["unique"] = true
    case .reference(let rule):
      object["references"] = rule.target
      object["onDelete"] = rule.action.jsonName
      if rule.mustExist { object["mustExist"] = true }
    }
    return object
  }

  static func text(_ object: Any, isPretty: Bool = false) -> String {
    var options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
    if isPretty { options.insert(.prettyPrinted) }
    guard let data = try? JSONSerialization.data(withJSONObject: object, options: options) else {
      return ""
    }
    return String(decoding: data, as: UTF8.self)
  }
}

extension IndexDefinition.Scope {
  var jsonName: String { self == .group ? "COLLECTION_GROUP" : "COLLECTION" }

  init(jsonName: String) throws(Status) {
    guard let scope = Self.allCases.first(where: { $0.jsonName == jsonName }) else {
      throw .invalidArgument("No such query scope: \(jsonName)")
    }
    self = scope
  }
}

extension ReferenceRule.Action {
  var jsonName: String {
    switch self {
    case .restrict: "RESTRICT"
    case .cascade: "CASCADE"
    case .nullify: "NULLIFY"
    }
  }

  init(jsonName: String) throws(Status) {
    guard let action = Self.allCases.first(where: { $0.jsonName == jsonName }) else {
      throw .invalidArgument("No such action on delete: \(jsonName)")
    }
    self = action
  }
}

extension IndexDefinition.Component {
  func jsonObject(queryScope: IndexDefinition.Scope?) -> [String: String] {
    var object: [String: String] = [:]
    switch kind {
    case .ascending: object["order"] = "ASCENDING"
    case .descending: object["order"] = "DESCENDING"
    case .contains: object["arrayConfig"] = "CONTAINS"
    case .cells: object["geoConfig"] = "CELLS"
    case .words: break
    }
    if let queryScope { object["queryScope"] = queryScope.jsonName }
    return object
  }
}
