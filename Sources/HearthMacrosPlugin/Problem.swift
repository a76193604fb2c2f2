#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxMacros

  /// Why a declaration cannot be a document. Each is reported at the code to change.
  struct Problem: DiagnosticMessage {
    let message: String
    let id: String
    var severity = DiagnosticSeverity.error

    var diagnosticID: MessageID { MessageID(domain: "HearthMacros", id: id) }
  }

  /// A change that solves a problem.
  struct Remedy: FixItMessage {
    let message: String
    let id: String

    var fixItID: MessageID { MessageID(domain: "HearthMacros", id: id) }
  }

  /// Reports all problems of a declaration, so that they can be solved at once.
  struct Problems {
    private let context: (any MacroExpansionContext)?
    private(set) var areFatal = false

    /// Without a context, problems are only counted.
    init(in context: (any MacroExpansionContext)? = nil) { self.context = context }

    mutating func report(
      _ id: String, at node: some SyntaxProtocol, _ message: String, fix: FixIt? = nil
    ) {
      areFatal = true
      context?.diagnose(
        Diagnostic(
          node: Syntax(node), message: Problem(message: message, id: id),
          fixIts: fix.map { [$0] } ?? []))
    }
  }

  extension FixIt {
    static func replace(
      _ old: some SyntaxProtocol, with new: some SyntaxProtocol, _ message: String, id: String
    ) -> FixIt {
      FixIt(
        message: Remedy(message: message, id: id),
        changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
    }
  }
#endif
