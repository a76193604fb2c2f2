/// A point on the globe, in degrees: the engine's side of the public `GeoPoint`.
struct Coordinate: Sendable {
  /// -90...90.
  var latitude: Double
  /// -180...180.
  var longitude: Double
}
