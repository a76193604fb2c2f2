#if Server
  import Foundation
  import HearthServer
  import TestSupport
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
        try await serve(TemporaryFolder().path, keys: ["short"])
      }
    }

    #if Tools
      @Test func `the commands of the recipes have options that exist`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(
          path: "../../Sources/HearthServer/HearthServer.docc/HearthServer.md")
        let commands = try String(contentsOf: page, encoding: .utf8)
          .replacing("\\\n", with: " ").split(separator: "\n")
          .filter { $0.contains("hearth serve ") || $0.hasPrefix("ENTRYPOINT") }
        // In a shell, for systemd, and for a container.
        #expect(commands.count >= 4)
        let help = try PythonClient.execute(PythonClient.hearth, ["serve", "--help"]).output
        for option in commands.flatMap({ $0.matches(of: /--[a-z-]+/) }) {
          #expect(help.contains("\(option.output)"), "\(option.output)")
        }
      }
    #endif
  }
#endif
