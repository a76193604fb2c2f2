#if Tools
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthText

  /// The sentence that a failed command prints. It never has the name of a Swift type or a number of the
  /// system.
  enum CommandError {
    /// The error with its sentence, as `HearthTool.exit` takes it.
    ///
    /// - Parameter command: The command whose `run` threw it.
    static func readable(
      _ error: any Error, of command: any ParsableCommand.Type
    ) -> any Error {
      switch error {
      case is ExitCode, is CleanExit, is Failure: return error
      // A request for help, which the parser's own command throws.
      case _ where String(reflecting: type(of: error)).hasPrefix("ArgumentParser.C"): return error
      // The parser shows the usage of the root, because it does not know which command has thrown it.
      case let error as ValidationError: return UsageError(error.message, of: command)
      case is CancellationError: return Failure("The command was cancelled.")
      default: break
      }
      let report = error as NSError
      if report.domain == FirestoreErrorDomain { return Failure(report.localizedDescription) }
      if let sentence = FileError.sentence(for: error) {
        let path = FileError.path(of: error).map { "\($0.legible): " } ?? ""
        return Failure(path + sentence)
      }
      if let described = (error as? any LocalizedError)?.errorDescription {
        return Failure(described)
      }
      // A sentence that its author has written. Every error can be cast, by way of NSError.
      if type(of: error) is any CustomStringConvertible.Type { return Failure("\(error)") }
      return Failure(
        "The command failed for a reason that has no description. Report it as a defect of Hearth: "
          + "\(String(reflecting: error))")
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
