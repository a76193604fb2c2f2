#if Server
  import CoreMetrics
  import Foundation
  import FirestoreProtocol
  import HearthEngine
  import MetricsTestKit
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthServer

  /// Whatever peers send: the process lives, other clients are answered, and nothing stays behind.
  ///
  /// The server and its peers are in a process of their own. `HEARTH_FUZZ_REQUESTS` is the number of
  /// requests, `HEARTH_SEED` the seed of a run that failed.
  @Suite struct PeerFuzzTests {
    @Test(arguments: [false, true])
    func `no request ends the process`(hasKeys: Bool) async throws {
      let folder = TemporaryFolder()
      let report = folder.path + "/report"
      await #expect(processExitsWith: .success) { [hasKeys, report = report as String] in
        let fuzz = try PeerFuzz(hasKeys: hasKeys, reportPath: report)
        do {
          try await fuzz.run()
        } catch {
          fuzz.report("\(error)")
          throw error
        }
      }
      print(try String(contentsOfFile: report, encoding: .utf8))
    }
  }

  /// Many peers of one server, at a time.
  private struct PeerFuzz {
    struct Failure: Error, CustomStringConvertible {
      let description: String
    }

    private final class Counts: Sendable {
      let requests = Atomic(0)
      let connections = Atomic(0)
    }

    private static let key = "a-key-of-the-fuzzed-server"
    private static let workers = 8

    let hasKeys: Bool
    /// What a test in another process prints is not shown if it fails.
    private let file: FileHandle

    init(hasKeys: Bool, reportPath: String) throws {
      self.hasKeys = hasKeys
      try Data().write(to: URL(filePath: reportPath))
      file = try FileHandle(forWritingTo: URL(filePath: reportPath))
    }

    private static func number(_ name: String) -> Int? {
      ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// Half of them with keys, half without.
    private static var requests: Int {
      return (number("HEARTH_FUZZ_REQUESTS") ?? (Soak.isOn ? 1_000_000 : 6000)) / 2
    }

    func report(_ line: String) { file.write(Data((line + "\n").utf8)) }

    func run() async throws {
      let seed = Soak.seed ?? UInt64.random(in: 0..<1_000_000_000)
      report("peers \(hasKeys ? "with" : "without") keys, HEARTH_SEED=\(seed)")
      let metrics = TestMetrics()
      let account = try FirestoreServer.ServiceAccount.makeKeys(name: "fuzz", project: "test")
      let accounts = hasKeys ? [try FirestoreServer.ServiceAccount(json: account.server)] : []
      try await TestServer.run({ [hasKeys] in
        $0.metrics = metrics
        $0.serviceKeys = hasKeys ? [Self.key] : []
        $0.serviceAccounts = accounts
        $0.limits.requestTime = .seconds(5)
        $0.limits.writeTime = .seconds(5)
      }) { server in
        let counts = Counts()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<Self.workers {
            group.addTask {
              while counts.requests.load(ordering: .relaxed) < Self.requests {
                let number = counts.connections.wrappingAdd(1, ordering: .relaxed).oldValue
                var grammar = PeerGrammar(
                  seed: seed &+ UInt64(number), tokens: [Self.key])
                let connection = grammar.connection()
                _ = try await RawConnection.send(
                  [connection.bytes], for: .milliseconds(500), until: Self.isRead,
                  port: server.port)
                let before = counts.requests.wrappingAdd(connection.requests, ordering: .relaxed)
                  .oldValue
                if before / 1000 != (before + connection.requests) / 1000 {
                  try await check(server)
                }
                if before / 100_000 != (before + connection.requests) / 100_000 {
                  report("\(before) requests on \(number) connections")
                }
              }
            }
          }
          try await group.waitForAll()
        }
        let all = counts.requests.load(ordering: .relaxed)
        let count = counts.connections.load(ordering: .relaxed)
        report("\(all) requests on \(count) connections")
        try await check(server)
        // All that the peers have begun ends with their connections.
        try await server.eventually {
          let running = try metrics.expectMeter("hearth_server_calls_running").values.last
          let open = try metrics.expectMeter("hearth_server_connections").values.last
          let unread = try metrics.expectMeter("hearth_server_unread_answer_bytes").values.last
          guard running ?? 0 == 0, open ?? 0 <= 1, unread ?? 0 == 0 else {
            throw Failure(
              description: "calls \(running ?? 0), connections \(open ?? 0), \(unread ?? 0) bytes")
          }
        }
      }
    }

    /// Whether the server has answered the last PING.
    private static func isRead(_ received: [UInt8]) -> Bool {
      let answer = Frame(kind: .ping, flags: 1, stream: 0, payload: PeerGrammar.lastPing).bytes
      return received.suffix(4096).firstRange(of: answer) != nil
    }

    /// Another client is answered.
    private func check(_ server: TestServer) async throws {
      let headers = hasKeys ? ["Authorization": "Bearer \(Self.key)"] : [:]
      let answer = try await server.rest("GET", "/v1/\(TestServer.root)/none/none", "", headers)
      guard answer.status == 404 else {
        throw Failure(description: "A client is answered with \(answer.status).")
      }
    }
  }
#endif
