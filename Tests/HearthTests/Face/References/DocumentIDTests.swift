import Logging
import Synchronization
import Testing

@testable import Hearth
@testable import HearthEngine

struct DocumentIDTests {
  private struct Recorder: LogHandler {
    final class Lines: Sendable {
      let all = Guarded<[String]>([])
    }
    let lines: Lines
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    init(lines: Lines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.all.withLock { $0.append("\(event.level): \(event.message)") }
    }
  }

  @Test func `an id that is set is kept, and warned of once`() {
    let lines = Recorder.Lines()
    let logger = Logger(label: "test") { _ in Recorder(lines: lines) }
    let isTold = Atomic<Bool>(false)
    for id in ["dune", "emma"] { SetIDWarning.log(id, unless: isTold, to: logger) }
    let told = lines.all.withLock { $0 }
    #expect(told.count == 1)
    #expect(told.first?.hasPrefix("warning: [I-FST000002] Attempting to initialize or set") == true)
    #expect(told.first?.contains("non-nil value: \"dune\"") == true)

    #expect(DocumentID<String>(wrappedValue: "dune").wrappedValue == "dune")
    let isLoggedForAll = SetIDWarning.isLogged.load(ordering: .relaxed)
    #expect(isLoggedForAll)
  }
}
