#if Postgres
  import Foundation
  import Logging
  import PostgresTestServer
  import TestSupport
  import Testing

  @testable import Hearth
  @testable import HearthEngine
  @testable import HearthPostgres

  /// A server that lets in nobody without encryption and a password.
  @Suite(.enabled(if: PostgresServer.isRunning, "no PostgreSQL server"), .timeLimit(patience))
  struct PostgresLoginTests {
    private func withServer(_ body: (_ url: String) async throws -> Void) async throws {
      let server = try OwnServer(environment: ["HEARTH_POSTGRES_TLS": "1"])
      defer { server.stop() }
      try #require(server.url.contains("sslmode=verify-full"))
      try await body(server.url)
    }

    /// Those that read, the one that writes, and the one that listens.
    @Test func `every connection is encrypted and has the password`() async throws {
      try await withServer { url in
        let db = try PostgresServer.open(url, as: "login")
        let (news, continuation) = AsyncStream.makeStream(of: Int.self)
        let listener = db.document("c/a").addSnapshotListener { snapshot, _ in
          if let n = snapshot?["n"] as? Int { continuation.yield(n) }
        }
        try await db.document("c/a").setData(["n": 1])
        #expect(try await db.document("c/a").getDocument()["n"] as? Int == 1)
        #expect(await news.first { _ in true } == 1)
        let connection = try PostgresConnection.forReading(url)
        var (all, encrypted): (Int64, Int64) = (0, 0)
        // The one that listens may come after the news of an own commit.
        let end = ContinuousClock.now + .seconds(60)
        repeat {
          let rows = try connection.run([
            PostgresStatement(
              """
              SELECT count(*), count(*) FILTER (WHERE ssl)
              FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'login'
              """)
          ])
          (all, encrypted) = (rows[0].integer(0, 0) ?? 0, rows[0].integer(0, 1) ?? 0)
          #expect(encrypted == all)
        } while all < 3 && ContinuousClock.now < end
        #expect(all >= 3, "\(all)")
        // Without a listener, none listens.
        listener.remove()
        try await db.terminate()
      }
    }

    private func store(_ url: String) throws -> PostgresStore {
      try PostgresStore(
        url, retention: ChangeLogRetention(age: .seconds(3600), limitBytes: 1 << 30),
        logger: Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func `who may not connect is refused, with the reason`() async throws {
      try await withServer { url in
        let host = "@localhost"
        let certificate = "sslrootcert=/"
        for (changed, code, reason) in [
          (
            url.replacing("verify-full", with: "disable"), Status.Code.permissionDenied,
            "no encryption"
          ),
          // The certificate is for the name.
          (url.replacing(host, with: "@127.0.0.1"), .unavailable, "does not match host name"),
          // Nobody knows whom to trust.
          (
            url.replacing(certificate, with: "sslrootcert=/missing/"), .unavailable,
            "root certificate file"
          ),
          (
            url.replacing(host, with: ":wrong\(host)"), .permissionDenied,
            "password authentication failed"
          ),
        ] {
          try #require(changed != url)
          let refused = #expect(throws: Status.self) { try store(changed) }
          #expect(refused?.code == code, "\(refused.debugDescription)")
          #expect(refused?.message.contains(reason) == true, "\(refused.debugDescription)")
          #expect(!String(reflecting: refused).contains("wrong"))
        }
      }
    }

    @Test func `a password in the URL is not in the name that is logged`() async throws {
      try await withServer { url in
        let store = try store(
          url.replacing("hearth@", with: "hearth:secret@") + "&password=secret&sslpassword=secret")
        defer { store.close() }
        #expect(store.name.contains("localhost"))
        #expect(!store.name.contains("secret"), "\(store.name)")
      }
    }
  }
#endif
