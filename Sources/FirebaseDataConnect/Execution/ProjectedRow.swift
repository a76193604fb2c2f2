import DataConnectModel
import Hearth

/// The selected columns of a row, read from its document without the others.
///
///     document   author ─ genre ─ pages ─ title ─ …      fields of the table
///     steps          2 ──────────── 0 ──────────         pages, authorId
///     values     [412, "herbert"]                        in the order of the steps
enum ProjectedRow: Sendable {
  /// - Parameter isComplete: False for a document that was written by hand: it has its key only in its
  ///   id, so that the key's columns have no values, or a value does not have the form of its column.
  case values([DataValue], isComplete: Bool)
  /// All columns: of a document that only `Codable` can read, or if others than the selected ones are
  /// needed.
  case stored(StoredRow)

  /// How a column is read.
  struct Step: Sendable {
    /// The position in the fields of the table.
    let field: Int
    let form: ColumnForm
    /// Whether the column is the id of the row that the field refers to.
    let isReference: Bool
    /// The value in documents without the field.
    let missingValue: DataValue
    /// Whether a document without the field has the value in its id.
    let isKey: Bool
  }

  /// The configuration of the decoder.
  final class Plan: Sendable {
    fileprivate let fields: DocumentFields<ProjectedRow>
    fileprivate let steps: [Step]

    init(_ fields: DocumentFields<ProjectedRow>, _ steps: [Step]) {
      self.fields = fields
      self.steps = steps
    }
  }

  /// False for a row that needs the id of its document.
  var isComplete: Bool {
    if case .values(_, true) = self { true } else { false }
  }
}

extension ProjectedRow: DocumentValueCodable {
  init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    guard let plan = reader.configuration as? Plan else {
      self = .stored(try StoredRow(reading: reader))
      return
    }
    self = try reader.map(plan.fields) { map throws(UseCodable) in
      var values: [DataValue] = []
      values.reserveCapacity(plan.steps.count)
      var isComplete = true
      for step in plan.steps {
        let value: DataValue
        if try !map.isStored(at: step.field) {
          value = step.missingValue
          if step.isKey { isComplete = false }
        } else if step.isReference {
          let id = try map.read(ReferencedID.self, at: step.field).text
          value = id.flatMap { RowKey.value(of: $0, type: step.form.type) } ?? .null
        } else {
          value = try map.read(StoredValue.self, at: step.field).dataValue(step.form.type)
        }
        if !step.form.fits(value) { isComplete = false }
        values.append(value)
      }
      return .values(values, isComplete: isComplete)
    }
  }

  init(from decoder: any Decoder) throws { self = .stored(try StoredRow(from: decoder)) }

  func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) { throw UseCodable() }

  func encode(to encoder: any Encoder) throws { throw ReadOnly() }
}

/// The id of the document that a field refers to. Nil for a field with another value.
private struct ReferencedID: DocumentValueCodable {
  let text: String?

  init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    text = try? reader.referencedDocumentID()
  }

  init(from decoder: any Decoder) throws {
    text = try? DocumentReference(from: decoder).documentID
  }

  func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) { throw UseCodable() }

  func encode(to encoder: any Encoder) throws { throw ReadOnly() }
}

/// Of types that are read and not written.
private struct ReadOnly: Error {}
