import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Watches the calls by which LMDB writes and flushes. `CStorageSpy` stands before the C library's.
@Suite(.ownThreads) struct DurabilityTests {
  struct Flushes: Equatable {
    var writes: Int
    /// With a flush of the data, begun after the write was handed over and done before it was
    /// acknowledged.
    var withData: Int
    /// With a flush of the meta page after that, too.
    var withMeta: Int
  }

  private func flushes(_ durability: String, tasks: Int) throws -> Flushes {
    let folder = TemporaryFolder()
    let helper = try Helper(
      "flushes", folder.path + "/flushed.hearth", durability, tasks, 256 / tasks)
    let lines = helper.lines()
    let numbers = lines.first?.split(separator: " ").compactMap { Int($0) } ?? []
    try #require(numbers.count == 3, "\(lines)")
    return Flushes(writes: numbers[0], withData: numbers[1], withMeta: numbers[2])
  }

  @Test(arguments: [1, 64])
  func `an acknowledged write has its data and then its meta page flushed`(tasks: Int) throws {
    let found = try flushes("full", tasks: tasks)
    #expect(found == Flushes(writes: 256, withData: 256, withMeta: 256))
  }

  @Test func `a mode that may lose the last commit flushes its data only`() throws {
    let found = try flushes("lastCommitMayBeLost", tasks: 1)
    #expect(found == Flushes(writes: 256, withData: 256, withMeta: 0))
  }

  /// That the watch sees the difference.
  @Test func `without flushing nothing is flushed`() throws {
    let found = try flushes("unsafeWithoutFlushing", tasks: 1)
    #expect(found == Flushes(writes: 256, withData: 0, withMeta: 0))
  }
}
