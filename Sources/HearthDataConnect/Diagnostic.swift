/// A finding of the compiler at a position of a source file.
///
/// Printed as `path:line:column: error: the finding, and the remedy`.
public struct Diagnostic: Hashable, Sendable, CustomStringConvertible {
  /// The consequence of a finding. A raw value is its word in `description`.
  public enum Severity: String, Hashable, Sendable {
    /// There is no compiled connector.
    case error
    /// The connector is compiled; its author should look at the place.
    case warning
    /// Nothing to do; the source has a part without effect.
    case note
  }

  /// The consequence of the finding.
  public var severity: Severity
  /// The path of the source file, as it was given.
  public var path: String
  /// The line of the finding, from 1.
  public var line: Int
  /// The position in the line, in Unicode scalars, from 1.
  public var column: Int
  /// The finding and its remedy, without the position.
  public var message: String

  /// Creates a finding.
  public init(severity: Severity, path: String, line: Int, column: Int, message: String) {
    self.severity = severity
    self.path = path
    self.line = line
    self.column = column
    self.message = message
  }

  init(error message: String, path: String, line: Int = 1, column: Int = 1) {
    self.init(severity: .error, path: path, line: line, column: column, message: message)
  }

  /// `path:line:column: error: message`, as compilers print it.
  public var description: String { "\(path):\(line):\(column): \(severity.rawValue): \(message)" }
}

extension Diagnostic: Comparable {
  /// By path and position; at one position errors come first.
  public static func < (left: Diagnostic, right: Diagnostic) -> Bool {
    (left.path, left.line, left.column, left.severity.rank, left.message)
      < (right.path, right.line, right.column, right.severity.rank, right.message)
  }
}

extension Diagnostic.Severity {
  fileprivate var rank: Int {
    switch self {
    case .error: 0
    case .warning: 1
    case .note: 2
    }
  }
}
