import HearthText
import TestSupport
import Testing

@testable import HearthCEL

@Suite struct CELTimeTests {
  @Test(arguments: [
    Case("timestamp('2009-02-13T23:31:30Z').getDate()", 13),
    Case("timestamp('2009-02-13T23:31:30Z').getDayOfMonth()", 12),
    Case("timestamp('2009-02-13T23:31:30Z').getDayOfWeek()", 5),
    Case("timestamp('2009-02-13T23:31:30Z').getDayOfYear()", 43),
    Case("timestamp('2009-02-13T23:31:30Z').getFullYear()", 2009),
    Case("timestamp('2009-02-13T23:31:30Z').getHours()", 23),
    Case("timestamp('2009-02-13T23:31:20.123456789Z').getMilliseconds()", 123),
    Case("timestamp('2009-02-13T23:31:30Z').getMinutes()", 31),
    Case("timestamp('2009-02-13T23:31:30Z').getMonth()", 1),
    Case("timestamp('2009-02-13T23:31:30Z').getSeconds()", 30),
    Case("timestamp('1969-12-31T23:59:59.5Z').getSeconds()", 59),
    Case("timestamp('1969-12-31T23:59:59.5Z').getMilliseconds()", 500),
    Case("timestamp('1969-12-28T00:00:00Z').getDayOfWeek()", 0),
    Case("timestamp('2008-12-31T00:00:00Z').getDayOfYear()", 365),
    Case("timestamp('0001-01-01T00:00:00Z').getFullYear()", 1),
    Case("timestamp('2009-02-13T23:31:30Z').getDayOfMonth('+11:00')", 13),
    Case("timestamp('2009-02-13T02:00:00Z').getDayOfMonth('-02:30')", 11),
    Case("timestamp('2009-02-13T23:31:30Z').getHours('02:00')", 1),
    Case("timestamp('2009-02-13T23:31:30Z').getMonth('UTC')", 1),
    Case("timestamp('2009-02-13T23:31:30Z').getSeconds('-00:00')", 30),
    Case("timestamp('0001-01-01T00:00:00Z').getFullYear('-01:00')", 0),
    Case("duration('10000s').getHours()", 2), Case("duration('3730s').getMinutes()", 62),
    Case("duration('3730s').getSeconds()", 3730),
    Case("duration('123.321456789s').getMilliseconds()", 321),
    Case("duration('-5400s').getHours()", -1),
  ])
  func `a component has its value`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  @Test(arguments: [
    "timestamp('2009-02-13T23:00:00Z') + duration('240s') == timestamp('2009-02-13T23:04:00Z')",
    "duration('120s') + timestamp('2009-02-13T23:01:00Z') == timestamp('2009-02-13T23:03:00Z')",
    "duration('600s') + duration('50s') == duration('650s')",
    "timestamp('0001-01-01T00:00:01.000000001Z') + duration('-999999999ns') "
      + "== timestamp('0001-01-01T00:00:00.000000002Z')",
    "timestamp('0001-01-01T00:00:01.999999999Z') + duration('999999999ns') "
      + "== timestamp('0001-01-01T00:00:02.999999998Z')",
    "timestamp('2009-02-13T23:10:00Z') - duration('600s') == timestamp('2009-02-13T23:00:00Z')",
    "timestamp('2009-02-13T23:31:00Z') - timestamp('2009-02-13T23:29:00Z') == duration('120s')",
    "timestamp('2009-02-13T23:29:00Z') - timestamp('2009-02-13T23:31:00.5Z') "
      + "== duration('-120.5s')",
    "duration('900s') - duration('42s') == duration('858s')",
    "timestamp('2009-02-14T00:31:30+01:00') == timestamp('2009-02-13T23:31:30Z')",
    "timestamp('2009-02-13T23:31:30.50Z') == timestamp('2009-02-13T23:31:30.5Z')",
    "timestamp('2000-02-29T00:00:00Z') + duration('24h') == timestamp('2000-03-01T00:00:00Z')",
    "duration('1h30m') == duration('5400s')", "duration('1.5h') == duration('90m')",
    "duration('1m1.5s') == duration('61500ms')", "duration('1us') == duration('1000ns')",
    "duration('1µs') == duration('1μs')", "duration('0') == duration('0s')",
    "duration('-0') == duration('0s')", "duration('+1s') == duration('1s')",
    "duration('-1h1m') == duration('-61m')", "duration('.5s') == duration('500ms')",
    "duration('1.s' ) == duration('1s') || true", "duration('0.0000000019s') == duration('1ns')",
    "duration('-9223372036854775808ns') < duration('0s')",
    "duration('0.1h') == duration('360s')", "duration('0.000000000001h') == duration('3ns')",
  ])
  func `arithmetic of time is exact`(text: String) throws {
    #expect(try evaluate(text) == true)
  }

  @Test(arguments: [
    Mistake("timestamp('0000-01-01T00:00:00Z')", .invalidValue),
    Mistake("timestamp('10000-01-01T00:00:00Z')", .invalidValue),
    Mistake("timestamp('2009-02-29T00:00:00Z')", .invalidValue),
    Mistake("timestamp('2009-13-01T00:00:00Z')", .invalidValue),
    Mistake("timestamp('2009-00-01T00:00:00Z')", .invalidValue),
    Mistake("timestamp('2009-01-00T00:00:00Z')", .invalidValue),
    Mistake("timestamp('2009-01-01T24:00:00Z')", .invalidValue),
    Mistake("timestamp('2009-01-01T00:60:00Z')", .invalidValue),
    Mistake("timestamp('2009-01-01T00:00:60Z')", .invalidValue),
    Mistake("timestamp('2009-01-01T00:00:00')", .invalidValue),
    Mistake("timestamp('2009-01-01T00:00:00.Z')", .invalidValue),
    Mistake("timestamp('2009-01-01 00:00:00Z')", .invalidValue),
    Mistake("timestamp('2009-01-01T00:00:00ZZ')", .invalidValue),
    Mistake("timestamp('2009-01-01T00:00:00+1:00')", .invalidValue),
    Mistake("timestamp('0001-01-01T00:00:00Z') + duration('-1s')", .overflow),
    Mistake("timestamp('9999-12-31T23:59:59Z') + duration('1s')", .overflow),
    Mistake("timestamp('9999-12-31T23:59:59.999999999Z') + duration('1ns')", .overflow),
    Mistake("timestamp('0001-01-01T00:00:00Z') + duration('-1ns')", .overflow),
    Mistake("timestamp('0001-01-01T00:00:00Z') - duration('1ns')", .overflow),
    Mistake("timestamp(0) - duration('-9223372036854775808ns')", .overflow),
    Mistake("timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')", .overflow),
    Mistake("timestamp('0001-01-01T00:00:00Z') - timestamp('9999-12-31T23:59:59Z')", .overflow),
    Mistake("duration('320000000000s')", .overflow),
    Mistake("duration('-320000000000s')", .overflow),
    Mistake("duration('9223372036854775808ns')", .overflow),
    Mistake("duration('99999999999999999999h')", .overflow),
    Mistake("duration('9000000000s') + duration('9000000000s')", .overflow),
    Mistake("duration('-9000000000s') - duration('9000000000s')", .overflow),
    Mistake("duration('')", .invalidValue), Mistake("duration('s')", .invalidValue),
    Mistake("duration('-')", .invalidValue), Mistake("duration('1x')", .invalidValue),
    Mistake("duration('1s 2s')", .invalidValue), Mistake("duration('.s')", .invalidValue),
    Mistake("duration('1h-1m')", .invalidValue),
    Mistake("timestamp(0).getHours('Europe/Berlin')", .unsupported),
    Mistake("timestamp(0).getHours('+25:00')", .unsupported),
    Mistake("timestamp(0).getHours(1)", .typeMismatch),
    Mistake("duration('1s').getHours('UTC')", .typeMismatch),
    Mistake("duration('1s').getFullYear()", .typeMismatch),
    Mistake("1.getHours()", .typeMismatch),
  ])
  func `a time out of range is an error`(_ mistake: Mistake) throws {
    #expect(try failure(mistake.text)?.kind == mistake.kind)
  }

  @Test func `a value of the caller that is not normal does not trap`() throws {
    let values: [CELValue] = [
      .timestamp(seconds: .max, nanoseconds: .max), .timestamp(seconds: .min, nanoseconds: .min),
      .timestamp(seconds: 0, nanoseconds: .min), .timestamp(seconds: 1, nanoseconds: .max),
      .duration(seconds: .max, nanoseconds: .max), .duration(seconds: .min, nanoseconds: .min),
      .duration(seconds: 1, nanoseconds: -1), .duration(seconds: -1, nanoseconds: 1),
    ]
    let operators = ["+", "-", "<", "==", "in", "*", "%"].map { "a \($0) b" }
    let functions = ["string(a)", "int(a)", "a.getHours()", "a.getFullYear()", "[a] == [b]"]
    for a in values {
      _ = a.description
      for b in values {
        for text in operators + functions {
          _ = try failure(text, CELEnvironment(variables: ["a": a, "b": b]))
        }
      }
    }
    let carried = CELEnvironment(variables: [
      "a": .timestamp(seconds: 0, nanoseconds: 1_500_000_000),
      "d": .duration(seconds: 1, nanoseconds: -500_000_000),
    ])
    #expect(try evaluate("a == timestamp('1970-01-01T00:00:01.5Z')", carried) == true)
    #expect(try evaluate("d == duration('500ms')", carried) == true)
    #expect(try evaluate("string(d)", carried) == "0.5s")
  }

  @Test func `a timestamp may have any number of digits, and a year 0 that is 1 in UTC`() throws {
    #expect(
      try evaluate(
        "timestamp('2009-02-13T23:31:30.1234567899Z') == "
          + "timestamp('2009-02-13T23:31:30.123456789Z')") == true)
    #expect(
      try evaluate("string(timestamp('0000-12-31T23:30:00-01:00'))") == "0001-01-01T00:30:00Z")
    #expect(try failure("timestamp('2009-02-13t23:31:30Z')")?.kind == .invalidValue)
  }

  @Test func `text and value of a time are inverse`() throws {
    for seed in seeds(20) {
      var random = SeededGenerator(seed: seed)
      for _ in 0..<100 {
        let nanoseconds =
          random.one(in: 2) ? Int64.random(in: 0..<1_000_000_000, using: &random) : 0
        let moment = try #require(
          CELTime.Timestamp(
            seconds: .random(in: RFC3339.seconds, using: &random),
            nanoseconds: nanoseconds))
        #expect(CELTime.timestamp(CELTime.text(of: moment)) == moment, "seed \(seed)")

        let duration = Int64.random(in: .min ... .max, using: &random)
        guard case .nanoseconds(duration) = CELTime.duration(CELTime.text(ofDuration: duration))
        else {
          Issue.record("duration \(duration), seed \(seed)")
          return
        }
      }
    }
    for duration in [Int64.min, .max, 0, 1, -1] {
      guard case .nanoseconds(duration) = CELTime.duration(CELTime.text(ofDuration: duration))
      else {
        Issue.record("duration \(duration)")
        return
      }
    }
  }
}
