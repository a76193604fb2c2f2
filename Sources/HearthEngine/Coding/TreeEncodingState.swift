import Foundation

/// What all encoders and containers of one run of a `TreeEncoder` share.
final class TreeEncodingState {
  /// What becomes of the tree. A document has the rules of storing; a structure is the value as it is.
  ///
  ///     | | document | structure |
  ///     |---|---|---|
  ///     | `Timestamp` and its kin | values, checked | the same objects |
  ///     | `Decimal` | nearest double | `NSDecimalNumber` |
  ///     | integers | `Int64` | also to `UInt64.max` |
  ///     | nesting | as deep as a document | `EncodingRules.deepestStructure` |
  enum Target { case document, structure }

  let target: Target
  let options: FirebaseDataEncoder
  private let passthroughTypes: any StructureCodingPassthroughTypeResolver.Type
  var misuse: EncodingError?
  /// What keeps a document from being stored.
  var fault: Status?
  var databases: [DatabaseIdentity] = []
  /// Values around this one that are encoded in their own place, by single value containers.
  var valuesInPlace = 0

  init(_ target: Target, options: FirebaseDataEncoder) {
    self.target = target
    self.options = options
    passthroughTypes = options.passthroughTypeResolver
  }

  func note(_ error: EncodingError) { misuse = misuse ?? error }

  /// Whether a value goes into a structure as it is.
  func passesThrough<T>(_ value: T) -> Bool { passthroughTypes.isPassthroughType(value) }

  // MARK: - Depth

  private var deepest: Int {
    target == .document ? DocumentFormat.maximumDepth + 1 : EncodingRules.deepestStructure
  }

  /// Whether a value can be there: in the innermost map, or further out.
  func isReachable(_ codingPath: [any CodingKey]) -> Bool { codingPath.count <= deepest }

  func mostValuesInPlace(at codingPath: [any CodingKey]) -> Int {
    target == .document
      ? EncodingRules.mostValuesInPlace : EncodingRules.mostValuesInPlace(at: codingPath)
  }

  /// Before going deeper: types that contain themselves would go on until the stack ends.
  func checkDepth(of codingPath: [any CodingKey]) throws {
    if !isReachable(codingPath) { throw tooDeep(codingPath) }
  }

  /// Remembered, too: a type that catches it leaves the value out.
  func tooDeep(_ codingPath: [any CodingKey]) -> any Error {
    guard target == .structure else {
      fault = EncodingRules.tooDeep
      return EncodingRules.tooDeep
    }
    let error = EncodingRules.structureTooDeep(codingPath: codingPath)
    note(error)
    return error
  }

  // MARK: - Numbers

  func number(
    _ value: Double, named typeName: String, codingPath: @autoclosure () -> [any CodingKey]
  ) throws -> Value {
    if value.isFinite { return .double(value) }
    return .string(
      try EncodingRules.string(
        for: value, named: typeName, options: options, codingPath: codingPath))
  }

  func integer(
    _ value: some FixedWidthInteger, codingPath: @autoclosure () -> [any CodingKey]
  ) throws -> TreeNode.Content {
    if let integer = Int64(exactly: value) { return .value(.integer(integer)) }
    guard target == .structure, let large = UInt64(exactly: value) else {
      throw EncodingRules.tooLarge(value, codingPath: codingPath())
    }
    return .object(NSNumber(value: large))
  }
}
