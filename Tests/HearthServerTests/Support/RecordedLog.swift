#if Server
  import HearthEngine
  import Logging

  /// What is logged, kept.
  final class RecordedLog: Sendable {
    private let entries = Guarded<[(level: Logger.Level, text: String)]>([])

    /// Messages and their metadata, from a level on.
    func lines(from level: Logger.Level = .trace) -> [String] {
      entries.withLock { $0.filter { $0.level >= level }.map(\.text) }
    }

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
      let log: RecordedLog
      var metadata: Logger.Metadata = [:]
      var logLevel = Logger.Level.info

      subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
      }

      func log(event: LogEvent) {
        let metadata = (event.metadata ?? [:]).sorted { $0.key < $1.key }
          .map { " \($0.key)=\($0.value)" }
        log.entries.withLock { $0.append((event.level, "\(event.message)" + metadata.joined())) }
      }
    }
  }
#endif
