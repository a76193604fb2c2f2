#if Server
  import Foundation
  import HearthEngine
  import JWTKit
  import Testing

  @testable import HearthServer

  @Suite struct AccountTokensTests {
    private struct Claims: JWTPayload {
      var iss: String
      var sub: String
      var iat: Int
      var exp: Int
      var nbf: Int?
      var aud: String? = AccountTokens.audience
      var scope: String?

      func verify(using algorithm: some JWTAlgorithm) {}
    }

    private struct ManyAudiences: JWTPayload {
      var iss: String
      var sub: String
      var iat: Int
      var exp: Int
      var aud: [String]

      func verify(using algorithm: some JWTAlgorithm) {}
    }

    private static func token(_ client: String, forAll audiences: [String]) async throws -> String {
      let file = try JSONDecoder().decode(File.self, from: Data(client.utf8))
      let keys = JWTKeyCollection()
      let kid = JWKIdentifier(string: file.private_key_id)
      await keys.add(
        rsa: try Insecure.RSA.PrivateKey(pem: file.private_key), digestAlgorithm: .sha256, kid: kid)
      let now = Int(start.timeIntervalSince1970)
      return try await keys.sign(
        ManyAudiences(
          iss: file.client_email, sub: file.client_email, iat: now, exp: now + 3600,
          aud: audiences), kid: kid)
    }

    private struct File: Decodable {
      var private_key: String
      var private_key_id: String
      var client_email: String
    }

    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private static func token(
      _ client: String, validFor seconds: Int = 3600,
      for audience: String? = AccountTokens.audience,
      scope: String? = nil, from issuer: String? = nil, of subject: String? = nil,
      notBefore: Int? = nil
    ) async throws -> String {
      let file = try JSONDecoder().decode(File.self, from: Data(client.utf8))
      let keys = JWTKeyCollection()
      await keys.add(
        rsa: try Insecure.RSA.PrivateKey(pem: file.private_key), digestAlgorithm: .sha256,
        kid: JWKIdentifier(string: file.private_key_id))
      let now = Int(start.timeIntervalSince1970)
      return try await keys.sign(
        Claims(
          iss: issuer ?? file.client_email, sub: subject ?? file.client_email, iat: now,
          exp: now + seconds, nbf: notBefore.map { now + $0 },
          aud: audience,
          scope: scope),
        kid: JWKIdentifier(string: file.private_key_id))
    }

    @Test func `a token is accepted until its time is over, also one that is known`() async throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let time = Guarded(Self.start)
      let tokens = AccountTokens([try .init(json: keys.server)], now: { time.withLock(\.self) })
      let token = try await Self.token(keys.client)
      for seconds in [0.0, 1800, 3600, 3600 + AccountTokens.skew - 1] {
        time.withLock { $0 = Self.start + seconds }
        try await tokens.check(token)
      }
      for seconds in [3600 + AccountTokens.skew, 7200, -AccountTokens.skew - 1] {
        time.withLock { $0 = Self.start + seconds }
        // A token that is known was valid when it came.
        if seconds < 0 {
          let error = await #expect(throws: Status.self) {
            try await tokens.check(try await Self.token(keys.client, validFor: 60))
          }
          #expect(error?.code == .unauthenticated)
          continue
        }
        let error = await #expect(throws: Status.self) { try await tokens.check(token) }
        #expect(error?.code == .unauthenticated)
      }
    }

    @Test func `a token is refused before the time from which it is valid`() async throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let time = Guarded(Self.start)
      let tokens = AccountTokens([try .init(json: keys.server)], now: { time.withLock(\.self) })
      // Clocks differ by a minute at most, as for the other times.
      let skew = Int(AccountTokens.skew)
      for seconds in [-3600, 0, skew - 1, skew] {
        try await tokens.check(try await Self.token(keys.client, notBefore: seconds))
      }
      let later = try await Self.token(keys.client, notBefore: 1800)
      for seconds in [0.0, 1800 - AccountTokens.skew - 1] {
        time.withLock { $0 = Self.start + seconds }
        let refused = await #expect(throws: Status.self) { try await tokens.check(later) }
        #expect(refused?.code == .unauthenticated)
      }
      time.withLock { $0 = Self.start + 1800 - AccountTokens.skew }
      try await tokens.check(later)
    }

    /// What Google's libraries sign: an audience, or scopes and no audience, or an empty one.
    @Test func `a token is for Firestore, or for nobody else with a scope that includes it`()
      async throws
    {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let tokens = AccountTokens([try .init(json: keys.server)], now: { Self.start })
      let scope = "https://www.googleapis.com/auth/datastore"
      let other = "https://www.googleapis.com/auth/pubsub"
      for (audience, scope) in [
        (AccountTokens.audience, nil), (AccountTokens.audience, other), (nil, scope), ("", scope),
        (nil, other + " " + scope),
      ] as [(String?, String?)] {
        try await tokens.check(try await Self.token(keys.client, for: audience, scope: scope))
      }
      for (audience, scope) in [
        ("https://evil.example", scope), ("https://oauth2.googleapis.com/token", scope), (nil, nil),
        ("", nil), (nil, other), ("https://pubsub.googleapis.com/", nil),
      ] as [(String?, String?)] {
        let refused = await #expect(throws: HearthEngine.Status.self) {
          try await tokens.check(try await Self.token(keys.client, for: audience, scope: scope))
        }
        #expect(refused?.code == .unauthenticated, "\(audience ?? "none") \(scope ?? "none")")
      }
    }

    @Test func `a token is of the account whose key has signed it`() async throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let other = try FirestoreServer.ServiceAccount.makeKeys(name: "other", project: "shop")
      let server = try FirestoreServer.ServiceAccount(json: keys.server)
      let stranger = try FirestoreServer.ServiceAccount(json: other.server)
      let tokens = AccountTokens([server, stranger], now: { Self.start })
      try await tokens.check(
        try await Self.token(keys.client, from: server.email, of: server.email))
      for (issuer, subject) in [
        (stranger.email, stranger.email), (stranger.email, server.email),
        (server.email, stranger.email), ("", ""),
      ] {
        let refused = await #expect(throws: HearthEngine.Status.self) {
          try await tokens.check(try await Self.token(keys.client, from: issuer, of: subject))
        }
        #expect(refused?.code == .unauthenticated, "\(issuer) \(subject)")
      }
      // Signed by another key under the name of a known one.
      let forged = other.client.replacing(stranger.keyID, with: server.keyID)
      await #expect(throws: HearthEngine.Status.self) {
        try await tokens.check(
          try await Self.token(forged, from: server.email, of: server.email))
      }
    }

    @Test func `an account that is removed opens nothing, even with a token that is known`()
      async throws
    {
      let client = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let accounts = AccountTokens([try .init(json: client.server)], now: { Self.start })
      let keys = ServiceKeys([], accounts: accounts, isEmulator: false)
      let header = "Bearer " + (try await Self.token(client.client))
      try await keys.check(authorization: header)
      try keys.replace(["0123456789abcdef"], AccountTokens([], now: { Self.start }))
      await #expect(throws: Status.self) { try await keys.check(authorization: header) }
      try keys.replace([], AccountTokens([try .init(json: client.server)], now: { Self.start }))
      try await keys.check(authorization: header)
    }

    /// JWTKit's parser traps on some of these, before a signature is checked.
    @Test func `a token that is not signed is refused, whatever is in it`() async throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let account = try FirestoreServer.ServiceAccount(json: keys.server)
      let tokens = AccountTokens([account], now: { Self.start })
      func part(_ text: String) -> String {
        Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
          .replacing("=", with: "")
      }
      let values = [
        "null", "[]", "{}", "1e300", "-1e300", "1e999", "9223372036854775808", "\"\"", #"["a"]"#,
        "true", #""\ud800""#, String(repeating: "[", count: 500),
      ]
      let known = #""alg":"RS256","kid":"\#(account.keyID)""#
      var parts = [("", ""), ("a", "b"), (part("{"), part("{}"))]
      for value in values {
        parts += [
          (part(#"{\#(known),"x":\#(value)}"#), part("{}")),
          (part(#"{"alg":\#(value),"kid":\#(value)}"#), part("{}")),
          (part("{\(known)}"), part(#"{"iss":"a","sub":"a","iat":1,"exp":2,"aud":\#(value)}"#)),
          (part("{\(known)}"), part(#"{"iss":"a","sub":"a","iat":\#(value),"exp":\#(value)}"#)),
          (part(value), part(value)),
        ]
      }
      for (header, claims) in parts {
        for end in [".AAAA", ".", "", "..", ".%"] {
          let error = await #expect(throws: HearthEngine.Status.self) {
            try await tokens.check(header + "." + claims + end)
          }
          #expect(error?.code == .unauthenticated, "\(header).\(claims)\(end)")
        }
      }
    }

    /// Signed, so that the claims are read: an account's client may be wrong too.
    @Test func `a token that names no audience, or several, is refused or accepted`() async throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let tokens = AccountTokens([try .init(json: keys.server)], now: { Self.start })
      for (audiences, isAccepted) in [
        ([], false), (["x"], false), (["x", AccountTokens.audience], true), ([""], false),
      ] as [([String], Bool)] {
        let token = try await Self.token(keys.client, forAll: audiences)
        if isAccepted {
          try await tokens.check(token)
        } else {
          await #expect(throws: HearthEngine.Status.self) { try await tokens.check(token) }
        }
      }
    }

    @Test func `more tokens than are known are still accepted`() async throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let tokens = AccountTokens([try .init(json: keys.server)], knownCount: 4, now: { Self.start })
      for seconds in 1...10 {
        let token = try await Self.token(keys.client, validFor: seconds)
        try await tokens.check(token)
        try await tokens.check(token)
      }
    }

    @Test func `both files of an account have the same public key`() throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      let server = try FirestoreServer.ServiceAccount(json: keys.server)
      #expect(try FirestoreServer.ServiceAccount(json: keys.client) == server)
      #expect(server.email == "backend@shop.iam.gserviceaccount.com")
      #expect(server.keyID.utf8.count == 40)
      #expect(!keys.server.contains("PRIVATE"))
    }

    @Test func `what is no account is refused`() throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
      for json in [
        "", "{}", "[]", keys.server.replacing("service_account", with: "authorized_user"),
        keys.server.replacing("BEGIN PUBLIC", with: "PUBLIC"),
        keys.server.replacing("public_key", with: "key"),
        keys.client.replacing("private_key_id", with: "id"),
        keys.client.replacing("backend@shop.iam.gserviceaccount.com", with: ""),
      ] {
        let error = #expect(throws: NSError.self) { try FirestoreServer.ServiceAccount(json: json) }
        #expect(error?.code == 3, "\(json)")
      }
      for name in ["", "a b", "ä", "../x", String(repeating: "x", count: 64)] {
        #expect(throws: NSError.self) {
          try FirestoreServer.ServiceAccount.makeKeys(name: name, project: "shop")
        }
        #expect(throws: NSError.self) {
          try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: name)
        }
      }
    }
  }
#endif
