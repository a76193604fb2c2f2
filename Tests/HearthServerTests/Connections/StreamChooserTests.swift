#if Server
  import Foundation
  import HearthEngine
  import TestSupport
  import Testing

  @testable import HearthServer

  /// REST over HTTP/2, beside gRPC on the same connection.
  @Suite struct StreamChooserTests {
    /// `:status: 200`, `400` and `404` in HPACK's table.
    private static let (ok, badRequest, notFound): (UInt8, UInt8, UInt8) = (0x88, 0x8C, 0x8D)

    @Test func `requests of one connection are answered, also beside a call of gRPC`() async throws
    {
      try await TestServer.run { server in
        let documents = "/v1/\(TestServer.root)/books"
        let created = try await RawConnection.send(
          [
            .request(1, "POST", documents + "?documentId=dune", ends: false),
            .data(1, Array(#"{"fields": {"pages": {"integerValue": "412"}}}"#.utf8)),
          ], until: { $0.haveEnded(1) }, port: server.port)
        #expect(created.first { $0.kind == .headers }?.payload.first == Self.ok)
        let name = TestServer.root + "/books/dune"
        let message = [0x0A, UInt8(name.utf8.count)] + name.utf8
        let frames = try await RawConnection.send(
          [
            .request(1, "GET", "/health"), .request(3, "GET", documents + "/dune"),
            .call(5, "GetDocument"), .data(5, [0, 0, 0, 0, UInt8(message.count)] + message),
            .request(7, "GET", documents + "/none"), .request(9, "GET", "none"),
          ], until: { $0.haveEnded(1, 3, 5, 7, 9) }, port: server.port)
        func text(_ stream: UInt32) -> String {
          String(
            decoding: frames.filter { $0.stream == stream && $0.kind == .data }.flatMap(\.payload),
            as: UTF8.self)
        }
        func status(_ stream: UInt32) -> UInt8? {
          frames.first { $0.stream == stream && $0.kind == .headers }?.payload.first
        }
        #expect(status(1) == Self.ok && text(1).contains("SERVING"))
        #expect(status(3) == Self.ok && text(3).contains("412"))
        #expect(status(5) == Self.ok && text(5).contains("pages"))
        #expect(status(7) == Self.notFound && text(7).contains("NOT_FOUND"))
        // A path without a slash: refused, as a request that is not HTTP/2 at all may be.
        #expect(status(9) != Self.ok)
        for stream: UInt32 in [1, 3, 5, 7] {
          #expect(frames.filter { $0.stream == stream && $0.ends }.count == 1, "\(stream)")
        }
        #expect(!frames.contains { $0.kind == .goAway })
      }
    }

    /// In debug builds, gRPC's handler for connections asserts that a stream has begun before it ends.
    @Test func `a header that REST cannot read ends its stream, and no other`() async throws {
      try await TestServer.run { server in
        let strange: [[(String, String)]] = [
          // Without an authority, which HTTP/2 allows.
          [(":method", "GET"), (":scheme", "http"), (":path", "/health")],
          [(":method", "CONNECT"), (":authority", "localhost")],
          [(":method", "GET"), (":scheme", "http"), (":path", "none"), (":authority", "")],
        ]
        for ends in [true, false] {
          let frames = try await RawConnection.send(
            strange.enumerated().map { .headers(UInt32(2 * $0 + 1), $1, ends: ends) }
              + [.request(7, "GET", "/health")],
            until: { all in
              all.contains { $0.stream == 7 && $0.ends }
                && all.contains { $0.stream == 1 && $0.kind == .reset }
            }, port: server.port)
          #expect(frames.contains { $0.stream == 7 && $0.kind == .headers })
          #expect(frames.contains { $0.stream == 1 && $0.kind == .reset })
          #expect(!frames.contains { $0.kind == .goAway })
        }
      }
    }

    @Test func `a body beyond the limit is answered, and the rest is not asked for`() async throws {
      try await TestServer.run({ $0.limits.messageBytes = 10_000 }) { server in
        let frames = try await RawConnection.send(
          [
            .request(1, "POST", "/v1/\(TestServer.root)/a", ends: false),
            .data(1, Array(repeating: 32, count: 12_000), ends: false),
            .request(3, "GET", "/health"),
          ],
          until: { all in
            all.haveEnded(3) && all.contains { $0.stream == 1 && $0.kind == .reset }
          }, port: server.port)
        let body = frames.filter { $0.stream == 1 && $0.kind == .data }.flatMap(\.payload)
        #expect(String(decoding: body, as: UTF8.self).contains("10000 bytes"))
        #expect(frames.filter { $0.stream == 1 }.last?.errorCode == 0)
        #expect(frames.contains { $0.stream == 3 && $0.ends })
      }
    }

    @Test func `curl speaks HTTP/2 from the first byte`() async throws {
      let version = try PythonClient.execute("/bin/sh", ["-c", "curl --version"])
      guard version.status == 0, version.output.contains("HTTP2") else {
        return print("skipped: curl over HTTP/2. It is not installed.")
      }
      try await TestServer.run { server in
        let base = "http://127.0.0.1:\(server.port)/v1/\(TestServer.root)"
          .replacing("(", with: "%28").replacing(")", with: "%29")
        let body =
          #"{"fields": {"text": {"stringValue": "\#(String(repeating: "x", count: 300_000))"}}}"#
        let folder = TemporaryFolder()
        let file = folder.path + "/body"
        try body.write(toFile: file, atomically: true, encoding: .utf8)
        let curl =
          "curl -sS --http2-prior-knowledge -o /dev/null -w '%{http_version} %{http_code}\\n'"
        let output = try await shell(
          """
          \(curl) -d @\(file) '\(base)/a?documentId=b'
          \(curl) '\(base)/a/b'
          \(curl) -d '{}' '\(base):runQuery'
          """)
        #expect(output == "2 200\n2 200\n2 400\n")
      }
    }

    private func shell(_ script: String) async throws -> String {
      try await onBlockingThread { try PythonClient.execute("/bin/sh", ["-c", script]).output }
    }
  }
#endif
