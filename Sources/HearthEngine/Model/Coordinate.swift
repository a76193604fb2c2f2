/// A point on the globe, in degrees: the engine's form of the public `GeoPoint`.
package struct Coordinate: Sendable {
  /// -90...90.
  package var latitude: Double
  /// -180...180.
  package var longitude: Double

  package init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }
}
