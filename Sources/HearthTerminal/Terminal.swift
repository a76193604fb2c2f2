import Foundation
import HearthText

/// The standard streams, the arguments, and the width of the terminal.
package enum Terminal {
  /// The pipe that standard output goes to has no reader any more.
  package struct PipeClosed: Error {
    /// The status that a shell shows for SIGPIPE.
    package static let status = 128 + SIGPIPE
  }

  /// The arguments of the process, without its name. Nil if one is not UTF-8, which is then said on
  /// standard error: Swift repairs it, and it would name another file or document.
  package static func arguments() -> [String]? {
    for index in 1..<max(Int(CommandLine.argc), 1) {
      guard let argument = CommandLine.unsafeArgv[index], String(validatingCString: argument) == nil
      else { continue }
      printAside("Error: Argument \(index) is not UTF-8: \(String(cString: argument))")
      return nil
    }
    return Array(CommandLine.arguments.dropFirst())
  }

  package static let outputIsTerminal = isatty(STDOUT_FILENO) == 1

  /// Whether text has styles: on a terminal that knows them, if the environment has no `NO_COLOR`.
  package static let hasStyles = hasStyles(
    outputIsTerminal, ProcessInfo.processInfo.environment)

  /// Whether standard error shows progress, in one line that is drawn again.
  package static let showsProgress = movesCursor(
    isatty(STDERR_FILENO) == 1, ProcessInfo.processInfo.environment)

  /// `NO_COLOR` counts if it is not empty.
  package static func hasStyles(_ isTerminal: Bool, _ environment: [String: String]) -> Bool {
    movesCursor(isTerminal, environment) && environment["NO_COLOR", default: ""].isEmpty
  }

  /// Terminals whose `TERM` is `dumb`, or missing, know no escape sequences.
  package static func movesCursor(_ isTerminal: Bool, _ environment: [String: String]) -> Bool {
    isTerminal && !["", "dumb"].contains(environment["TERM", default: ""])
  }

  /// Columns of the terminal; 120 without one.
  package static let width: Int = {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 120 }
    return Int(size.ws_col)
  }()

  /// Prints a line without buffering, so that the reader of a pipe gets it immediately.
  ///
  /// Throws a `Failure` if it cannot be written, and `PipeClosed` if nobody reads any more.
  package static func print(_ line: TerminalText) throws {
    try write(Array((line.text + "\n").utf8))
  }

  package static func print(_ json: JSON) throws { try print("\(json.text)") }

  /// Writes the lines of a JSON file as they are, but to a terminal with escapes.
  package static func write(lines: [UInt8]) throws {
    guard outputIsTerminal else { return try write(lines) }
    let text: TerminalText = "\(lines: String(decoding: lines, as: UTF8.self))"
    try write(Array(text.text.utf8))
  }

  private static func write(_ bytes: [UInt8]) throws {
    let error = write(bytes, to: STDOUT_FILENO)
    guard error != 0 else { return }
    if error == EPIPE { throw PipeClosed() }
    throw Failure("Cannot write to standard output: \(String(cString: strerror(error))).")
  }

  /// Prints a line to standard error, because the output may go to a program.
  package static func printAside(_ line: TerminalText) { writeAside(line + "\n") }

  /// Ignores errors of writing to standard error.
  package static func writeAside(_ text: TerminalText) {
    _ = write(Array(text.text.utf8), to: STDERR_FILENO)
  }

  /// Writes all bytes. Returns the error number, or 0.
  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Foundation.write(
          descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else if errno == EAGAIN {
          // Another process made the pipe non-blocking: wait until it takes more.
          var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = poll(&waiting, 1, -1)
        } else if errno != EINTR {
          return errno
        }
      }
      return 0
    }
  }

  /// Opens the standard streams that are closed, so that no database gets one of their
  /// descriptors.
  package static func secureStreams() {
    for (descriptor, mode) in [
      (STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY),
    ] where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free descriptor is this one. Input and output then fail, as on a closed
      // stream.
      _ = open("/dev/null", mode)
    }
  }

  package static func bold(_ text: TerminalText) -> TerminalText {
    hasStyles ? text.styled(1) : text
  }

  package static func faint(_ text: TerminalText) -> TerminalText {
    hasStyles ? text.styled(2) : text
  }
}
