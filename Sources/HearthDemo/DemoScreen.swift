import HearthTerminal

/// The sentences of the demo on the terminal.
struct DemoScreen {
  let isQuiet: Bool

  func say(_ line: TerminalText) throws {
    if !isQuiet { try Terminal.print(line) }
  }

  /// A step begins: its name, and the code that it shows.
  func begin(_ step: String, _ code: TerminalText) throws {
    try say("")
    try say("\(Terminal.bold("\(step)"))  \(Terminal.faint("\(code)"))")
  }
}
