#if Server
  import Testing

  /// Google's Python client, as a judge.
  @Suite(.serialized) struct PythonClientTests {
    @Test func `documents, queries, listeners and transactions work`() async throws {
      try await TestServer.run { try PythonClient.run("slice.py", port: $0.port) }
    }

    #if Tools
      @Test func `acknowledged writes survive kill -9`() throws {
        try PythonClient.run("crash.py", [PythonClient.hearth, "5"])
      }
    #endif
  }
#endif
