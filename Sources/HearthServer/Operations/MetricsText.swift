#if Server
  import CoreMetrics
  import HearthEngine

  /// The metrics of a server in the text format of Prometheus, version 0.0.4.
  ///
  ///     # TYPE hearth_server_calls_total counter
  ///     hearth_server_calls_total{method="Commit",code="ok"} 12
  ///
  /// Those of one server: as many series as the protocol has methods and codes.
  final class MetricsText: MetricsFactory {
    /// The content type.
    static let type = "text/plain; version=0.0.4; charset=utf-8"

    private enum Kind: String {
      case counter, gauge, histogram
    }

    /// The series of one metric.
    private struct Family {
      let kind: Kind
      /// By their dimensions, as they are shown.
      var series: [String: MetricSeries] = [:]
    }

    /// By the name that is shown.
    private let families = Guarded<[String: Family]>([:])

    /// All series, as of now.
    var text: String {
      let families = families.withLock { $0 }
      var text = ""
      for (name, family) in families.sorted(by: { $0.key < $1.key }) {
        text += "# TYPE \(name) \(family.kind.rawValue)\n"
        for (dimensions, series) in family.series.sorted(by: { $0.key < $1.key }) {
          let state = series.state
          guard family.kind == .histogram else {
            text += "\(name)\(Self.braced(dimensions)) \(Self.number(state.value))\n"
            continue
          }
          var sum = 0
          for (bound, count) in zip(MetricSeries.bounds.map(Self.number) + ["+Inf"], state.buckets)
          {
            sum += count
            let all = [dimensions, #"le="\#(bound)""#].filter { !$0.isEmpty }
            text += "\(name)_bucket\(Self.braced(all.joined(separator: ","))) \(sum)\n"
          }
          text += "\(name)_sum\(Self.braced(dimensions)) \(Self.number(state.value))\n"
          text += "\(name)_count\(Self.braced(dimensions)) \(sum)\n"
        }
      }
      return text
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
      series(label + "_total", .counter, dimensions)
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
      series(label, .gauge, dimensions)
    }

    func makeRecorder(
      label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
      series(label, .gauge, dimensions)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
      series(label + "_seconds", .histogram, dimensions)
    }

    // The server makes each once, and keeps it.
    func destroyCounter(_ handler: any CounterHandler) {}
    func destroyMeter(_ handler: any MeterHandler) {}
    func destroyRecorder(_ handler: any RecorderHandler) {}
    func destroyTimer(_ handler: any TimerHandler) {}

    private func series(
      _ name: String, _ kind: Kind, _ dimensions: [(String, String)]
    ) -> MetricSeries {
      let key = dimensions.map { #"\#($0)="\#(Self.escaped($1))""# }.joined(separator: ",")
      return families.withLock {
        var family = $0[name] ?? Family(kind: kind)
        let series = family.series[key] ?? MetricSeries()
        family.series[key] = series
        $0[name] = family
        return series
      }
    }

    private static func braced(_ dimensions: String) -> String {
      dimensions.isEmpty ? "" : "{\(dimensions)}"
    }

    private static func escaped(_ value: String) -> String {
      var escaped = ""
      for scalar in value.unicodeScalars {
        switch scalar {
        case "\\": escaped += #"\\"#
        case "\"": escaped += #"\""#
        case "\n": escaped += #"\n"#
        default: escaped.unicodeScalars.append(scalar)
        }
      }
      return escaped
    }

    private static func number(_ value: Double) -> String {
      Int64(exactly: value).map { String($0) } ?? "\(value)"
    }
  }

  /// One series: a sum, a value that goes up and down, or a distribution of times.
  private final class MetricSeries: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    struct State {
      /// The count or the value; of times, their sum in seconds.
      var value = 0.0
      /// Times up to each bound, but above the one before; last, those above all.
      var buckets = [Int](repeating: 0, count: bounds.count + 1)
    }

    /// In seconds.
    static let bounds = [
      0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]

    private let guarded = Guarded(State())

    var state: State { guarded.withLock { $0 } }

    func increment(by amount: Int64) { increment(by: Double(amount)) }
    func increment(by amount: Double) { guarded.withLock { $0.value += amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { guarded.withLock { $0.value = value } }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func reset() { guarded.withLock { $0 = State() } }

    func recordNanoseconds(_ duration: Int64) {
      let seconds = Double(duration) / 1e9
      let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
      guarded.withLock {
        $0.value += seconds
        $0.buckets[bucket] += 1
      }
    }
  }
#endif
