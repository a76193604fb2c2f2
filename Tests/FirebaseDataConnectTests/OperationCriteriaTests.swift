import Foundation
import Testing

/// `criteria.json` names tests for each criterion of typed operations, and for each test of the original
/// that has a meaning here. "- " begins a reason why there is none.
@Suite struct OperationCriteriaTests {
  private struct Criteria: Decodable {
    var criteria: [String: [String]]
    /// By suite and test of the original, our test or a reason.
    var original: [String: [String: String]]
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

  private static let testFolders = [
    "FirebaseDataConnectTests", "HearthDataConnectTests", "HearthCELTests",
    "HearthCLITests/Commands/DataConnectCommandTests.swift",
    "HearthCLITests/CommandAliasesTests.swift", "HearthProcessTests/OperationProcessTests.swift",
  ]

  private static let assertions = ["#expect", "#require", "Issue.record"]

  private static func criteria() throws -> Criteria {
    let data = try Data(contentsOf: folder.appending(path: "criteria.json"))
    return try JSONDecoder().decode(Criteria.self, from: data)
  }

  private static func files() throws -> [URL] {
    let tests = folder.deletingLastPathComponent()
    return try testFolders.flatMap { path in
      let url = tests.appending(path: path)
      guard !path.hasSuffix(".swift") else { return [url] }
      return try FileManager.default.subpathsOfDirectory(atPath: url.path)
        .filter { $0.hasSuffix(".swift") }.map { url.appending(path: $0) }
    }
  }

  /// The bodies of the tests that run by default, by their names.
  private static func tests() throws -> [String: Substring] {
    var tests: [String: Substring] = [:]
    for file in try files() {
      let text = try String(contentsOf: file, encoding: .utf8)
      let begins = text.ranges(of: "@Test")
      for (index, begin) in begins.enumerated() {
        let end = index + 1 < begins.count ? begins[index + 1].lowerBound : text.endIndex
        let part = text[begin.upperBound..<end]
        // On the next line after a long `func`, or after `@Test(arguments: …)`.
        guard let name = part.firstMatch(of: /func\s+`([^`]+)`/),
          !isConditional(part[..<name.range.lowerBound]),
          !isConditional(suite(of: text[..<begin.lowerBound]))
        else { continue }
        // The function ends with a brace as deep as its attribute.
        let depth = text[..<begin.lowerBound].reversed().prefix { $0 == " " }.count
        let body = part[name.range.upperBound...]
        let last = body.firstRange(of: "\n" + String(repeating: " ", count: depth) + "}")
        tests[String(name.1)] = body[..<(last?.lowerBound ?? body.endIndex)]
      }
    }
    return tests
  }

  /// The declaration of the suite that a test after the text is in.
  private static func suite(of text: Substring) -> Substring {
    guard let begin = text.ranges(of: "@Suite").last else { return "" }
    return text[begin.lowerBound...].prefix { $0 != "{" }
  }

  private static func isConditional(_ attributes: Substring) -> Bool {
    attributes.contains("." + "disabled") || attributes.contains(".enabled(if")
  }

  private static func check(_ name: String, _ user: String, _ tests: [String: Substring]) {
    guard let body = tests[name] else {
      Issue.record("\(user) names the test '\(name)', which does not exist or does not always run")
      return
    }
    #expect(assertions.contains { body.contains($0) }, "'\(name)' asserts nothing")
  }

  /// Whether it is a reason.
  private static func isReason(_ entry: String, _ user: String) -> Bool {
    guard entry.hasPrefix("-") else { return false }
    #expect(entry.hasPrefix("- ") && entry.count > 20, "\(user) has neither a test nor a reason")
    return true
  }

  private static func numbered(_ letter: String, _ count: Int) -> [String] {
    (1...count).map { "\(letter)-" + ($0 < 10 ? "0" : "") + "\($0)" }
  }

  @Test func `every criterion has tests that run and assert, or a reason`() throws {
    let criteria = try Self.criteria().criteria
    let wanted = Self.numbered("A", 27) + Self.numbered("B", 22)
    #expect(criteria.keys.sorted() == wanted.sorted())
    let tests = try Self.tests()
    var (with, without) = (0, 0)
    for (criterion, entries) in criteria {
      #expect(!entries.isEmpty, "\(criterion) has neither a test nor a reason")
      let reasons = entries.filter { Self.isReason($0, criterion) }
      #expect(reasons.isEmpty || entries.count == 1, "\(criterion) has tests and a reason")
      for name in entries where !reasons.contains(name) { Self.check(name, criterion, tests) }
      if reasons.isEmpty { with += 1 } else { without += 1 }
    }
    print("criteria of typed operations: \(with) with a test, \(without) without")
    // May only shrink.
    #expect(without <= 2)
  }

  @Test func `tests of the original have one here, or a reason`() throws {
    let original = try Self.criteria().original
    #expect(
      original.mapValues(\.count) == [
        "RealtimeTests": 5, "CachingTests": 5, "PartialErrorTests": 2, "IntegrationTests": 6,
        "AnyScalarTests": 11, "AnyValueCodableTests": 7, "CacheTests": 19, "CodecHelperTests": 7,
        "ErrorTypesTests": 2, "InstanceTests": 11, "LocalDateTests": 6, "TimestampTests": 17,
        "StreamSubscriptionManagerTests": 5, "UserAgentTests": 1,
        // One entry for all five, whose names are not known.
        "HeaderTests": 1,
      ])
    let tests = try Self.tests()
    var (with, without) = (0, 0)
    for (suite, entries) in original {
      for (test, entry) in entries {
        if Self.isReason(entry, "\(suite).\(test)") {
          without += 1
        } else {
          Self.check(entry, "\(suite).\(test)", tests)
          with += 1
        }
      }
    }
    print("tests of the original: \(with) with a test here, \(without) without")
    // May only shrink.
    #expect(without <= 17)
  }
}
