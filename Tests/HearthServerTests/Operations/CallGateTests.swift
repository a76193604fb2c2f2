#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf
  import TestSupport
  import Testing

  @testable import HearthServer

  /// Limits, ids and health: what operators rely on.
  @Suite struct CallGateTests {
    @Test func `a call's id is the client's, also in an error`() async throws {
      try await TestServer.run { server in
        try await server.set(TestServer.root + "/a/b", 1)
        func id(of name: String, asking id: String?) async throws -> String? {
          var metadata = Metadata()
          if let id { metadata.addString(id, forKey: "x-request-id") }
          return try await server.client.getDocument(.with { $0.name = name }, metadata: metadata) {
            response in
            switch response.accepted {
            case .success(let contents):
              contents.metadata[stringValues: "x-request-id"].first { _ in true }
            case .failure(let error):
              error.metadata[stringValues: "x-request-id"].first { _ in true }
            }
          }
        }
        for name in ["/a/b", "/a/none"] {
          #expect(try await id(of: TestServer.root + name, asking: "call-7") == "call-7")
          let given = try #require(try await id(of: TestServer.root + name, asking: nil))
          #expect((1...16).contains(given.count))
          let long = String(repeating: "x", count: 129)
          #expect(try await id(of: TestServer.root + name, asking: long) != long)
        }
      }
    }

    @Test func `a call that is never answered makes room, and one that ends does so once`() {
      let calls = BoundedCount(limit: 1)
      var first = RunningCall.begin(in: calls)
      #expect(first != nil && RunningCall.begin(in: calls) == nil)
      #expect(calls.current == 1)
      first = nil
      #expect(calls.current == 0)
      let second = RunningCall.begin(in: calls)
      second?.end()
      second?.end()
      #expect(calls.current == 0)
    }

    @Test func `calls beyond the limit are refused, and those that end make room`() async throws {
      try await TestServer.run({ $0.limits.runningCalls = 1 }) { server in
        for _ in 0..<3 {
          // Each listener occupies the one place until it ends.
          try await server.listening {
            let refused = await #expect(throws: RPCError.self) {
              try await server.set(TestServer.root + "/a/b", 1)
            }
            #expect(refused?.code == .resourceExhausted)
          }
          try await server.eventually { try await server.set(TestServer.root + "/a/b", 1) }
        }
        for _ in 0..<3 {
          await #expect(throws: RPCError.self) {
            try await server.get(TestServer.root + "/a/none")
          }
          try await server.eventually { try await server.set(TestServer.root + "/a/b", 1) }
        }
      }
    }

    @Test func `a message beyond the limit is refused, and the next one is not`() async throws {
      try await TestServer.run({ $0.limits.messageBytes = 10_000 }) { server in
        for count in [20_000, 5_000] {
          let request = ProtoCommitRequest.with {
            $0.database = TestServer.database
            $0.writes = [
              .with {
                $0.update.name = TestServer.root + "/a/b"
                $0.update.fields["s"] = .with {
                  $0.stringValue = String(repeating: "x", count: count)
                }
              }
            ]
          }
          if count < 10_000 {
            _ = try await server.client.commit(request)
          } else {
            let refused = await #expect(throws: RPCError.self) {
              _ = try await server.client.commit(request)
            }
            // The transport resets the stream.
            #expect(refused?.code == .unavailable)
          }
        }
      }
    }

    @Test func `a stream has at most as many targets as may be`() async throws {
      try await TestServer.run({ $0.limits.targetsPerStream = 2 }) { server in
        let refused = try await server.client.listen { writer in
          for id in 1...3 as ClosedRange<Int32> {
            try await writer.write(
              .with {
                $0.database = TestServer.database
                $0.addTarget.targetID = id
                $0.addTarget.documents.documents = [TestServer.root + "/a/\(id)"]
              })
          }
          await untilCancelled()
        } onResponse: { response in
          for try await message in response.messages where message.targetChange.hasCause {
            return message.targetChange
          }
          return ProtoTargetChange()
        }
        #expect(refused.targetIds == [3])
        #expect(refused.cause.code == Int32(RPCError.Code.resourceExhausted.rawValue))
      }
    }

    @Test func `a stream watches at most as many documents as may be`() async throws {
      try await TestServer.run({ $0.limits.membersPerStream = 3 }) { server in
        let answers = try await server.client.listen { writer in
          for (id, count) in [(1, 2), (2, 2), (3, 1)] as [(Int32, Int)] {
            try await writer.write(
              .with {
                $0.database = TestServer.database
                $0.addTarget.targetID = id
                $0.addTarget.documents.documents = (0..<count).map {
                  TestServer.root + "/a/\($0)"
                }
              })
          }
          await untilCancelled()
        } onResponse: { response in
          var answers: [ProtoTargetChange] = []
          for try await message in response.messages {
            let change = message.targetChange
            if change.hasCause || change.targetChangeType == .add { answers.append(change) }
            if answers.count == 3 { break }
          }
          return answers
        }
        #expect(answers.map(\.targetIds) == [[1], [2], [3]])
        let refused = Int32(RPCError.Code.resourceExhausted.rawValue)
        #expect(answers.map(\.cause.code) == [0, refused, 0])
      }
    }

    /// gRPC's clients refuse trailers of more than 8 KiB, and do not see the status.
    @Test func `the message of an error is short, whatever the client has sent`() async throws {
      try await TestServer.run { server in
        for part in ["x", "é", "%", "\u{1F600}"] {
          let name = String(repeating: part, count: 100_000 / part.utf8.count)
          let calls: [@Sendable () async throws -> Void] = [
            { _ = try await server.get(name) },
            { _ = try await server.get(TestServer.root + "/a/" + name) },
            { _ = try await server.get(TestServer.database + "/" + name) },
          ]
          for call in calls {
            let refused = await #expect(throws: RPCError.self) { try await call() }
            #expect(refused?.code == .invalidArgument || refused?.code == .notFound)
            #expect((1...2047).contains(refused?.message.utf8.count ?? 0))
          }
        }
        let name = TestServer.root + "/a/none"
        let missing = await #expect(throws: RPCError.self) { try await server.get(name) }
        #expect(missing?.message == "Document \"\(name)\" not found.")
      }
      for part in ["x", "é", "%", "\u{1F600}"] {
        for count in [0, 1, 500, 660, 670, 1999, 2001, 100_000] {
          let message = "begin " + String(repeating: part, count: count) + " end"
          let short = CallGate.shortened(message)
          let encoded = short.utf8.reduce(0) {
            $0 + ((0x20...0x7E).contains($1) && $1 != 0x25 ? 1 : 3)
          }
          #expect(encoded <= 2000 && short.hasPrefix("begin ") && short.hasSuffix(" end"))
          #expect(short == message || message.utf8.count > 600)
        }
      }
    }

    @Test func `health is serving until the server shuts down`() async throws {
      try await TestServer.run { server in
        #expect(try await server.health("") == [8, 1])
        #expect(try await server.health("google.firestore.v1.Firestore") == [8, 1])
        let unknown = await #expect(throws: RPCError.self) { try await server.health("other") }
        #expect(unknown?.code == .notFound)
        let watched = try await server.watchHealth {
          server.shutDown()
        }
        #expect(watched == [[8, 1], [8, 2]])
      }
    }

    @Test func `checks of health are answered whatever others leave open`() async throws {
      let service = "grpc.health.v1.Health"
      @Sendable func open(_ method: String, _ count: UInt32, isWhole: Bool) -> [Frame] {
        (0..<count).flatMap { number in
          let stream = number * 2 + 1
          let call = Frame.call(stream, method, service: service)
          return isWhole ? [call, Frame.data(stream, [0, 0, 0, 0, 0])] : [call]
        }
      }
      try await TestServer.run({ $0.serviceKeys = ["a-key-of-the-tests"] }) { server in
        for frames in [open("Watch", 400, isWhole: true), open("Check", 400, isWhole: false)] {
          try await RawConnection.open(port: server.port) { connection in
            connection.begin(frames + [.ping])
            _ = try await connection.frames(until: \.haveAcknowledgedPing)
            for _ in 0..<10 { #expect(try await server.health("") == [8, 1]) }
          }
        }
      }
    }

    @Test func `a read time before the log names the oldest one that can be read`() async throws {
      try await TestServer.run { server in
        let backend = try #require(server.backend as? EmbeddedBackend)
        try await backend.setRetention(
          ChangeLogRetention(age: .seconds(3600), limitBytes: 0), isDefault: false)
        let name = TestServer.root + "/a/b"
        let old = try await server.set(name, 1).commitTime
        let new = try await server.set(name, 2).commitTime
        func read(_ time: Google_Protobuf_Timestamp) async throws -> Int64? {
          try await server.client.getDocument(
            .with {
              $0.name = name
              $0.readTime = time
            }
          ).fields["n"]?.integerValue
        }
        #expect(try await read(new) == 2)
        let refused = await #expect(throws: RPCError.self) { try await read(old) }
        #expect(refused?.code == .failedPrecondition)
        #expect(refused?.message.contains("The oldest readable time is 20") == true)
      }
    }

    @Test func `files get an hour of history, unless they have a retention`() async throws {
      let folder = TemporaryFolder()
      let path = folder.path + "/a.hearth"
      func stored() throws -> ChangeLogRetention? {
        let backend = try EmbeddedBackend(
          at: path, named: path, EmbeddedBackend.Settings(), logger: .init(label: "test"))
        defer { backend.close() }
        return try backend.storedRetention()
      }
      func serve(_ retention: ChangeLogRetention?) async throws {
        var options = FirestoreServer.Options()
        options.port = 0
        options.createsDatabases = true
        options.retention = retention
        let server = try FirestoreServer(at: path, options)
        async let running: Void = server.run()
        _ = try await server.port
        server.shutDown()
        try await running
      }
      try await serve(nil)
      #expect(try stored() == FirestoreServer.defaultRetention)
      let own = ChangeLogRetention(age: .seconds(5), limitBytes: 1000)
      try await serve(own)
      #expect(try stored() == own)
      try await serve(nil)
      #expect(try stored() == own)
    }
  }

  extension TestServer {
    /// The bytes of a `HealthCheckResponse`.
    func health(_ service: String) async throws -> [UInt8] {
      try await connection.unary(
        request: ClientRequest(message: [0x0A, UInt8(service.utf8.count)] + Array(service.utf8)),
        descriptor: MethodDescriptor(
          fullyQualifiedService: "grpc.health.v1.Health", method: "Check"),
        serializer: BytesCoder(), deserializer: BytesCoder(), options: .defaults
      ) { try $0.message }
    }

    /// All answers of a watch; `then` runs after the first one.
    func watchHealth(_ then: @Sendable @escaping () -> Void) async throws -> [[UInt8]] {
      try await connection.serverStreaming(
        request: ClientRequest(message: []),
        descriptor: MethodDescriptor(
          fullyQualifiedService: "grpc.health.v1.Health", method: "Watch"),
        serializer: BytesCoder(), deserializer: BytesCoder(), options: .defaults
      ) { response in
        var answers: [[UInt8]] = []
        for try await answer in response.messages {
          answers.append(answer)
          if answers.count == 1 { then() }
        }
        return answers
      }
    }

    /// Runs `body` while a listener is open.
    func listening(_ body: @Sendable @escaping () async throws -> Void) async throws {
      try await client.listen { writer in
        try await writer.write(
          .with {
            $0.database = Self.database
            $0.addTarget.targetID = 1
            $0.addTarget.documents.documents = [Self.root + "/a/b"]
          })
        await untilCancelled()
      } onResponse: { response in
        for try await _ in response.messages { return try await body() }
      }
    }

    /// Repeats `body` until it does not throw, for as long as a busy machine may take.
    nonisolated(nonsending) func eventually(
      _ body: nonisolated(nonsending) () async throws -> Void
    ) async throws {
      var failure: (any Error)?
      _ = try await becomesTrue {
        do {
          try await body()
          failure = nil
        } catch {
          failure = error
        }
        return failure == nil
      }
      if let failure { throw failure }
    }
  }

  /// Bytes as they are.
  struct BytesCoder: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes {
      Bytes(message)
    }
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] {
      bytes.withUnsafeBytes { Array($0) }
    }
  }
#endif
