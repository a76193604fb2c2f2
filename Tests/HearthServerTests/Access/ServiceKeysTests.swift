#if Server
  import FirestoreProtocol
  import GRPCCore
  import HearthEngine
  import Testing

  @testable import HearthServer

  @Suite struct ServiceKeysTests {
    private static let key = "0123456789abcdef"
    private typealias Options = FirestoreServer.Options

    @Test func `only a whole key opens a server that has keys`() async {
      let keys = ServiceKeys([Self.key, "another-service-key"], isEmulator: false)
      let refused = [
        nil, "", "Bearer", "Bearer ", "Bearer owner", "Basic \(Self.key)", Self.key,
        "Bearer \(Self.key.dropLast())", "Bearer \(Self.key)0", "Bearer \(Self.key.uppercased())",
        "Bearer 1123456789abcdef", "Bearer another-service-keY",
      ]
      for header in refused {
        let error = await #expect(throws: Status.self) {
          try await keys.check(authorization: header)
        }
        #expect(error?.code == .unauthenticated, "\(header ?? "no header")")
      }
      for header in ["Bearer \(Self.key)", "bearer another-service-key"] {
        await #expect(throws: Never.self) { try await keys.check(authorization: header) }
      }
    }

    @Test func `replaced keys hold from then on, and a server with keys keeps some`() async throws {
      let keys = ServiceKeys([Self.key], isEmulator: false)
      let new = "another-service-key"
      try keys.replace([new, Self.key], AccountTokens([]))
      for key in [new, Self.key] { try await keys.check(authorization: "Bearer \(key)") }
      try keys.replace([new], AccountTokens([]))
      try await keys.check(authorization: "Bearer \(new)")
      await #expect(throws: Status.self) {
        try await keys.check(authorization: "Bearer \(Self.key)")
      }
      // None of these is taken.
      for refused in [[], ["short"], [Self.key, ""]] {
        let error = #expect(throws: Status.self) { try keys.replace(refused, AccountTokens([])) }
        #expect(error?.code == .invalidArgument)
      }
      try await keys.check(authorization: "Bearer \(new)")
      for isEmulator in [false, true] {
        let open = ServiceKeys([], isEmulator: isEmulator)
        #expect(throws: Status.self) { try open.replace([new], AccountTokens([])) }
        try await open.check(authorization: nil)
      }
    }

    @Test func `without keys, tokens of users are for an emulator only`() async throws {
      let open = ServiceKeys([], isEmulator: false)
      try await open.check(authorization: nil)
      try await open.check(authorization: "Bearer owner")
      let error = await #expect(throws: Status.self) {
        try await open.check(authorization: "Bearer eyJhbGciOiJub25lIn0")
      }
      #expect(error?.code == .unauthenticated)
      let emulator = ServiceKeys([], isEmulator: true)
      for header in [nil, "Bearer owner", "Bearer eyJhbGciOiJub25lIn0"] {
        try await emulator.check(authorization: header)
      }
    }

    @Test func `an address that others reach needs TLS and keys`() throws {
      let tls = FirestoreServer.TLS(certificatePath: "chain.pem", keyPath: "key.pem")
      for host in ["0.0.0.0", "::", "192.168.1.2", "127.0.0.1.example.org", ""] {
        for (hasTLS, hasKeys, isInsecure) in [
          (false, false, false), (true, false, false), (false, true, false), (true, true, false),
          (false, false, true),
        ] {
          var options = Options()
          options.host = host
          options.tls = hasTLS ? tls : nil
          options.serviceKeys = hasKeys ? [Self.key] : []
          options.isInsecure = isInsecure
          if isInsecure || hasTLS && hasKeys {
            try options.check()
          } else {
            let error = #expect(throws: Status.self) { try options.check() }
            #expect(error?.code == .invalidArgument)
          }
          options.isEmulator = true
          #expect(throws: Status.self) { try options.check() }
        }
      }
      for host in ["127.0.0.1", "::1", "localhost"] {
        var options = Options()
        options.host = host
        try options.check()
        options.serviceKeys = ["short"]
        #expect(throws: Status.self) { try options.check() }
      }
    }

    @Test func `a call without the key is refused, and health answers anybody`() async throws {
      try await TestServer.run({ $0.serviceKeys = [Self.key] }) { server in
        let refused = await #expect(throws: RPCError.self) {
          try await server.set(TestServer.root + "/a/b", 1)
        }
        #expect(refused?.code == .unauthenticated)
        let request = ProtoListDocumentsRequest.with {
          $0.parent = TestServer.root
          $0.collectionID = "a"
        }
        let found = try await server.client.listDocuments(
          request, metadata: ["authorization": "Bearer \(Self.key)"])
        #expect(found.documents.isEmpty)
        #expect(try await server.health("") == [8, 1])
      }
    }
  }
#endif
