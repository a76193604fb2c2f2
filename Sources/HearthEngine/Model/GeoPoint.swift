import Foundation

/// A point on the globe, in degrees.
///
///     let oslo = GeoPoint(latitude: 59.91, longitude: 10.75)
///
/// Latitude is -90...90, longitude -180...180. A point outside this range can be created but not
/// written: the operation that uses it throws `invalidArgument`. Two points are equal if the bits of
/// their degrees are: 0.0 and -0.0 differ. All NaNs are equal.
public final class GeoPoint: NSObject, NSCopying, Sendable {
  private let stored: Coordinate

  /// Degrees north of the equator, -90...90.
  public var latitude: Double { stored.latitude }
  /// Degrees east of Greenwich, -180...180.
  public var longitude: Double { stored.longitude }

  /// A point with these degrees, which are checked when it is written.
  public init(latitude: Double, longitude: Double) {
    stored = Coordinate(latitude: latitude, longitude: longitude)
  }

  public func copy(with zone: NSZone? = nil) -> Any { self }

  /// Whether the other object is a point with the same degrees, bit for bit.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? GeoPoint else { return false }
    return Value.geoPoint(stored) == .geoPoint(other.stored)
  }

  /// A hash of the degrees. Equal points have equal hashes.
  public override var hash: Int { Value.geoPoint(stored).hashValue }

  public override var description: String { "<GeoPoint: (\(latitude), \(longitude))>" }
}

extension GeoPoint {
  package convenience init(_ coordinate: Coordinate) {
    self.init(latitude: coordinate.latitude, longitude: coordinate.longitude)
  }

  /// Why this point cannot be stored; nil if it can.
  var validationError: Status? {
    if !(-90...90).contains(latitude) {
      return .invalidArgument(
        "GeoPoint requires a latitude value in the range of [-90, 90], "
          + "but was \(GeoPoint.text(latitude))")
    }
    if !(-180...180).contains(longitude) {
      return .invalidArgument(
        "GeoPoint requires a longitude value in the range of [-180, 180], "
          + "but was \(GeoPoint.text(longitude))")
    }
    return nil
  }

  func coordinate() throws(Status) -> Coordinate {
    if let validationError { throw validationError }
    return stored
  }

  /// `91`, not `91.0`, as Firebase writes it.
  private static func text(_ degrees: Double) -> String {
    Int64(exactly: degrees).map(String.init) ?? "\(degrees)"
  }
}
