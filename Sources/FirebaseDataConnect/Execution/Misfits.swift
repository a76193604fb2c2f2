import Synchronization

/// The values that an execution has read and that do not have the forms of their columns.
///
/// They are part of the result, which may be read as JSON. If the result cannot be decoded, they are the
/// reason.
final class Misfits: Sendable {
  private static let limit = 10
  private let found = Mutex<[String]>([])
  /// False for an operation with redacted fields: a sentence could show their values.
  private let isKept: Bool

  init(isKept: Bool) { self.isKept = isKept }

  /// A sentence for each, at most ten.
  var sentences: [String] { found.withLock { $0 } }

  func note(_ value: DataValue, _ column: TableLayout.ColumnLayout, _ table: String, _ key: String)
  {
    guard isKept else { return }
    found.withLock { found in
      guard found.count < Self.limit else { return }
      let type = column.form.type.name
      let sentence =
        "The row of \(table) with the key \(key) has \(value.json.prefix(100)) in the column "
        + "\(column.column.name), which is of the type \(type)."
      if !found.contains(sentence) { found.append(sentence) }
    }
  }
}
