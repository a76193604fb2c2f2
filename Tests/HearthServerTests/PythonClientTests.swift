#if Server
  import Foundation
  import TestSupport
  import Testing

  /// Google's Python client, as a judge.
  @Suite struct PythonClientTests {

    @Test func `documents, queries, listeners and transactions work`() async throws {
      try await TestServer.run { try await PythonClient.run("slice.py", port: $0.port) }
    }

    @Test func `the rest of what the client can do works`() async throws {
      try await TestServer.run { try await PythonClient.run("breadth.py", port: $0.port) }
    }

    @Test func `what the asynchronous client can do works`() async throws {
      try await TestServer.run { try await PythonClient.run("breadth_async.py", port: $0.port) }
    }

    @Test func `firebase-admin works`() async throws {
      try await TestServer.run { try await PythonClient.run("admin.py", port: $0.port) }
    }

    /// The scripts that need no server of their own, against Google's emulator.
    @Test func `Google's emulator answers the same`() async throws {
      try await GoogleEmulator.run { port in
        for script in ["slice.py", "breadth.py", "breadth_async.py", "admin.py"] {
          try await PythonClient.run(script, port: port)
        }
      }
    }

    @Test func `the parts of many documents have about the same size`() async throws {
      try await TestServer.run {
        try await PythonClient.run(
          "partitions.py", port: $0.port, [Soak.isOn ? "100000" : "20000"])
      }
    }

    @Test func `transactions of many processes all commit`() async throws {
      // The client gives up after five attempts, which other work on the machine may take.
      try await TestServer.run {
        try await PythonClient.run(
          "increments.py", port: $0.port, Soak.isOn ? ["16", "100"] : ["2", "20"])
      }
    }

    #if Tools
      @Test func `all works over TLS with a service key, and nothing without them`() async throws {
        try await PythonClient.run("secure.py", [PythonClient.hearth])
      }

      @Test func `indexes are required, and replaced with their file, and a server writes nothing`()
        async throws
      {
        try await PythonClient.run("flags.py", [PythonClient.hearth])
      }

      @Test func `clients of a service account sign their tokens, and the certificate is replaced`()
        async throws
      {
        try await PythonClient.run("account.py", [PythonClient.hearth])
      }

      @Test func `acknowledged writes survive kill -9`() async throws {
        try await PythonClient.run("crash.py", [PythonClient.hearth, Soak.isOn ? "100" : "5"])
      }

      @Test func `peers that send garbage or do not read harm nobody else`() async throws {
        try await PythonClient.run("hostile.py", [PythonClient.hearth, Soak.isOn ? "30" : "2"])
      }

      @Test func `clients that never read have less than 300 MiB, and others get their answers`()
        async throws
      {
        try await PythonClient.run("unread.py", [PythonClient.hearth, Soak.isOn ? "30" : "3"])
      }

      @Test(arguments: [[], ["admin"]])
      func `listeners go on after their server was killed`(_ arguments: [String]) async throws {
        try await PythonClient.run("resume.py", [PythonClient.hearth] + arguments)
      }

      @Test func `a client reaches the named database, and no other`() async throws {
        try await PythonClient.run("databases.py", [PythonClient.hearth])
      }
    #endif
  }

  /// Google's emulator, which cannot be installed by scripts: `FIRESTORE_EMULATOR_JAR`, or
  /// `cloud_firestore_emulator` on the path.
  private enum GoogleEmulator {
    private static let port = 8579

    private static var command: [String]? {
      let environment = ProcessInfo.processInfo.environment
      if let jar = environment["FIRESTORE_EMULATOR_JAR"] {
        return ["java", "-jar", jar, "--host", "127.0.0.1", "--port", "\(port)"]
      }
      let name = "cloud_firestore_emulator"
      let isThere = (environment["PATH"] ?? "").split(separator: ":").contains {
        FileManager.default.isExecutableFile(atPath: "\($0)/\(name)")
      }
      return isThere ? [name, "start", "--host=127.0.0.1", "--port=\(port)"] : nil
    }

    /// Runs `body` with an emulator that ends with it. Prints "skipped" if there is none.
    static func run(_ body: (_ port: Int) async throws -> Void) async throws {
      guard let command else {
        return print("skipped: Google's emulator is not installed.")
      }
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = command
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      defer {
        process.terminate()
        process.waitUntilExit()
      }
      try await eventually {
        let answer = try? await RawConnection.send("GET / HTTP/1.0\r\n\r\n", port: port)
        return answer?.hasPrefix("HTTP/") == true
      }
      try await body(port)
    }
  }
#endif
