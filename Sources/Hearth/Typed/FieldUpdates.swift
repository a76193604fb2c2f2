import Foundation

/// The changes of some fields of a document, which the compiler has checked.
///
///     try await dune.update {
///       $0.pages += 6
///       $0.title = "Dune Messiah"
///       $0.tags.formUnion(["sequel"])
///       $0.edition.year.set(1969)
///       $0.updated.setServerTimestamp()
///     }
@dynamicMemberLookup
public struct FieldUpdates<Model: DocumentModel> {
  /// The same changes for untyped updates.
  public private(set) var data: [AnyHashable: Any] = [:]
  /// The first value that could not be encoded.
  private(set) var error: (any Error)?

  /// No changes.
  public init() {}

  init(_ change: (inout FieldUpdates) -> Void) { change(&self) }

  /// A change that depends on the stored value.
  public subscript<Value>(
    dynamicMember field: KeyPath<Model.Fields, Field<Value>>
  ) -> FieldUpdate<Value> {
    get { FieldUpdate(names: Model.fields[keyPath: field].names) }
    set {
      if let change = newValue.change { add(change, at: newValue.names) }
      for (names, change) in newValue.inner { add(change, at: names) }
      error = error ?? newValue.error
    }
  }

  private mutating func add(_ change: Any, at names: [String]) {
    if names.isEmpty {
      error = error ?? Status.invalidArgument("A document's id cannot be changed.").nsError
    } else if data.updateValue(change, forKey: FieldPath(names)) != nil {
      error =
        error
        ?? Status.invalidArgument(
          "An update changes the field \(FieldSegments(names).canonicalText) twice."
        ).nsError
    }
  }

  /// A new value.
  @_disfavoredOverload
  public subscript<Value: Encodable>(
    dynamicMember field: KeyPath<Model.Fields, Field<Value>>
  ) -> Value {
    @available(
      *, unavailable,
      message: "An update does not read the document; set(_:) sets a field within a map."
    )
    get { fatalError() }
    set { self[dynamicMember: field].set(newValue) }
  }
}

/// A change of one field.
@dynamicMemberLookup
public struct FieldUpdate<Value> {
  let names: [String]
  fileprivate(set) var change: Any?
  /// Of the fields of the map that the field holds.
  fileprivate(set) var inner: [([String], Any)] = []
  fileprivate(set) var error: (any Error)?

  init(names: [String]) { self.names = names }

  /// Removes the field.
  public mutating func delete() { change = FieldValue.delete() }
}

extension FieldUpdate where Value: Encodable {
  /// Sets the field to a value.
  public mutating func set(_ value: Value) {
    do { change = try plainValue(of: value) } catch { self.error = error }
  }
}

extension FieldUpdate {
  /// A field of the map that this field holds. Other fields of the map stay.
  public subscript<Inner>(
    dynamicMember field: KeyPath<Value.Fields, Field<Inner>>
  ) -> FieldUpdate<Inner> where Value: DocumentModel {
    get {
      let inner = Value.fields[keyPath: field].names
      return FieldUpdate<Inner>(names: inner.isEmpty ? [] : names + inner)
    }
    set {
      if let change = newValue.change { inner.append((newValue.names, change)) }
      inner += newValue.inner
      error = error ?? newValue.error
    }
  }

  /// Adds the elements that the array lacks.
  public mutating func formUnion<Element: Encodable>(
    _ elements: [Element]
  ) where Value == [Element] {
    change(by: elements, FieldValue.arrayUnion)
  }

  /// Removes all elements that equal one of these.
  public mutating func subtract<Element: Encodable>(
    _ elements: [Element]
  ) where Value == [Element] {
    change(by: elements, FieldValue.arrayRemove)
  }

  private mutating func change<Element: Encodable>(
    by elements: [Element], _ make: ([Any]) -> FieldValue
  ) {
    do { change = make(try plainValues(of: elements)) } catch { self.error = error }
  }
}

extension FieldUpdate where Value == Date? {
  /// Sets the field to the time of the commit.
  public mutating func setServerTimestamp() { change = FieldValue.serverTimestamp() }
}

extension FieldUpdate where Value == Timestamp? {
  /// Sets the field to the time of the commit.
  public mutating func setServerTimestamp() { change = FieldValue.serverTimestamp() }
}

extension FieldUpdate where Value: FixedWidthInteger {
  fileprivate mutating func increment(by number: Value, isNegative: Bool) {
    guard let wide = Int64(exactly: number), wide != .min else {
      error = Status.invalidArgument("\(number) is too large to be added to a field.").nsError
      return
    }
    change = FieldValue.increment(isNegative ? -wide : wide)
  }
}

extension FieldUpdates {
  /// Throws for a value that could not be encoded.
  func checkedData() throws -> [AnyHashable: Any] {
    if let error { throw error }
    return data
  }
}

// Increments. One function for each type, because a generic one would lose against those of the
// standard library.

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<Int>, number: Int) {
  field.increment(by: number, isNegative: false)
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<Int>, number: Int) {
  field.increment(by: number, isNegative: true)
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<Int8>, number: Int8) {
  field.increment(by: number, isNegative: false)
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<Int8>, number: Int8) {
  field.increment(by: number, isNegative: true)
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<Int16>, number: Int16) {
  field.increment(by: number, isNegative: false)
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<Int16>, number: Int16) {
  field.increment(by: number, isNegative: true)
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<Int32>, number: Int32) {
  field.increment(by: number, isNegative: false)
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<Int32>, number: Int32) {
  field.increment(by: number, isNegative: true)
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<Int64>, number: Int64) {
  field.increment(by: number, isNegative: false)
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<Int64>, number: Int64) {
  field.increment(by: number, isNegative: true)
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<UInt>, number: UInt) {
  field.increment(by: number, isNegative: false)
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<UInt>, number: UInt) {
  field.increment(by: number, isNegative: true)
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<UInt8>, number: UInt8) {
  field.increment(by: number, isNegative: false)
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<UInt8>, number: UInt8) {
  field.increment(by: number, isNegative: true)
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<UInt16>, number: UInt16) {
  field.increment(by: number, isNegative: false)
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<UInt16>, number: UInt16) {
  field.increment(by: number, isNegative: true)
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<UInt32>, number: UInt32) {
  field.increment(by: number, isNegative: false)
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<UInt32>, number: UInt32) {
  field.increment(by: number, isNegative: true)
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<Double>, number: Double) {
  field.change = FieldValue.increment(Double(number))
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<Double>, number: Double) {
  field.change = FieldValue.increment(-Double(number))
}

/// Adds to the stored number, which is 0 if the field is missing or no number.
public func += (field: inout FieldUpdate<Float>, number: Float) {
  field.change = FieldValue.increment(Double(number))
}
/// Subtracts from the stored number; see `+=`.
public func -= (field: inout FieldUpdate<Float>, number: Float) {
  field.change = FieldValue.increment(-Double(number))
}
