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

    @Test func `metrics are served in the format of Prometheus, to clients with a key`()
      async throws
    {
      let key = "a-key-of-the-tests-of-metrics"
      let metrics = TestMetrics()
      let body = try await TestServer.run({
        $0.metrics = metrics
        $0.servesMetrics = true
        $0.serviceKeys = [key]
      }) { server in
        let headers = ["Authorization": "Bearer \(key)"]
        for name in ["none", "none", "other"] {
          _ = try await server.rest("GET", "/v1/\(TestServer.root)/a/\(name)", "", headers)
        }
        let refused = try await server.rest("GET", "/metrics")
        #expect(refused.status == 401 && !refused.body.contains("hearth_server"))
        let answer = try await server.rest("GET", "/metrics", "", headers)
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        return answer.body
      }
      let lines = body.split(separator: "\n")
      #expect(lines.contains("# TYPE hearth_server_calls_total counter"))
      #expect(
        lines.contains(#"hearth_server_calls_total{method="GetDocument",code="notFound"} 3"#))
      #expect(lines.contains("# TYPE hearth_server_connections gauge"))
      #expect(lines.contains("# TYPE hearth_server_call_time_seconds histogram"))
      let time = "hearth_server_call_time_seconds"
      #expect(lines.contains(#"\#(time)_bucket{method="GetDocument",le="+Inf"} 3"#))
      #expect(lines.contains(#"\#(time)_count{method="GetDocument"} 3"#))
      #expect(lines.contains { $0.hasPrefix(#"\#(time)_sum{method="GetDocument"} 0."#) })
      // Also where the server's metrics go.
      let calls = try metrics.expectCounter(
        "hearth_server_calls", [("method", "GetDocument"), ("code", "notFound")])
      #expect(calls.totalValue == 3)
    }

    @Test func `a series counts, adds up and is escaped`() {
      let metrics = MetricsText()
      let timer = CoreMetrics.Timer(
        label: "time", dimensions: [("name", "a\"b\\c\nd")], factory: metrics)
      for nanoseconds: Int64 in [500_000, 500_001, 20_000_000_000] {
        timer.recordNanoseconds(nanoseconds)
      }
      let meter = Meter(label: "level", factory: metrics)
      meter.set(3)
      meter.decrement(by: 0.5)
      let name = #"name="a\"b\\c\nd""#
      let lines = metrics.text.split(separator: "\n")
      #expect(
        lines.prefix(3) == ["# TYPE level gauge", "level 2.5", "# TYPE time_seconds histogram"])
      #expect(lines[3] == #"time_seconds_bucket{\#(name),le="0.0005"} 1"#)
      #expect(lines[4] == #"time_seconds_bucket{\#(name),le="0.001"} 2"#)
      #expect(lines[16] == #"time_seconds_bucket{\#(name),le="10"} 2"#)
      #expect(lines[17] == #"time_seconds_bucket{\#(name),le="+Inf"} 3"#)
      #expect(lines[18] == #"time_seconds_sum{\#(name)} 20.001000001"#)
      #expect(lines[19] == #"time_seconds_count{\#(name)} 3"#)
      #expect(lines.count == 20)
    }

    @Test func `a server that does not serve its metrics has no such page`() async throws {
      try await TestServer.run { server in
        let answer = try await server.rest("GET", "/metrics")
        #expect(answer.status == 404)
      }
    }
  }
#endif
