/// A condition that the stored document must meet; otherwise the write fails.
///
///     if let time = snapshot.updateTime {
///       try await dune.updateData(["pages": 412], precondition: .lastUpdateTime(time))
///     }
///
/// A write that fails changes nothing. In a batch or a transaction, no other write is applied
/// either.
public enum WritePrecondition: Sendable, Hashable {
  /// The document exists, otherwise `notFound`; or does not exist, otherwise `alreadyExists`.
  case exists(Bool)
  /// The document was last updated at this time, otherwise `failedPrecondition`, with
  /// ``FirestoreErrorCode/isUpdateTimeMismatch``. In whole microseconds, as in
  /// `DocumentSnapshot.updateTime`; `invalidArgument` for any other time, or one in the future.
  case lastUpdateTime(Timestamp)

  func checked() throws(Status) -> Mutation.Precondition {
    switch self {
    case .exists(let exists): return .exists(exists)
    case .lastUpdateTime(let time):
      guard time.nanoseconds % 1000 == 0 else {
        throw .invalidArgument("A precondition's update time must be in whole microseconds.")
      }
      return .updated(at: time)
    }
  }
}
