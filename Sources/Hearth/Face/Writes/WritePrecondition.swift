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
}
