#if Server
  import CoreMetrics
  import Foundation
  import GRPCCore
  import HearthEngine
  import MetricsTestKit
  import Testing

  @testable import HearthServer

  /// What operators see of a server.
  @Suite struct ServerMetricsTests {
    @Test func `calls, listeners and connections are reported`() async throws {
      let metrics = TestMetrics()
      try await TestServer.run({ $0.metrics = metrics }) { server in
        try await server.set(TestServer.root + "/a/b", 1)
        _ = try? await server.get(TestServer.root + "/a/none")
        _ = try await server.rest("GET", "/v1/\(TestServer.root)/a/b")
        func calls(_ method: String, _ code: String) throws -> Int64 {
          try metrics.expectCounter(
            "hearth_server_calls", [("method", method), ("code", code)]
          ).totalValue
        }
        #expect(try calls("Commit", "ok") == 1)
        #expect(try calls("GetDocument", "notFound") == 1)
        #expect(try calls("GetDocument", "ok") == 1)
        let times = try metrics.expectTimer("hearth_server_call_time", [("method", "GetDocument")])
        #expect(times.values.count == 2 && times.values.allSatisfy { $0 > 0 })
        #expect(try metrics.expectMeter("hearth_server_connections").values.max() == 2)
        try await server.listening {
          let listeners = try metrics.expectMeter("hearth_server_listeners").values.last
          let running = try metrics.expectMeter("hearth_server_calls_running").values.last
          #expect(listeners == 1 && running == 1)
        }
      }
      #expect(try metrics.expectMeter("hearth_server_listeners").values.last == 0)
      #expect(try metrics.expectMeter("hearth_server_connections").values.last == 0)
    }
  }
#endif
