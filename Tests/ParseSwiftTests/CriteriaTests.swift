import Foundation
import Testing

/// `criteria.json` names a test for each criterion of the wing, and for each test of the original that has
/// a meaning here.
@Suite struct CriteriaTests {
  private struct Criteria: Decodable {
    var criteria: [String: [String]]
    /// By suite and test of the original, our test; or "-" and the reason why there is none.
    var original: [String: [String: String]]
  }

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

  private static func criteria() throws -> Criteria {
    let data = try Data(contentsOf: folder.appending(path: "criteria.json"))
    return try JSONDecoder().decode(Criteria.self, from: data)
  }

  /// The bodies of enabled tests, by their names.
  private static func tests() throws -> [String: Substring] {
    var tests: [String: Substring] = [:]
    let crash = folder.deletingLastPathComponent().appending(
      path: "HearthProcessTests/ObjectCrashTests.swift")
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    for file in files + [crash] where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      for part in text.split(separator: "@Test").dropFirst() {
        guard let name = part.firstMatch(of: /func `([^`]+)`/),
          !part[..<name.range.lowerBound].contains("." + "disabled")
        else { continue }
        tests[String(name.1)] = part[name.range.upperBound...]
      }
    }
    return tests
  }

  @Test func `every criterion has an enabled test with an assertion`() throws {
    let criteria = try Self.criteria().criteria
    let wanted =
      (1...25).map { "R-" + ($0 < 10 ? "0" : "") + "\($0)" }
      + (1...15).map { "D-" + ($0 < 10 ? "0" : "") + "\($0)" }
    #expect(criteria.keys.sorted() == wanted.sorted())
    let tests = try Self.tests()
    for (criterion, names) in criteria {
      #expect(!names.isEmpty, "\(criterion) has no test")
      for name in names { Self.check(name, criterion, tests) }
    }
  }

  @Test func `tests of the original have one here, or a reason`() throws {
    let tests = try Self.tests()
    var (with, without) = (0, 0)
    for (suite, entries) in try Self.criteria().original {
      for (test, name) in entries {
        if name.hasPrefix("-") {
          #expect(name.count > 4, "\(suite).\(test) has neither a test nor a reason")
          without += 1
        } else {
          Self.check(name, "\(suite).\(test)", tests)
          with += 1
        }
      }
    }
    print("tests of the original: \(with) with a test here, \(without) without a meaning here")
    #expect(with > 150)
  }

  private static func check(_ name: String, _ user: String, _ tests: [String: Substring]) {
    guard let body = tests[name] else {
      Issue.record("\(user) names the test '\(name)', which does not exist or is disabled")
      return
    }
    #expect(
      body.contains("#expect") || body.contains("#require"), "'\(name)' asserts nothing")
  }
}
