import Foundation

/// The state that all encoders and containers of one run of a `TreeEncoder` share.
final class TreeEncodingState {
  /// The result of the tree. A document follows the rules for storing; a structure keeps the
  /// values.
  ///
  ///     | | document | structure |
  ///     |---|---|---|
  ///     | Firestore types | values, checked | the same objects |
  ///     | `Decimal` | nearest double | `NSDecimalNumber` |
  ///     | integers | `Int64` | up to `UInt64.max` |
  ///     | nesting | the limit of documents | `EncodingRules.deepestStructure` |
  enum Target { case document, structure }

  let target: Target
  let options: FirebaseDataEncoder
  private let passthroughTypes: any StructureCodingPassthroughTypeResolver.Type
  var misuse: EncodingError?
  /// Why a document cannot be stored; nil if it can.
  var validationError: Status?
  var databases: [DatabaseIdentity] = []
  /// How many enclosing values are encoded in the same place, through single value containers.
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

  /// Whether a value can be at this path: not deeper than in the innermost map.
  func isReachable(_ codingPath: [any CodingKey]) -> Bool { codingPath.count <= deepest }

  func mostValuesInPlace(at codingPath: [any CodingKey]) -> Int {
    target == .document
      ? EncodingRules.mostValuesInPlace : EncodingRules.mostValuesInPlace(at: codingPath)
  }

  /// Checked before descending: types that contain themselves would overflow the stack.
  func checkDepth(of codingPath: [any CodingKey]) throws {
    if !isReachable(codingPath) { throw tooDeep(codingPath) }
  }

  /// Also records the error: a type that catches it leaves the value out.
  func tooDeep(_ codingPath: [any CodingKey]) -> any Error {
    guard target == .structure else {
      validationError = EncodingRules.tooDeep
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
