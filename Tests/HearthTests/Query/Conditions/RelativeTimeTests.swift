import Foundation
import TestSupport
import Testing

@testable import HearthEngine

@Suite struct RelativeTimeTests {
  private static let zones = [
    "GMT", "Europe/Oslo", "America/Sao_Paulo", "America/St_Johns", "Asia/Kathmandu", "GMT-0330",
  ]

  /// Seconds of the years 2012 to 2030, with the times around changes of clocks often.
  private func instant(_ random: inout SeededGenerator, _ zone: TimeZone) -> Instant {
    let seconds = 1_325_376_000 + Int64(random.below(568_000_000))
    var date = Date(timeIntervalSince1970: Double(seconds))
    if random.below(2) == 0, let next = zone.nextDaylightSavingTimeTransition(after: date) {
      date = next.addingTimeInterval(Double(Int64(random.below(200_000)) - 100_000))
    }
    return Instant(
      microseconds: Int64(date.timeIntervalSince1970) * 1_000_000 + Int64(random.below(3)) - 1)
  }

  @Test(arguments: zones)
  func `a time crosses a boundary when the boundary reaches it`(_ name: String) throws {
    let zone = try #require(TimeZone(identifier: name))
    var random = SeededGenerator(seed: 5)
    for _ in 0..<500 {
      let relative =
        random.below(4) == 0
        ? RelativeTime.offset(Int64(random.below(1_000_000_000)) - 500_000_000)
        : .beforeDay(Int(random.below(9)) - 4, in: zone)
      let value = instant(&random, zone)
      let crossing = relative.crossing(of: value)
      #expect(relative.boundary(at: crossing) >= value)
      #expect(relative.boundary(at: crossing.adding(saturating: -1)) < value)
      let (a, b) = (instant(&random, zone), instant(&random, zone))
      #expect(relative.boundary(at: min(a, b)) <= relative.boundary(at: max(a, b)))
    }
  }

  @Test func `the first and the last day have boundaries, too`() {
    for zone in Self.zones.compactMap(TimeZone.init(identifier:)) {
      for now in [Instant.earliest, .latest] {
        for days in [-4_000_000, -1, 0, 1, 4_000_000] {
          let relative = RelativeTime.beforeDay(days, in: zone)
          #expect((Instant.earliest...Instant.latest).contains(relative.boundary(at: now)))
          #expect((Instant.earliest...Instant.latest).contains(relative.crossing(of: now)))
        }
      }
    }
  }

  @Test func `a day has as many hours as clocks show`() throws {
    let oslo = try #require(TimeZone(identifier: "Europe/Oslo"))
    for (day, hours) in [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)] {
      let noon = try #require(Instant(text: day + "T12:00:00Z"))
      let start = RelativeTime.beforeDay(0, in: oslo).boundary(at: noon)
      let end = RelativeTime.beforeDay(1, in: oslo).boundary(at: noon)
      #expect(end.microseconds - start.microseconds == Int64(hours) * 3_600_000_000)
    }
  }
}
