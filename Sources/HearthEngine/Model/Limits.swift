/// Firestore's limits, in bytes unless stated otherwise.
///
/// Source: "Usage and limits" (quotas) and "Storage size calculations" in Firestore's
/// documentation, Standard edition, August 2026.
package enum Limits {
  /// A document and its name, by the storage size rules: `Limits.size(ofDocument:fields:)`. 1 MiB.
  static let document = 1_048_576
  /// The value of one field. 1 MiB minus 89 bytes.
  static let fieldValue = 1_048_487
  /// Nested maps and arrays. Each adds one; a field of the document is at depth 0.
  static let nesting = 20
  /// Dimensions of a vector, at least one.
  static let vectorDimensions = 2048

  /// A collection or document id, in UTF-8.
  static let id = 1500
  /// A document's name, by the storage size rules. 6 KiB.
  static let documentName = 6144
  /// Nested collections.
  static let collectionDepth = 100
  /// A field's name, and a whole field path with its dots, in UTF-8.
  static let fieldName = 1500

  /// One request, such as a commit. 10 MiB.
  package static let request = 10_485_760
  /// Field transforms of one document in one commit.
  static let transformsPerDocument = 500
  /// Index entries of one document.
  static let indexEntriesPerDocument = 40_000
  /// One index entry. 7.5 KiB.
  static let indexEntry = 7680
  /// All index entries of one document together, by the storage size rules. 8 MiB.
  static let indexEntryBytesPerDocument = 8_388_608
  /// Documents that one commit changes by reference rules. Hearth's own.
  static let cascadedDocuments = 10_000
  /// The size of these documents together, before the commit. 64 MiB.
  static let cascadedBytes = 67_108_864
  /// Indexes of one database.
  static let indexes = 1000
  /// Fields of one composite index.
  static let fieldsPerIndex = 100
  /// Comparisons of a query with OR or `in`, in disjunctive normal form.
  static let disjunctions = 30
  /// Values of a `not-in` filter.
  static let notInValues = 10
  /// How deep conditions on the results of other queries, and included documents, are nested.
  static let nestedQueries = 8
  /// Results of a search for the nearest vectors.
  static let nearestDocuments = 1000
  /// Fields with inequality filters in one query.
  static let inequalityFields = 10
  /// Filters and orders of one query together.
  static let filtersAndOrders = 100
  /// Aggregations of one query.
  static let aggregations = 5
  /// The lifetime of a transaction.
  package static let transactionSeconds = 270
  /// The time that a transaction may spend without a request.
  package static let transactionIdleSeconds = 60
}

// MARK: - Storage size

extension Limits {
  /// A document's size: its name, its fields, and 32 bytes.
  static func size(ofDocument path: ResourcePath, fields: MapValue) -> Int {
    size(ofName: path) + size(of: fields) + 32
  }

  /// A name's size: its ids, and 16 bytes.
  static func size(ofName path: ResourcePath) -> Int {
    path.segments.reduce(16) { $0 + size(ofID: $1) }
  }

  static func size(ofID id: String) -> Int {
    ResourcePath.numericID(id) == nil ? size(of: id) : 8
  }

  static func size(of string: String) -> Int { string.utf8.count + 1 }

  static func size(of map: MapValue) -> Int {
    map.fields.reduce(0) { $0 + size(of: $1.name) + size(of: $1.value) }
  }

  static func size(of value: Value) -> Int {
    switch value {
    case .null, .boolean: 1
    case .integer, .double, .timestamp: 8
    case .string(let string): size(of: string)
    case .bytes(let bytes): bytes.count
    case .reference(let path): size(ofName: path)
    case .geoPoint: 16
    case .array(let elements): elements.reduce(0) { $0 + size(of: $1) }
    case .vector(let components): components.count * 8
    case .map(let map): size(of: map)
    }
  }
}
