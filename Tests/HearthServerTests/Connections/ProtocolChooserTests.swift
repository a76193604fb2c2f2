#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import GRPCNIOTransportHTTP2Posix
  import HearthEngine
  import MetricsTestKit
  import TestSupport
  import Testing

  @testable import HearthServer

  /// One port for HTTP/2 and HTTP/1, and nothing that a client sends harms others.
  @Suite struct ProtocolChooserTests {
    private static let ok = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    private static let ping: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]

    @Test func `both protocols are recognised, however their first bytes are cut`() async throws {
      try await TestServer.run { server in
        let preface = ProtocolChooser.preface + Self.settings
        for cut in [1, 3, 4, 23, 24, 30] {
          let parts = [Array(preface[..<cut]), Array(preface[cut...])]
          let received = try await RawConnection.send(
            parts, until: { $0.count > 9 }, port: server.port)
          // The server's SETTINGS, and the acknowledgement of the client's.
          #expect(received.count > 9 && received[3] == 4, "\(cut)")
        }
        for cut in [1, 2, 5] {
          let bytes = Array(Self.ok.utf8)
          let received = try await RawConnection.send(
            [Array(bytes[..<cut]), Array(bytes[cut...])], port: server.port)
          #expect(String(decoding: received, as: UTF8.self).hasPrefix("HTTP/1.1 200 OK"))
        }
        try await server.set(TestServer.root + "/a/b", 1)
      }
    }

    @Test func `requests in one go are answered in order`() async throws {
      try await TestServer.run { server in
        let keepAlive = Self.ok.replacing("Connection: close\r\n", with: "")
        let text = try await RawConnection.send(
          keepAlive + keepAlive.replacing("GET / ", with: "GET /none ") + Self.ok,
          port: server.port)
        let statuses = text.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0.prefix(3) }
        #expect(statuses == ["200", "404", "200"])
      }
    }

    @Test func `garbage costs its connection, and nothing else`() async throws {
      try await TestServer.run { server in
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for number in 0..<60 {
          var bytes = (0..<Int.random(in: 1...300, using: &generator)).map { _ in
            UInt8.random(in: 0 ... .max, using: &generator)
          }
          switch number % 3 {
          case 0: bytes = ProtocolChooser.preface + Self.settings + bytes
          case 1: bytes = Array("GET /".utf8) + bytes
          default: break
          }
          // Ends a request that is still incomplete.
          bytes += Array("\r\n\r\n \r\n\r\n".utf8)
          let received = try await RawConnection.send(
            [bytes], for: .milliseconds(200), port: server.port)
          #expect(received.count < 1000, "seed \(seed), \(number)")
        }
        try await server.set(TestServer.root + "/a/b", 1)
      }
    }

    @Test func `bodies and headers have limits`() async throws {
      try await TestServer.run({ $0.limits.messageBytes = 10_000 }) { server in
        let path = "/v1/\(TestServer.root)/a"
        let long =
          #"{"fields": {"s": {"stringValue": "\#(String(repeating: "x", count: 20_000))"}}}"#
        #expect(try await server.rest("POST", path, long).status == 413)
        let chunked = """
          POST \(path) HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\
          4E20\r\n\(String(repeating: " ", count: 20_000))\r\n
          """
        let refused = try await RawConnection.send(chunked, port: server.port)
        #expect(refused.hasPrefix("HTTP/1.1 413"))
        let header = try await RawConnection.send(
          "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n",
          port: server.port)
        #expect(header.hasPrefix("HTTP/1.1 400"))
        let many = try await RawConnection.send(
          "GET / HTTP/1.1\r\n\((0..<200).map { "X\($0): 1\r\n" }.joined())\r\n", port: server.port)
        #expect(many.hasPrefix("HTTP/1.1 400"))
        #expect(try await server.rest("POST", path, "{}").status == 200)
      }
    }

    @Test func `a body is sent after the server asks for it`() async throws {
      try await TestServer.run { server in
        let head = """
          POST /v1/\(TestServer.root)/a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
          Expect: 100-continue\r\nContent-Length: 2\r\n\r\n
          """
        let received = try await RawConnection.send(
          [Array(head.utf8), Array("{}".utf8)], port: server.port)
        let text = String(decoding: received, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"))
      }
    }

    @Test func `many pings are answered, and the connection goes on`() async throws {
      try await TestServer.run { server in
        let count = 3000
        let pings = Array(repeatElement(Self.ping, count: count).joined())
        // Cut within a frame.
        let parts = [
          ProtocolChooser.preface + Self.settings + pings[..<1000], Array(pings[1000..<1005]),
          Array(pings[1005...]),
        ]
        let received = try await RawConnection.send(
          parts, until: { Frame.all($0).count { $0.kind == .ping } == count }, port: server.port)
        var types: [UInt8: Int] = [:]
        var index = 0
        while index + 9 <= received.count {
          types[received[index + 3], default: 0] += 1
          if received[index + 3] == 6 {
            #expect(
              received[index + 4] == 1
                && Array(received[(index + 9)..<(index + 17)]) == Array(1...8))
          }
          index +=
            9 + Int(received[index]) << 16 + Int(received[index + 1]) << 8
            + Int(received[index + 2])
        }
        #expect(index == received.count && types[6] == count && types[7, default: 0] == 0)
      }
    }

    @Test func `a connection beyond the limit is closed, and one that ends makes room`()
      async throws
    {
      try await TestServer.run({ $0.limits.connections = 2 }) { server in
        // One connection of the client of gRPC, and one.
        try await server.set(TestServer.root + "/a/b", 1)
        let other = Task { [port = server.port] in
          // It may be the one that is refused, and comes again.
          while !Task.isCancelled {
            _ = try await RawConnection.send([Array("G".utf8)], port: port)
          }
        }
        try await server.eventually {
          let text = try await RawConnection.send(Self.ok, port: server.port)
          guard text.isEmpty else { throw TestServer.NoAnswer(text: text) }
        }
        other.cancel()
        try await server.eventually {
          let text = try await RawConnection.send(Self.ok, port: server.port)
          guard text.hasPrefix("HTTP/1.1 200") else { throw TestServer.NoAnswer(text: text) }
        }
        try await server.set(TestServer.root + "/a/b", 2)
      }
    }

    @Test func `shutdown closes connections that have no call`() async throws {
      // Requests that are not complete end after 10 seconds by themselves, and on a busy machine all takes longer.
      for _ in 0..<10 {
        if let time = try await Self.shutdownTime(), time < .seconds(8) { return }
      }
      Issue.record("They end by themselves.")
    }

    /// From the shutdown of a server until connections without a call have ended. Nil if one has ended before.
    private static func shutdownTime() async throws -> Duration? {
      let metrics = TestMetrics()
      let (connections, begin) = try await TestServer.run({ $0.metrics = metrics }) { server in
        try await server.set(TestServer.root + "/a/b", 1)
        let keepAlive = ok.replacing("Connection: close\r\n", with: "")
        let (answers, answered) = AsyncStream.makeStream(of: Void.self)
        let ended = Guarded(0)
        let connections = [keepAlive, "PRI", "GET / HTTP/1.1\r\nHos"].map { text in
          Task { @Sendable [port = server.port] in
            defer { ended.withLock { $0 += 1 } }
            return try await RawConnection.send(
              [Array(text.utf8)],
              until: { _ in
                answered.yield()
                return false
              }, port: port)
          }
        }
        // These, and that of the client.
        let opened = try metrics.expectMeter("hearth_server_connections")
        for await _ in answers { break }
        try await eventually { opened.values.contains(4) || ended.withLock(\.self) > 0 }
        return (connections, ended.withLock(\.self) == 0 ? ContinuousClock.now : nil)
      }
      for connection in connections { _ = try await connection.value }
      return begin.map { ContinuousClock.now - $0 }
    }

    @Test func `a transaction ends with the connection of its client`() async throws {
      try await TestServer.run { server in
        let (other, running) = try server.otherClient()
        let client = ProtoFirestore.Client(wrapping: other)
        let begin = ProtoBeginTransactionRequest.with { $0.database = TestServer.database }
        let kept = try await server.client.beginTransaction(begin).transaction
        _ = try await client.beginTransaction(begin)
        #expect(server.catalog.openTransactions == 2)
        other.beginGracefulShutdown()
        try await running.value
        try await server.eventually {
          guard server.catalog.openTransactions == 1 else { throw TestServer.NoAnswer(text: "") }
        }
        // The other client's goes on.
        _ = try await server.client.commit(
          .with {
            $0.database = TestServer.database
            $0.transaction = kept
          })
        #expect(server.catalog.openTransactions == 0)
      }
    }
  }

  extension TestServer {
    /// A client with a connection of its own, and the task that runs it.
    fileprivate func otherClient() throws -> (
      GRPCClient<HTTP2ClientTransport.Posix>, Task<Void, any Error>
    ) {
      let client = GRPCClient(
        transport: try .http2NIOPosix(
          target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext))
      return (client, Task { try await client.runConnections() })
    }
  }
#endif
