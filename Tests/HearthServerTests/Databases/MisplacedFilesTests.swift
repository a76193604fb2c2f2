#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import Logging
  import TestSupport
  import Testing

  @testable import HearthServer

  /// A file that is no longer at its path takes no writes: the server says so.
  @Suite(.timeLimit(patience)) struct MisplacedFilesTests {
    private static func run(
      _ body: @escaping @Sendable (_ path: String, TestServer, RecordedLog) async throws -> Void
    ) async throws {
      let folder = TemporaryFolder()
      let path = folder.path + "/books.hearth"
      let backend = try EmbeddedBackend(
        at: path, named: path, EmbeddedBackend.Settings(), logger: Logger(label: "test"))
      let log = RecordedLog()
      try await TestServer.run(over: backend, logger: log.logger) { server in
        try await server.set(TestServer.root + "/a/b", 1)
        try await server.expectHealth(200, [8, 1])
        try await body(path, server, log)
      }
    }

    @Test func `a server whose file was moved is unhealthy until the file is back`() async throws {
      try await Self.run { path, server, log in
        try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
        try await server.expectHealth(503, [8, 2])
        #expect(log.lines(from: .error).count == 1)
        #expect(log.lines(from: .error).first?.contains(path) == true)
        // Reads are answered from the file that is open.
        #expect(try await server.get(TestServer.root + "/a/b").fields["n"]?.integerValue == 1)
        try FileManager.default.moveItem(atPath: path + ".moved", toPath: path)
        try await server.expectHealth(200, [8, 1])
        #expect(log.lines(from: .error).count == 1)
      }
    }

    @Test func `a server whose file was replaced is unhealthy, and refuses writes`() async throws {
      try await Self.run { path, server, log in
        try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
        try #require(rename(path + ".copy", path) == 0)
        try await server.expectHealth(503, [8, 2])
        let refused = await #expect(throws: RPCError.self) {
          try await server.set(TestServer.root + "/a/b", 2)
        }
        #expect(refused?.code == .failedPrecondition)
        try await quietTime(.seconds(3))
        try await server.expectHealth(503, [8, 2])
        #expect(log.lines(from: .error).count == 1)
      }
    }

    @Test func `watchers of health see that the file is gone, and that it is back`() async throws {
      try await Self.run { path, server, log in
        let watched = try await server.connection.serverStreaming(
          request: ClientRequest(message: []),
          descriptor: MethodDescriptor(
            fullyQualifiedService: "grpc.health.v1.Health", method: "Watch"),
          serializer: BytesCoder(), deserializer: BytesCoder(), options: .defaults
        ) { response in
          var answers: [[UInt8]] = []
          for try await answer in response.messages {
            answers.append(answer)
            switch answers.count {
            case 1: try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
            case 2: try FileManager.default.moveItem(atPath: path + ".moved", toPath: path)
            default: server.shutDown()
            }
          }
          return answers
        }
        #expect(watched == [[8, 1], [8, 2], [8, 1], [8, 2]])
      }
    }
  }

  extension TestServer {
    /// Expects that health is this, over REST and gRPC, within ten seconds.
    fileprivate func expectHealth(_ status: Int, _ bytes: [UInt8]) async throws {
      struct NotYet: Error {}
      try await eventually {
        let health = try await (rest("GET", "/health").status, health(""))
        guard health.0 == status, health.1 == bytes else { throw NotYet() }
      }
    }
  }
#endif
