import Testing

@testable import Hearth
@testable import HearthEngine

struct LimitsTests {
  @Test func `the documentation's example has the size it says`() {
    let path = ResourcePath(relative: "users/jeff/tasks/my_task_id")
    let fields = MapValue([
      ("type", .string("Personal")), ("done", .boolean(false)), ("priority", .integer(1)),
      ("description", .string("Learn Cloud Firestore")),
    ])
    #expect(Limits.size(ofName: path) == 44)
    #expect(Limits.size(of: fields) == 71)
    #expect(Limits.size(ofDocument: path, fields: fields) == 147)
  }

  @Test(
    arguments: [
      (.null, 1), (.boolean(true), 1), (.integer(5), 8), (.double(5), 8),
      (.timestamp(.latest), 8), (.string("é"), 3), (.bytes([1, 2, 3]), 3),
      (.reference(ResourcePath(relative: "users/jeff")), 27),
      (.reference(ResourcePath(relative: "users/__id77__")), 30),
      (.geoPoint(Coordinate(latitude: 1, longitude: 2)), 16), (.vector([1, 2, 3]), 24),
      (.array([]), 0), (.array([.null, .string("")]), 2),
      (.map(MapValue([("a", .integer(1)), ("bc", .null)])), 14),
    ] as [(Value, Int)])
  func `every type has its size`(value: Value, size: Int) {
    #expect(Limits.size(of: value) == size)
  }
}
