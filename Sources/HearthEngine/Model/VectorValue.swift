import Foundation

/// A vector of doubles, such as an embedding.
///
///     try await book.updateData(["embedding": FieldValue.vector([0.25, 0.5])])
public final class VectorValue: NSObject, NSCopying, Sendable {
  /// The components, in order.
  public let array: [Double]

  /// A vector with these components. Their number, 1 to 2,048, is checked when it is written.
  public init(_ array: [Double]) { self.array = array }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other vector has the same numbers, in the same order. All NaNs are equal, and 0 and -0.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? VectorValue else { return false }
    return Value.vector(array) == .vector(other.array)
  }

  // All NaNs are equal, so they have one hash; that of a `Double` depends on its bits.
  public override var hash: Int { Value.vector(array).hashValue }

  public override var description: String { "<VectorValue: \(array)>" }
}
