import Foundation
import Hearth

extension ParseObject {
  /// The object itself. In the original, a copy whose save writes only what is set afterwards; here, every
  /// save writes only what has changed since the object was read.
  public var mergeable: Self { self }

  /// A copy with another value of a property. Nil removes it with the next save.
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

  /// Whether a property is nil, and has a value in `original`.
  public func shouldRestoreKey<Value: Equatable>(
    _ keyPath: KeyPath<Self, Value?>, original: Self
  ) -> Bool {
    self[keyPath: keyPath] == nil && original[keyPath: keyPath] != nil
  }

  /// A copy as the object was read; objects in its properties have only their ids. Throws `ParseError` with
  /// `.missingObjectId` for an object that was not read.
  public func revertObject() throws(ParseError) -> Self {
    try reporting {
      guard let originalData else {
        throw ParseError(.missingObjectId, "The object was not read: there is no original.")
      }
      let context = try ParseSwift.context
      let document = try toPointer().reference(in: context.firestore)
        .snapshot(ofEncodedFields: originalData)
      return try ObjectReading.objects([document], as: Self.self, context)[0]
    }
  }

  /// A copy with the value of a property as it was read. Throws as `revertObject()`.
  public func revertKeyPath<Value>(
    _ keyPath: WritableKeyPath<Self, Value?>
  ) throws(ParseError) -> Self {
    set(keyPath, to: try revertObject()[keyPath: keyPath])
  }
}
