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

  /// Throws `invalidArgument` for a point that is not on the globe, with the server's message.
  func check() throws(Status) {
    guard (-90...90).contains(latitude) else {
      throw .invalidArgument(
        "Geo point latitude '\(latitude)' outside permitted range -90.0 to 90.0.")
    }
    guard (-180...180).contains(longitude) else {
      throw .invalidArgument(
        "Geo point longitude '\(longitude)' outside permitted range -180.0 to 180.0.")
    }
  }
}
