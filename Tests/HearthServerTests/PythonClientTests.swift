#if Server
  import Foundation
  import Testing

  /// Google's Python client, as a judge.
  @Suite(.serialized) struct PythonClientTests {
    private let isLong = ProcessInfo.processInfo.environment["HEARTH_SOAK"] != nil

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

    @Test func `the parts of 100,000 documents have about the same size`() async throws {
      try await TestServer.run { try await PythonClient.run("partitions.py", port: $0.port) }
    }

    @Test func `transactions of many processes all commit`() async throws {
      // The client gives up after five attempts, which other work on the machine may take.
      try await TestServer.run {
        try await PythonClient.run(
          "increments.py", port: $0.port, isLong ? ["16", "100"] : ["2", "20"])
      }
    }

    #if Tools
      @Test func `a service key and TLS let in, and nothing else does`() async throws {
        try await PythonClient.run("secure.py", [PythonClient.hearth])
      }

      @Test func `clients of a service account sign their tokens, and the certificate is replaced`()
        async throws
      {
        try await PythonClient.run("account.py", [PythonClient.hearth])
      }

      @Test func `acknowledged writes survive kill -9`() async throws {
        try await PythonClient.run("crash.py", [PythonClient.hearth, isLong ? "100" : "5"])
      }

      @Test func `peers that send garbage or do not read harm nobody else`() async throws {
        try await PythonClient.run("hostile.py", [PythonClient.hearth, isLong ? "30" : "2"])
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
#endif
