#if Server
  import Foundation
  import HearthEngine
  import TestSupport
  import Testing

  /// Google's Go client, which sends a PING with each call.
  @Suite struct GoClientTests {

    @Test func `all calls and a listener use one connection, which the server keeps`() async throws
    {
      try await TestServer.run {
        try await GoClient.run(
          "pings", ["127.0.0.1:\($0.port)"] + (Soak.isOn ? ["5200", "65"] : ["1000", "2"]))
      }
    }

    @Test func `the same over TLS`() async throws {
      let folder = TemporaryFolder()
      try await GoClient.run("pings", ["certificate", folder.path])
      // Without Go there is none.
      guard FileManager.default.fileExists(atPath: folder.path + "/cert.pem") else { return }
      try await TestServer.run({
        $0.tls = .init(
          certificatePath: folder.path + "/cert.pem", keyPath: folder.path + "/key.pem")
      }) {
        try await GoClient.run(
          "pings",
          ["127.0.0.1:\($0.port)"] + (Soak.isOn ? ["5200", "65"] : ["1000", "2"]) + [folder.path])
      }
    }

    @Test func `all that the client can do works`() async throws {
      try await TestServer.run { try await GoClient.run("breadth", ["127.0.0.1:\($0.port)"]) }
    }

    #if Tools
      @Test func `listeners go on after their server was killed`() async throws {
        try await GoClient.run("breadth", ["resume", PythonClient.hearth])
      }
    #endif
  }

  private enum GoClient {
    /// Runs a program of `Clients`, and records an issue if it fails. Prints "skipped" if it cannot
    /// be built.
    static func run(_ name: String, _ arguments: [String]) async throws {
      // The server in this process needs the threads of async code.
      try await onBlockingThread {
        let (status, built) = try PythonClient.execute(PythonClient.installer, ["go", name])
        guard status == 0, let program = built.split(separator: "\n").last else {
          print("skipped: \(name).go. The Go client cannot be installed.")
          return
        }
        let (end, output) = try PythonClient.execute(String(program), arguments)
        #expect(end == 0, "\(name).go: \(output)")
        print(output, terminator: "")
      }
    }
  }
#endif
