import Hearth
internal import HearthText

/// The exact form in which a value goes to another process, unlike `DataValue.json`.
///
///     1, 1.0, "text", [1], {"a": 1}     as in JSON: integers and doubles differ
///     {"@timestamp": [1, 5000]}         a timestamp, in seconds and nanoseconds
///     {"@double": "nan"}                a number that JSON does not have
///     {"@@name": 1}                     an object with the member "@name"
extension JSON {
  init(_ value: DataValue) {
    switch value {
    case .null: self = .null
    case .bool(let value): self = .boolean(value)
    case .int(let value): self = .integer(value)
    case .double(let value):
      self =
        value.isFinite
        ? .double(value) : .object([Member(DataValue.doubleMark, .string("\(value)"))])
    case .string(let value): self = .string(value)
    case .timestamp(let value):
      let parts = [JSON.integer(value.seconds), .integer(Int64(value.nanoseconds))]
      self = .object([Member(DataValue.timestampMark, .array(parts))])
    case .list(let values): self = .array(values.map { JSON($0) })
    case .object(let object): self = JSON(object)
    }
  }

  init(_ object: DataObject) {
    self = .object(
      object.members.map { name, value in
        Member(name.hasPrefix("@") ? "@" + name : name, JSON(value))
      })
  }

  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
}

extension DataValue {
  fileprivate static let timestampMark = "@timestamp"
  fileprivate static let doubleMark = "@double"

  init(_ json: JSON) {
    switch json {
    case .null: self = .null
    case .boolean(let value): self = .bool(value)
    case .integer(let value): self = .int(value)
    case .double(let value): self = .double(value)
    case .string(let value): self = .string(value)
    case .array(let values): self = .list(values.map { DataValue($0) })
    case .object(let members):
      if members.count == 1, let marked = Self(marked: members[0]) {
        self = marked
        return
      }
      self = .object(
        DataObject(
          members.map { member in
            let isEscaped = member.name.hasPrefix("@@")
            return (isEscaped ? String(member.name.dropFirst()) : member.name, Self(member.value))
          }))
    }
  }

  /// Nil for an object.
  private init?(marked member: JSON.Member) {
    switch (member.name, member.value) {
    case (Self.timestampMark, .array(let parts)):
      guard parts.count == 2, let seconds = parts[0].integer, let nanoseconds = parts[1].integer,
        RFC3339.seconds.contains(seconds), (0..<1_000_000_000).contains(nanoseconds)
      else { return nil }
      self = .timestamp(Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds)))
    case (Self.doubleMark, .string(let text)):
      guard let number = Double(text) else { return nil }
      self = .double(number)
    default: return nil
    }
  }
}
