import DataConnectModel
import Foundation
import Hearth
import HearthDataConnect
import HearthTesting
import Synchronization
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// Random schemas, with random mutations, queries and subscriptions beside a reference of dictionaries:
/// every result, every failure, every signal and every document is what the reference has.
@Suite struct OperationModelTests {
  private static let scenarios = Soak.seeds(Soak.isOn ? 300 : 6)

  @Test func `random operations do what a plain reference does`() async throws {
    for seed in Self.scenarios {
      var world = try World(seed)
      try await world.play(160)
    }
  }

  @Test func `random operations do the same through an emulator`() async throws {
    for seed in Self.scenarios {
      var world = try World(seed, usesEmulator: true)
      try await world.play(80)
    }
  }

  /// Each operation is executed by one of two processes, and the subscriptions of both are refreshed.
  @Test(.embedded("The helper opens a file."))
  func `random operations of two processes do what a plain reference does`() async throws {
    for seed in Self.scenarios {
      var world = try World(seed, usesProcess: true)
      try await world.play(80)
    }
  }

  private struct World {
    private let seed: UInt64
    private let database: TemporaryDatabase
    private let source: String
    private let compiled: CompiledConnector
    private var connector: TestConnector
    /// Executes the operations, if there is one.
    private var emulator: EmulatorServer?
    private var client: EmulatorClient?
    /// Executes some of the operations, if there is one.
    private var process: OperationProcess?
    private var usesProcess = false
    private var random: SeededGenerator
    private var generator: OperationGenerator
    private var operations: [RandomOperation] = []
    private var reference: ReferenceDatabase
    private var subscribers: [Subscriber] = []
    private var isAgreeing = true
    /// The last changes, for reports.
    private var changes: [String] = []

    /// A subscription to a query of rows by their keys.
    private struct Subscriber {
      let operation: RandomOperation
      let variables: DataObject
      let rows: Set<ReferenceDatabase.RowKey>
      let subscription: Refresher
      let delivered: Deliveries
      var count = 0
    }

    init(_ seed: UInt64, usesEmulator: Bool = false, usesProcess: Bool = false) throws {
      self.seed = seed
      let random = RandomSchema(seed: seed)
      var generator = OperationGenerator(random.schema, seed: seed)
      for index in 0..<36 {
        operations.append(generator.operation("Change\(index)", isMutation: true))
      }
      for index in 0..<30 {
        operations.append(generator.operation("Find\(index)", isMutation: false))
      }
      for index in 0..<6 {
        operations.append(
          generator.operation("Get\(index)", isMutation: false, isByKey: true))
      }
      source = random.text + operations.map(\.text).joined()
      let result = DataConnectCompiler().compile(
        CompilerInput(
          serviceID: "model", location: "local", connectorID: "world\(seed)",
          schema: [SourceFile(path: "schema.gql", text: random.text)],
          connector: [
            SourceFile(path: "operations.gql", text: operations.map(\.text).joined())
          ]))
      let errors = result.diagnostics.filter { $0.severity == .error }
      try #require(
        errors.isEmpty, "seed \(seed): \(errors.map(\.description).joined(separator: "\n"))")
      compiled = try #require(result.connector)
      #expect(compiled.schema == random.schema, "seed \(seed)\n\(random.text)")
      database = try TemporaryDatabase()
      connector = try TestConnector(compiled, database)
      reference = ReferenceDatabase(random.schema)
      self.generator = generator
      self.random = SeededGenerator(seed: seed &+ 0x5EED)
      if usesEmulator { try startEmulator() }
      if usesProcess {
        let process = try OperationProcess(compiled, on: database.path)
        self.process = process
        client = try connector.emulatorClient(port: process.port)
      }
    }

    private mutating func startEmulator() throws {
      let emulator = try EmulatorServer(connector.firestore, host: "127.0.0.1", port: 0)
      try emulator.serve([compiled])
      self.emulator = emulator
      client = try connector.emulatorClient(port: emulator.port)
    }

    private var service: any OperationExecutor {
      get throws {
        if process != nil, !usesProcess { return try connector.dataConnect.executor() }
        return try client ?? connector.dataConnect.executor()
      }
    }

    private var plan: ConnectorPlan {
      get throws { try connector.dataConnect.service().plan }
    }

    private mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    mutating func play(_ steps: Int) async throws {
      for step in 0..<steps where isAgreeing {
        if process != nil { usesProcess = below(2) == 0 }
        switch below(100) {
        case 0..<50: try await change(step)
        case 50..<88: try await find(step)
        case 88..<91: try await subscribe(step)
        case 91..<93: try await reopen(step)
        case 93..<96: try await changeDocument(step)
        default: try await checkDocuments(step)
        }
        await Task.yield()
      }
      if isAgreeing { try await checkDocuments(steps) }
      for subscriber in subscribers { subscriber.subscription.cancel() }
      emulator?.stop()
      process?.stop()
    }

    private mutating func disagree(
      _ step: Int, _ operation: RandomOperation? = nil, _ variables: DataObject = [:],
      _ text: String
    ) {
      isAgreeing = false
      var report = "seed \(seed), step \(step): \(text)"
      if let operation {
        report += "\n\(operation.text)\(DataValue.object(variables).json)"
      }
      let types = source.components(separatedBy: "\n}\n").filter { $0.contains("@table") }
      report += "\nafter: \(changes.suffix(4).joined(separator: "\n"))"
      report += "\n\(types.joined(separator: "\n}\n"))"
      Issue.record("\(report)")
    }

    // MARK: Operations

    private mutating func operation(
      where isIncluded: (RandomOperation) -> Bool
    ) -> RandomOperation {
      let possible = operations.filter(isIncluded)
      return possible[below(possible.count)]
    }

    private mutating func variables(of operation: RandomOperation) -> DataObject {
      generator.values(of: operation) { [reference] table, random in
        reference.rows[table.typeName]?.randomElement(using: &random)
      }
    }

    private mutating func change(_ step: Int) async throws {
      // Small tables keep the reference quick.
      let isFull = reference.rows.values.contains { $0.count > 20 }
      let operation = self.operation { operation in
        guard operation.isMutation else { return false }
        return !isFull
          || operation.roots.contains { [.deleteMany, .delete].contains($0.action) }
      }
      let variables = self.variables(of: operation)
      let response = try await service.mutate(operation.name, variables, nil)
      changes.append(
        "\(step): \(operation.text)\(DataValue.object(variables).json)\n\(response.fields)")
      let wanted = expected(operation, variables, response)
      compare(response, wanted, step, operation, variables)
      try await checkSignals(step, operation, variables)
    }

    private mutating func find(_ step: Int) async throws {
      let operation = self.operation { !$0.isMutation }
      let variables = self.variables(of: operation)
      let response = try await service.query(operation.name, variables, nil)
      compare(response, expected(operation, variables), step, operation, variables)
    }

    /// The fields, and the root fields that failed; nil is a failure of the commit.
    private typealias Expected = (fields: DataObject, failures: [String?], reason: String)

    private func expected(_ operation: RandomOperation, _ variables: DataObject) -> Expected {
      var fields = DataObject()
      for root in operation.roots {
        do {
          fields[root.key] = try reference.value(of: root, variables)
        } catch {
          return (nulls(operation), [root.key], "\(error)")
        }
      }
      return (fields, [], "")
    }

    private func nulls(_ operation: RandomOperation) -> DataObject {
      DataObject(operation.roots.map { ($0.key, .null) })
    }

    private mutating func expected(
      _ operation: RandomOperation, _ variables: DataObject, _ response: OperationResponse
    ) -> Expected {
      reference.forgetWritten()
      var fields = DataObject()
      if operation.isTransaction || operation.roots.count == 1 {
        var changed = reference
        for root in operation.roots {
          do {
            fields[root.key] = try changed.run(root, variables, response.fields[root.key])
          } catch {
            return (nulls(operation), operation.roots.map(\.key), "\(root.key): \(error)")
          }
        }
        do {
          try changed.checkUniqueValues()
        } catch {
          let isOne = operation.roots.count == 1
          return (nulls(operation), [isOne ? operation.roots[0].key : nil], "\(error)")
        }
        reference = changed
        return (fields, [], "")
      }
      var failures: [String?] = []
      var reasons: [String] = []
      for root in operation.roots {
        var changed = reference
        do {
          fields[root.key] = try changed.run(root, variables, response.fields[root.key])
          try changed.checkUniqueValues()
          reference = changed
        } catch {
          fields[root.key] = .null
          failures.append(root.key)
          reasons.append("\(root.key): \(error)")
        }
      }
      return (fields, failures, reasons.joined(separator: ", "))
    }

    private mutating func compare(
      _ response: OperationResponse, _ wanted: Expected, _ step: Int,
      _ operation: RandomOperation, _ variables: DataObject
    ) {
      let failures = response.errors.map { error -> String? in
        if case .field(let name)? = error.path?.first { name } else { nil }
      }
      guard failures == wanted.failures else {
        disagree(
          step, operation, variables,
          "failed: \(response.errors), wanted: \(wanted.failures) (\(wanted.reason))")
        return
      }
      guard response.fields.names == wanted.fields.names else {
        disagree(step, operation, variables, "fields \(response.fields.names)")
        return
      }
      for root in operation.roots {
        let found = normalized(response.fields[root.key] ?? .null, root).canonicalText
        let wanted = normalized(wanted.fields[root.key] ?? .null, root).canonicalText
        guard found != wanted else { continue }
        disagree(step, operation, variables, "\(root.key) is\n\(found)\nwanted:\n\(wanted)")
        return
      }
    }

    /// Lists without an order are sorted.
    private func normalized(_ value: DataValue, _ root: OperationRoot) -> DataValue {
      if root.action == .query, case .object(let object) = value {
        return .object(
          DataObject(root.fields.map { ($0.key, normalized(object[$0.key] ?? .null, $0)) }))
      }
      return normalized(value, root.selections, root.isOrdered)
    }

    private func normalized(
      _ value: DataValue, _ selections: [OperationSelection], _ isOrdered: Bool
    ) -> DataValue {
      if selections.isEmpty { return value }
      switch value {
      case .list(let values):
        let values = values.map { normalized($0, selections, true) }
        return .list(isOrdered ? values : values.sorted { $0.canonicalText < $1.canonicalText })
      case .object(let object):
        return .object(
          DataObject(
            selections.map { selection in
              (
                selection.key,
                normalized(
                  object[selection.key] ?? "absent", selection.selections, selection.isOrdered)
              )
            }))
      default: return value
      }
    }

    // MARK: Subscriptions

    private mutating func subscribe(_ step: Int) async throws {
      if subscribers.count > 4 {
        subscribers.remove(at: below(subscribers.count)).subscription.cancel()
      }
      let operation = self.operation(where: \.isByKey)
      let variables = self.variables(of: operation)
      var rows: Set<ReferenceDatabase.RowKey> = []
      for root in operation.roots {
        guard let table = compiled.schema.table(root.table),
          let arguments = OperationInput.object(root.arguments).resolved(variables)?.fields,
          let key = try reference.selectedKey(table, arguments, variables)
        else { continue }
        rows.insert(ReferenceDatabase.RowKey(table: table.typeName, values: key))
      }
      let delivered = Deliveries()
      let service = try service
      let name = operation.name
      let subscription = try await service.subscribe(name, variables, nil) {
        delivered.add(try? await service.query(name, variables, nil))
      }
      subscribers.append(
        Subscriber(
          operation: operation, variables: variables, rows: rows, subscription: subscription,
          delivered: delivered))
    }

    /// Those whose rows were written by their keys are refreshed once, the others not. A mutation of
    /// several commits may refresh those of another process with each of them.
    private mutating func checkSignals(
      _ step: Int, _ operation: RandomOperation, _ variables: DataObject
    ) async throws {
      for index in subscribers.indices where isAgreeing {
        let isDue = !subscribers[index].rows.isDisjoint(with: reference.written)
        subscribers[index].count += isDue ? 1 : 0
        let subscriber = subscribers[index]
        _ = try await becomesTrue { subscriber.delivered.count >= subscriber.count }
        if process != nil, subscriber.delivered.count >= subscriber.count {
          subscribers[index].count = subscriber.delivered.count
          if isDue { try await waitForResult(of: subscriber) }
        } else if subscriber.delivered.count != subscriber.count {
          disagree(
            step, operation, variables,
            "\(subscriber.delivered.count) refreshes, wanted: \(subscriber.count), of "
              + "\(subscriber.operation.text)\(DataValue.object(subscriber.variables).json)")
          return
        }
        guard isDue, let response = subscribers[index].delivered.last else { continue }
        compare(
          response, expected(subscriber.operation, subscriber.variables), step,
          subscriber.operation, subscriber.variables)
      }
    }

    /// The refresh of an earlier commit may be the first.
    private func waitForResult(of subscriber: Subscriber) async throws {
      let wanted = expected(subscriber.operation, subscriber.variables)
      func isThere() -> Bool {
        guard let response = subscriber.delivered.last, response.errors.isEmpty else {
          return !wanted.failures.isEmpty
        }
        return subscriber.operation.roots.allSatisfy { root in
          normalized(response.fields[root.key] ?? .null, root).canonicalText
            == normalized(wanted.fields[root.key] ?? .null, root).canonicalText
        }
      }
      _ = try await becomesTrue { isThere() }
    }

    // MARK: Documents

    private mutating func reopen(_ step: Int) async throws {
      for subscriber in subscribers { subscriber.subscription.cancel() }
      subscribers = []
      emulator?.stop()
      try await database.reopen()
      connector = try TestConnector(compiled, database)
      if emulator != nil { try startEmulator() }
    }

    /// Changes or deletes a row through the API of documents.
    private mutating func changeDocument(_ step: Int) async throws {
      let table = compiled.schema.tables[below(compiled.schema.tables.count)]
      // The rules of references are declared by the first operation.
      _ = try await service.query(operations.first { !$0.isMutation }?.name ?? "", [:], nil)
      let documents = try await connector.firestore.collection(table.collectionID).getDocuments()
        .documents
      guard let document = documents.randomElement(using: &random) else { return }
      let layout = try plan.layout(table.typeName)
      let key = layout.key(
        of: try document.data(as: StoredRow.self), documentID: document.documentID)
      let column = table.columns.first { column in
        column.type == .string && !column.isList && !table.key.contains(column.name)
          && table.reference(withColumn: column.name) == nil
          && !table.uniques.contains { $0.columns.contains(column.name) }
      }
      // Without an operation, the columns of a reference that is no text of its own stay.
      let hasStaleColumns = compiled.schema.tables.contains { table in
        table.references.contains { reference in
          reference.isNullable
            && reference.columns.contains {
              (try? plan.layout(table.typeName).column($0)?.reference) ?? nil == nil
            }
        }
      }
      if hasStaleColumns, column == nil { return }
      changes.append("\(step): by hand \(document.reference.path)")
      if let column, hasStaleColumns || below(3) > 0 {
        try await document.reference.updateData([column.name: "by hand"])
        reference.set(column.name, to: "by hand", at: key, table)
      } else {
        try await document.reference.delete()
        reference.delete(key, table)
      }
    }

    /// Every row is a document, whose fields are its columns and references.
    private mutating func checkDocuments(_ step: Int) async throws {
      for table in compiled.schema.tables {
        let documents = try await connector.firestore.collection(table.collectionID)
          .getDocuments().documents
        let rows = reference.rows[table.typeName] ?? []
        guard documents.count == rows.count else {
          disagree(step, nil, [:], "\(documents.count) documents, wanted: \(rows.count) \(table)")
          return
        }
        let layout = try plan.layout(table.typeName)
        for row in rows {
          let id = FirebaseDataConnect.RowKey.documentID(reference.key(of: row, table))
          guard let document = documents.first(where: { $0.documentID == id }) else {
            disagree(step, nil, [:], "no document \(id) of \(table.typeName)")
            return
          }
          let stored = try document.data(as: StoredRow.self)
          for column in table.columns where layout.column(column.name)?.reference == nil {
            let found = stored[column.name]?.dataValue(column.type) ?? "absent"
            let wanted = row[column.name] ?? .null
            guard found.canonicalText != wanted.canonicalText else { continue }
            disagree(step, nil, [:], "\(id).\(column.name) is \(found), wanted: \(wanted)")
            return
          }
          for reference in table.references {
            let key = reference.columns.map { row[$0] ?? .null }
            let target = try plan.layout(reference.target)
            let wanted =
              key.contains(.null) ? nil : target.document(key, in: connector.firestore).path
            let found = (document[reference.name] as? DocumentReference)?.path
            guard found != wanted else { continue }
            disagree(
              step, nil, [:],
              "\(id).\(reference.name) is \(found ?? "null"), wanted: \(wanted ?? "null")")
            return
          }
        }
      }
    }
  }
}

/// The results of a subscription.
private final class Deliveries: Sendable {
  private let responses = Mutex<[OperationResponse?]>([])

  var count: Int { responses.withLock(\.count) }
  var last: OperationResponse? { responses.withLock { $0.last ?? nil } }
  func add(_ response: OperationResponse?) { responses.withLock { $0.append(response) } }
}
