#if Macros
  import SwiftCompilerPlugin
  import SwiftSyntaxMacros

  /// The program that the compiler starts to expand `@Document`.
  @main
  struct HearthMacrosPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [DocumentMacro.self]
  }
#else
  /// Without the trait `Macros` there is nothing to expand.
  @main
  struct HearthMacrosPlugin {
    static func main() {}
  }
#endif
