import Foundation
import Hearth

// Distances are on a sphere, whose radius the functions name.

/// Matches objects with a point, the nearest first.
///
///     let nearest = try Shop.query(near(key: "place", geoPoint: linz)).limit(5).find()
///
/// Reads all objects that meet the query's conditions, and orders them by distance before `limit`
/// and `skip` apply. An order of the query replaces that by distance.
public func near(key: String, geoPoint: ParseGeoPoint) -> QueryConstraint {
  withinRadians(key: key, geoPoint: geoPoint, distance: .pi)
}

/// Matches objects whose point is at most `distance` radians away, the nearest first. The query
/// throws `ParseError` with `.invalidQuery` for a negative distance.
///
/// - Parameters:
///   - key: The property with a point.
///   - geoPoint: The centre.
///   - distance: In radians of the earth's surface.
///   - sorted: False leaves the order to the query, as an order of the query does. True by default.
public func withinRadians(
  key: String, geoPoint: ParseGeoPoint, distance: Double, sorted: Bool = true
) -> QueryConstraint {
  let center = sorted ? QueryConstraint.Center(key: key, point: geoPoint) : nil
  return QueryConstraint(of: key, center: center) { _, context in
    if sorted { try QueryConstraint.refuseArrays(key, context) }
    guard distance >= 0 else {
      throw ParseError(.invalidQuery, "A distance is a number, 0 or greater.")
    }
    // Hearth's circles are on a sphere with this radius. No two points are more than pi apart.
    let meters = min(distance, .pi + 0.001) * 6_371_008.8
    return .whereField(key, isWithin: meters, metersOf: geoPoint.stored)
  }
}

/// Same as `withinRadians(key:geoPoint:distance:sorted:)`, in miles: the radius is 3,958.8.
public func withinMiles(
  key: String, geoPoint: ParseGeoPoint, distance: Double, sorted: Bool = true
) -> QueryConstraint {
  withinRadians(
    key: key, geoPoint: geoPoint, distance: distance / ParseGeoPoint.earthMiles, sorted: sorted)
}

/// Same as `withinRadians(key:geoPoint:distance:sorted:)`, in kilometers: the radius is 6,371.
public func withinKilometers(
  key: String, geoPoint: ParseGeoPoint, distance: Double, sorted: Bool = true
) -> QueryConstraint {
  withinRadians(
    key: key, geoPoint: geoPoint, distance: distance / ParseGeoPoint.earthKilometers,
    sorted: sorted)
}

/// Matches objects whose point is in a rectangle of degrees, its edges included. The rectangle
/// crosses the antimeridian if its west is greater than its east.
public func withinGeoBox(
  key: String, fromSouthWest southwest: ParseGeoPoint, toNortheast northeast: ParseGeoPoint
) -> QueryConstraint {
  QueryConstraint(of: key) { _, _ in
    .whereField(key, isWithinBoxFrom: southwest.stored, to: northeast.stored)
  }
}

/// Matches objects whose point is in a polygon, its edges included. Edges are straight lines in the
/// plane of degrees. A polygon has 3 to 10,000 points.
public func withinPolygon(key: String, points: [ParseGeoPoint]) -> QueryConstraint {
  QueryConstraint(of: key) { _, _ in .whereField(key, isWithinPolygon: points.map(\.stored)) }
}

/// Same as `withinPolygon(key:points:)`.
public func withinPolygon(key: String, polygon: ParsePolygon) -> QueryConstraint {
  withinPolygon(key: key, points: polygon.coordinates)
}

/// Same as `withinPolygon(key:polygon:)`.
public func geoPoint(_ key: String, within polygon: ParsePolygon) -> QueryConstraint {
  withinPolygon(key: key, polygon: polygon)
}

/// Same as `withinPolygon(key:points:)`.
public func geoPoint(_ key: String, within points: [ParseGeoPoint]) -> QueryConstraint {
  withinPolygon(key: key, points: points)
}

/// Parse's condition that a property is a polygon around a point.
@available(
  *, unavailable,
  message: "No index finds the polygons around a point: read them, and call containsPoint."
)
public func polygon(_ key: String, contains point: ParseGeoPoint) -> QueryConstraint { or([]) }

/// Parse's condition that a property is a polygon around a point.
@available(
  *, unavailable,
  message: "No index finds the polygons around a point: read them, and call containsPoint."
)
public func polygonContains(key: String, point: ParseGeoPoint) -> QueryConstraint { or([]) }
