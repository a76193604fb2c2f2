import Foundation
import Hearth

/// A point on the earth, in degrees. Stored as a `GeoPoint`.
public struct ParseGeoPoint: DocumentOnlyCodable, Hashable, Sendable {
  /// Degrees north of the equator, -90 to 90.
  public let latitude: Double
  /// Degrees east of Greenwich, -180 to 180.
  public let longitude: Double

  /// Creates a point. Throws `ParseError` with `.invalidValue` for degrees out of range, and for
  /// NaN.
  ///
  ///     let linz = try ParseGeoPoint(latitude: 48.3, longitude: 14.29)
  public init(latitude: Double, longitude: Double) throws(ParseError) {
    guard (-90...90).contains(latitude), (-180...180).contains(longitude) else {
      throw ParseError(
        .invalidValue, "A point has a latitude of -90 to 90 and a longitude of -180 to 180 degrees."
      )
    }
    self.latitude = latitude
    self.longitude = longitude
  }

  private enum Key: String, CodingKey { case latitude, longitude }

  /// Decodes the JSON of Parse. Throws `ParseError`: `.invalidValue` for degrees out of range,
  /// `.incorrectType` for other JSON.
  public init(from decoder: any Decoder) throws {
    let (latitude, longitude) = try reporting { () throws -> (Double, Double) in
      let container = try decoder.container(keyedBy: Key.self)
      return (
        try container.decode(Double.self, forKey: .latitude),
        try container.decode(Double.self, forKey: .longitude)
      )
    }
    try self.init(latitude: latitude, longitude: longitude)
  }

  /// Encodes the JSON of Parse. Throws the error of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(latitude, forKey: .latitude)
    try container.encode(longitude, forKey: .longitude)
  }

  /// Radians along a great circle, 0 to π.
  public func distanceInRadians(_ other: ParseGeoPoint) -> Double {
    let radian = Double.pi / 180
    let north = sin((other.latitude - latitude) * radian / 2)
    let east = sin((other.longitude - longitude) * radian / 2)
    let square =
      north * north + cos(latitude * radian) * cos(other.latitude * radian) * east * east
    return 2 * asin(min(1, square.squareRoot()))
  }

  /// Kilometers along a great circle, on a sphere with a radius of 6,371 km.
  public func distanceInKilometers(_ other: ParseGeoPoint) -> Double {
    distanceInRadians(other) * Self.earthKilometers
  }

  /// Miles along a great circle, on a sphere with a radius of 3,958.8 miles.
  public func distanceInMiles(_ other: ParseGeoPoint) -> Double {
    distanceInRadians(other) * Self.earthMiles
  }

  static let earthKilometers = 6371.0
  static let earthMiles = 3958.8

  var stored: GeoPoint { GeoPoint(latitude: latitude, longitude: longitude) }

  /// Always throws `UseCodable`: objects are written with `Codable`.
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    throw UseCodable()
  }

  /// Reads a `GeoPoint`. Throws `UseCodable` for another value.
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    let point = try GeoPoint(reading: reader)
    latitude = point.latitude
    longitude = point.longitude
  }
}
