#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import Logging
  import TestSupport
  import Testing

  @testable import HearthServer

  /// A server ends, whatever its clients leave open.
  @Suite(.timeLimit(patience)) struct ShutdownTests {
    @Test func `a write stream that is open ends with a status`() async throws {
      try await TestServer.run { server in
        let ended = await #expect(throws: RPCError.self) {
          try await server.client.write { writer in
            try await writer.write(.with { $0.database = TestServer.database })
            await untilCancelled()
          } onResponse: { response in
            for try await _ in response.messages { server.shutDown() }
          }
        }
        #expect(ended?.code == .unavailable)
      }
    }

    @Test func `a call that never ends is cut when the time is over`() async throws {
      // On a busy machine, the call may come when the server listens no more.
      for milliseconds in [300, 1_000, 5_000] {
        do { return try await cutOff(after: .milliseconds(milliseconds)) } catch {}
      }
      try await cutOff(after: .seconds(20))
    }

    /// Shuts a server down some time after a call began. Throws if it had not.
    private func cutOff(after time: Duration) async throws {
      let backend = try EmbeddedBackend(
        inMemory: EmbeddedBackend.Settings(), logger: Logger(label: "test"))
      var options = FirestoreServer.Options()
      options.port = 0
      let server = try FirestoreServer(
        DatabaseCatalog(backend), options, grace: .milliseconds(500))
      async let running: Void = server.run()
      let port = try await server.port
      // A commit without its message.
      async let client = RawConnection.send(
        [Frame.call(1, "Commit")], until: { _ in false }, port: port)
      try await Task.sleep(for: time)
      let began = ContinuousClock.now
      server.shutDown()
      try? await running
      let duration = ContinuousClock.now - began
      _ = try await client
      #expect(duration < .seconds(120))
    }
  }
#endif
