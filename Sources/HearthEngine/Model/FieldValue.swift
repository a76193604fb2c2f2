import Foundation

/// A placeholder in written data for a value that the database computes.
///
///     try await book.updateData([
///       "readers": FieldValue.increment(Int64(1)),
///       "tags": FieldValue.arrayUnion(["classic"]),
///       "draft": FieldValue.delete(),
///     ])
///
/// An element of `arrayUnion` or `arrayRemove` that cannot be stored is reported by the operation
/// that uses the value. Values compare by identity; `delete()` and `serverTimestamp()` always
/// return the same object.
public final class FieldValue: NSObject, Sendable {
  package let transform: FieldTransform
  /// Why this value cannot be used; nil if it can.
  package let validationError: Status?
  /// The database of the references among the elements, if there are any.
  package let database: DatabaseIdentity?

  package init(
    _ transform: FieldTransform, validationError: Status? = nil, database: DatabaseIdentity? = nil
  ) {
    self.transform = transform
    self.validationError = validationError
    self.database = database
  }

  private static let deletion = FieldValue(.delete)
  private static let commitTime = FieldValue(.serverTimestamp)

  /// Removes the field. Allowed only at the top level of `updateData`, and in `setData` with merge.
  public class func delete() -> FieldValue { deletion }

  /// Sets the field to the time of the commit, the same for all fields of one commit.
  public class func serverTimestamp() -> FieldValue { commitTime }

  /// Adds a number to the field. A field that is missing, or not a number, is set to the operand.
  /// Integers saturate.
  public class func increment(_ d: Double) -> FieldValue { FieldValue(.increment(.double(d))) }
  /// Adds an integer to the field; see the form for doubles. The sum of integers stays an integer.
  public class func increment(_ l: Int64) -> FieldValue { FieldValue(.increment(.integer(l))) }
  /// Adds an integer to the field. Exists so that `increment(1)` is not ambiguous.
  public class func increment(_ n: Int) -> FieldValue { increment(Int64(n)) }

  /// Sets the field to the smaller of the stored number and the operand. A field that is missing,
  /// or not a number, is set to the operand.
  public class func minimum(_ d: Double) -> FieldValue { FieldValue(.minimum(.double(d))) }
  /// Same as the form for doubles, with an integer.
  public class func minimum(_ l: Int64) -> FieldValue { FieldValue(.minimum(.integer(l))) }
  /// Same, so that `minimum(1)` is not ambiguous.
  public class func minimum(_ n: Int) -> FieldValue { minimum(Int64(n)) }

  /// Sets the field to the larger of the stored number and the operand. A field that is missing, or
  /// not a number, is set to the operand.
  public class func maximum(_ d: Double) -> FieldValue { FieldValue(.maximum(.double(d))) }
  /// Same as the form for doubles, with an integer.
  public class func maximum(_ l: Int64) -> FieldValue { FieldValue(.maximum(.integer(l))) }
  /// Same, so that `maximum(1)` is not ambiguous.
  public class func maximum(_ n: Int) -> FieldValue { maximum(Int64(n)) }

  /// A vector to store, with 1 to 2,048 components; a write of another number throws
  /// `invalidArgument`. Not a sentinel: same as `VectorValue(array)`.
  public class func vector(_ array: [Double]) -> VectorValue { VectorValue(array) }
  /// Same, with each component as a double.
  public class func vector(_ array: [Float]) -> VectorValue { VectorValue(array.map(Double.init)) }

  public override var description: String { "<\(transform.methodName)>" }
}

extension FieldTransform {
  /// The sentinel's name in source code, for error messages.
  package var methodName: String {
    switch self {
    case .serverTimestamp: "FieldValue.serverTimestamp()"
    case .increment: "FieldValue.increment()"
    case .minimum: "FieldValue.minimum()"
    case .maximum: "FieldValue.maximum()"
    case .arrayUnion: "FieldValue.arrayUnion()"
    case .arrayRemove: "FieldValue.arrayRemove()"
    case .delete: "FieldValue.delete()"
    }
  }
}
