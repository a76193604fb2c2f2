import DataConnectModel
import Hearth

/// Hearth has a type of this name, too.
typealias Reference = DataConnectModel.Reference

/// A table, and how its rows are stored: a collection whose documents are the rows.
///
///     movie_actor/<movieId>:<actorId>
///       movie    reference to movie/<movieId>         (column movieId)
///       actor    reference to actor/<actorId>         (column actorId)
///       role     string
///
/// Every column is a field of its own, also those of the key, with null for no value. The column of a
/// reference to one text is no field: it is read from the reference.
struct TableLayout: Sendable {
  let table: Table
  private let columns: [String: ColumnLayout]
  /// Those whose document is known from their columns: references to the key of the other table.
  let references: [Reference]
  /// Of the key, in its order.
  let keyTypes: [ValueType]
  /// The fields that columns are read from.
  let storedFields: DocumentFields<ProjectedRow>

  struct ColumnLayout: Sendable {
    let column: Column
    let form: ColumnForm
    /// The name of the reference that the column is read from. Nil for a field.
    let reference: String?
    /// The position in `storedFields`.
    fileprivate let field: Int
    fileprivate let isKey: Bool

    /// How the column is read from a document.
    var step: ProjectedRow.Step {
      let isField = reference == nil
      return ProjectedRow.Step(
        field: field, form: form, isReference: !isField,
        missingValue: isField && !isKey ? missingValue : .null, isKey: isField && isKey)
    }

    /// The value in rows that are older than the column.
    fileprivate var missingValue: DataValue {
      guard !column.isNullable, !column.isList, case .value(let literal)? = column.defaultValue
      else { return .null }
      switch (column.type, literal.constant) {
      case (.float, .int(let number)): return .double(Double(number))
      case (.string, let value), (.int, let value), (.int64, let value), (.float, let value),
        (.boolean, let value), (.enumeration, let value):
        return value
      default: return .null
      }
    }
  }

  init(_ table: Table, in schema: Schema) throws(DataConnectInitError) {
    self.table = table
    func invalid(_ what: String) -> DataConnectInitError {
      DataConnectInitError(.invalidConnector, "The compiled connector is damaged: \(what)")
    }
    let declared = Dictionary(
      table.columns.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
    var references: [Reference] = []
    /// The references that columns are read from, by the columns.
    var sources: [String: String] = [:]
    for reference in table.references {
      guard let target = schema.table(reference.target),
        reference.columns.count == reference.targetColumns.count,
        reference.columns.allSatisfy({ declared[$0] != nil })
      else { throw invalid("\(table.typeName).\(reference.name) refers to nothing known.") }
      guard reference.targetColumns == target.key else { continue }
      references.append(reference)
      guard reference.columns.count == 1, let column = declared[reference.columns[0]] else {
        continue
      }
      switch column.type {
      case .uuid, .string, .date: sources[column.name] = reference.name
      case .int, .int64, .float, .boolean, .timestamp, .any, .vector, .enumeration:
        // References are in the order of texts.
        break
      }
    }
    keyTypes = try table.key.map { name throws(DataConnectInitError) in
      guard let column = declared[name] else {
        throw invalid("\(table.typeName) has no column \(name).")
      }
      return column.type
    }
    guard !keyTypes.isEmpty else { throw invalid("\(table.typeName) has no key.") }
    var columns: [String: ColumnLayout] = [:]
    var fields: [String] = []
    for column in table.columns {
      let reference = sources[column.name]
      let name = reference ?? column.name
      let field = fields.firstIndex(of: name) ?? fields.count
      if field == fields.count { fields.append(name) }
      columns[column.name] = ColumnLayout(
        column: column, form: ColumnForm(column, in: schema), reference: reference, field: field,
        isKey: table.key.contains(column.name))
    }
    storedFields = DocumentFields(fields)
    self.columns = columns
    self.references = references
  }

  func column(_ name: String) -> ColumnLayout? { columns[name] }

  /// The error for a field that the table does not have.
  func unknown(_ name: String) -> OperationFailure {
    OperationFailure("\(table.typeName) has no field \(name).")
  }

  /// The columns of a reference to another key than that of its table, whose values are fields. Nil for
  /// several of them, and for those that are read from a reference.
  func fields(
    of reference: Reference, to target: TableLayout
  ) -> (own: String, target: String)? {
    guard reference.columns.count == 1, let own = reference.columns.first,
      let other = reference.targetColumns.first, column(own)?.reference == nil,
      target.column(other)?.reference == nil
    else { return nil }
    return (own, other)
  }

  /// The filter of rows whose columns have the values that columns of a row of this table have. Nil if
  /// one of these is null.
  func filter(
    of columns: [String], equalTo own: [String], of row: StoredRow, documentID: String
  ) -> DataValue? {
    var filter = DataObject()
    for (name, own) in zip(columns, own) {
      guard let value = value(own, in: row, documentID: documentID), !value.isNull else {
        return nil
      }
      filter[name] = .object(DataObject([("eq", value)]))
    }
    return .object(filter)
  }

  /// The columns with `@searchable`. Nil if there are none.
  var searchFields: SearchFields? {
    guard let searchLanguage else { return nil }
    let columns = table.columns.filter { $0.searchLanguage != nil }
    // Others are split into words, and not stemmed.
    let code = ["english": "en", "german": "de"][searchLanguage] ?? "simple"
    return SearchFields(columns.map(\.name), language: code)
  }

  /// The language of the first column with `@searchable`: `english`. Nil if there is none.
  var searchLanguage: String? { table.columns.lazy.compactMap(\.searchLanguage).first }

  func collection(_ firestore: Firestore) -> CollectionReference {
    firestore.collection(table.collectionID)
  }

  func document(_ key: [DataValue], in firestore: Firestore) -> DocumentReference {
    collection(firestore).document(RowKey.documentID(key))
  }

  func row(_ documentID: String) -> RowIdentity { RowIdentity(table.collectionID, documentID) }

  /// The value of a column.
  func value(
    of column: ColumnLayout, in row: StoredRow, documentID: String
  ) -> DataValue {
    let name = column.column.name
    if let reference = column.reference {
      guard case .reference(let document) = row[reference] else { return .null }
      return RowKey.value(of: document.documentID, type: column.column.type) ?? .null
    }
    if let value = row[name] { return value.dataValue(column.column.type) }
    // A document that was written by hand has its key at least in its id.
    guard let index = table.key.firstIndex(of: name) else { return column.missingValue }
    return RowKey.values(of: documentID, types: keyTypes)?[index] ?? .null
  }

  func key(of row: StoredRow, documentID: String) -> [DataValue] {
    table.key.map { value($0, in: row, documentID: documentID) ?? .null }
  }

  /// Nil if there is no such column.
  func value(_ name: String, in row: StoredRow, documentID: String) -> DataValue? {
    columns[name].map { value(of: $0, in: row, documentID: documentID) }
  }

  /// Sets the value of a column. Columns of a reference are set with the reference.
  func store(_ value: DataValue, in column: ColumnLayout, of row: inout StoredRow) throws {
    guard column.reference == nil else { return }
    row[column.column.name] = try StoredValue(value, column.column)
  }
}

extension StoredValue {
  /// In the form of results.
  func dataValue(_ type: ValueType) -> DataValue {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int(let value): type == .float ? .double(Double(value)) : .int(value)
    case .double(let value): .double(value)
    case .string(let value): .string(value)
    case .timestamp(let value): .timestamp(value)
    case .reference(let value): .string(value.path)
    case .vector(let values): .list(values.map { .double($0) })
    case .geoPoint(let value):
      .object(["latitude": .double(value.latitude), "longitude": .double(value.longitude)])
    case .bytes(let value): .string(value.base64EncodedString())
    case .list(let values): .list(values.map { $0.dataValue(type) })
    case .map(let row):
      if case .list(let values)? = row[StoredValue.nestedList], row.names.count == 1 {
        .list(values.map { $0.dataValue(type) })
      } else {
        .object(
          DataObject(
            names: row.names.map { name in
              StoredValue.memberName(name)
            }, values: row.values.map { $0.dataValue(type) }))
      }
    }
  }

  /// The name of the only field of a map in place of a list inside of a list, which documents cannot
  /// have. Names that begin with it are stored with it once more.
  static let nestedList = "[]"
  /// Begins the stored names of members that fields of documents cannot have: "", and "__x__".
  private static let escape = "[]."

  private static func fieldName(_ name: String) -> String {
    if name.hasPrefix(nestedList) { return nestedList + name }
    let isReserved = name.isEmpty || name.hasPrefix("__") && name.hasSuffix("__")
    return isReserved ? escape + name : name
  }

  private static func memberName(_ name: String) -> String {
    for prefix in [escape, nestedList] where name.hasPrefix(prefix) {
      return String(name.dropFirst(prefix.count))
    }
    return name
  }

  /// A value that has been checked against the column.
  init(_ value: DataValue, _ column: Column) throws {
    switch (value, column.type) {
    case (.null, _): self = .null
    case (.list(let values), .vector):
      self = .vector(
        values.map { value in
          switch value {
          case .double(let number): number
          case .int(let number): Double(number)
          default: .nan
          }
        })
    case (.int(let number), .float): self = .double(Double(number))
    default: self.init(value)
    }
  }

  /// A value that belongs to no column.
  init(_ value: DataValue, isInList: Bool = false) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .int(let value): self = .int(value)
    case .double(let value): self = .double(value)
    case .string(let value): self = .string(value)
    case .timestamp(let value): self = .timestamp(value)
    case .list(let values):
      let list = StoredValue.list(values.map { StoredValue($0, isInList: true) })
      guard isInList else {
        self = list
        return
      }
      var row = StoredRow()
      row[Self.nestedList] = list
      self = .map(row)
    case .object(let object):
      // Different names have different field names.
      self = .map(
        StoredRow(
          names: object.names.map { Self.fieldName($0) },
          values: object.values.map { StoredValue($0) }))
    }
  }
}
