extension Status {
  /// Whether a damaged record may be the cause. A damaged version number throws
  /// `failedPrecondition`; so does a file that was replaced or upgraded, which is not damage and has
  /// a cause.
  var isDamage: Bool { code == .dataLoss || (code == .failedPrecondition && cause == nil) }

  /// The result of `body`; nil if it fails on a damaged record. For work that one damaged record
  /// must not stop.
  @discardableResult
  static func ignoringDamage<Result>(_ body: () throws -> Result) throws -> Result? {
    do {
      return try body()
    } catch let status as Status where status.isDamage {
      return nil
    }
  }
}
