#if Tools
  import ArgumentParser
  import Hearth
  import HearthTerminal
  import Logging

  /// The log of the databases, on standard error. Messages hold names that others have chosen.
  struct TerminalLog: TextOutputStream {
    /// Once, before the command runs.
    static func begin(for command: any ParsableCommand) {
      let level = (command as? any LoggingCommand)?.logLevel ?? .info
      LoggingSystem.bootstrap { label in
        var handler = StreamLogHandler(label: label, stream: TerminalLog())
        handler.logLevel = level
        return handler
      }
    }

    mutating func write(_ text: String) { Terminal.writeAside("\(lines: text)") }
  }

  /// A command that chooses what is logged.
  protocol LoggingCommand {
    var logLevel: Logger.Level { get }
  }
#endif
