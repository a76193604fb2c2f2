#if Server && Tools
  import Foundation
  import HearthEngine
  import TestSupport
  import Testing

  @testable import HearthServer

  /// What an operator of `hearth serve` sees and does.
  @Suite(.timeLimit(patience)) struct ServeCommandTests {
    private static let old = "old-key-of-the-tests"
    private static let new = "new-key-of-the-tests"
    private static let document = "/v1/" + TestServer.root + "/a/b"

    private static func get(_ key: String, _ port: Int) async throws -> Int? {
      RESTAnswer(
        try await RawConnection.send(
          "GET \(document) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Authorization: Bearer \(key)\r\n\r\n", port: port))?.status
    }

    @Test func `it logs what it serves, to whom and how, and no key`() async throws {
      let server = try ServedProcess(
        ["data", "--create", "--token-file", "keys"],
        files: ["keys": "# Two of them.\n\(Self.old)\n\(Self.new)\n"])
      let port = try await server.port
      try await server.waitForLog("The server listens.")
      for part in [
        "data", "127.0.0.1:\(port)", "tls=no", "2 keys, 0 accounts", "creates databases",
      ] { #expect(server.log.contains(part), "\(part): \(server.log)") }
      for key in [Self.old, Self.new] { #expect(!server.log.contains(key)) }
      #expect(!server.log.contains("chmod"))
      #expect(try await server.stop() == 0)
      let open = try ServedProcess(["books.hearth", "--create"])
      _ = try await open.port
      try await open.waitForLog("this machine, no keys")
      #expect(open.log.contains("books.hearth"))
    }

    @Test func `SIGHUP replaces the keys, and the connections stay`() async throws {
      let server = try ServedProcess(
        ["data", "--create", "--token-file", "keys"], files: ["keys": Self.old + "\n"])
      let port = try await server.port
      #expect(try await Self.get(Self.old, port) == 404)
      #expect(try await Self.get(Self.new, port) == 401)
      // A connection that is open meanwhile.
      func request(_ key: String, _ more: String = "") -> [UInt8] {
        Array(
          ("GET \(Self.document) HTTP/1.1\r\nHost: localhost\r\n"
            + "Authorization: Bearer \(key)\r\n\(more)\r\n").utf8)
      }
      let answers = try await RawConnection.open(port: port) { connection in
        connection.send([request(Self.old)])
        _ = try await connection.receive { !$0.isEmpty }
        try server.write("keys", Self.new + "\n")
        server.signal(SIGHUP)
        try await server.waitForLog("SIGHUP")
        try await eventually { try await Self.get(Self.new, port) == 404 }
        #expect(try await Self.get(Self.old, port) == 401)
        connection.send([request(Self.new, "Connection: close\r\n")])
        return try await connection.receive { _ in false }
      }
      let text = String(decoding: answers, as: UTF8.self)
      #expect(text.components(separatedBy: "HTTP/1.1 404").count == 3, "\(text)")
      #expect(server.isRunning && !server.log.contains("error"))
    }

    @Test func `files that cannot be used leave the former keys, and are logged`() async throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let server = try ServedProcess(
        ["data", "--create", "--token-file", "keys", "--service-account", "account.json"],
        files: ["keys": Self.old + "\n", "account.json": keys.server])
      let port = try await server.port
      let broken = [("keys", ""), ("keys", "short\n"), ("account.json", "{}")]
      for (count, (name, content)) in broken.enumerated() {
        try server.write("keys", Self.old + "\n")
        try server.write("account.json", keys.server)
        if name != "keys" { try server.write("keys", Self.new + "\n") }
        try server.write(name, content)
        server.signal(SIGHUP)
        try await server.waitForLog("The keys and accounts were not replaced.", times: count + 1)
        #expect(try await Self.get(Self.old, port) == 404)
        #expect(try await Self.get(Self.new, port) == 401)
      }
      try FileManager.default.removeItem(atPath: server.folder + "/account.json")
      server.signal(SIGHUP)
      try await server.waitForLog(
        "The keys and accounts were not replaced.", times: broken.count + 1)
      #expect(try await Self.get(Self.old, port) == 404)
      #expect(!server.log.contains(Self.old) && !server.log.contains(Self.new))
    }

    @Test func `keys are read again from time to time, without a signal`() async throws {
      let server = try ServedProcess(
        ["data", "--create", "--token-file", "keys", "--tls-refresh-seconds", "1"],
        files: ["keys": Self.old + "\n"])
      let port = try await server.port
      #expect(try await Self.get(Self.old, port) == 404)
      try server.write("keys", Self.new + "\n")
      try await eventually { try await Self.get(Self.new, port) == 404 }
      #expect(try await Self.get(Self.old, port) == 401)
    }

    @Test func `a key file that others may read is warned of, at the start and on SIGHUP`()
      async throws
    {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let server = try ServedProcess(
        [
          "data", "--create", "--token-file", "keys", "--service-account", "server.json",
          "--service-account", "client.json",
        ],
        files: ["keys": Self.old + "\n", "server.json": keys.server, "client.json": keys.client])
      _ = try await server.port
      #expect(!server.log.contains("chmod 600"))
      for (name, mode) in [("keys", 0o640), ("server.json", 0o604), ("client.json", 0o602)] {
        try FileManager.default.setAttributes(
          [.posixPermissions: mode], ofItemAtPath: server.folder + "/" + name)
      }
      server.signal(SIGHUP)
      try await server.waitForLog("chmod 600", times: 2)
      // The part with the public key is no secret.
      #expect(!server.log.contains("path=server.json"))
      #expect(server.log.contains("path=client.json") && server.log.contains("path=keys"))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o644], ofItemAtPath: server.folder + "/keys")
      let second = try ServedProcess(
        ["data", "--create", "--token-file", server.folder + "/keys"])
      _ = try await second.port
      #expect(second.log.contains("chmod 600"))
    }
  }
#endif
