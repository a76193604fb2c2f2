import Foundation
import TestSupport
import Testing

/// What very many listeners take, in a process of its own: nothing else is in the figures.
@Suite(.serialized, .ownThreads) struct ListeningTests {
  private let folder = TemporaryFolder()

  @Test(arguments: ["database", "given", "own"])
  func `very many listeners on one document take little memory and are all told`(
    queue: String
  ) throws {
    let count = Soak.isOn ? 100_000 : 5_000
    let helper = try Helper("listen", folder.path + "/\(queue).hearth", queue, count)
    let figures = try #require(helper.lines().last).split(separator: " ").compactMap { Int($0) }
    try #require(figures.count == 2)
    print("\(count) listeners, \(queue): \(figures[0]) bytes each, \(figures[1]) ns a delivery")
    // A sanitizer's own notes aside.
    if !hasSanitizer { #expect(figures[0] < 2048) }
  }
}
