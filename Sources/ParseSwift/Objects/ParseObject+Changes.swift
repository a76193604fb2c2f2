import Foundation
import Hearth

extension ParseObject {
  /// The object itself. In Parse's SDK, a copy whose save writes only properties that are set
  /// afterwards; here, every save of an object that was read writes only what has changed since.
  public var mergeable: Self { self }

  /// A copy with another value of a property. Nil removes the property with the next save of an
  /// object that was read.
  ///
  ///     let renamed = try book.set(\.title, to: "Dune Messiah").save()
  public func set<Value>(_ keyPath: WritableKeyPath<Self, Value?>, to value: Value?) -> Self {
    var object = self
    object[keyPath: keyPath] = value
    return object
  }

  /// The value of a property. Throws `ParseError` with `.unknownError` if it is nil.
  public func get<Value>(_ keyPath: KeyPath<Self, Value?>) throws(ParseError) -> Value {
    guard let value = self[keyPath: keyPath] else {
      throw ParseError(.unknownError, "The property has no value.")
    }
    return value
  }

  /// Whether a property is nil here, and has a value in `original`.
  public func shouldRestoreKey<Value: Equatable>(
    _ keyPath: KeyPath<Self, Value?>, original: Self
  ) -> Bool {
    self[keyPath: keyPath] == nil && original[keyPath: keyPath] != nil
  }

  /// A copy that has Parse's own properties of another version of the object where this one has
  /// none: the ACL, the times, and what was read. For the object's own properties, see
  /// `merge(with:)`. Throws `ParseError` with `.unknownError` for another object.
  public func mergeParse(with object: Self) throws(ParseError) -> Self {
    guard hasSameObjectId(as: object) else {
      throw ParseError(.unknownError, "The objects have different ids.")
    }
    var merged = self
    if shouldRestoreKey(\.ACL, original: object) { merged.ACL = object.ACL }
    merged.createdAt = createdAt ?? object.createdAt
    merged.updatedAt = updatedAt ?? object.updatedAt
    merged.originalData = originalData ?? object.originalData
    return merged
  }

  /// Same as `mergeParse(with:)`, unless the class has its own.
  public func merge(with object: Self) throws -> Self { try mergeParse(with: object) }

  /// A copy with the properties as they were read. Objects in its properties have only their ids.
  /// Reads nothing. Throws `ParseError` with `.missingObjectId` for an object that was not read.
  public func revertObject() throws(ParseError) -> Self {
    try reporting {
      guard originalData != nil, let document = try original(in: ParseSwift.firestore) else {
        throw ParseError(.missingObjectId, "The object was not read: there is no original.")
      }
      return try ObjectReading.object(document, as: Self.self, ParseSwift.context)
    }
  }

  /// The document as it was read. Nil for an object that was not read.
  func original(in firestore: Firestore) throws -> DocumentSnapshot? {
    try originalData.map {
      try toPointer().reference(in: firestore).snapshot(ofEncodedFields: $0)
    }
  }

  /// A copy with the value of a property as it was read. Throws as `revertObject()`.
  public func revertKeyPath<Value>(
    _ keyPath: WritableKeyPath<Self, Value?>
  ) throws(ParseError) -> Self {
    set(keyPath, to: try revertObject()[keyPath: keyPath])
  }
}
