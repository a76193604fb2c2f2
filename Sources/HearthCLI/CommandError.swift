#if Tools
  import ArgumentParser
  import HearthTerminal

  /// The sentence that a failed command prints.
  enum CommandError {
    /// The error with its sentence, as `HearthTool.exit` takes it.
    ///
    /// - Parameter command: The command whose `run` threw it.
    static func readable(
      _ error: any Error, of command: any ParsableCommand.Type
    ) -> any Error {
      switch error {
      case is ExitCode, is CleanExit: return error
      // A request for help, which the parser's own command throws.
      case _ where String(reflecting: type(of: error)).hasPrefix("ArgumentParser.C"): return error
      // The parser shows the usage of the root, because it does not know which command has thrown it.
      case let error as ValidationError: return UsageError(error.message, of: command)
      case is Terminal.PipeClosed: return ExitCode(Terminal.PipeClosed.status)
      default: return Failure(describing: error)
      }
    }
  }

  /// A wrong argument that a command found when it ran, with that command's own usage.
  struct UsageError: Error, CustomStringConvertible {
    let description: String

    init(_ message: String, of command: any ParsableCommand.Type) {
      let usage = HearthTool.usageString(for: command)
      // `hearth get <database> …`
      let name = usage.split(separator: " ").prefix {
        $0.first.map { !"<[-".contains($0) } ?? false
      }
      .joined(separator: " ")
      description = "\(message)\nUsage: \(usage)\n  See '\(name) --help' for more information."
    }
  }
#endif
