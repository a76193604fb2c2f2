import Logging

@testable import Hearth
@testable import HearthEngine

/// Keeps what is logged: `warning: sentence`, and the metadata.
struct LogRecorder: LogHandler {
  private final class Store: Sendable {
    let lines = Guarded<[(text: String, metadata: Logger.Metadata)]>([])
  }

  private let store = Store()
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  var all: [String] { store.lines.withLock { $0.map(\.text) } }

  /// Of the newest line that has `text` in it.
  func metadata(ofLineWith text: String) -> Logger.Metadata? {
    store.lines.withLock { lines in lines.last { $0.text.contains(text) }?.metadata }
  }

  /// Of each line that has `text` in it.
  func metadata(ofLinesWith text: String) -> [Logger.Metadata] {
    store.lines.withLock { lines in lines.filter { $0.text.contains(text) }.map(\.metadata) }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }

  func log(event: LogEvent) {
    store.lines.withLock { $0.append(("\(event.level): \(event.message)", event.metadata ?? [:])) }
  }
}
