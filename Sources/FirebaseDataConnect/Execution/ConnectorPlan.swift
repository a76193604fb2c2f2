import DataConnectModel
import Foundation
import Hearth
import HearthCEL
import Synchronization

/// A compiled connector that can be executed: its tables with their storage, its operations by name.
final class ConnectorPlan: Sendable {
  let connector: CompiledConnector
  private let layouts: [String: TableLayout]
  private let operations: [String: Operation]
  /// Of the root fields of queries, by the query's name.
  private let selectedColumns: [String: [SelectedColumns?]]
  private let relations: [String: [Relation]]
  /// By the GraphQL type of the table that is referred to.
  private let cleared: [String: [(TableLayout, Reference)]]
  /// Made when a variable is first checked with them.
  private let knownInputTypes = Once<InputTypes>()
  /// Those of the operations and the schema, parsed when they are first evaluated.
  private let expressions = Mutex<[String: CELExpression]>([:])

  /// Throws `DataConnectInitError` with `.invalidConnector` for a form that a newer version made, or that
  /// is damaged.
  convenience init(json: String) throws(DataConnectInitError) {
    struct Version: Decodable {
      var version: Int
    }
    func decoded<Value: Decodable>(_ type: Value.Type) throws(DataConnectInitError) -> Value {
      do { return try JSONDecoder().decode(type, from: Data(json.utf8)) } catch {
        throw DataConnectInitError(
          .invalidConnector, "The compiled connector is damaged. Generate the package again.", error
        )
      }
    }
    guard try decoded(Version.self).version <= CompiledConnector.currentVersion else {
      throw DataConnectInitError(
        .invalidConnector,
        "The connector was compiled by a newer version. Update Hearth, or generate the package again."
      )
    }
    try self.init(decoded(CompiledConnector.self))
  }

  init(_ connector: CompiledConnector) throws(DataConnectInitError) {
    self.connector = connector
    var layouts: [String: TableLayout] = [:]
    for table in connector.schema.tables {
      layouts[table.typeName] = try TableLayout(table, in: connector.schema)
    }
    self.layouts = layouts
    relations = connector.schema.relations()
    cleared = Self.cleared(
      Dictionary(
        grouping: layouts.values.flatMap { layout in layout.references.map { (layout, $0) } },
        by: { $0.1.target }))
    let operations = Dictionary(first: connector.operations.map { ($0.name, $0) })
    self.operations = operations
    selectedColumns = operations.filter { $0.value.kind == .query }.mapValues {
      [layouts] operation in
      operation.fields.map { root in
        layouts[root.table].flatMap { SelectedColumns(root.selections, of: $0) }
      }
    }
  }

  func operation(_ name: String) -> Operation? { operations[name] }

  /// Of each root field of a query; nil for one that selects more than columns.
  func selectedColumns(of query: String) -> [SelectedColumns?] { selectedColumns[query] ?? [] }

  func layout(_ typeName: String) throws(OperationFailure) -> TableLayout {
    guard let layout = layouts[typeName] else {
      throw .invalid("The schema has no table \(typeName).")
    }
    return layout
  }

  var collectionIDs: Set<String> { Set(layouts.values.map(\.table.collectionID)) }

  /// Nil if no table has the collection.
  func layout(ofCollection id: String) -> TableLayout? {
    layouts.values.first { $0.table.collectionID == id }
  }

  /// The GraphQL type of a collection's table, or the collection id if no table has the collection.
  func typeName(of collectionID: String) -> String {
    layout(ofCollection: collectionID)?.table.typeName ?? collectionID
  }

  /// The field of a table with the rows that refer to a row.
  func relation(_ name: String, of table: Table) -> Relation? {
    relations[table.typeName]?.first { $0.name == name }
  }

  /// The references to a table, each with the table that has it, that the rules of the database do not
  /// handle alone: a reference that can be null has columns that are fields beside it, or a deleted row
  /// leads to such a reference.
  func clearedReferences(to table: Table) -> [(TableLayout, Reference)] {
    cleared[table.typeName] ?? []
  }

  private static func cleared(
    _ references: [String: [(TableLayout, Reference)]]
  ) -> [String: [(TableLayout, Reference)]] {
    var cleared = references.mapValues { references in
      references.filter { layout, reference in
        reference.isNullable && reference.columns.contains { layout.column($0)?.reference == nil }
      }
    }
    var hasMore = true
    while hasMore {
      hasMore = false
      for (target, references) in references {
        let next = references.filter { layout, reference in
          reference.isNullable
            ? cleared[target]?.contains { $0.0.table == layout.table && $0.1 == reference } == true
            : cleared[layout.table.typeName]?.isEmpty == false
        }
        if next.count > cleared[target]?.count ?? 0 {
          cleared[target] = next
          hasMore = true
        }
      }
    }
    return cleared
  }

  var inputTypes: InputTypes {
    knownInputTypes.value { InputTypes(schema: connector.schema) }
  }

  func enumType(_ name: String) -> EnumType? { connector.schema.enumType(name) }

  func expression(_ source: String) throws -> CELExpression {
    if let known = expressions.withLock({ $0[source] }) { return known }
    let parsed = try CELExpression(parsing: source)
    expressions.withLock { $0[source] = parsed }
    return parsed
  }

  // MARK: Declarations

  /// The rules of references, which delete or change rows with the rows they refer to.
  var rules: [FirestoreReferenceRule] { rules(notIn: nil) }

  /// Those of references for which another plan has no rule.
  func rules(notIn other: ConnectorPlan?) -> [FirestoreReferenceRule] {
    layouts.values.flatMap { layout -> [FirestoreReferenceRule] in
      let known = other?.layout(ofCollection: layout.table.collectionID)
      return layout.references.compactMap { reference in
        guard let target = layouts[reference.target],
          known?.references.contains(where: { $0.name == reference.name }) != true
        else { return nil }
        return FirestoreReferenceRule(
          layout.table.collectionID, field: reference.name, to: target.table.collectionID,
          onDelete: reference.isNullable ? .nullify : .cascade)
      }
    }
  }

  /// The unique indexes and the others. One with a column of the key alone would be of no use.
  var indexes: [FirestoreIndex] {
    layouts.values.flatMap { layout in
      func field(_ column: String, _ isDescending: Bool) -> FirestoreIndex.Field {
        let name = layout.column(column)?.reference ?? column
        if layout.column(column)?.column.isList == true { return .contains(name) }
        return isDescending ? .descending(name) : .ascending(name)
      }
      let table = layout.table
      let uniques = table.uniques.map { unique in
        FirestoreIndex(unique: table.collectionID, unique.columns.map { field($0, false) })
      }
      let others = table.indexes.map { index in
        FirestoreIndex(table.collectionID, zip(index.columns, index.isDescending).map(field))
      }
      let words = layout.searchFields.map { FirestoreIndex(words: table.collectionID, in: $0) }
      return uniques + others + [words].compactMap(\.self)
    }
  }
}
