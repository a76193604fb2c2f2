/// A point on the globe, in degrees: the engine's form of the public `GeoPoint`.
package struct Coordinate: Sendable {
  /// -90...90.
  var latitude: Double
  /// -180...180.
  var longitude: Double
}
