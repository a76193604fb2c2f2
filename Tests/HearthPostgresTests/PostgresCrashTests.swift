#if Postgres
  import Foundation
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth

  /// The server is killed while tasks write, or the leader of a cluster: what was acknowledged is there,
  /// nothing is applied twice, and those who follow the changes miss none.
  @Suite(
    .serialized, .enabled(if: PostgresServer.isRunning, "no PostgreSQL server"),
    .timeLimit(.minutes(30)))
  struct PostgresCrashTests {
    private actor Counts {
      private(set) var acknowledged: [Int: Int] = [:]
      private(set) var unknown: [Int: Int] = [:]
      private(set) var isOver = false
      /// The longest time without an acknowledgement.
      private(set) var outage = Duration.zero
      private var last = ContinuousClock.now

      func end() { isOver = true }

      var sum: Int { acknowledged.values.reduce(0, +) }

      func note(_ task: Int, isUnknown: Bool) {
        if isUnknown {
          unknown[task, default: 0] += 1
          return
        }
        acknowledged[task, default: 0] += 1
        let now = ContinuousClock.now
        outage = max(outage, now - last)
        last = now
      }
    }

    /// Three members, of which one may be killed or frozen.
    private static let cluster = "Tests/HearthPostgresTests/Cluster/patroni"

    @Test func `a killed server loses nothing that was acknowledged`() async throws {
      try await write(to: OwnServer(), interrupting: ["kill", "start"], times: Soak.isOn ? 20 : 2)
    }

    @Test(.enabled(if: Soak.isOn, "HEARTH_SOAK is not 1"))
    func `a failover loses nothing that was acknowledged`() async throws {
      try await write(to: OwnServer(by: Self.cluster), interrupting: ["kill", "start"], times: 5)
    }

    /// Its connections hang while it is frozen, and what it was about to commit is not committed.
    @Test(.enabled(if: Soak.isOn, "HEARTH_SOAK is not 1"))
    func `a former leader that comes back takes no write`() async throws {
      try await write(
        to: OwnServer(by: Self.cluster), interrupting: ["freeze", "thaw", "start"], times: 2)
    }

    private func write(
      to server: OwnServer, interrupting commands: [String], times: Int
    ) async throws {
      defer { server.stop() }
      // Only a server that is frozen refuses no connection.
      let url = server.url + "?connect_timeout=\(commands.contains("freeze") ? 2 : 60)"
      let writer = try PostgresServer.open(url, as: "writer")
      let follower = try PostgresServer.open(url, as: "follower")
      let counts = Counts()
      let token = try await follower.changeToken()
      let writing = Task {
        await withTaskGroup(of: Void.self) { group in
          for task in 0..<8 {
            group.addTask {
              while await !counts.isOver {
                let document = writer.document("c/\(task)")
                do {
                  if task % 2 == 0 {
                    // Decided by the process.
                    try await document.setData(
                      ["n": FieldValue.increment(Int64(1))], merge: true)
                  } else {
                    // Decided by the server.
                    let n = try await document.getDocument()["n"] as? Int ?? 0
                    try await document.setData(["n": n + 1])
                  }
                  await counts.note(task, isUnknown: false)
                } catch {
                  // Certainly not applied, or unknown.
                  if (error as? FirestoreErrorCode)?.isOutcomeUnknown == true {
                    await counts.note(task, isUnknown: true)
                  }
                }
              }
            }
          }
        }
      }
      func waitForWrites() async throws {
        let before = await counts.sum
        try await eventually { await counts.sum >= before + 20 }
      }
      for _ in 0..<times {
        try await waitForWrites()
        for command in commands { #expect(try server.control(command)) }
      }
      try await waitForWrites()
      await counts.end()
      print("acknowledged: \(await counts.sum), longest outage: \(await counts.outage)")
      await writing.value
      let (acknowledged, unknown) = await (counts.acknowledged, counts.unknown)
      var last: [Int: Int] = [:]
      for task in 0..<8 {
        let n = try await writer.document("c/\(task)").getDocument()["n"] as? Int ?? 0
        last[task] = n
        #expect(n >= acknowledged[task, default: 0])
        #expect(n <= acknowledged[task, default: 0] + unknown[task, default: 0])
      }
      // Every value once, in order.
      var followed: [Int: Int] = [:]
      for try await change in follower.changes(since: token) {
        let task = try #require(Int(change.document.documentID))
        let n = try #require(change.after?["n"] as? Int)
        #expect(n == followed[task, default: 0] + 1)
        followed[task] = n
        if followed == last { break }
      }
      try await writer.terminate()
      try await follower.terminate()
    }
  }
#endif
