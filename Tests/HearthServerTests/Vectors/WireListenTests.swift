#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import TestSupport
  import Testing

  /// The recorded listeners, over the wire: after each commit one snapshot, with the same result.
  @Suite struct WireListenTests {
    @Test func `recorded listeners see the same results`() async throws {
      let (count, failures) = try await TestServer.run { server in
        var failures: [String] = []
        let scenarios = try RecordedVectors("listens").cases("scenarios")
        for scenario in scenarios {
          do {
            if let fault = try await Self.replay(scenario, server) {
              failures.append("\(scenario.id): \(fault)")
            }
          } catch {
            failures.append("\(scenario.id): \(error)")
          }
        }
        return (scenarios.count, failures)
      }
      #expect(failures == [])
      print("listens over the wire: \(count), \(failures.count) differences")
    }

    private static func replay(
      _ scenario: RecordedVectors.Case, _ server: TestServer
    ) async throws -> String? {
      try await RecordedVectors.add(scenario.members["documents"], to: server.client)
      var query: ProtoStructuredQuery = try scenario.message("query")
      // A limit to the last is the client's: it asks in reverse.
      if let limit = scenario.members["limitToLast"] as? Int {
        query.limit.value = Int32(limit)
        for index in query.orderBy.indices {
          query.orderBy[index].direction =
            query.orderBy[index].direction == .descending ? .ascending : .descending
        }
      }
      let steps = scenario.list("steps")
      let commits = try steps.map {
        (try $0.messages("writes") as [ProtoWrite], isSeen: !$0.list("changes").isEmpty)
      }
      let expected =
        [scenario.names("initial")]
        + steps.filter { !$0.list("changes").isEmpty }.map { $0.names("expected") }
      let (ready, started) = AsyncStream.makeStream(of: Void.self)
      let (done, finished) = AsyncStream.makeStream(of: Void.self)
      let asked = query
      let fault: String? = try await server.client.listen { writer in
        try await writer.write(
          .with {
            $0.database = TestServer.database
            $0.addTarget.targetID = 1
            $0.addTarget.query.parent = TestServer.root
            $0.addTarget.query.structuredQuery = asked
          })
        // Commits that come quickly may share a snapshot: each waits for that of the one before.
        var snapshots = ready.makeAsyncIterator()
        await snapshots.next()
        for (writes, isSeen) in commits {
          _ = try await server.client.commit(
            .with {
              $0.database = TestServer.database
              $0.writes = writes
            })
          if isSeen { await snapshots.next() }
        }
        for await _ in done { break }
        // Nothing more comes after the last expected snapshot.
        try await quietTime(.milliseconds(10))
      } onResponse: { response in
        defer {
          started.finish()
          finished.finish()
        }
        var client = ListeningClient()
        var snapshots = 0
        var changes = 0
        for try await message in response.messages {
          guard try client.take(message) else { continue }
          // A heartbeat, if it takes so long, is about no document.
          if snapshots > 0, client.changes == changes { continue }
          changes = client.changes
          guard snapshots < expected.count else { return "an extra snapshot" }
          guard client.documents.keys.sorted() == expected[snapshots].sorted() else {
            return "snapshot \(snapshots): \(client.documents.keys.sorted())"
          }
          snapshots += 1
          started.yield()
          if snapshots == expected.count { finished.yield() }
        }
        return snapshots == expected.count ? nil : "\(snapshots) of \(expected.count) snapshots"
      }
      let all: [String] = try await server.client.runQuery(
        .with {
          $0.parent = TestServer.root
          $0.structuredQuery.from = [.with { $0.allDescendants = true }]
        }
      ) { response in
        try await response.messages.reduce(into: []) {
          if $1.hasDocument { $0.append($1.document.name) }
        }
      }
      _ = try await server.client.commit(
        .with {
          $0.database = TestServer.database
          $0.writes = all.map { name in .with { $0.delete = name } }
        })
      return fault
    }
  }
#endif
