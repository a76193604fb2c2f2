import Foundation

/// Stands in written data for what the database works out itself.
///
///     try await book.updateData([
///       "readers": FieldValue.increment(Int64(1)),
///       "tags": FieldValue.arrayUnion(["classic"]),
///       "draft": FieldValue.delete(),
///     ])
///
/// Elements of `arrayUnion` and `arrayRemove` that cannot be stored are reported by the operation that
/// uses them. Values compare by identity; `delete()` and `serverTimestamp()` are always the same object.
public final class FieldValue: NSObject, Sendable {
  package let transform: FieldTransform
  /// What keeps this value from being used.
  package let fault: Status?
  /// Where the references among the elements point, if there are any.
  package let database: DatabaseIdentity?

  package init(_ transform: FieldTransform, fault: Status? = nil, database: DatabaseIdentity? = nil)
  {
    self.transform = transform
    self.fault = fault
    self.database = database
  }

  private static let deletion = FieldValue(.delete)
  private static let commitTime = FieldValue(.serverTimestamp)

  /// Removes the field. Only in `updateData`, at the top level, and in `setData` with merge.
  public class func delete() -> FieldValue { deletion }

  /// The time of the commit, the same for all fields of one commit.
  public class func serverTimestamp() -> FieldValue { commitTime }

  /// Adds to a number. What is not a number, or missing, becomes the operand. Integers saturate.
  public class func increment(_ d: Double) -> FieldValue { FieldValue(.increment(.double(d))) }
  public class func increment(_ l: Int64) -> FieldValue { FieldValue(.increment(.integer(l))) }
  /// So that `increment(1)` is not ambiguous.
  public class func increment(_ n: Int) -> FieldValue { increment(Int64(n)) }

  /// The smaller of the stored number and the operand.
  public class func minimum(_ d: Double) -> FieldValue { FieldValue(.minimum(.double(d))) }
  public class func minimum(_ l: Int64) -> FieldValue { FieldValue(.minimum(.integer(l))) }
  public class func minimum(_ n: Int) -> FieldValue { minimum(Int64(n)) }

  /// The larger of the stored number and the operand.
  public class func maximum(_ d: Double) -> FieldValue { FieldValue(.maximum(.double(d))) }
  public class func maximum(_ l: Int64) -> FieldValue { FieldValue(.maximum(.integer(l))) }
  public class func maximum(_ n: Int) -> FieldValue { maximum(Int64(n)) }

  public class func vector(_ array: [Double]) -> VectorValue { VectorValue(array) }
  public class func vector(_ array: [Float]) -> VectorValue { VectorValue(array.map(Double.init)) }

  public override var description: String { "<\(transform.methodName)>" }
}

extension FieldTransform {
  /// How the sentinel is written, for sentences about it.
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
