internal import HearthGeometry
internal import HearthPatterns

/// The errors of modules that know no database, as those of a query.
extension Status {
  /// A search ended before it had a result, because the deadline passed. Becomes
  /// `ReadDeadline.Passed`.
  static let interrupted = Status(.cancelled, "The deadline of a read passed.")

  init(_ failure: RegularExpression.Failure) {
    switch failure {
    case .invalid(let message): self = .invalidArgument(message)
    case .interrupted: self = .interrupted
    }
  }

  init(_ error: GeoRegion.Invalid) { self = .invalidArgument(error.message) }
}

extension ReadDeadline: SearchDeadline {}
