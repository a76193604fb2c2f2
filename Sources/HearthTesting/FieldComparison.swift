import Foundation
import Hearth

/// Finds where two values of one type differ, by inspecting them with `Mirror`.
///
/// A value's own `==` decides whether there is a difference; `Mirror` only finds the place.
/// Expected changes do not count: ids, ignored fields, the database instance of a reference.
struct FieldComparison {
  typealias Field = RoundTripDifference.Field

  private let ignored: Set<String>
  private var differences: [Field] = []
  /// Differences that do not count.
  private var allowedCount = 0

  static func differences<Model: Equatable>(
    between written: Model, and read: Model, ignoring ignored: Set<String>
  ) -> [Field] {
    var comparison = FieldComparison(ignored: ignored)
    if written != read { comparison.compare(written, read, Path()) }
    return comparison.differences
  }

  /// The ids that reading did not fill in.
  static func forgottenIDs(in read: Any, ignoring ignored: Set<String>) -> [Field] {
    DocumentIDs.all(in: read).filter { $0.value == nil && !ignored.contains($0.path.plain) }
      .map { id in
        Field(
          path: id.path.text, written: "@DocumentID", read: "nil",
          hint: "The id is never filled in: do the type's CodingKeys name the property?")
      }
  }

  /// The place of a value in a model: with indexes, and without them.
  struct Path {
    var text = ""
    var plain = ""

    func property(_ name: String) -> Path {
      text.isEmpty
        ? Path(text: name, plain: name)
        : Path(text: text + "." + name, plain: plain.isEmpty ? name : plain + "." + name)
    }

    func element(_ key: String) -> Path { Path(text: text + "[\(key)]", plain: plain) }
  }

  private mutating func compare(_ written: Any, _ read: Any, _ path: Path) {
    if ignored.contains(path.plain) {
      allowedCount += 1
      return
    }
    let found = differences.count + allowedCount
    switch (Shown.unwrapped(written), Shown.unwrapped(read)) {
    // An optional inside an optional may be nil, or hold nil.
    case (nil, nil) where "\(written)" == "\(read)": return
    case (let written?, let read?):
      if areEqual(written, read) { return }
      if type(of: written) == type(of: read) { lookInside(written, read, path) }
    default: break
    }
    // Nothing inside differs, so the value itself does.
    if differences.count + allowedCount == found { note(written, read, path) }
  }

  private mutating func lookInside(_ written: Any, _ read: Any, _ path: Path) {
    switch (written, read) {
    case (let id as any DocumentIDField, let other as any DocumentIDField):
      if id.anyValue == nil || other.anyValue == nil || areSame(id.anyValue, other.anyValue) {
        allowedCount += 1
      } else {
        note(
          id.anyValue as Any, other.anyValue as Any, path,
          hint: "An id is that of the document, in nested values too.")
      }
      return
    case (let time as any ServerTimestampField, let other as any ServerTimestampField)
    where time.anyValue == nil:
      note(
        time.anyValue as Any, other.anyValue as Any, path,
        hint: "The database fills in @ServerTimestamp. Set it, or ignore \"\(path.plain)\".")
      return
    case (is DocumentReference, is DocumentReference):
      if areSame(written, read) { allowedCount += 1 }
      return
    case (let number as any BinaryFloatingPoint, let other as any BinaryFloatingPoint):
      if number.isNaN, other.isNaN { allowedCount += 1 }
      return
    default: break
    }
    if Shown.isLeaf(written) { return }
    let mirror = Mirror(reflecting: written)
    let other = Mirror(reflecting: read)
    switch mirror.displayStyle {
    case .set: return
    case .dictionary:
      let entries = Shown.entries(mirror)
      let others = Shown.entries(other)
      for key in Set(entries.keys).union(others.keys).sorted() {
        compareMembers(entries[key], others[key], path.element(key))
      }
    case .collection:
      let elements = mirror.children.map(\.value)
      let others = other.children.map(\.value)
      for index in 0..<max(elements.count, others.count) {
        compareMembers(
          index < elements.count ? elements[index] : nil,
          index < others.count ? others[index] : nil, path.element("\(index)"))
      }
    default:
      let children = Shown.properties(mirror)
      let others = Shown.properties(other)
      guard children.map(\.label) == others.map(\.label) else { return }
      for (child, other) in zip(children, others) {
        compare(child.value, other.value, Shown.path(path, to: child.label))
      }
    }
  }

  /// `written` or `read` is nil if the member is missing.
  private mutating func compareMembers(_ written: Any?, _ read: Any?, _ path: Path) {
    if let written, let read { return compare(written, read, path) }
    differences.append(
      Field(
        path: path.text, written: written.map(Shown.value) ?? "nothing",
        read: read.map(Shown.value) ?? "nothing", hint: nil))
  }

  private mutating func note(_ written: Any, _ read: Any, _ path: Path, hint: String? = nil) {
    let hint = hint ?? self.hint(Shown.unwrapped(written), Shown.unwrapped(read))
    differences.append(
      Field(
        path: path.text.isEmpty ? "self" : path.text, written: Shown.value(written),
        read: Shown.value(read), hint: hint))
  }

  /// The reason for a known change.
  private func hint(_ written: Any?, _ read: Any?) -> String? {
    switch (written, read) {
    case (let date as Date, let other as Date) where abs(date.timeIntervalSince(other)) < 2e-6:
      "Times are stored in microseconds."
    case (let time as Timestamp, let other as Timestamp) where time.seconds == other.seconds:
      "Times are stored in microseconds."
    case (is Decimal, is Decimal): "A Decimal is stored as a Double."
    default: nil
    }
  }

  /// Whether both refer to one document; the database may be another instance after reopening.
  private func areSame(_ written: Any?, _ read: Any?) -> Bool {
    guard let written = written as? DocumentReference, let read = read as? DocumentReference else {
      return false
    }
    return written.path == read.path
  }

  private func areEqual(_ written: Any, _ read: Any) -> Bool {
    func isEqual<Value: Equatable>(_ value: Value) -> Bool { (read as? Value) == value }
    guard let written = written as? any Equatable else { return false }
    return isEqual(written)
  }
}

/// `@DocumentID` of any type.
private protocol DocumentIDField {
  var anyValue: Any? { get }
}

extension DocumentID: DocumentIDField {
  fileprivate var anyValue: Any? { wrappedValue }
}

/// `@ServerTimestamp` of any type.
private protocol ServerTimestampField {
  var anyValue: Any? { get }
}

extension ServerTimestamp: ServerTimestampField {
  fileprivate var anyValue: Any? { wrappedValue }
}

/// The ids in a model.
enum DocumentIDs {
  typealias ID = (value: Any?, path: FieldComparison.Path)

  static func all(in value: Any, _ path: FieldComparison.Path = FieldComparison.Path()) -> [ID] {
    guard let value = Shown.unwrapped(value) else { return [] }
    if let id = value as? any DocumentIDField { return [(id.anyValue, path)] }
    if Shown.isLeaf(value) { return [] }
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .collection, .set:
      return mirror.children.enumerated().flatMap { all(in: $1.value, path.element("\($0)")) }
    case .dictionary: return Shown.entries(mirror).flatMap { all(in: $1, path.element($0)) }
    default:
      return Shown.properties(mirror).flatMap { all(in: $0.value, Shown.path(path, to: $0.label)) }
    }
  }
}

/// How values are inspected and printed.
enum Shown {
  /// The value without its optionals; nil if one of them is nil.
  static func unwrapped(_ value: Any) -> Any? {
    var value = value
    while true {
      let mirror = Mirror(reflecting: value)
      guard mirror.displayStyle == .optional else { return value }
      guard let inner = mirror.children.first?.value else { return nil }
      value = inner
    }
  }

  /// Values that are not inspected further.
  static func isLeaf(_ value: Any) -> Bool {
    switch value {
    case is String, is any Numeric, is Bool, is Date, is Data, is URL, is UUID, is Decimal: true
    // Not `is NSObject`: on Linux an array is one, too.
    default: type(of: value) is NSObject.Type
    }
  }

  /// Inherited properties come first.
  static func properties(_ mirror: Mirror) -> [(label: String, value: Any)] {
    let own = mirror.children.enumerated().map { ($1.label ?? ".\($0)", $1.value) }
    return (mirror.superclassMirror.map(properties) ?? []) + own
  }

  /// A property wrapper and its value share the property's name.
  static func path(_ path: FieldComparison.Path, to label: String) -> FieldComparison.Path {
    if label == "wrappedValue" { return path }
    return path.property(label.hasPrefix("_") ? String(label.dropFirst()) : label)
  }

  /// A dictionary's entries, by the printed form of their keys.
  static func entries(_ mirror: Mirror) -> [String: Any] {
    var entries: [String: Any] = [:]
    for child in mirror.children {
      let pair = Mirror(reflecting: child.value).children.map(\.value)
      if pair.count == 2 { entries[value(pair[0])] = pair[1] }
    }
    return entries
  }

  static func value(_ value: Any) -> String {
    guard let value = unwrapped(value) else { return "\(value)" }
    let text =
      switch value {
      case let string as String: "\"\(string)\""
      case let date as Date:
        "\(date.formatted(.iso8601)) (\(date.timeIntervalSince1970) s since 1970)"
      case let data as Data: "\(data.count) bytes: \(data.base64EncodedString())"
      // For types declared in functions, removes the placeholder of the function.
      default: "\(value)".replacing(/\(unknown context at \$[0-9a-f]+\)\./, with: "")
      }
    return text.count > 200 ? text.prefix(200) + "…" : text
  }

  static func fields(_ fields: [String: Any]) -> String {
    fields.sorted { $0.key < $1.key }.map { "\($0.key): \(value($0.value))" }
      .joined(separator: ", ")
  }
}
