#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// Writes what `@Document` promises.
  ///
  ///     declaration ─▶ names, properties or cases ─▶ problems, or the text of members and extensions
  ///
  /// Types are named in members only: an extension does not see the types that enclose its own.
  public struct DocumentMacro {}

  extension DocumentMacro: ExtensionMacro {
    public static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      var problems = Problems(in: context)
      let scope = Scope(of: declaration, in: context)
      Scope.check(declaration, in: context, &problems)
      let written: (conformances: [String], members: [String])?
      if let declaration = declaration.as(StructDeclSyntax.self) {
        written = StructModel(declaration, scope, &problems)?.written
      } else if let declaration = declaration.as(EnumDeclSyntax.self) {
        written = EnumModel(declaration, scope, &problems)?.written
      } else {
        let noun =
          declaration.is(ClassDeclSyntax.self)
          ? "a class" : declaration.is(ActorDeclSyntax.self) ? "an actor" : "this"
        problems.report(
          at: node,
          "@Document is for structures and enumerations, and \(noun) is neither. A final class can "
            + "conform to DocumentValueCodable by hand.")
        written = nil
      }
      guard let written, !problems.areFatal else { return [] }
      // The type may have declared some of them.
      let missing = Set(protocols.map(\.trimmedDescription))
      let conformances = written.conformances.filter(missing.contains)
      let clause = conformances.isEmpty ? "" : ": " + conformances.joined(separator: ", ")
      let availability = declaration.attributes.compactMap { $0.as(AttributeSyntax.self) }
        .filter { $0.attributeName.trimmedDescription == "available" }
        .map { $0.trimmedDescription + "\n" }.joined()
      let text = """
        \(availability)nonisolated extension \(type.trimmedDescription)\(clause) {
        \(written.members.joined(separator: "\n"))
        }
        """
      return [try ExtensionDeclSyntax("\(raw: text)")]
    }
  }

  extension DocumentMacro: MemberMacro {
    public static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      // The extension reports the problems.
      var problems = Problems()
      guard let declaration = declaration.as(StructDeclSyntax.self),
        let model = StructModel(declaration, Scope(of: declaration, in: context), &problems),
        !problems.areFatal
      else { return [] }
      return model.fieldTable.map { "\(raw: $0)" }
    }
  }

  /// The visibility of a declaration.
  enum Access: Comparable {
    case file, module, package, all

    /// The modifier of a member with this access, with a space after it. Members of a type that is
    /// private to the file need none.
    var modifier: String {
      switch self {
      case .file, .module: ""
      case .package: "package "
      case .all: "public "
      }
    }
  }

  /// Where a type is declared.
  struct Scope {
    let access: Access
    /// The type may have no stored static properties.
    let isGeneric: Bool

    init(of declaration: some DeclGroupSyntax, in context: some MacroExpansionContext) {
      var access = declaration.modifiers.access
      if access == nil, let enclosing = context.lexicalContext.first?.as(ExtensionDeclSyntax.self) {
        access = enclosing.modifiers.access
      }
      // No more visible than the types that enclose it; those of extensions are not seen.
      let enclosing = context.lexicalContext
        .filter { !$0.is(ExtensionDeclSyntax.self) }
        .compactMap { $0.asProtocol((any DeclGroupSyntax).self) }
        .map { $0.modifiers.access ?? .module }
      self.access = min(access ?? .module, enclosing.min() ?? .all)
      isGeneric =
        declaration.hasGenericParameters
        || context.lexicalContext.contains { enclosing in
          enclosing.asProtocol((any DeclGroupSyntax).self)?.hasGenericParameters == true
        }
    }

    static func check(
      _ declaration: some DeclGroupSyntax, in context: some MacroExpansionContext,
      _ problems: inout Problems
    ) {
      guard !context.lexicalContext.isEmpty,
        let modifier = declaration.modifiers.first(where: {
          $0.name.tokenKind == .keyword(.private) && $0.detail == nil
        })
      else { return }
      var changed = modifier
      changed.name.tokenKind = .keyword(.fileprivate)
      problems.report(
        at: modifier, "A private type inside of another cannot be extended.",
        fix: .replace(modifier, with: changed, "make it fileprivate"))
    }
  }

  extension DeclGroupSyntax {
    fileprivate var hasGenericParameters: Bool {
      let clause = asProtocol((any WithGenericParametersSyntax).self)?.genericParameterClause
      // Whether the type of an extension is generic is only seen where that matters to it.
      return clause != nil || self.as(ExtensionDeclSyntax.self)?.genericWhereClause != nil
    }
  }

  extension DeclModifierListSyntax {
    /// Nil if none is written.
    var access: Access? {
      // `private(set)` is none.
      for modifier in self where modifier.detail == nil {
        switch modifier.name.tokenKind {
        case .keyword(.public), .keyword(.open): return .all
        case .keyword(.package): return .package
        case .keyword(.internal): return .module
        case .keyword(.private), .keyword(.fileprivate): return .file
        default: continue
        }
      }
      return nil
    }

    func has(_ keyword: Keyword) -> Bool {
      contains { $0.name.tokenKind == .keyword(keyword) }
    }
  }

  extension InheritanceClauseSyntax? {
    /// `struct File: ~Copyable`.
    var suppressesCopying: Bool {
      self?.inheritedTypes.contains { $0.type.trimmedDescription == "~Copyable" } == true
    }
  }

  extension MemberBlockItemListSyntax {
    /// Reports members that only the compiler knows to be there.
    func reportConditions(_ problems: inout Problems) {
      for member in self {
        guard let condition = member.decl.as(IfConfigDeclSyntax.self) else { continue }
        problems.report(
          at: condition.clauses.first?.poundKeyword ?? .poundIfToken(),
          "@Document does not see which members of '#if' there are. Put '#if' around the type.")
      }
    }
  }

  extension TokenSyntax {
    /// Without the backticks of an escaped name.
    var plainName: String {
      text.hasPrefix("`") && text.hasSuffix("`") && text.count > 2
        ? String(text.dropFirst().dropLast()) : text
    }
  }

  /// A string literal with this value.
  func literal(_ value: String) -> String { value.debugDescription }
#endif
