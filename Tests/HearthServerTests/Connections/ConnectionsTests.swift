#if Server
  import CoreMetrics
  import Testing

  @testable import HearthServer

  /// The bytes that clients may have in memory before they have shown a key.
  @Suite struct ConnectionsTests {
    @Test func `bytes are reserved up to the limit, and room is made again`() {
      let connections = Connections(
        limit: 1, bodyBytes: 100, ServerMetrics(NOOPMetricsHandler.instance)
      ) { _ in }
      #expect(connections.reserve(60) && connections.reserve(40))
      #expect(!connections.reserve(1) && connections.reserve(0))
      connections.free(60)
      #expect(!connections.reserve(61) && !connections.reserve(.max))
      #expect(connections.reserve(60))
    }
  }
#endif
