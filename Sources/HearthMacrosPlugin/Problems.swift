#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxMacros

  /// Reports all problems of a declaration, so that they can be solved at once.
  struct Problems {
    private let context: (any MacroExpansionContext)?
    private(set) var areFatal = false

    /// Without a context, problems are only counted.
    init(in context: (any MacroExpansionContext)? = nil) { self.context = context }

    /// Reports it at the code to change.
    mutating func report(at node: some SyntaxProtocol, _ message: String, fix: FixIt? = nil) {
      areFatal = true
      context?.diagnose(
        Diagnostic(
          node: Syntax(node), message: MacroExpansionErrorMessage(message),
          fixIts: fix.map { [$0] } ?? []))
    }
  }

  extension FixIt {
    static func replace(
      _ old: some SyntaxProtocol, with new: some SyntaxProtocol, _ message: String
    ) -> FixIt {
      FixIt(
        message: MacroExpansionFixItMessage(message),
        changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
    }
  }
#endif
