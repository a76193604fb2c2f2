/// The value that a snapshot shows for a server timestamp that is not committed yet. Has no effect:
/// a snapshot shows committed data only.
public enum ServerTimestampBehavior: Int, Sendable {
  /// In an app: null.
  case none
  /// In an app: an estimate by the device's clock.
  case estimate
  /// In an app: the value before the write.
  case previous
}
