#if Server
  import Foundation
  import HearthServer
  import Testing

  /// The snippets of the page on the server, word for word.
  @Suite struct ServerGuideTests {
    func serve(_ folder: String, keys: [String]) async throws {
      var options = FirestoreServer.Options()
      options.serviceKeys = keys
      options.limits.connections = 1000
      let server = try FirestoreServer(at: folder, options)
      try await server.run()
    }

    @Test func `a key that is too short is refused before anything listens`() async throws {
      await #expect(throws: NSError.self) {
        try await serve(NSTemporaryDirectory() + "guide-\(UUID().uuidString)", keys: ["short"])
      }
    }
  }
#endif
