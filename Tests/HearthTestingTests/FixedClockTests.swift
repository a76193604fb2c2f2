import FirebaseFirestore
import Foundation
import HearthTesting
import Testing

@Suite struct FixedClockTests {
  @Test func `commits have the clock's time, and each its own`() async throws {
    let clock = FixedClock()
    let database = try TemporaryDatabase(clock: clock)
    let document = database.firestore.document("a/b")
    try await document.setData(["at": FieldValue.serverTimestamp()])
    let first = try await document.getDocument()
    #expect(first.createTime == clock.now)
    #expect(first["at"] as? Timestamp == Timestamp(seconds: 1_767_225_600, nanoseconds: 0))
    try await document.updateData(["x": 1])
    let second = try await document.getDocument()
    #expect(second.createTime == first.createTime)
    #expect(second.updateTime == Timestamp(seconds: 1_767_225_600, nanoseconds: 1_000))
    clock.advance(by: .seconds(60) + .milliseconds(5))
    try await document.updateData(["x": 2])
    #expect(
      try await document.getDocument().updateTime
        == Timestamp(seconds: 1_767_225_660, nanoseconds: 5_000_000))
    // The clock outlives the database being closed.
    try await database.reopen()
    clock.advance(by: .seconds(1))
    try await database.firestore.document("a/c").setData([:])
    #expect(
      try await database.firestore.document("a/c").getDocument().createTime == clock.now)
  }

  @Test func `a clock that is set back does not take time back`() async throws {
    let clock = FixedClock(at: Date(timeIntervalSince1970: 1_000))
    let settings = FirestoreSettings()
    settings.useClock(clock)
    let database = try TemporaryDatabase(settings: settings)
    let document = database.firestore.document("a/b")
    try await document.setData(["x": 1])
    clock.set(Date(timeIntervalSince1970: 500))
    #expect(clock.now == Timestamp(seconds: 500, nanoseconds: 0))
    try await document.setData(["x": 2])
    #expect(
      try await document.getDocument().updateTime == Timestamp(seconds: 1_000, nanoseconds: 1_000))
  }

  @Test func `times before 1970 and out of all range are times`() {
    let clock = FixedClock(at: Date(timeIntervalSince1970: -1.5))
    #expect(clock.now == Timestamp(seconds: -2, nanoseconds: 500_000_000))
    clock.advance(by: .milliseconds(1_500))
    #expect(clock.now == Timestamp(seconds: 0, nanoseconds: 0))
    clock.advance(by: .seconds(Int64.max))
    #expect(clock.now == Timestamp(seconds: 0, nanoseconds: 0))
    clock.set(Date(timeIntervalSince1970: .infinity))
    #expect(clock.now == Timestamp(seconds: 0, nanoseconds: 0))
  }
}
