import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct WriterTicketTests {
  @Test func `reads see every write handed over before them, in all three scopes`() async throws {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/db.hearth")
    let rounds = Soak.isOn ? 2000 : 150
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask {
          var generator = SeededGenerator(seed: UInt64(task))
          let collection = db.collection("own").document("\(task)").collection("notes\(task)")
          var known: [String: Int] = [:]
          for round in 0..<rounds {
            for _ in 0..<generator.below(5) {
              let id = "n\(generator.below(8))"
              known[id] = generator.one(in: 4) ? nil : round
              Self.handOver(known[id], to: collection.document(id))
            }
            do {
              switch generator.below(3) {
              case 0:
                let id = "n\(generator.below(8))"
                let found = try await collection.document(id).getDocument()
                #expect(found["n"] as? Int == known[id], "task \(task), round \(round)")
              case 1:
                let found = try await collection.getDocuments()
                #expect(
                  found.documents.map(\.documentID) == known.keys.sorted(),
                  "task \(task), round \(round)")
              default:
                let found = try await db.collectionGroup("notes\(task)").getDocuments()
                #expect(
                  found.documents.map { $0["n"] as? Int }
                    == known.keys.sorted().map { known[$0] }, "task \(task), round \(round)")
              }
            } catch {
              Issue.record("task \(task), round \(round): \(error)")
            }
          }
        }
      }
    }
    try await db.terminate()
  }

  /// Not async: the forms that return before the commit.
  private static func handOver(_ number: Int?, to document: DocumentReference) {
    if let number { document.setData(["n": number]) } else { document.delete() }
  }

  @Test func `a request is waited for wherever it writes`() {
    let paths = ["a/1", "b/2", "a/1/c/3", "b/2/c/4", "d/5"].map { ResourcePath(relative: $0) }
    var book = PendingWrites()
    let first = book.issue(touching: paths)
    for path in paths {
      #expect(book.newest(touching: .document(path)) == first)
      #expect(book.newest(touching: .collection(path.parent)) == first)
      #expect(book.newest(touching: .group(path.parent.id)) == first)
    }
    let second = book.issue(touching: paths.suffix(1))
    #expect(book.newest(touching: .collection(ResourcePath(["d"]))) == second)
    #expect(book.newest(touching: .collection(ResourcePath(["b"]))) == first)
    _ = book.finish(first)
    #expect(book.newest(touching: .collection(ResourcePath(["b"]))) == nil)
    #expect(book.newest(touching: .document(paths[4])) == second)
    _ = book.finish(second)
    #expect(book.newest(touching: .everything) == nil)
  }

  @Test func `a read of nothing waits for nothing, though a write may change everything`() {
    var book = PendingWrites()
    let ticket = book.issueForEverything()
    #expect(book.newest(touching: .nothing) == nil)
    #expect(book.newest(touching: .document(ResourcePath(["a", "1"]))) == ticket)
  }

  @Test func `a drain waits for all that was handed over, and not for more`() async throws {
    let fixture = try StoreFixture()
    let done = Guarded(0)
    for number in 0..<500 {
      fixture.writer.submit([try fixture.set("a/\(number)", ("n", .null))]) { _ in
        done.withLock { $0 += 1 }
      }
    }
    await fixture.writer.drain()
    #expect(try fixture.store.check().documents == 500)
    // Requests complete after those who wait for them have gone on.
    try await eventually { done.withLock { $0 } == 500 }
    await fixture.writer.drain()
  }

  @Test func `closing while busy does what was handed over, and refuses the rest`() async throws {
    var random = SeededGenerator(seed: 1)
    for round in 0..<10 {
      let fixture = try StoreFixture()
      let outcomes = Guarded<[Int: Bool]>([:])
      let mutations = try (0..<400).map { try fixture.set("a/\($0)", ("n", .null)) }
      let busy = Task.detached {
        for number in 0..<400 {
          fixture.writer.submit([mutations[number]]) { outcome in
            if case .failure(let status) = outcome { #expect(status.code == .failedPrecondition) }
            let isSuccess = if case .success = outcome { true } else { false }
            outcomes.withLock { $0[number] = isSuccess }
          }
        }
        return try? await fixture.writer.commit([mutations[0]])
      }
      random.pause(below: 600 * round)
      fixture.writer.close()
      _ = await busy.value
      let told = outcomes.withLock { $0 }
      #expect(told.count == 400)
      let stored = try fixture.store.read { snapshot in
        var stored: Set<Int> = []
        let scan = try CollectionScan(ResourcePath(["a"]), in: snapshot)
        while let found = try scan.next() { stored.insert(Int(found.path.id) ?? -1) }
        return stored
      }
      #expect(stored == Set(told.filter(\.value).keys))
      await fixture.writer.drain()
      await fixture.writer.waitForWrites(touching: .everything)
    }
  }

  @Test func `what nobody awaits is refused beyond the limit, and what is awaited is not`()
    async throws
  {
    let fixture = try StoreFixture(queueLimitBytes: 100_000)
    let text = Value.string(String(repeating: "x", count: 10_000))
    let mutations = try (0..<40).map { try fixture.set("a/\($0)", ("t", text)) }
    let gate = DispatchSemaphore(value: 0)
    await withCheckedContinuation { held in
      fixture.writer.submit([]) { _ in
        held.resume()
        gate.wait()
      }
    }
    let refused = Guarded(0)
    let done = Guarded(0)
    for mutation in mutations.prefix(20) {
      fixture.writer.submit([mutation]) { outcome in
        switch outcome {
        case .success: done.withLock { $0 += 1 }
        case .failure(let status):
          #expect(status.code == .resourceExhausted)
          refused.withLock { $0 += 1 }
        }
      }
    }
    #expect(refused.withLock { $0 } == 11)
    let awaited = mutations.suffix(20).map { mutation in
      Task { try await fixture.writer.commit([mutation]) }
    }
    try await eventually { fixture.writer.waitingCount == 9 + awaited.count }
    gate.signal()
    for task in awaited { _ = try await task.value }
    await fixture.writer.drain()
    try await eventually { done.withLock { $0 } == 9 }
    #expect(try fixture.store.check().documents == 29)
    // There is room again.
    #expect(throws: Never.self) { try fixture.commitTogether([[mutations[0]]])[0].get() }
    // One request always fits.
    let large = try fixture.set("a/large", ("t", .string(String(repeating: "x", count: 200_000))))
    #expect(throws: Never.self) { try fixture.commitTogether([[large]])[0].get() }
  }

  @Test func `the server's refusals come when a request is handed over`() async throws {
    let fixture = try StoreFixture()
    var many = try fixture.set("a/1", ("n", .null))
    many.transforms = (0..<251).map { _ in (FieldSegments(["n"]), .increment(.integer(1))) }
    let refused: [[Mutation]] = [
      [many, many],
      [try fixture.set("__a__/1", ("n", .null))],
      [try fixture.set("a/1", ("__n__", .null))],
      [try fixture.set("a/1", ("n", .array([.array([])])))],
      try (0..<11).map {
        try fixture.set("a/\($0)", ("t", .string(String(repeating: "x", count: 1_000_000))))
      },
      [
        Mutation(
          path: fixture.name("a/1").path, operation: .delete,
          transforms: [(FieldSegments(["n"]), .serverTimestamp)])
      ],
    ]
    for request in refused {
      let code = Guarded<Status.Code?>(nil)
      fixture.writer.submit(request) { outcome in
        if case .failure(let status) = outcome { code.withLock { $0 = status.code } }
      }
      #expect(code.withLock { $0 } == .invalidArgument)
    }
    _ = try await fixture.writer.commit([many])
  }
}
