/// A project that cannot be read: what is wrong, and where.
public struct ProjectError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Errors, and warnings of the same files.
  public let diagnostics: [Diagnostic]

  init(_ diagnostics: [Diagnostic]) {
    self.diagnostics = diagnostics
  }

  /// An error of a whole file or folder.
  init(_ message: String, path: String) {
    diagnostics = [Diagnostic(error: message, path: path)]
  }

  /// The diagnostics, one in a line.
  public var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}
