#if Server
  import CoreMetrics
  import Foundation
  import HearthEngine
  import MetricsTestKit
  import NIOCore
  import NIOEmbedded
  import TestSupport
  import Testing

  @testable import HearthServer

  /// The bytes that clients may have in memory before they have shown a key, and the connections of
  /// one of them.
  @Suite struct ConnectionsTests {
    @Test func `bytes are reserved up to the limit, and room is made again`() {
      var limits = FirestoreServer.Limits()
      (limits.requestBytes, limits.messageBytes) = (100, 1)
      let connections = Connections(limits, ServerMetrics(NOOPMetricsHandler.instance)) { _ in }
      let bytes = connections.requestBytes
      #expect(bytes.add(60) && bytes.add(40))
      #expect(!bytes.add(1) && bytes.add(0))
      bytes.remove(60)
      #expect(!bytes.add(61) && !bytes.add(.max))
      #expect(bytes.add(60))
    }

    @Test func `the end of a connection is not that of a later one with its address`() throws {
      let ended = Guarded(0)
      let metrics = ServerMetrics(NOOPMetricsHandler.instance)
      let connections = Connections(FirestoreServer.Limits(), metrics) { _ in
        ended.withLock { $0 += 1 }
      }
      let (former, later) = (EmbeddedChannel(), EmbeddedChannel())
      let answers = connections.answers.connection()
      connections.isHTTP2(former, connections.answers.connection())
      connections.isHTTP2(later, answers)
      let peer = Connections.peer(of: later)
      _ = try former.finish()
      #expect(
        connections.client(of: peer)?.answers === answers && ended.withLock { $0 } == 0)
      _ = try later.finish()
      #expect(connections.client(of: peer) == nil && ended.withLock { $0 } == 1)
    }

    @Test func `addresses of one host count together`() throws {
      func network(_ text: String, port: Int = 1) throws -> PeerNetwork? {
        PeerNetwork(try SocketAddress(ipAddress: text, port: port))
      }
      #expect(try network("192.0.2.1") == network("192.0.2.1", port: 2))
      #expect(try network("192.0.2.1") != network("192.0.2.2"))
      #expect(try network("192.0.2.1") == network("::ffff:192.0.2.1"))
      #expect(try network("::ffff:192.0.2.2") != network("::ffff:192.0.2.1"))
      #expect(try network("2001:db8:1:2::1") == network("2001:db8:1:2:ffff::"))
      #expect(try network("2001:db8:1:2::1") != network("2001:db8:1:3::1"))
      #expect(try network("::1") != network("0.0.0.1"))
      #expect(PeerNetwork(nil) == nil)
      #expect(try PeerNetwork(SocketAddress(unixDomainSocketPath: "/none")) == nil)
    }

    /// The answer on a connection that stays open until a closure returns.
    private static func health(
      _ server: TestServer, _ body: () async throws -> Void = {}
    ) async throws -> String {
      try await RawConnection.open(port: server.port) { connection in
        connection.send([Array("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)])
        let answer = try await connection.receive { !$0.isEmpty }
        try await body()
        return String(decoding: answer, as: UTF8.self)
      }
    }

    @Test func `one address has some of the connections, which are counted and given back`()
      async throws
    {
      let metrics = TestMetrics()
      try await TestServer.run({
        $0.metrics = metrics
        $0.limits.connectionsPerAddress = 3
      }) { server in
        // One is the client's.
        try await server.set(TestServer.root + "/a/b", 1)
        let ended = Guarded(0)
        let answers = try await withThrowingTaskGroup(of: String.self) { group in
          for _ in 0..<6 {
            group.addTask { @Sendable in
              try await Self.health(server) {
                ended.withLock { $0 += 1 }
                try await eventually { ended.withLock(\.self) == 6 }
              }
            }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.filter { $0.contains("200") }.count == 2)
        #expect(answers.filter(\.isEmpty).count == 4)
        let refused = try metrics.expectCounter("hearth_server_connections_refused")
        #expect(refused.totalValue == 4)
        // Those that have ended make room, and the client with a connection goes on.
        try await server.eventually {
          guard try await Self.health(server).contains("200") else {
            throw TestServer.NoAnswer(text: "")
          }
        }
        _ = try await server.get(TestServer.root + "/a/b")
      }
    }
  }
#endif
