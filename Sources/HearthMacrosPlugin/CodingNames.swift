#if Macros
  import SwiftDiagnostics
  import SwiftParser
  import SwiftSyntax
  import SwiftSyntaxBuilder

  /// The names of fields, as a `CodingKeys` enumeration has them; or those of the properties.
  struct CodingNames {
    private struct Entry {
      let name: String
      let node: Syntax
    }

    /// Nil without `CodingKeys`.
    private var entries: [String: Entry]?
    private let declaration: EnumDeclSyntax?

    /// - Parameter typeName: `CodingKeys`; or, for the values of a case, that of the case.
    init(_ typeName: String, in members: MemberBlockItemListSyntax, _ problems: inout Problems) {
      var found: EnumDeclSyntax?
      for member in members {
        if let keys = member.decl.as(EnumDeclSyntax.self), keys.name.plainName == typeName {
          found = keys
        } else if CodingNames.declaredName(of: member.decl) == typeName {
          problems.report(
            at: member.decl,
            "@Document reads the names of the fields from '\(typeName)', which has to be an "
              + "enumeration here.")
        }
      }
      declaration = found
      guard let found else { return }
      var entries: [String: Entry] = [:]
      var properties: [String: String] = [:]
      for member in found.memberBlock.members {
        guard let cases = member.decl.as(EnumCaseDeclSyntax.self) else {
          problems.report(
            at: member.decl,
            "@Document takes the names of the fields from the cases of '\(typeName)', which has to "
              + "have nothing else.")
          continue
        }
        for element in cases.elements {
          let property = element.name.plainName
          let name = CodingNames.name(of: element, &problems) ?? property
          CodingNames.check(name, at: element, &problems)
          if let other = properties.updateValue(property, forKey: name) {
            problems.report(
              at: element, "'\(other)' and '\(property)' have the same field, \(literal(name)).")
          }
          entries[property] = Entry(name: name, node: Syntax(element))
        }
      }
      self.entries = entries
    }

    private static func declaredName(of declaration: DeclSyntax) -> String? {
      declaration.as(StructDeclSyntax.self)?.name.plainName
        ?? declaration.as(ClassDeclSyntax.self)?.name.plainName
        ?? declaration.as(TypeAliasDeclSyntax.self)?.name.plainName
    }

    /// Nil without a raw value, and for an integer: then the name of the case counts.
    private static func name(
      of element: EnumCaseElementSyntax, _ problems: inout Problems
    ) -> String? {
      guard let value = element.rawValue?.value, !value.is(IntegerLiteralExprSyntax.self),
        !value.is(PrefixOperatorExprSyntax.self)
      else { return nil }
      guard let string = value.as(StringLiteralExprSyntax.self)?.representedLiteralValue else {
        problems.report(at: value, "The name of a field has to be a plain string literal.")
        return nil
      }
      return string
    }

    private static func check(
      _ name: String, at node: some SyntaxProtocol, _ problems: inout Problems
    ) {
      if name.isEmpty {
        problems.report(at: node, "The name of a field must not be empty.")
      } else if name.utf8.count >= 4, name.hasPrefix("__"), name.hasSuffix("__") {
        problems.report(at: node, "Names that begin and end with \"__\" are reserved: \(name).")
      }
    }

    /// The name of a property's field. Nil if `CodingKeys` omits the property.
    func name(
      of property: String, at node: some SyntaxProtocol, _ problems: inout Problems
    ) -> String? {
      if let entries { return entries[property]?.name }
      CodingNames.check(property, at: node, &problems)
      return property
    }

    /// A fix that adds the property to `CodingKeys`.
    func fix(adding property: String) -> FixIt? {
      guard let declaration else { return nil }
      var changed = declaration
      changed.memberBlock.members.append(
        MemberBlockItemSyntax(decl: DeclSyntax("\n  case \(raw: property)")))
      return .replace(
        declaration, with: changed, "add 'case \(property)' to CodingKeys")
    }

    /// Reports keys that no property has.
    func check(haveProperties properties: Set<String>, _ problems: inout Problems) {
      for (property, entry) in (entries ?? [:]).sorted(by: { $0.key < $1.key })
      where !properties.contains(property) {
        problems.report(
          at: entry.node, "CodingKeys has '\(property)', which is no stored property.")
      }
    }
  }
#endif
