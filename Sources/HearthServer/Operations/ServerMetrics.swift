#if Server
  import CoreMetrics
  import GRPCCore
  import HearthEngine

  /// The metrics of a server; see `FirestoreServer.Options.metrics`.
  final class ServerMetrics: Sendable {
    private struct Key: Hashable {
      let method: String
      let code: String
    }

    private let factory: any MetricsFactory
    /// By method and code: as many as the protocol has.
    private let calls = Guarded<[Key: Counter]>([:])
    private let times = Guarded<[String: CoreMetrics.Timer]>([:])
    let running, listeners, connections, answers: Meter
    let refused: Counter

    init(_ factory: any MetricsFactory) {
      self.factory = factory
      running = Meter(label: "hearth_server_calls_running", factory: factory)
      listeners = Meter(label: "hearth_server_listeners", factory: factory)
      connections = Meter(label: "hearth_server_connections", factory: factory)
      answers = Meter(label: "hearth_server_unread_answer_bytes", factory: factory)
      refused = Counter(label: "hearth_server_connections_refused", factory: factory)
    }

    /// - Parameter code: The status, such as `ok`.
    func callHasEnded(_ method: MethodDescriptor, code: String, after time: Duration) {
      let key = Key(method: method.method, code: code)
      let counter = calls.withLock { calls in
        if let counter = calls[key] { return counter }
        let counter = Counter(
          label: "hearth_server_calls", dimensions: [("method", key.method), ("code", code)],
          factory: factory)
        calls[key] = counter
        return counter
      }
      counter.increment()
      let timer = times.withLock { times in
        if let timer = times[key.method] { return timer }
        let timer = CoreMetrics.Timer(
          label: "hearth_server_call_time", dimensions: [("method", key.method)], factory: factory)
        times[key.method] = timer
        return timer
      }
      timer.recordNanoseconds(Int64(time / .nanoseconds(1)))
    }
  }
#endif
