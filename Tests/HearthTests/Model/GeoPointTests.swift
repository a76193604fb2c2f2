import Testing

@testable import Hearth
@testable import HearthEngine

struct GeoPointTests {
  @Test(arguments: [
    (90.1, 0.0, "latitude value in the range of [-90, 90], but was 90.1"),
    (-91, 0, "latitude value in the range of [-90, 90], but was -91"),
    (.nan, 0, "latitude value in the range of [-90, 90], but was nan"),
    (.infinity, 0, "latitude value in the range of [-90, 90], but was inf"),
    (0, 180.1, "longitude value in the range of [-180, 180], but was 180.1"),
    (0, -.infinity, "longitude value in the range of [-180, 180], but was -inf"),
    (0, .nan, "longitude value in the range of [-180, 180], but was nan"),
  ])
  func `a point off the globe is remembered as a fault`(
    latitude: Double, longitude: Double, sentence: String
  ) {
    let point = GeoPoint(latitude: latitude, longitude: longitude)
    #expect(refusal { try point.coordinate() } == "GeoPoint requires a " + sentence)
  }

  @Test(arguments: [(90.0, 180.0), (-90, -180), (0, 0)])
  func `the edges are on the globe`(latitude: Double, longitude: Double) throws {
    let point = GeoPoint(latitude: latitude, longitude: longitude)
    #expect(point.validationError == nil)
    #expect(GeoPoint(try point.coordinate()) == point)
  }

  @Test func `equal points are equal as objects, copies and keys`() {
    let one = GeoPoint(latitude: 1, longitude: 2)
    #expect(one == GeoPoint(latitude: 1, longitude: 2))
    #expect(one.hash == GeoPoint(latitude: 1, longitude: 2).hash)
    let nan = GeoPoint(latitude: .nan, longitude: 2)
    let otherNaN = GeoPoint(latitude: Double(bitPattern: 0xFFF8_0000_0000_0001), longitude: 2)
    #expect(nan == otherNaN && nan.hash == otherNaN.hash)
    #expect(one.copy() as? GeoPoint == one)
    #expect(one != GeoPoint(latitude: 1, longitude: 3))
    #expect(one != GeoPoint(latitude: 3, longitude: 2))
    #expect(GeoPoint(latitude: 0, longitude: 0) != GeoPoint(latitude: -0.0, longitude: 0))
    #expect(!one.isEqual("1"))
    #expect(one.description == "<GeoPoint: (1.0, 2.0)>")
  }
}
