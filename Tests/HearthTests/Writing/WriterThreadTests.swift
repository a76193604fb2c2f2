import Foundation
import Logging
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct WriterThreadTests {
  @Test func `a writer that was given nothing closes, and takes nothing after`() async throws {
    let fixture = try StoreFixture()
    let writer = Writer(fixture.store, logger: Logger(label: "test"))
    writer.close()
    writer.close()
    let mutation = try fixture.set("books/a", ("n", .integer(1)))
    let refused = await #expect(throws: Status.self) {
      _ = try await writer.commit([mutation])
    }
    #expect(refused?.code == .failedPrecondition)
  }

  @Test func `what many hand over first of all is done once each`() async throws {
    let fixture = try StoreFixture()
    let writer = Writer(fixture.store, logger: Logger(label: "test"))
    let mutations = try (0..<64).map { try fixture.set("books/b\($0)", ("n", .integer(1))) }
    try await withThrowingTaskGroup(of: UInt64.self) { group in
      for mutation in mutations {
        group.addTask { try await writer.commit([mutation]).sequence }
      }
      var sequences: [UInt64] = []
      for try await sequence in group { sequences.append(sequence) }
      #expect(sequences.sorted() == Array(1...64))
    }
    writer.close()
  }
}
